// Decodes the escapes of a URL in a text, such as `%2B49%2089`. An escape of a byte that is not a character of ASCII, nor half of a letter
// of two bytes in UTF-8, stays as it is.

internal import Events

enum PercentEscapes {
    static func areIn(_ text: Subject) -> Bool {
        for i in 0..<text.count where text.base[i] == UInt8(ascii: "%") && length(text, i) > 0 { return true }
        return false
    }

    /// Decodes a text. `place` gives the position in the event of each byte of the text, and of its end.
    static func decode(_ text: Subject, into decoded: inout DecodedText, place: (Int) -> Int) {
        decoded.begin(most: text.count)
        var i = 0
        while i < text.count {
            let length = text.base[i] == UInt8(ascii: "%") ? length(text, i) : 0
            decoded.put(length > 0 ? value(text, i) : text.base[i], at: place(i))
            // Both bytes of one letter have the position at which it begins.
            if length == 6 { decoded.put(value(text, i + 3), at: place(i)) }
            i += max(1, length)
        }
        decoded.end(at: place(text.count))
    }

    /// Returns the length of the escape at i: 3 for a character of ASCII except NUL, 6 for a letter of two bytes, and 0 if there is none.
    private static func length(_ text: Subject, _ i: Int) -> Int {
        guard isEscape(text, i) else { return 0 }
        let first = value(text, i)
        if first < 0x80 { return first == 0 ? 0 : 3 }
        guard (0xc3...0xdf).contains(first), isEscape(text, i + 3), value(text, i + 3) & 0xc0 == 0x80 else { return 0 }
        return 6
    }

    private static func isEscape(_ text: Subject, _ i: Int) -> Bool {
        text[i] == UInt8(ascii: "%") && Byte.isHex(text[i + 1]) && Byte.isHex(text[i + 2])
    }

    private static func value(_ text: Subject, _ i: Int) -> UInt8 { nibble(text[i + 1]) << 4 | nibble(text[i + 2]) }

    private static func nibble(_ c: UInt8) -> UInt8 { Byte.isDigit(c) ? c - 0x30 : (c | 0x20) - 0x57 }
}
