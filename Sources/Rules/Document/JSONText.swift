// Writes JSON without spaces between its tokens.

public enum JSONText {
    public static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case 0..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

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
