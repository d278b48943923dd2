// Writes JSON texts: strings from bytes that may be ill-formed UTF-8, numbers, base64 and hexadecimal digits.

internal import Encoding
internal import Events

enum JSONText {
    /// Appends the bytes as a string. Ill-formed UTF-8 becomes U+FFFD.
    static func string(_ text: Bytes, _ count: Int, into out: inout ByteBuffer) {
        out.append(UInt8(ascii: "\""))
        out.reserve(count + 1)
        var i = 0
        var plain = 0
        while i < count {
            let c = text[i]
            if c >= 0x20, c < 0x80, c != UInt8(ascii: "\""), c != UInt8(ascii: "\\") {
                i &+= 1
                continue
            }
            var length = 1
            if c >= 0x80 {
                let sequence = sequence(text, i: i, end: count)
                assert(sequence.length >= 1 && i + sequence.length <= count, "a character ends after its text")
                if sequence.isValid {
                    i += sequence.length
                    continue
                }
                length = sequence.length
            }
            out.append(text + plain, i - plain)
            if c >= 0x80 { replacement(into: &out) } else { escape(c, into: &out) }
            i += length
            plain = i
        }
        out.append(text + plain, i - plain)
        out.append(UInt8(ascii: "\""))
    }

    static func string(_ text: String, into out: inout ByteBuffer) {
        var text = text
        text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return out.append("\"\"") }
            string(start, bytes.count, into: &out)
        }
    }

    /// Appends the escape of a quote, a backslash or a control character.
    static func escape(_ c: UInt8, into out: inout ByteBuffer) { JSONString.escape(c, as: .letters) { out.append($0) } }

    static func replacement(into out: inout ByteBuffer) { out.append("\u{fffd}") }

    static func hex(_ byte: UInt8, into out: inout ByteBuffer) {
        out.append(lowerHexDigit(byte >> 4))
        out.append(lowerHexDigit(byte))
    }

    static func integer(_ value: some FixedWidthInteger, into out: inout ByteBuffer) { out.append(String(value)) }

    /// Appends a number that is read back as the same double. Values that JSON cannot represent become strings.
    static func double(_ value: Double, into out: inout ByteBuffer) {
        if value.isNaN {
            out.append("\"NaN\"")
        } else if value.isInfinite {
            out.append(value < 0 ? "\"-Infinity\"" : "\"Infinity\"")
        } else {
            out.append(value.description)
        }
    }

    /// Appends bytes as the JSON of protocol buffers has them in an AnyValue, so that they are told from a string with the same characters.
    static func bytesValue(_ text: Bytes, _ count: Int, into out: inout ByteBuffer) {
        out.append("{\"bytesValue\":")
        base64(text, count, into: &out)
        out.append("}")
    }

    static func base64(_ text: Bytes, _ count: Int, into out: inout ByteBuffer) {
        out.append(UInt8(ascii: "\""))
        Base64.encode(UnsafeBufferPointer(start: text, count: count)) { out.append($0) }
        out.append(UInt8(ascii: "\""))
    }

    /// Returns the length of the UTF-8 sequence at i (table 3-7 of the Unicode standard). If it is ill-formed, the length is that of the
    /// bytes that one U+FFFD replaces.
    static func sequence(_ text: Bytes, i: Int, end: Int) -> (length: Int, isValid: Bool) {
        let lead = text[i]
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0xc2...0xdf: (second, length) = (0x80...0xbf, 2)
        case 0xe0: (second, length) = (0xa0...0xbf, 3)
        case 0xed: (second, length) = (0x80...0x9f, 3)
        case 0xe1...0xef: (second, length) = (0x80...0xbf, 3)
        case 0xf0: (second, length) = (0x90...0xbf, 4)
        case 0xf1...0xf3: (second, length) = (0x80...0xbf, 4)
        case 0xf4: (second, length) = (0x80...0x8f, 4)
        default: return (1, lead < 0x80)
        }
        var n = 1
        while n < length {
            guard i + n < end, (n == 1 ? second : 0x80...0xbf).contains(text[i + n]) else { return (n, false) }
            n += 1
        }
        return (length, true)
    }
}
