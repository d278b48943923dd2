// Writes text as it is written between the quotes of a JSON string. Replacements write every control character by its number.

internal import Encoding

public enum JSONText {
    public static func body(_ text: String) -> [UInt8] {
        var body: [UInt8] = []
        for byte in text.utf8 { escape(byte) { body.append($0) } }
        return body
    }

    /// Calls `put` with the bytes that represent one byte of UTF-8.
    public static func escape(_ byte: UInt8, _ put: (UInt8) -> Void) { JSONString.escape(byte, as: .numeric, put) }
}
