// `switchyard plan import`: reads the tracking plans of RudderStack, Segment Protocols and Avo, and self-describing schemas of Snowplow (Iglu),
// and writes a plan of this router. What cannot be carried over is in the notes, with its place.

public import Document

public struct PlanImport {
    public enum Failure: Error {
        /// The file is not JSON.
        case syntax(LocatedFault)
        /// It is JSON, and none of the forms.
        case unknown
    }

    private struct Schemas {
        var version: String?
        var description: String?
        var required: [String] = []
        /// `properties` and `traits` as JSON.
        var members: [(name: String, json: String)] = []
    }

    private let source: Source
    private var events: [(name: String, schemas: [Schemas])] = []
    private var notes: [String] = []

    /// Returns the plan as JSON in one line, and what is not carried over.
    public static func plan(_ text: [UInt8]) throws(Failure) -> (json: String, notes: [String]) {
        var reading = PlanImport(Source(text))
        let root: Node
        do throws(LocatedFault) {
            let (node, faults) = try Outline.read(reading.source, resolving: nil)
            if let fault = faults.first { throw fault }
            root = node
        } catch {
            throw .syntax(error)
        }
        guard reading.read(root), !reading.events.isEmpty else { throw .unknown }
        let json = reading.written
        return (json, reading.notes)
    }

    private init(_ source: Source) { self.source = source }

    // MARK: - The forms

    private mutating func read(_ root: Node) -> Bool {
        if let name = root["self"]?["name"]?.text?.value {
            var schemas = Schemas(version: root["self"]?["version"]?.text?.value, description: root["description"]?.text?.value)
            schemas.members = [("properties", convert(root, of: root, at: "\(name): properties"))]
            add(schemas, to: name)
            return true
        }
        let plan = [root["tracking_plan"], root["trackingPlan"], root["data"]].compactMap(\.self).first { $0.entries != nil } ?? root
        let rules = plan["rules"]
        guard let list = rules?["events"]?.items ?? plan["events"]?.items ?? rules?.items else { return false }
        for item in list { readEvent(item) }
        for type in ["identify", "group"] {
            if let schema = rules?[type], schema["properties"]?.entries?.isEmpty == false { readRules(schema, name: type, item: schema) }
        }
        for key in ["global", "identify_traits", "group_traits"] {
            let value = rules?[key]
            if value?.items?.isEmpty == false || value?["properties"]?.entries?.isEmpty == false {
                notes.append("\(key) is not carried over")
            }
        }
        return true
    }

    private mutating func readEvent(_ item: Node) {
        let type = (item["eventType"] ?? item["type"])?.text?.value.lowercased() ?? "track"
        // Events of these types go by their type.
        let isNamed = !["identify", "group", "page", "screen", "alias"].contains(type)
        let given = (item["name"] ?? item["key"] ?? item["event"])?.text?.value ?? ""
        let name = isNamed ? given : type
        guard !name.isEmpty else {
            notes.append("an event without a name is left out")
            return
        }
        if !isNamed, !given.isEmpty, given.lowercased() != type {
            notes.append("\(type): the name \(given) is not carried over, since such events go by their type")
        }
        if let schema = item["rules"] ?? item["jsonSchema"] ?? item["schema"], schema.entries != nil {
            readRules(schema, name: name, item: item)
        } else {
            readList(item, name: name)
        }
    }

    /// An event whose rules are one JSON Schema of the whole event.
    private mutating func readRules(_ schema: Node, name: String, item: Node) {
        var schemas = Schemas(version: version(item), description: item["description"]?.text?.value)
        for entry in schema["properties"]?.entries ?? [] {
            let key = entry.key.name
            if key == "properties" || key == "traits" {
                schemas.members.append((key, convert(entry.node, of: schema, at: "\(name): \(key)")))
            } else if entry.node.entries?.isEmpty == false {
                notes.append("\(name): the schema of \(key) is not carried over")
            }
        }
        let members = schemas.members.map(\.name)
        schemas.required = (schema["required"]?.items ?? []).compactMap { $0.text?.value }.filter { !members.contains($0) }
        let known: Set<String> = ["properties", "required", "type", "$schema", "$id", "id", "title", "description", "labels"]
        for entry in schema.entries ?? [] where schema.offset != item.offset && !known.contains(entry.key.name) {
            notes.append("\(name): the keyword \(entry.key.name) is not carried over")
        }
        add(schemas, to: name)
    }

