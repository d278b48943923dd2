// Repairs text that client libraries send as JSON, where their intention is beyond doubt. It receives only text that the scanner has
// refused.
//
// - NaN, Infinity and -Infinity become the strings "NaN", "Infinity" and "-Infinity", as in the JSON of protocol buffers. null would lose
//   the difference.
// - Control characters in strings are escaped, newlines included.
// - Ill-formed UTF-8 in strings becomes U+FFFD, one for each sequence that was begun.
// - Everything else is copied, including escapes of lone surrogates and of NUL, and numbers of any length. Other invalid JSON stays
//   invalid.

internal import Events

enum EventRepair {
    /// Appends the value [start, end) to `out` and repairs it, until `most` bytes have been appended. Returns the place in the text where
    /// it stopped.
    @discardableResult
    static func repair(_ text: Bytes, start: Int, end: Int, into out: inout ByteBuffer, until most: Int = .max) -> Int {
        let begin = out.count
        assert(start <= end, "a text ends before it begins")
        out.reserve(end - start)
        var i = start
        while i < end, out.count - begin < most {
            switch text[i] {
            case UInt8(ascii: "\""):
                out.append(text[i])
                i = mendString(text, start: i + 1, end: end, into: &out, until: most, from: begin)
            case UInt8(ascii: "\n"):
                out.append(UInt8(ascii: " "))
                i += 1
            case UInt8(ascii: "N"), UInt8(ascii: "I"), UInt8(ascii: "-"):
                if let word = nonNumber(text, i: i, end: end) {
                    out.append(UInt8(ascii: "\""))
                    out.append(text + i, word)
                    out.append(UInt8(ascii: "\""))
                    i += word
                } else {
                    out.append(text[i])
                    i += 1
                }
            default:
                out.append(text[i])
                i += 1
            }
        }
        return i
    }

    /// Returns the length of the NaN or infinity at i if it is at the place of a value, or nil otherwise.
    private static func nonNumber(_ text: Bytes, i: Int, end: Int) -> Int? {
        func isHere(_ word: StaticString) -> Bool {
            let n = word.utf8CodeUnitCount
            guard i + n <= end else { return false }
            for k in 0..<n where text[i + k] != word.utf8Start[k] { return false }
            let next = skipBlanks(text, start: i + n, limit: end)
            return next == end || text[next] == UInt8(ascii: ",") || text[next] | 0x20 == UInt8(ascii: "}")
        }
        return isHere("NaN") ? 3 : isHere("Infinity") ? 8 : isHere("-Infinity") ? 9 : nil
    }

    /// Appends the rest of a string with its closing quote. Returns the place after it.
    private static func mendString(
        _ text: Bytes, start: Int, end: Int, into out: inout ByteBuffer, until most: Int, from begin: Int
    ) -> Int {
        var i = start
        while i < end, out.count - begin < most {
            let c = text[i]
            if c == UInt8(ascii: "\"") {
                out.append(c)
                return i + 1
            }
            if c == UInt8(ascii: "\\") {
                out.append(c)
                if out.count - begin >= most { return i + 1 }
                // An invalid escape stays and is refused later, but a newline would end the line.
                if i + 1 < end { out.append(text[i + 1] < 0x20 ? UInt8(ascii: " ") : text[i + 1]) }
                i += 2
            } else if c < 0x20 {
                JSONText.escape(c, into: &out)
                i += 1
            } else if c < 0x80 {
                out.append(c)
                i += 1
            } else {
                let (length, isValid) = JSONText.sequence(text, i: i, end: end)
                assert(i + length <= end, "a character ends after its text")
                if isValid { out.append(text + i, length) } else { JSONText.replacement(into: &out) }
                i += length
            }
        }
        return min(i, end)
    }
}
