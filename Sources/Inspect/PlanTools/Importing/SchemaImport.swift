// Converts a JSON Schema of an older draft, as vendors' plans have them, to the draft 2020-12. References are replaced by what they refer to,
// since the schema moves to another place. What cannot be carried over is left out and noted.

internal import Document
internal import TrackingPlans

struct SchemaImport {
    private static let most = 20_000
    private static let kept: Set<String> = [
        "const", "title", "description", "format", "default", "examples", "minimum", "maximum", "multipleOf", "minLength", "maxLength",
        "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains", "dependentRequired",
        "private",
    ]
    private static let one: Set<String> = ["additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"]
    private static let named: Set<String> = ["properties", "patternProperties", "dependentSchemas"]
    /// What says nothing about a value, or is replaced.
    private static let silent: Set<String> = [
        "$schema", "$id", "id", "self", "definitions", "$defs", "$comment", "additionalItems", "labels",
    ]

    private let source: Source
    /// The schema that references lead into.
    private let root: Node
    private var open: [String] = []
    private var left = most
    private(set) var notes: [String] = []

    init(_ root: Node, in source: Source) {
        self.root = root
        self.source = source
    }

    private mutating func lose(_ what: String, at place: String) { notes.append("\(place): \(what) is not carried over") }

    mutating func convert(_ node: Node, at place: String) -> String {
        left -= 1
        guard left >= 0 else {
            if left == -1 { lose("a schema of more than \(Self.most) parts", at: place) }
            return "{}"
        }
        guard let entries = node.entries else {
            if case .bool(let value) = node.value { return "\(value)" }
            return "{}"
        }
        if let reference = node["$ref"]?.text?.value {
            guard !open.contains(reference), let target = find(reference) else {
                lose("the reference \(reference)", at: place)
                return "{}"
            }
            open.append(reference)
            defer { open.removeLast() }
            return convert(target, at: place)
        }
        var members: [(name: String, json: String)] = []
        for entry in entries { add(entry.key.name, entry.node, of: node, place, &members) }
        return JSONText.object(members)
    }

    private mutating func add(
        _ keyword: String, _ value: Node, of schema: Node, _ place: String, _ members: inout [(name: String, json: String)]
    ) {
        let text = JSONText.of(value, in: source)
        switch keyword {
        case "type":
            let types = value.text.map { [$0.value] } ?? value.items?.compactMap { $0.text?.value } ?? []
            let lawful = types.filter(SchemaShape.allTypes.contains)
            for type in types where !lawful.contains(type) && type != "any" { lose("the type \(type)", at: place) }
            if !lawful.isEmpty, lawful.count == types.count {
                members.append((keyword, lawful.count == 1 ? JSONText.quoted(lawful[0]) : JSONText.list(lawful.map(JSONText.quoted))))
            }
        case "enum": if value.items?.isEmpty == false { members.append((keyword, text)) }
        case "required": if value.items?.allSatisfy({ $0.text != nil }) == true { members.append((keyword, text)) }
        case "exclusiveMinimum", "exclusiveMaximum":
            // In the draft 4 it says that the limit itself is excluded.
            guard case .bool(let excludes) = value.value else { return members.append((keyword, text)) }
            let limit = keyword == "exclusiveMinimum" ? "minimum" : "maximum"
            if excludes, let limit = schema[limit] { members.append((keyword, JSONText.of(limit, in: source))) }
        case "pattern":
            if isPattern(text) { members.append((keyword, text)) } else { lose("the pattern \(text), which RE2 does not take,", at: place) }
        case "items":
            guard let list = value.items else { return members.append((keyword, convert(value, at: place + "[]"))) }
            members.append(("prefixItems", JSONText.list(list.map { convert($0, at: place + "[]") })))
            if let others = schema["additionalItems"] { members.append(("items", convert(others, at: place + "[]"))) }
        case "dependencies":
            let entries = value.entries ?? []
            let lists = entries.filter { $0.node.items != nil }.map { (name: $0.key.name, json: JSONText.of($0.node, in: source)) }
            let schemas = entries.filter { $0.node.items == nil }.map { (name: $0.key.name, json: convert($0.node, at: place)) }
            if !lists.isEmpty { members.append(("dependentRequired", JSONText.object(lists))) }
            if !schemas.isEmpty { members.append(("dependentSchemas", JSONText.object(schemas))) }
        case "allOf", "anyOf", "oneOf", "prefixItems":
            if let list = value.items, !list.isEmpty { members.append((keyword, JSONText.list(list.map { convert($0, at: place) }))) }
        case _ where Self.named.contains(keyword):
            var inner: [(name: String, json: String)] = []
            for entry in value.entries ?? [] {
                if keyword == "patternProperties", !isPattern(JSONText.quoted(entry.key.name)) {
                    lose("the pattern \(JSONText.quoted(entry.key.name)), which RE2 does not take,", at: place)
                } else {
                    inner.append((entry.key.name, convert(entry.node, at: "\(place).\(entry.key.name)")))
                }
            }
            members.append((keyword, JSONText.object(inner)))
        case _ where Self.one.contains(keyword): members.append((keyword, convert(value, at: place)))
        case _ where Self.kept.contains(keyword): members.append((keyword, text))
        case _ where Self.silent.contains(keyword): break
        default: lose("the keyword \(keyword)", at: place)
        }
    }

    private func isPattern(_ json: String) -> Bool {
        let plan = #"{"events":{"e":{"properties":{"pattern":\#(json)}}}}"#
        return (try? PlanFile.read(Array(plan.utf8)).get()) != nil
    }

    private func find(_ reference: String) -> Node? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(root as Node?) { node, key in node?[String(key)] }
    }
}
