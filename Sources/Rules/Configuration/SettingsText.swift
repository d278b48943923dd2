// What `check` shows of a provider's own settings: each setting with its value as the file writes it, or with the module's default. It never
// shows a secret: neither the value of a setting that is one, nor the user and the query values of a URL. A placeholder is shown unresolved.

internal import Document
internal import Plans

enum SettingsText {
    /// Returns the settings in the order in which the module lists them.
    static func rows(of node: Node, _ rules: SettingsSchema.ObjectRules) -> [ProviderPlan.Setting] {
        members(of: node, rules).flatMap { rows($0.name, $0.node, $0.schema) }
    }

    private static func members(of node: Node, _ rules: SettingsSchema.ObjectRules)
        -> [(name: String, node: Node?, schema: SettingsSchema)]
    {
        let listed = rules.members.map { (name: $0.name, node: node[$0.name], schema: $0.schema) }
        guard let schema = rules.others else { return listed }
        let others = (node.entries ?? []).filter { entry in !rules.members.contains { $0.name == entry.key.name } }
        return listed + others.map { (name: $0.key.name, node: $0.node, schema: schema) }
    }

    /// Returns the rows of one setting. A node that is nil is left out in the file.
    private static func rows(_ name: String, _ node: Node?, _ schema: SettingsSchema) -> [ProviderPlan.Setting] {
        guard let node else { return fallback(of: schema).map { [ProviderPlan.Setting(name: name, text: $0)] } ?? [] }
        switch schema {
        case .object(let rules): return members(of: node, rules).flatMap { rows("\(name).\($0.name)", $0.node, $0.schema) }
        case .either(let choices, _): return choices.first { $0.takes(node) }.map { rows(name, node, $0) } ?? []
        case .list(.object(let rules), _):
            return (node.items ?? []).enumerated().flatMap { rows("\(name)[\($0)]", $1, .object(rules)) }
        case .list(let item, _):
            let items = (node.items ?? []).map { text(of: $0, isSecret: item.isSecret) }
            return [ProviderPlan.Setting(name: name, text: items.isEmpty ? "none" : items.joined(separator: ", "))]
        case .string, .number, .boolean: return [ProviderPlan.Setting(name: name, text: text(of: node, isSecret: schema.isSecret))]
        }
    }

    private static func text(of node: Node, isSecret: Bool) -> String {
        switch node.value {
        case .text(let text): isSecret ? HiddenTexts.mask : withoutCredentials(text.written)
        case .number(let text): text
        case .bool(let value): value ? "true" : "false"
        case .null, .list, .object: node.kind
        }
    }

    private static func fallback(of schema: SettingsSchema) -> String? {
        switch schema {
        case .string(let rules): rules.fallback
        case .number(let rules): rules.fallback.map { value in Int(exactly: value).map { "\($0)" } ?? "\(value)" }
        case .boolean(let rules): rules.fallback.map { $0 ? "true" : "false" }
        case .list, .object: nil
        case .either(let choices, _): choices.lazy.compactMap(fallback).first
        }
    }

    /// Returns a URL with "(secret)" for its user and for the values of its query, and any other text as it is.
    static func withoutCredentials(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard let scheme = bytes.indices.dropLast(2).first(where: { bytes[$0...].starts(with: "://".utf8) }) else { return text }
        let start = scheme + 3
        let authorityEnd = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        var result = bytes[..<start]
        if let at = bytes[start..<authorityEnd].lastIndex(of: UInt8(ascii: "@")) {
            result += Array(HiddenTexts.mask.utf8) + bytes[at..<authorityEnd]
        } else {
            result += bytes[start..<authorityEnd]
        }
        let query = bytes[authorityEnd...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        result += bytes[authorityEnd..<query]
        guard query < bytes.endIndex else { return String(decoding: result, as: UTF8.self) }
        let fragment = bytes[query...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        let pairs = bytes[(query + 1)..<fragment].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            let value = pair.dropFirst(name.count + 1)
            return value.isEmpty || value.starts(with: "${".utf8) ? Array(pair) : Array(name) + Array("=\(HiddenTexts.mask)".utf8)
        }
        result += Array("?".utf8) + Array(pairs.joined(separator: "&".utf8)) + bytes[fragment...]
        return String(decoding: result, as: UTF8.self)
    }
}

extension SettingsSchema {
    fileprivate var isSecret: Bool { if case .string(let rules) = self { rules.isSecret } else { false } }
}
