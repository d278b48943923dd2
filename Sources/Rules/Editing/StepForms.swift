// Forms that several operations share.

internal import Document
internal import Events
internal import FormReading

extension Forms {
    static let paths = list("paths", of: path)

    /// The name of a member.
    static let memberName = Form<String>(#"{"type":"string","minLength":1}"#) { node, reading in
        guard let text = string.read(node, reading) else { return nil }
        guard !text.value.isEmpty else {
            reading.refuse(node, "the name of a member, not empty")
            return nil
        }
        return text.value
    }

    /// Returns a form that accepts a list of paths, or an object with `fields` and more settings.
    static func fields<S: Step>(_ object: Form<S>, _ make: @escaping @Sendable ([Path]) -> S) -> Form<S> {
        Form<S>(SchemaParts.anyOf([paths.schema, object.schema])) { node, reading in
            if node.items != nil { return paths.read(node, reading).map(make) }
            guard node.entries != nil else {
                reading.refuseType(node, "a list of paths, or an object with 'fields'")
                return nil
            }
            return object.read(node, reading)
        }
    }
}
