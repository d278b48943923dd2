// Rules about secrets that stand in the file, where everybody reads them who reads the file. The finding never shows one.

internal import Document
internal import Plans

extension Linter {
    private static let fix = "write ${env:NAME} or ${file:PATH} in its place"

    mutating func checkSecrets() {
        for entry in root["keys"]?.entries ?? [] { checkSecret(entry.node, "the key \(entry.key.name)") }
        for source in root["sources"]?.entries ?? [] {
            for key in source.node["keys"]?.entries ?? [] {
                let secret = key.node["secret"]
                for node in secret?.items ?? [secret].compactMap({ $0 }) { checkSecret(node, "the key \(key.key.name)") }
            }
        }
        for entry in root["providers"]?.entries ?? [] {
            guard let module = modules[entry.node["plugin"]?.text?.value ?? ""] else { continue }
            for setting in entry.node.entries ?? [] {
                let schema = module.settings.members.first { $0.name == setting.key.name }?.schema ?? module.settings.others
                if let schema { check(setting.node, schema, setting.key.name, isListed: true) }
            }
        }
    }

    private mutating func checkSecret(_ node: Node, _ what: String) {
        guard let text = node.text, !text.isTainted, !text.value.isEmpty else { return }
        report(.plainSecret, node, "\(what) stands in the file", fix: Linter.fix)
    }

    /// `isListed` is true if the module names the setting itself. The values of a table such as `headers` are secret only by their names.
    private mutating func check(_ node: Node, _ schema: SettingsSchema, _ name: String, isListed: Bool) {
        switch schema {
        case .string(let rules):
            guard let text = node.text, !text.isTainted else { return }
            if rules.isSecret, isListed || Linter.isSensitive(name) {
                checkSecret(node, "the secret \(name)")
            } else if Linter.hasPassword(text.value) {
                report(.plainSecret, node, "the address holds a password", fix: Linter.fix)
            }
        case .list(let item, _): for child in node.items ?? [] { check(child, item, name, isListed: isListed) }
        case .object(let rules):
            for entry in node.entries ?? [] {
                let listed = rules.members.first { $0.name == entry.key.name }
                if let schema = listed?.schema ?? rules.others { check(entry.node, schema, entry.key.name, isListed: listed != nil) }
            }
        case .either(let choices, _):
            for choice in choices {
                switch (choice, node.value) {
                case (.string, .text), (.object, .object), (.list, .list): check(node, choice, name, isListed: isListed)
                default: continue
                }
            }
        case .number, .boolean: break
        }
    }

    private static let sensitive = ["authorization", "cookie", "password", "secret", "token", "key", "credential"]

    private static func isSensitive(_ name: String) -> Bool {
        let name = Array(name.lowercased().utf8)
        return sensitive.contains { word in
            let word = Array(word.utf8)
            return name.indices.contains { name[$0...].starts(with: word) }
        }
    }

    /// Returns true for a URL with a user and a password.
    private static func hasPassword(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let scheme = bytes.indices.dropLast(2).first(where: { bytes[$0...].starts(with: "://".utf8) }) else { return false }
        let authority = bytes[(scheme + 3)...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return false }
        return authority[..<at].contains(UInt8(ascii: ":"))
    }
}
