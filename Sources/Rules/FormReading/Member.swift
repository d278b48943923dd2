// A member of an object in routes.json. Its form and the place of its value are made when the member is there, or when it is described.

public import Document

/// A member of an object, with the place of its value in the result.
public struct Member<Whole>: Sendable {
    public var name: String
    public var isRequired: Bool
    public var about: String
    private let makeSchema: @Sendable () -> String
    private let makeExample: @Sendable () -> String?
    public var read: @Sendable (Node, inout Whole, Reading) -> Void
    /// Returns the value that it has in a whole, as the configuration would have it. It is nil if no default is shown.
    private var written: @Sendable (Whole) -> String?

    public init<Value>(
        _ name: String, _ form: @autoclosure @escaping @Sendable () -> Form<Value>, required: Bool = false, _ about: String,
        example: String? = nil, into target: @autoclosure @escaping @Sendable () -> any WritableKeyPath<Whole, Value> & Sendable
    ) {
        self.init(
            name, form, isRequired: required, about: about, example: example, written: { form().write?($0[keyPath: target()]) },
            read: { node, whole, reading in if let value = form().read(node, reading) { whole[keyPath: target()] = value } })
    }

    public init<Value>(
        _ name: String, _ form: @autoclosure @escaping @Sendable () -> Form<Value>, required: Bool = false, _ about: String,
        example: String? = nil, into target: @autoclosure @escaping @Sendable () -> any WritableKeyPath<Whole, Value?> & Sendable
    ) {
        self.init(
            name, form, isRequired: required, about: about, example: example,
            written: { whole in whole[keyPath: target()].flatMap { form().write?($0) } },
            read: { node, whole, reading in if let value = form().read(node, reading) { whole[keyPath: target()] = value } })
    }

    /// A member that is only read. Its form keeps the value, or nothing does.
    public init<Value>(
        _ name: String, _ form: @autoclosure @escaping @Sendable () -> Form<Value>, required: Bool = false, _ about: String,
        example: String? = nil
    ) {
        self.init(
            name, form, isRequired: required, about: about, example: example, written: { _ in nil },
            read: { node, _, reading in _ = form().read(node, reading) })
    }

    private init<Value>(
        _ name: String, _ form: @escaping @Sendable () -> Form<Value>, isRequired: Bool, about: String, example: String?,
        written: @escaping @Sendable (Whole) -> String?, read: @escaping @Sendable (Node, inout Whole, Reading) -> Void
    ) {
        self.name = name
        self.isRequired = isRequired
        self.about = about
        makeSchema = { form().schema }
        makeExample = { example ?? form().example }
        self.written = written
        self.read = read
    }

    /// A value as the configuration would have it. It is nil if no example is shown.
    public var example: String? { makeExample() }

    /// Returns the schema, with the default that the member has in an empty whole.
    public func schema(in empty: Whole) -> (name: String, json: String) {
        let fallback = isRequired ? nil : written(empty).map { #","default":\#($0)"# }
        let schema = makeSchema()
        let shown = example.map { #","examples":[\#($0)]"# } ?? ""
        return (
            name,
            #"{"description":\#(JSONText.quoted(about))\#(fallback ?? "")\#(shown)"# + (schema == "{}" ? "}" : "," + schema.dropFirst())
        )
    }
}

extension Member {
    /// Returns the schema of an object with these members.
    static func schema(of members: [Member], in empty: Whole) -> String {
        let required = members.filter(\.isRequired).map(\.name)
        return JSONText.object(
            [("type", "\"object\""), ("properties", JSONText.object(members.map { $0.schema(in: empty) }))]
                + (required.isEmpty ? [] : [("required", JSONText.list(required.map(JSONText.quoted)))])
                + [("additionalProperties", "false")])
    }

    /// Returns an example of such an object: what must be there, or else the first member. It is nil if one of them has no example.
    static func example(of members: [Member]) -> String? {
        let required = members.filter(\.isRequired)
        let needed = required.isEmpty ? Array(members.prefix(1)) : required
        let shown = needed.compactMap { member in member.example.map { (name: member.name, json: $0) } }
        return shown.count == needed.count ? JSONText.object(shown) : nil
    }
}
