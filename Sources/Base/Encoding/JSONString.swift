// Writes the strings of JSON. The places that write JSON differ only in the escapes that they choose. Every choice is read back as the same
// text.

public enum JSONString {
    /// How characters are written that JSON does not allow in a string as they are.
    public enum Escapes: Sendable {
        /// `\u0009`: each control character by its number.
        case numeric
        /// `\n`, `\r` and `\t` by their letters, and other control characters by their numbers.
        case lines
        /// As `lines`, and the delete character by its number, so that a terminal does not interpret it.
        case visible
        /// `\b`, `\f`, `\n`, `\r` and `\t` by their letters, and other control characters by their numbers.
        case letters
    }

    /// Calls `put` with the bytes that represent one byte of UTF-8 between the quotes of a string.
    @inlinable
    public static func escape(_ byte: UInt8, as escapes: Escapes, _ put: (UInt8) -> Void) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            put(UInt8(ascii: "\\"))
            put(byte)
        case 0..<0x20:
            guard let letter = letter(of: byte, escapes) else { return number(byte, put) }
            put(UInt8(ascii: "\\"))
            put(letter)
        case 0x7f where escapes == .visible: number(byte, put)
        default: put(byte)
        }
    }

    /// Returns the text as a string with quotes.
    public static func quoted(_ text: String, as escapes: Escapes) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 { escape(byte, as: escapes) { bytes.append($0) } }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the letter of a control character, or nil if it is written by its number.
    @usableFromInline
    static func letter(of byte: UInt8, _ escapes: Escapes) -> UInt8? {
        if escapes == .numeric { return nil }
        switch byte {
        case 0x09: return UInt8(ascii: "t")
        case 0x0a: return UInt8(ascii: "n")
        case 0x0d: return UInt8(ascii: "r")
        case 0x08 where escapes == .letters: return UInt8(ascii: "b")
        case 0x0c where escapes == .letters: return UInt8(ascii: "f")
        default: return nil
        }
    }

    /// Writes an ASCII character as `\u` and its number in four digits.
    @usableFromInline
    static func number(_ byte: UInt8, _ put: (UInt8) -> Void) {
        put(UInt8(ascii: "\\"))
        put(UInt8(ascii: "u"))
        put(UInt8(ascii: "0"))
        put(UInt8(ascii: "0"))
        put(lowerHexDigit(byte >> 4))
        put(lowerHexDigit(byte))
    }
}

/// Returns the lower four bits of a number as a hexadecimal digit.
@inlinable
public func lowerHexDigit(_ number: UInt8) -> UInt8 {
    let low = number & 15
    return low < 10 ? 0x30 + low : 0x57 + low
}
