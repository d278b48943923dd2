// A form declares once what a value of routes.json must be. It reads the value, and it describes the value to editors as JSON Schema.
//
// A router reads a small part of all forms at its start, and describes none. So the schemas are made when they are asked for, and the form of
// a member when the member is there.

public import Document

public struct Form<Value>: Sendable {
    private var makeSchema: @Sendable () -> String
    private var makeExample: @Sendable () -> String? = { nil }
    /// Reads the value. Returns nil if the value is invalid; then the reading has the fault.
    public var read: @Sendable (Node, Reading) -> Value?
    /// Writes a value as the configuration would have it, so that the schema can show a default. It is nil if no default is shown.
    public var write: (@Sendable (Value) -> String?)?

    /// The JSON Schema of the value: one object without spaces between its tokens.
    public var schema: String { makeSchema() }
    /// A value as the configuration would have it, for editors and the reference. It is nil if no example is shown.
    public var example: String? { makeExample() }

    public init(
        _ schema: @autoclosure @escaping @Sendable () -> String, _ read: @escaping @Sendable (Node, Reading) -> Value?
    ) {
        makeSchema = schema
        self.read = read
    }

    /// Returns a form whose schema can show a default, which `write` writes as the configuration would have it.
    public func writing(_ write: @escaping @Sendable (Value) -> String?) -> Form {
        var form = self
        form.write = write
        return form
    }

    /// Returns a form whose schema shows this example, a JSON text, or none.
    public func showing(_ example: @autoclosure @escaping @Sendable () -> String?) -> Form {
        var form = self
        form.makeExample = example
        return form
    }

    /// Returns a form with one more step after reading. The step reports its own faults.
    public func then<Other>(_ step: @escaping @Sendable (Value, Node, Reading) -> Other?) -> Form<Other> {
        let read = read
        var form = Form<Other>("") { node, reading in
            guard let value = read(node, reading) else { return nil }
            return step(value, node, reading)
        }
        form.makeSchema = makeSchema
        form.makeExample = makeExample
        return form
    }
}

extension Form {
    /// Returns the form of an object with exactly these members. They are read in this order, whatever their order in the file. The schema
    /// shows the values of `empty` as defaults, or those of `defaults` if members that are left out stay unset at first.
    public static func object(
        _ empty: Value, _ members: [Member<Value>], called name: String = "key", defaults: Value? = nil
    ) -> Form where Value: Sendable {
        var form = Form(Member.schema(of: members, in: defaults ?? empty)) { node, reading in
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
        if !members.contains(where: \.isRequired) { form.write = { _ in "{}" } }
        form.makeExample = { Member.example(of: members) }
        return form
    }

    /// The form with a schema that refuses an empty object, for a form that already refuses one when it reads.
    public var notEmpty: Form { with(#""minProperties":1"#) }

    /// Returns the form with more members in its schema.
    public func with(_ members: String) -> Form {
        var form = self
        form.makeSchema = { [makeSchema] in "\(makeSchema().dropLast()),\(members)}" }
        return form
    }

    /// Returns a form that accepts what any of several forms accepts. `choose` selects one of them by the value in the file.
    public static func either(_ forms: [Form], by choose: @escaping @Sendable (Node, Reading) -> Form?) -> Form {
        Form("{\"anyOf\":\(JSONText.list(forms.map(\.schema)))}") { node, reading in choose(node, reading)?.read(node, reading) }
            .showing(forms.lazy.compactMap(\.example).first)
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
