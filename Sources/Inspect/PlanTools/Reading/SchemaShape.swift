// A JSON Schema in the form that people and type systems think in: types, choices, members, items, bounds. References in the same schema and
// `allOf` are resolved where that changes nothing. What does not fit the form is kept as text in `rest`, so that nothing is lost silently.

internal import Document

struct SchemaShape {
    struct Member {
        var name: String
        var shape: SchemaShape
    }

    enum Others {
        case open
        case closed
        /// Other members satisfy this schema. The list has one element.
        case shaped([SchemaShape])
    }

    struct Rule: Equatable {
        var keyword: String
        /// The value of the keyword as JSON.
        var json: String
        /// What else the rule depends on, as JSON. It is only compared.
        var context = ""
    }

    static let allTypes = ["string", "integer", "number", "boolean", "object", "array", "null"]

    /// The types that a value may have, or nil for all.
    var types: [String]?
    /// The values as JSON, if only some are allowed.
    var choices: [String]?
    var members: [Member] = []
    var required: [String] = []
    var others = Others.open
    /// The schema of the items. The list has one element at most.
    var items: [SchemaShape] = []
    /// Limits that a number, a text or a size obeys.
    var bounds: [Rule] = []
    /// The rules that the form has no place for.
    var rest: [Rule] = []
    var description: String?
    var format: String?
    var isPrivate = false
    /// True if no value is allowed.
    var isNever = false

    /// True if any value is allowed.
    var isAny: Bool {
        guard types == nil, choices == nil, members.isEmpty, required.isEmpty, items.isEmpty, bounds.isEmpty, rest.isEmpty else {
            return false
        }
        if case .open = others { return !isNever }
        return false
    }

    func member(_ name: String) -> SchemaShape? { members.first { sameText($0.name, name) }?.shape }
    func requires(_ name: String) -> Bool { required.contains { sameText($0, name) } }
}

