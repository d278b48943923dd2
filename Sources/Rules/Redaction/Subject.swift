// The decoded text of one string, as the detectors read it. A read outside the text gives NUL, which no detector accepts. So no detector
// has to check the bounds.

internal import Events

struct Subject {
    let base: Bytes
    let count: Int

    @inline(__always) subscript(i: Int) -> UInt8 { UInt(bitPattern: i) < UInt(bitPattern: count) ? base[i] : 0 }

    @inline(__always) func isDigit(_ i: Int) -> Bool { Byte.isDigit(self[i]) }
    @inline(__always) func isAlphanumeric(_ i: Int) -> Bool { Byte.isAlphanumeric(self[i]) }

    /// Returns true if a digit and one of these marks precede i. Then i is inside something longer.
    @inline(__always) func isJoinedBefore(_ i: Int, by marks: (UInt8) -> Bool) -> Bool { i >= 2 && marks(base[i - 1]) && isDigit(i - 2) }

    /// Returns true if a find cannot end at i, because a letter or digit follows, or one of these marks with a digit.
    @inline(__always) func goesOn(_ i: Int, by marks: (UInt8) -> Bool) -> Bool { isAlphanumeric(i) || marks(self[i]) && isDigit(i + 1) }

    /// Returns 2 if a letter of two bytes in UTF-8 begins at i, otherwise 0. Such letters are Latin, Greek, Cyrillic, Hebrew, Arabic and
    /// similar ones, from U+00C0. Scripts that write words without spaces need three bytes.
    @inline(__always) func wideLetter(_ i: Int) -> Int { (0xc3...0xdf).contains(self[i]) ? 2 : 0 }
}

/// Classes of ASCII characters.
enum Byte {
    @inline(__always) static func isDigit(_ c: UInt8) -> Bool { c &- 0x30 < 10 }
    @inline(__always) static func isLetter(_ c: UInt8) -> Bool { (c | 0x20) &- 0x61 < 26 }
    @inline(__always) static func isAlphanumeric(_ c: UInt8) -> Bool { isDigit(c) || isLetter(c) }
    @inline(__always) static func isHex(_ c: UInt8) -> Bool { isDigit(c) || (c | 0x20) &- 0x61 < 6 }
    /// Returns true for the characters of base64url.
    @inline(__always) static func isBase64(_ c: UInt8) -> Bool {
        isAlphanumeric(c) || c == UInt8(ascii: "-") || c == UInt8(ascii: "_")
    }
    @inline(__always) static func isHyphenOrDot(_ c: UInt8) -> Bool { c == UInt8(ascii: "-") || c == UInt8(ascii: ".") }
    @inline(__always) static func isSpace(_ c: UInt8) -> Bool { c == UInt8(ascii: " ") }
    @inline(__always) static func isDot(_ c: UInt8) -> Bool { c == UInt8(ascii: ".") }
}
