// What a value of routes.json must be, declared once: a form reads it, and describes it to editors as JSON Schema.

internal import Document

struct Form<Value>: Sendable {
    /// JSON Schema, one object without spaces.
    var schema: String
    /// nil: the value is at fault, and the reading knows.
    var read: @Sendable (Node, Reading) -> Value?

    init(_ schema: String, _ read: @escaping @Sendable (Node, Reading) -> Value?) {
        self.schema = schema
        self.read = read
    }

    /// A further step after reading; it tells its own faults.
    func then<Other>(_ step: @escaping @Sendable (Value, Node, Reading) -> Other?) -> Form<Other> {
        let read = read
        return Form<Other>(schema) { node, reading in
            guard let value = read(node, reading) else { return nil }
            return step(value, node, reading)
        }
    }
}

/// A member of an object, and where its value goes in what the object becomes.
struct Member<Whole>: Sendable {
    var name: String
    var isRequired: Bool
    var about: String
    var schema: String
    var read: @Sendable (Node, inout Whole, Reading) -> Void

    init<Value>(
        _ name: String, _ form: Form<Value>, required: Bool = false, _ about: String,
        into target: any WritableKeyPath<Whole, Value> & Sendable
    ) {
        self.init(name, required, about, form.schema) { node, whole, reading in
            if let value = form.read(node, reading) { whole[keyPath: target] = value }
        }
    }

    init<Value>(
        _ name: String, _ form: Form<Value>, required: Bool = false, _ about: String,
        into target: any WritableKeyPath<Whole, Value?> & Sendable
    ) {
        self.init(name, required, about, form.schema) { node, whole, reading in
            if let value = form.read(node, reading) { whole[keyPath: target] = value }
        }
    }

    /// A member that is checked, and kept by its form or not at all.
    init<Value>(_ name: String, _ form: Form<Value>, required: Bool = false, _ about: String) {
        self.init(name, required, about, form.schema) { node, _, reading in _ = form.read(node, reading) }
    }

    private init(
        _ name: String, _ isRequired: Bool, _ about: String, _ schema: String,
        _ read: @escaping @Sendable (Node, inout Whole, Reading) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        self.about = about
        self.schema = schema
        self.read = read
    }

    var schemaMember: (name: String, json: String) {
        (name, "{\"description\":\(JSONText.quoted(about))" + (schema == "{}" ? "}" : "," + schema.dropFirst()))
    }
}

extension Form {
    /// An object of exactly these members, read in this order whatever the order in the file.
    static func object(_ empty: Value, _ members: [Member<Value>], called name: String = "key") -> Form where Value: Sendable {
        let required = members.filter(\.isRequired).map(\.name)
        let schema = JSONText.object(
            [("type", "\"object\""), ("properties", JSONText.object(members.map(\.schemaMember)))]
                + (required.isEmpty ? [] : [("required", JSONText.list(required.map(JSONText.quoted)))])
                + [("additionalProperties", "false")])
        return Form(schema) { node, reading in
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
            // A member at fault leaves its place empty: the plan is lost by then, but the rest is still checked.
            return whole
        }
    }

    /// The form of an object of which its own reading refuses an empty one; so that editors do too.
    var notEmpty: Form { with(#""minProperties":1"#) }

    /// With more members of its schema.
    func with(_ members: String) -> Form {
        var form = self
        form.schema = "\(schema.dropLast()),\(members)}"
        return form
    }

    /// Any of several types, told apart by what stands there.
    static func either(_ forms: [Form], by choose: @escaping @Sendable (Node, Reading) -> Form?) -> Form {
        Form("{\"anyOf\":\(JSONText.list(forms.map(\.schema)))}") { node, reading in choose(node, reading)?.read(node, reading) }
    }
}

extension Reading {
    func lacks(_ name: String, _ about: String, in node: Node) {
        let gist = Words.gist(about)
        fault(node, "lacks \(Words.quoted(name))" + (gist.isEmpty ? "" : ": \(gist)"))
    }

    func refuseUnknownKeys(of node: Node, known: [String], called what: String = "key") {
        for entry in node.entries ?? [] where !known.contains(entry.key.name) {
            let hint =
                Words.nearest(entry.key.name, among: known).map { "did you mean \(Words.quoted($0))?" } ?? "expected \(Words.either(known))"
            fault(node, at: entry.key.range.lowerBound, "unknown \(what) \(Words.quoted(entry.key.name)), \(hint)")
        }
    }
}
