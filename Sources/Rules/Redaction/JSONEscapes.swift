// Decodes the escapes of JSON in a string.

internal import Events

enum JSONEscapes {
    /// Decodes the body of a valid string. A lone surrogate is not a character and becomes U+FFFD.
    static func decode(_ block: Bytes, start: Int, end: Int, into decoded: inout DecodedText) {
        decoded.begin(most: end - start)
        var i = start
        while i < end {
            let at = i
            if block[i] != UInt8(ascii: "\\") {
                decoded.put(block[i], at: at)
                i += 1
            } else if block[i + 1] == UInt8(ascii: "u") {
                put(code(block, i: &i, end: end), at: at, into: &decoded)
            } else {
                decoded.put(plain(block[i + 1]), at: at)
                i += 2
            }
        }
        decoded.end(at: end)
        assert(i == end, "an escape goes beyond the end of its string")
    }

    private static func put(_ code: UInt32, at place: Int, into decoded: inout DecodedText) {
        guard let encoded = UTF8.encode(Unicode.Scalar(code) ?? "\u{fffd}") else { return }
        for byte in encoded { decoded.put(byte, at: place) }
    }

    /// Returns the character of the `\u` escape at i and moves i past it. A pair of surrogates is one character.
    private static func code(_ block: Bytes, i: inout Int, end: Int) -> UInt32 {
        let first = hex(block + i + 2)
        i += 6
        let isHalf = first & 0xfc00 == 0xd800
        guard isHalf, i + 6 <= end, block[i] == UInt8(ascii: "\\"), block[i + 1] == UInt8(ascii: "u") else { return first }
        let second = hex(block + i + 2)
        guard second & 0xfc00 == 0xdc00 else { return first }
        i += 6
        return 0x10000 + (first & 0x3ff) << 10 + (second & 0x3ff)
    }

    private static func hex(_ p: Bytes) -> UInt32 {
        var value: UInt32 = 0
        for i in 0..<4 { value = value << 4 | UInt32(Byte.isDigit(p[i]) ? p[i] - 0x30 : (p[i] | 0x20) - 0x57) }
        return value
    }

    private static func plain(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }
}
