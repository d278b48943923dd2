// Checks a provider's own settings against the schema in its module's description. It writes them as the module gets them: one JSON object
// with defaults filled in, sizes in bytes, and times in milliseconds. An expression is compiled, so that a fault in it has its place in the
// file; the module compiles it again.

internal import Document
internal import Expressions
internal import FormReading
internal import Plans

struct SettingsCheck {
    var reading: Reading
    /// The names of the constants that the expressions of the module can use.
    var constants: [String] = []

    /// Returns the value as JSON. Returns nil if the value is invalid; then the reading has the fault.
    func value(_ node: Node, _ schema: SettingsSchema) -> String? {
        switch schema {
        case .string(let rules): string(node, rules)
        case .number(let rules): number(node, rules)
        case .boolean: Forms.boolean.read(node, reading).map { $0 ? "true" : "false" }
        case .list(let item, _): list(node, of: item)
        case .object(let rules): object(node, rules)
        case .either(let choices, _): either(node, choices)
        }
    }

    /// Checks the value by the alternative of its type.
    private func either(_ node: Node, _ choices: [SettingsSchema]) -> String? {
        if let choice = choices.first(where: { $0.takes(node) }) { return value(node, choice) }
        reading.refuseType(node, Words.either(choices.flatMap(\.words)))
        return nil
    }

    private func expression(_ node: Node, _ rules: SettingsSchema.StringRules) -> String? {
        var environment = Environment.event
        if let names = rules.names {
            environment.variables = .declared(Dictionary(names.map { ($0.name, $0.type.type) }) { first, _ in first })
        }
        environment.constants = constants
        let isCondition = rules.format == .condition
        return ExpressionForms.read(node, reading, in: environment, isCondition: isCondition).map { JSONText.quoted($0.text) }
    }

    private func string(_ node: Node, _ rules: SettingsSchema.StringRules) -> String? {
        switch rules.format {
        case .size: return reading.quantity(.size, node).map { "\($0)" }
        case .duration: return reading.quantity(.time, node).map { "\($0)" }
        case .expression, .condition: return expression(node, rules)
        case .plain: break
        }
        if !rules.oneOf.isEmpty {
            if let text = node.text, rules.oneOf.contains(text.value) { return JSONText.quoted(text.value) }
            reading.refuseChoice(node, rules.oneOf)
            return nil
        }
        guard let text = Forms.string.read(node, reading) else { return nil }
        if let pattern = rules.pattern, !Pattern.matches(pattern, text.value) {
            reading.refuse(node, "text that matches \(pattern)")
            return nil
        }
        return JSONText.quoted(text.value)
    }

    private func number(_ node: Node, _ rules: SettingsSchema.NumberRules) -> String? {
        guard case .number(let text) = node.value, let value = Double(text), value.isFinite, !rules.integer || Int(text) != nil else {
            reading.refuseType(node, SettingsCheck.kind(of: node, rules))
            return nil
        }
        guard value >= rules.minimum ?? -.infinity, value <= rules.maximum ?? .infinity else {
            let least = rules.minimum.map(SettingsCheck.number)
            let most = rules.maximum.map(SettingsCheck.number)
            reading.refuse(node, least.map { Forms.bounds($0, most) } ?? "at most \(most ?? "")")
            return nil
        }
        return text
    }

    private func list(_ node: Node, of item: SettingsSchema) -> String? {
        guard let items = node.items else {
            reading.refuseType(node, "a list")
            return nil
        }
        let values = items.compactMap { value($0, item) }
        return values.count == items.count ? JSONText.list(values) : nil
    }

    /// Returns the object as JSON, or nil if it is invalid. `others` are keys that are known here but do not belong to the module.
    func object(_ node: Node, _ rules: SettingsSchema.ObjectRules, alsoKnown others: [String] = []) -> String? {
        guard let entries = node.entries else {
            reading.refuseType(node, "an object")
            return nil
        }
        if rules.others == nil { reading.refuseUnknownKeys(of: node, known: others + rules.members.map(\.name)) }
        var members: [(name: String, json: String)] = []
        var isWhole = true
        for (name, schema, required) in rules.members {
            if let child = node[name] {
                if let json = value(child, schema) { members.append((name, json)) } else { isWhole = false }
            } else if let json = SettingsCheck.fallback(of: schema) {
                members.append((name, json))
            } else if required {
                reading.lacks(name, schema.about, in: node)
                isWhole = false
            }
        }
        for entry in entries where !rules.members.contains(where: { $0.name == entry.key.name }) {
            if let schema = rules.others, let json = value(entry.node, schema) {
                members.append((entry.key.name, json))
            } else {
                isWhole = false
            }
        }
        return isWhole ? JSONText.object(members) : nil
    }

    /// Returns the default as the module gets it. Returns nil if there is none.
    private static func fallback(of schema: SettingsSchema) -> String? {
        switch schema {
        case .string(let rules):
            guard let text = rules.fallback else { return nil }
            return switch rules.format {
            case .plain, .expression, .condition: JSONText.quoted(text)
            case .size: (try? Quantity.size.parse(text)).map { "\($0)" }
            case .duration: (try? Quantity.time.parse(text)).map { "\($0)" }
            }
        case .number(let rules): return rules.fallback.map(number)
        case .boolean(let rules): return rules.fallback.map { $0 ? "true" : "false" }
        case .list, .object: return nil
        case .either(let choices, _): return choices.lazy.compactMap(fallback).first
        }
    }

    /// Returns what the value must be. For a number that is too large the text says why it is refused.
    private static func kind(of node: Node, _ rules: SettingsSchema.NumberRules) -> String {
        let must = rules.integer ? "a whole number" : "a number"
        guard case .number(let text) = node.value else { return must }
        let isWhole = text.utf8.allSatisfy { Lexer.isDigit($0) || $0 == UInt8(ascii: "-") }
        return rules.integer && !isWhole ? must : must + " that fits in 64 bits"
    }

    private static func number(_ value: Double) -> String {
        Int(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}

extension SettingsSchema {
    /// Returns true if the value has the type in JSON that the schema describes.
    func takes(_ node: Node) -> Bool {
        switch (self, node.value) {
        case (.string, .text), (.number, .number), (.boolean, .bool), (.list, .list), (.object, .object): true
        default: false
        }
    }

    /// What the value must be, as messages list it.
    fileprivate var words: [String] {
        switch self {
        case .string(let rules): rules.oneOf.isEmpty ? ["a string"] : rules.oneOf.map { "\"\($0)\"" }
        case .number: ["a number"]
        case .boolean: ["true or false"]
        case .list: ["a list"]
        case .object: ["an object"]
        case .either(let choices, _): choices.flatMap(\.words)
        }
    }
}

extension SettingsSchema.StringRules.VariableType {
    /// The type in CEL.
    fileprivate var type: Expressions.`Type` {
        switch self {
        case .any: .dyn
        case .integer: .int
        case .text: .string
        case .texts: .map(.string, .string)
        case .opaque: .opaque("placeholder", [])
        }
    }
}
