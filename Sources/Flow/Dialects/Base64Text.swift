// Reads base64 in a string of JSON, as the JSON of protocol buffers allows it: the standard alphabet or the one for URLs, with or without
// padding.

internal import Events

enum Base64Text {
    /// Appends the decoded bytes of a string, which is given with its quotes. Returns false if it is not base64. Then what was appended is of no
    /// use.
    static func decode(_ text: Bytes, _ string: Range<Int>, into out: inout ByteBuffer) -> Bool {
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for i in string.lowerBound + 1..<string.upperBound - 1 {
            // JSON may write a slash with a backslash before it. No other escape stands for a digit.
            if text[i] == UInt8(ascii: "\\"), text[i + 1] == UInt8(ascii: "/") { continue }
            if text[i] == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: text[i]) else { return false }
            bits = bits << 6 | UInt32(value)
            digits += 1
            if digits % 4 != 1 { out.append(UInt8(truncatingIfNeeded: bits >> UInt32(6 - 2 * ((digits - 1) % 4)))) }
        }
        return digits % 4 != 1 && (padding == 0 || (digits + padding) % 4 == 0 && padding <= 2)
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
