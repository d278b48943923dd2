// Writes bytes in base64 (RFC 4648, section 4) with padding.

public enum Base64 {
    /// Calls `put` with the characters.
    @inlinable
    public static func encode(_ bytes: UnsafeBufferPointer<UInt8>, _ put: (UInt8) -> Void) {
        var at = 0
        while at < bytes.count {
            let left = bytes.count - at
            let word =
                UInt32(bytes[at]) << 16 | (left > 1 ? UInt32(bytes[at + 1]) << 8 : 0) | (left > 2 ? UInt32(bytes[at + 2]) : 0)
            put(character(word >> 18))
            put(character(word >> 12))
            put(left > 1 ? character(word >> 6) : UInt8(ascii: "="))
            put(left > 2 ? character(word) : UInt8(ascii: "="))
            at += 3
        }
    }

    /// Returns the character of the lower six bits.
    @usableFromInline
    static func character(_ word: UInt32) -> UInt8 {
        let six = UInt8(word & 63)
        switch six {
        case 0...25: return six + 0x41
        case 26...51: return six - 26 + 0x61
        case 52...61: return six - 52 + 0x30
        case 62: return UInt8(ascii: "+")
        default: return UInt8(ascii: "/")
        }
    }
}
