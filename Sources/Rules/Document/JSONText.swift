// Writes JSON without spaces between its tokens.

internal import Encoding

public enum JSONText {
    public static func quoted(_ text: String) -> String { JSONString.quoted(text, as: .lines) }

    public static func object(_ members: [(name: String, json: String)]) -> String {
        "{" + members.map { quoted($0.name) + ":" + $0.json }.joined(separator: ",") + "}"
    }

    public static func list(_ items: [String]) -> String { "[" + items.joined(separator: ",") + "]" }

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
