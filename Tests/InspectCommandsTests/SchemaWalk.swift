// Finds the keys of a schema, and the places where a configuration has them.

import Document

/// A schema with its references resolved.
struct SchemaWalk {
    let root: Node

    init(_ schema: String) throws { root = try Outline.read(Source(Array(schema.utf8)), resolving: nil).root }

    /// A key in a configuration: its path in the schema, such as `routes[].sample.rate`, and its place in the text.
    struct Place {
        var path: String
        var key: Node.Key
        var value: Node
        /// The object that holds it.
        var owner: Node
    }

    /// Returns the paths of all keys.
    func paths() -> Set<String> {
        var found: Set<String> = []
        var active: Set<String> = []
        collect([root], "", &found, &active)
        return found
    }

    private func collect(_ schemas: [Node], _ path: String, _ found: inout Set<String>, _ active: inout Set<String>) {
        for schema in schemas {
            if let name = reference(of: schema) {
                // A definition that holds itself has no keys of its own.
                guard active.insert(name).inserted else { continue }
                defer { active.remove(name) }
                collect([root["$defs"]![name]!], path, &found, &active)
            }
            for entry in schema["properties"]?.entries ?? [] {
                // A schema that only narrows another one, such as a smaller maximum, names its keys again.
                let below = path.isEmpty ? entry.key.name : "\(path).\(entry.key.name)"
                found.insert(below)
                collect([entry.node], below, &found, &active)
            }
            if let others = schema["additionalProperties"], others.entries != nil { collect([others], path + ".*", &found, &active) }
            if let items = schema["items"] { collect([items], path + "[]", &found, &active) }
            collect((schema["anyOf"]?.items ?? []), path, &found, &active)
            // Only the condition of a module adds keys; the conditions of the whole file compare keys that are there.
            if !path.isEmpty { collect((schema["allOf"]?.items ?? []).compactMap { $0["then"] }, path, &found, &active) }
        }
    }

    private func reference(of schema: Node) -> String? { schema["$ref"]?.text?.value.split(separator: "/").last.map(String.init) }

    /// Returns the places of all keys in a value.
    func places(in value: Node) -> [Place] { places(in: value, [root], "") }

    private func places(in value: Node, _ schemas: [Node], _ path: String) -> [Place] {
        let all = expanded(schemas)
        if let items = value.items {
            let schemas = all.compactMap { $0["items"] }
            return items.flatMap { places(in: $0, schemas, path + "[]") }
        }
        return (value.entries ?? []).flatMap { entry -> [Place] in
            let own = all.compactMap { $0["properties"]?[entry.key.name] }
            guard own.isEmpty else {
                let below = path.isEmpty ? entry.key.name : "\(path).\(entry.key.name)"
                return [Place(path: below, key: entry.key, value: entry.node, owner: value)] + places(in: entry.node, own, below)
            }
            let others = all.compactMap { $0["additionalProperties"] }.filter { $0.entries != nil }
            return places(in: entry.node, others, path + ".*")
        }
    }

    private func expanded(_ schemas: [Node]) -> [Node] {
        schemas.flatMap { schema -> [Node] in
            let named = reference(of: schema).map { [root["$defs"]![$0]!] } ?? []
            let parts = named + (schema["anyOf"]?.items ?? []) + (schema["allOf"]?.items ?? []).compactMap { $0["then"] }
            return [schema] + (parts.isEmpty ? [] : expanded(parts.filter { $0.range != schema.range }))
        }
    }
}
