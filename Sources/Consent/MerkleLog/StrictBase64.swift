// Reads base64 (RFC 4648, section 4) that was written in the one way that is allowed: with padding, and with zeros in the unused bits. Another
// spelling of the same bytes is refused, so that a changed character is always noticed.

internal import Encoding

public enum StrictBase64 {
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        Array(bytes).withUnsafeBufferPointer { Base64.encode($0) { text.append($0) } }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns nil if the text is not base64, or is spelled in another way.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        var word: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
                guard padding <= 2, digits % 4 >= 2 || padding == 2 else { return nil }
                word <<= 6
            } else {
                guard padding == 0, let value = value(character) else { return nil }
                word = word << 6 | UInt32(value)
            }
            digits += 1
            guard digits % 4 == 0 else { continue }
            let three = [UInt8(word >> 16 & 0xff), UInt8(word >> 8 & 0xff), UInt8(word & 0xff)]
            bytes += three.prefix(3 - padding)
            // The bits that belong to no byte.
            guard three.suffix(padding).allSatisfy({ $0 == 0 }) else { return nil }
            word = 0
        }
        return bytes
    }

    private static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
