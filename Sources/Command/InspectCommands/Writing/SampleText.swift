// Makes a text that a simple regular expression accepts: one of characters, classes such as [a-z0-9], and + or * or ? behind them.

enum SampleText {
    /// Returns nil if the expression has anything else.
    static func of(_ pattern: String) -> String? {
        var text: [UInt8] = []
        var rest = Array(pattern.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "*"), UInt8(ascii: "?"):
                // One of what stands before it is right for each of them.
                if text.isEmpty { return nil }
            case UInt8(ascii: "["):
                guard let end = rest.firstIndex(of: UInt8(ascii: "]")), let first = rest.first, first != UInt8(ascii: "^"), first > 0x2f
                else { return nil }
                text.append(first)
                rest = rest[(end + 1)...]
            case UInt8(ascii: "\\"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "|"),
                UInt8(ascii: "."),
                UInt8(ascii: "^"), UInt8(ascii: "$"), UInt8(ascii: "]"):
                return nil
            default: text.append(byte)
            }
        }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}