/// Swift takes some strings for equal that are different keys of JSON.
func sameText(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

struct ShapeReader {
    /// The most schemas that are followed. References can multiply them.
    static let most = 50_000
    private static let limits: Set<String> = [
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems",
        "maxItems", "uniqueItems", "minProperties", "maxProperties",
    ]
    private static let annotations: Set<String> = [
        "title", "description", "format", "private", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema",
        "$defs", "definitions", "$id", "$anchor", "contentEncoding", "contentMediaType", "contentSchema",
    ]

    private let source: Source
    private var left = most
    private var root: Node?
    /// The references that are being followed.
    private var open: [String] = []

    init(_ source: Source) { self.source = source }

    /// Reads the schema of `properties` or `traits`. References lead to places in it.
    mutating func shape(root: Node) -> SchemaShape {
        self.root = root
        open = []
        return shape(root)
    }

    private mutating func shape(_ node: Node) -> SchemaShape {
        var shape = SchemaShape()
        left -= 1
        guard left >= 0 else {
            shape.rest = [rule("schema", node)]
            return shape
        }
        if case .bool(let allows) = node.value {
            shape.isNever = !allows
            return shape
        }
        for entry in node.entries ?? [] { read(entry.key.name, entry.node, in: node, into: &shape) }
        if let choices = shape.choices {
            let kinds = SchemaShape.allTypes.filter { type in choices.contains { ShapeReader.type(of: $0) == type } }
            shape.types = ShapeReader.common(kinds, shape.types)
        }
        for entry in node.entries ?? [] where entry.key.name == "allOf" || entry.key.name == "$ref" { combine(entry, into: &shape) }
        return shape
    }

    private mutating func read(_ keyword: String, _ node: Node, in schema: Node, into shape: inout SchemaShape) {
        switch keyword {
        case "type": shape.types = node.text.map { [$0.value] } ?? node.items?.compactMap { $0.text?.value }
        case "enum": shape.choices = choices(node.items ?? [], shape.choices)
        case "const": shape.choices = choices([node], shape.choices)
        case "properties":
            for entry in node.entries ?? [] {
                shape.members.append(SchemaShape.Member(name: entry.key.name, shape: self.shape(entry.node)))
            }
        case "required": shape.required = node.items?.compactMap { $0.text?.value } ?? []
        case "additionalProperties" where schema["patternProperties"] == nil:
            let others = self.shape(node)
            shape.others = others.isNever ? .closed : others.isAny ? .open : .shaped([others])
        case "items" where schema["prefixItems"] == nil: shape.items = [self.shape(node)]
        case "description": shape.description = node.text?.value
        case "format": shape.format = node.text?.value
        case "private": if case .bool(true) = node.value { shape.isPrivate = true }
        case "allOf", "$ref": break
        case _ where ShapeReader.limits.contains(keyword): shape.bounds.append(rule(keyword, node))
        case _ where ShapeReader.annotations.contains(keyword): break
        default: shape.rest.append(rule(keyword, node))
        }
    }

    private func choices(_ nodes: [Node], _ others: [String]?) -> [String] {
        let own = nodes.map { node in node.text.map { JSONText.quoted($0.value) } ?? JSONText.of(node, in: source) }
        guard let others else { return own }
        return own.filter { choice in others.contains { sameText($0, choice) } }
    }

    private func rule(_ keyword: String, _ node: Node) -> SchemaShape.Rule {
        let json = JSONText.of(node, in: source)
        // What a reference in it means can change at another place.
        let context = hasReference(node) ? root.map { JSONText.of($0, in: source) } ?? "" : ""
        return SchemaShape.Rule(keyword: keyword, json: json, context: context)
    }

    // MARK: - allOf and $ref

    private mutating func combine(_ entry: Node.Entry, into shape: inout SchemaShape) {
        guard entry.key.name == "$ref" else {
            for node in entry.node.items ?? [] {
                let part = self.shape(node)
                if !ShapeReader.merge(part, into: &shape) { shape.rest.append(rule("allOf", node)) }
            }
            return
        }
        guard let reference = entry.node.text?.value, !open.contains(reference), let target = find(reference) else {
            shape.rest.append(rule("$ref", entry.node))
            return
        }
        open.append(reference)
        let part = self.shape(target)
        open.removeLast()
        if !ShapeReader.merge(part, into: &shape) { shape.rest.append(rule("$ref", entry.node)) }
    }

    private func hasReference(_ node: Node) -> Bool {
        (node.items ?? []).contains(where: hasReference)
            || (node.entries ?? []).contains { ["$ref", "$dynamicRef"].contains($0.key.name) || hasReference($0.node) }
    }

    private static func unescaped(_ token: Substring) -> String {
        var text = ""
        var isAfterTilde = false
        for scalar in token.unicodeScalars {
            if isAfterTilde {
                text += scalar == "1" ? "/" : "~"
                isAfterTilde = false
            } else if scalar == "~" {
                isAfterTilde = true
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Returns the schema at a JSON Pointer of the root.
    private func find(_ reference: String) -> Node? {
        guard reference.hasPrefix("#"), var node = root else { return nil }
        for token in reference.dropFirst().split(separator: "/") {
            let key = ShapeReader.unescaped(token)
            guard let next = node.items.flatMap({ items in Int(key).flatMap { items.indices.contains($0) ? items[$0] : nil } }) ?? node[key]
            else { return nil }
            node = next
        }
        return node
    }

    /// Adds the demands of a part. Returns false and changes nothing if the form cannot express both together.
    private static func merge(_ part: SchemaShape, into shape: inout SchemaShape) -> Bool {
        func isOpen(_ shape: SchemaShape) -> Bool { if case .open = shape.others { true } else { false } }
        // The rule for other members looks only at the members of its own schema.
        guard isOpen(part) || shape.members.isEmpty && isOpen(shape), isOpen(shape) || part.members.isEmpty && isOpen(part) else {
            return false
        }
        guard part.items.isEmpty || shape.items.isEmpty, !part.members.contains(where: { shape.member($0.name) != nil }),
            !part.bounds.contains(where: { bound in shape.bounds.contains { $0.keyword == bound.keyword } })
        else { return false }
        shape.types = shape.types.map { common($0, part.types) } ?? part.types
        if let choices = part.choices { shape.choices = shape.choices.map { own in own.filter(choices.contains) } ?? choices }
        shape.members += part.members
        shape.required += part.required.filter { !shape.requires($0) }
        if !isOpen(part) { shape.others = part.others }
        shape.items += part.items
        shape.bounds += part.bounds
        shape.rest += part.rest
        shape.description = shape.description ?? part.description
        shape.format = shape.format ?? part.format
        shape.isPrivate = shape.isPrivate || part.isPrivate
        shape.isNever = shape.isNever || part.isNever
        return true
    }

    /// Returns the types that both lists allow.
    private static func common(_ types: [String], _ others: [String]?) -> [String] {
        guard let others else { return types }
        let own = types.contains("number") && others.contains("integer") && !types.contains("integer") ? types + ["integer"] : types
        return own.filter { others.contains($0) || $0 == "integer" && others.contains("number") }
    }

    static func type(of json: String) -> String {
        switch json.utf8.first {
        case UInt8(ascii: "\""): "string"
        case UInt8(ascii: "{"): "object"
        case UInt8(ascii: "["): "array"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "boolean"
        case UInt8(ascii: "n"): "null"
        default: json.utf8.contains { ".eE".utf8.contains($0) } ? "number" : "integer"
        }
    }
}
