// A form declares once what a value of routes.json must be. It reads the value, and it describes the value to editors as JSON Schema.

public import Document

public struct Form<Value>: Sendable {
    /// The JSON Schema of the value: one object without spaces between its tokens.
    public var schema: String
    /// Reads the value. Returns nil if the value is invalid; then the reading has the fault.
    public var read: @Sendable (Node, Reading) -> Value?
    /// Writes a value as the configuration would have it, so that the schema can show a default. It is nil if no default is shown.
    public var write: (@Sendable (Value) -> String?)?
    /// A value as the configuration would have it, for editors and the reference. It is nil if no example is shown.
    public var example: String?

    public init(_ schema: String, _ read: @escaping @Sendable (Node, Reading) -> Value?) {
        self.schema = schema
        self.read = read
    }

    /// Returns a form whose schema can show a default, which `write` writes as the configuration would have it.
    public func writing(_ write: @escaping @Sendable (Value) -> String?) -> Form {
        var form = self
        form.write = write
        return form
    }

    /// Returns a form whose schema shows this example, a JSON text.
    public func showing(_ example: String) -> Form {
        var form = self
        form.example = example
        return form
    }

    /// Returns a form with one more step after reading. The step reports its own faults.
    public func then<Other>(_ step: @escaping @Sendable (Value, Node, Reading) -> Other?) -> Form<Other> {
        let read = read
        var form = Form<Other>(schema) { node, reading in
            guard let value = read(node, reading) else { return nil }
            return step(value, node, reading)
        }
        form.example = example
        return form
    }
}

/// A member of an object, with the place of its value in the result.
public struct Member<Whole>: Sendable {
    public var name: String
    public var isRequired: Bool
    public var about: String
    public var schema: String
    /// A value as the configuration would have it. It is nil if no example is shown.
    public var example: String?
    public var read: @Sendable (Node, inout Whole, Reading) -> Void
    /// Returns the value that it has in a whole, as the configuration would have it. It is nil if no default is shown.
    private var written: @Sendable (Whole) -> String?

    public init<Value>(
        _ name: String, _ form: Form<Value>, required: Bool = false, _ about: String, example: String? = nil,
        into target: any WritableKeyPath<Whole, Value> & Sendable
    ) {
        self.init(
            name, isRequired: required, about: about, schema: form.schema, example: example ?? form.example,
            written: { form.write?($0[keyPath: target]) },
            read: { node, whole, reading in if let value = form.read(node, reading) { whole[keyPath: target] = value } })
    }

    public init<Value>(
        _ name: String, _ form: Form<Value>, required: Bool = false, _ about: String, example: String? = nil,
        into target: any WritableKeyPath<Whole, Value?> & Sendable
    ) {
        self.init(
            name, isRequired: required, about: about, schema: form.schema, example: example ?? form.example,
            written: { whole in whole[keyPath: target].flatMap { form.write?($0) } },
            read: { node, whole, reading in if let value = form.read(node, reading) { whole[keyPath: target] = value } })
    }

    /// A member that is only read. Its form keeps the value, or nothing does.
    public init<Value>(_ name: String, _ form: Form<Value>, required: Bool = false, _ about: String, example: String? = nil) {
        self.init(
            name, isRequired: required, about: about, schema: form.schema, example: example ?? form.example, written: { _ in nil },
            read: { node, _, reading in _ = form.read(node, reading) })
    }

    private init(
        _ name: String, isRequired: Bool, about: String, schema: String, example: String?, written: @escaping @Sendable (Whole) -> String?,
        read: @escaping @Sendable (Node, inout Whole, Reading) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        self.about = about
        self.schema = schema
        self.example = example
        self.written = written
        self.read = read
    }

