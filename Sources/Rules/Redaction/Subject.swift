// The decoded text of one string, as the detectors look at it. Reading beside it gives NUL, which no detector takes for
// anything, so that none needs to ask for the ends.

internal import Events

struct Subject {
    let base: Bytes
    let count: Int

    @inline(__always) subscript(i: Int) -> UInt8 { UInt(bitPattern: i) < UInt(bitPattern: count) ? base[i] : 0 }

    @inline(__always) func isDigit(_ i: Int) -> Bool { Byte.isDigit(self[i]) }
    @inline(__always) func isAlphanumeric(_ i: Int) -> Bool { Byte.isAlphanumeric(self[i]) }

    /// Whether a digit and one of these marks stand before i: what begins there is the rest of something longer.
    @inline(__always) func isJoinedBefore(_ i: Int, by marks: (UInt8) -> Bool) -> Bool { i >= 2 && marks(base[i - 1]) && isDigit(i - 2) }

    /// Whether a find cannot end at i: a letter or digit follows, or one of these marks with a digit.
    @inline(__always) func goesOn(_ i: Int, by marks: (UInt8) -> Bool) -> Bool { isAlphanumeric(i) || marks(self[i]) && isDigit(i + 1) }

    /// The length of the letter beyond ASCII at i that UTF-8 writes in two bytes (Latin, Greek, Cyrillic, Hebrew, Arabic and
    /// their like, from U+00C0), 0 when there is none. Scripts that write words without spaces take three.
    @inline(__always) func wideLetter(_ i: Int) -> Int { (0xc3...0xdf).contains(self[i]) ? 2 : 0 }
}

/// Sorts of ASCII.
enum Byte {
    @inline(__always) static func isDigit(_ c: UInt8) -> Bool { c &- 0x30 < 10 }
    @inline(__always) static func isLetter(_ c: UInt8) -> Bool { (c | 0x20) &- 0x61 < 26 }
    @inline(__always) static func isAlphanumeric(_ c: UInt8) -> Bool { isDigit(c) || isLetter(c) }
    @inline(__always) static func isHex(_ c: UInt8) -> Bool { isDigit(c) || (c | 0x20) &- 0x61 < 6 }
    /// The letters of base64url.
    @inline(__always) static func isBase64(_ c: UInt8) -> Bool {
        isAlphanumeric(c) || c == UInt8(ascii: "-") || c == UInt8(ascii: "_")
    }
    @inline(__always) static func isHyphenOrDot(_ c: UInt8) -> Bool { c == UInt8(ascii: "-") || c == UInt8(ascii: ".") }
    @inline(__always) static func isDot(_ c: UInt8) -> Bool { c == UInt8(ascii: ".") }
}
