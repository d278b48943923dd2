// Writes text as it is written between the quotes of a JSON string.

internal import Events

public enum JSONText {
    public static func body(_ text: String) -> [UInt8] {
        var body: [UInt8] = []
        for byte in text.utf8 { escape(byte) { body.append($0) } }
        return body
    }

    /// Calls `put` with the bytes that represent one byte of UTF-8.
    public static func escape(_ byte: UInt8, _ put: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            put(UInt8(ascii: "\\"))
            put(byte)
        case 0..<0x20:
            for c in [UInt8(ascii: "\\"), UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")] { put(c) }
            put(0x30 + byte >> 4)
            put(hexDigits.utf8Start[Int(byte & 15)])
        default: put(byte)
        }
    }

    private static var hexDigits: StaticString { "0123456789abcdef" }
}