    /// Returns the schema, with the default that the member has in an empty whole.
    func schema(in empty: Whole) -> (name: String, json: String) {
        let fallback = isRequired ? nil : written(empty).map { #","default":\#($0)"# }
        let shown = example.map { #","examples":[\#($0)]"# } ?? ""
        return (
            name,
            #"{"description":\#(JSONText.quoted(about))\#(fallback ?? "")\#(shown)"# + (schema == "{}" ? "}" : "," + schema.dropFirst())
        )
    }
}

extension Form {
    /// Returns the form of an object with exactly these members. They are read in this order, whatever their order in the file. The schema
    /// shows the values of `empty` as defaults, or those of `defaults` if members that are left out stay unset at first.
    public static func object(
        _ empty: Value, _ members: [Member<Value>], called name: String = "key", defaults: Value? = nil
    ) -> Form where Value: Sendable {
        let required = members.filter(\.isRequired).map(\.name)
        let schema = JSONText.object(
            [("type", "\"object\""), ("properties", JSONText.object(members.map { $0.schema(in: defaults ?? empty) }))]
                + (required.isEmpty ? [] : [("required", JSONText.list(required.map(JSONText.quoted)))])
                + [("additionalProperties", "false")])
        var form = Form(schema) { node, reading in
            guard let entries = node.entries else {
                reading.refuseType(node, "an object")
                return nil
            }
            reading.refuseUnknownKeys(of: node, known: members.map(\.name), called: name)
            for member in members where member.isRequired && node[member.name] == nil { reading.lacks(member.name, member.about, in: node) }
            var whole = empty
            for member in members {
                if let child = entries.first(where: { $0.key.name == member.name })?.node { member.read(child, &whole, reading) }
            }
            // An invalid member leaves its place empty. The plan is lost then, but the other members are still checked.
            return whole
        }
        // A section without required members means the same as an empty one if it is left out.
        if required.isEmpty { form.write = { _ in "{}" } }
        // The example has what must be there, or else the first member.
        let needed = required.isEmpty ? Array(members.prefix(1)) : members.filter(\.isRequired)
        let shown = needed.compactMap { member in member.example.map { (name: member.name, json: $0) } }
        if shown.count == needed.count { form.example = JSONText.object(shown) }
        return form
    }

    /// The form with a schema that refuses an empty object, for a form that already refuses one when it reads.
    public var notEmpty: Form { with(#""minProperties":1"#) }

    /// Returns the form with more members in its schema.
    public func with(_ members: String) -> Form {
        var form = self
        form.schema = "\(schema.dropLast()),\(members)}"
        return form
    }

    /// Returns a form that accepts what any of several forms accepts. `choose` selects one of them by the value in the file.
    public static func either(_ forms: [Form], by choose: @escaping @Sendable (Node, Reading) -> Form?) -> Form {
        var form = Form("{\"anyOf\":\(JSONText.list(forms.map(\.schema)))}") { node, reading in choose(node, reading)?.read(node, reading) }
        form.example = forms.lazy.compactMap(\.example).first
        return form
    }
}

extension Reading {
    /// The present names of keys that had another name before.
    private static let renamed = ["compress": "compression", "every": "age"]

    public func lacks(_ name: String, _ about: String, in node: Node) {
        let gist = Words.gist(about)
        fault(node, "lacks \(Words.quoted(name))" + (gist.isEmpty ? "" : ": \(gist)"))
    }

    public func refuseUnknownKeys(of node: Node, known: [String], called what: String = "key") {
        for entry in node.entries ?? [] where !known.contains(entry.key.name) {
            let now = Reading.renamed[entry.key.name].flatMap { known.contains($0) ? "it is called \(Words.quoted($0)) now" : nil }
            let near = Words.nearest(entry.key.name, among: known).map { "did you mean \(Words.quoted($0))?" }
            let hint = now ?? near ?? "expected \(Words.either(known))"
            fault(node, at: entry.key.range.lowerBound, "unknown \(what) \(Words.quoted(entry.key.name)), \(hint)")
        }
    }
}