    /// An event whose members are a list with names and types.
    private mutating func readList(_ item: Node, name: String) {
        var schemas = Schemas(version: version(item), description: item["description"]?.text?.value)
        let section = item["identitySection"]?.text?.value ?? "properties"
        guard ["", "properties", "traits"].contains(section) else {
            notes.append("\(name): the members of \(section) are not carried over")
            add(schemas, to: name)
            return
        }
        var members: [(name: String, json: String)] = []
        var required: [String] = []
        for member in item["properties"]?.items ?? [] {
            guard let key = member["name"]?.text?.value else {
                notes.append("\(name): a member without a name is left out")
                continue
            }
            if case .bool(true) = member["required"]?.value { required.append(JSONText.quoted(key)) }
            members.append((key, convert(Self.withoutName(member), of: member, at: "\(name): \(section).\(key)")))
        }
        var schema: [(name: String, json: String)] = [("type", "\"object\"")]
        if !required.isEmpty { schema.append(("required", JSONText.list(required))) }
        if !members.isEmpty { schema.append(("properties", JSONText.object(members))) }
        if case .bool(false) = item["additionalProperties"]?.value { schema.append(("additionalProperties", "false")) }
        schemas.members = [(section.isEmpty ? "properties" : section, JSONText.object(schema))]
        add(schemas, to: name)
    }

    private static func withoutName(_ member: Node) -> Node {
        var schema = member
        let own: Set<String> = ["name", "id", "required", "createdAt", "updatedAt", "workspaceId"]
        schema.value = .object((member.entries ?? []).filter { !own.contains($0.key.name) })
        return schema
    }

    private func version(_ item: Node) -> String? {
        item["version"].map { $0.text?.value ?? JSONText.of($0, in: source) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private mutating func convert(_ node: Node, of root: Node, at place: String) -> String {
        var schema = SchemaImport(root, in: source)
        let json = schema.convert(node, at: place)
        notes += schema.notes
        return json
    }

    private mutating func add(_ schemas: Schemas, to name: String) {
        guard let index = events.firstIndex(where: { sameText($0.name, name) }) else { return events.append((name, [schemas])) }
        if events[index].schemas.contains(where: { $0.version == schemas.version }) {
            notes.append("\(name): it stands more than once, and only the first is carried over")
        } else {
            events[index].schemas.append(schemas)
        }
    }

    // MARK: - Output

    private var written: String {
        mutating get {
            var list: [(name: String, json: String)] = []
            for (name, schemas) in events {
                var members: [(name: String, json: String)] = []
                let newest = schemas[schemas.count - 1]
                if let text = newest.description, !text.isEmpty { members.append(("description", JSONText.quoted(text))) }
                if !newest.required.isEmpty { members.append(("require", JSONText.list(newest.required.map { JSONText.quoted($0) }))) }
                members += newest.members
                if schemas.count > 1 {
                    notes.append(
                        "\(name): the last version is also that of events without a version, and gives the description and require")
                    let versions = schemas.map { (name: $0.version ?? "none", json: JSONText.object($0.members)) }
                    members.append(("versions", JSONText.object(versions)))
                } else if let version = newest.version {
                    notes.append("\(name): it has one version, \(version), which is not carried over")
                }
                list.append((name, JSONText.object(members)))
            }
            return JSONText.object([("events", JSONText.object(list))])
        }
    }
}
