// Writes JSON without spaces between its tokens.

internal import Encoding

public enum JSONText {
    public static func quoted(_ text: String) -> String { JSONString.quoted(text, as: .lines) }

    public static func object(_ members: [(name: String, json: String)]) -> String {
        "{" + members.map { quoted($0.name) + ":" + $0.json }.joined(separator: ",") + "}"
    }

    public static func list(_ items: [String]) -> String { "[" + items.joined(separator: ",") + "]" }

    /// Returns the JSON text, or a part of one, with `change` applied to what stands between the quotes of each string. It has no spaces
    /// between its tokens.
    public static func changing(_ json: String, _ change: (String) -> String) -> String {
        var text = ""
        var lexer = Lexer(Array(json.utf8))
        while let token = lexer.next() {
            let word = String(decoding: lexer.bytes[token.range], as: UTF8.self)
            text += token.kind == .string ? "\"\(change(String(word.dropFirst().dropLast())))\"" : word
        }
        return text
    }

    /// Returns the node as the file writes it, without spaces around its tokens and with its placeholders resolved.
    public static func of(_ node: Node, in source: Source) -> String {
        switch node.value {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .text(let text): text.isVerbatim ? source.text(node.range) : quoted(text.value)
        case .list(let items): list(items.map { of($0, in: source) })
        case .object(let entries):
            "{" + entries.map { source.text($0.key.range) + ":" + of($0.node, in: source) }.joined(separator: ",") + "}"
        }
    }
}
