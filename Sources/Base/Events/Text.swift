// The text of a JSON string, compared or decoded only when a rule needs it. A lone surrogate is valid JSON but not valid text: such a
// string equals no text and cannot be decoded.

public enum Text {
    /// Returns the bytes between the quotes of a string, still escaped, or nil if the slot has no string.
    @inlinable public static func stringBody(_ block: Bytes, _ slot: Slot) -> UnsafeBufferPointer<UInt8>? {
        guard slot.end != 0, block[Int(slot.start)] == UInt8(ascii: "\"") else { return nil }
        assert(slot.end - slot.start >= 2, "a string has no closing quote")
        return UnsafeBufferPointer(start: block + Int(slot.start) + 1, count: Int(slot.end - slot.start) - 2)
    }

    /// Returns true if the body of a string contains an escape. Otherwise its bytes are its text.
    public static func isEscaped(_ body: UnsafeBufferPointer<UInt8>) -> Bool { body.contains(UInt8(ascii: "\\")) }

    /// Returns true if four hexadecimal digits follow each `\u` in the body, as `unescape` requires. Every string of a scanned event is so.
    public static func hasWholeEscapes(_ body: UnsafeBufferPointer<UInt8>) -> Bool {
        var i = 0
        while i < body.count {
            guard body[i] == UInt8(ascii: "\\") else {
                i += 1
                continue
            }
            guard i + 1 < body.count else { return false }
            guard body[i + 1] == UInt8(ascii: "u") else {
                i += 2
                continue
            }
            guard body.count - i >= 6, (2..<6).allSatisfy({ hexDigit(body[i + $0]) != nil }) else { return false }
            i += 6
        }
        return true
    }

    /// Decodes the body [start, end) of a valid string to UTF-8. Returns the number of bytes, or nil for a lone surrogate. If `keepsHalves` is
    /// true, a lone surrogate becomes three bytes, as if it were a character. The output is never longer than the input, so `out` needs space
    /// for that many bytes.
    public static func unescape(
        _ start: Bytes, _ end: Bytes, into out: UnsafeMutablePointer<UInt8>, keepsHalves: Bool = false
    ) -> Int? {
        var p = start
        var n = 0
        func put(_ byte: UInt32) {
            out[n] = UInt8(truncatingIfNeeded: byte)
            n += 1
        }
        while p < end {
            guard p[0] == UInt8(ascii: "\\") else {
                out[n] = p[0]
                n += 1
                p += 1
                continue
            }
            switch p[1] {
            case UInt8(ascii: "u"):
                assert(end - p >= 6, "an escape goes beyond the end of its string")
                var code = hex4(p + 2)
                p += 6
                if code & 0xf800 == 0xd800 {
                    let isFollowed = code < 0xdc00 && end - p >= 6 && p[0] == UInt8(ascii: "\\") && p[1] == UInt8(ascii: "u")
                    let low = isFollowed ? hex4(p + 2) : 0
                    if low & 0xfc00 == 0xdc00 {
                        code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
                        p += 6
                    } else if !keepsHalves {
                        return nil
                    }
                }
                if code < 0x80 {
                    put(code)
                } else if code < 0x800 {
                    put(0xc0 | code >> 6)
                    put(0x80 | code & 0x3f)
                } else if code < 0x10000 {
                    put(0xe0 | code >> 12)
                    put(0x80 | code >> 6 & 0x3f)
                    put(0x80 | code & 0x3f)
                } else {
                    put(0xf0 | code >> 18)
                    put(0x80 | code >> 12 & 0x3f)
                    put(0x80 | code >> 6 & 0x3f)
                    put(0x80 | code & 0x3f)
                }
                continue
            case UInt8(ascii: "b"): put(0x08)
            case UInt8(ascii: "f"): put(0x0c)
            case UInt8(ascii: "n"): put(0x0a)
            case UInt8(ascii: "r"): put(0x0d)
            case UInt8(ascii: "t"): put(0x09)
            default: put(UInt32(p[1]))
            }
            p += 2
        }
        assert(n <= end - start, "a decoded text is longer than its escaped form")
        return n
    }

    /// Returns true if the slot has a string whose text is these UTF-8 bytes.
    public static func equals(_ block: Bytes, slot: Slot, text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let body = stringBody(block, slot) else { return false }
        // An escape is never shorter than its text.
        if body.count < text.count { return false }
        if !isEscaped(body) { return body.count == text.count && same(body, text) }
        return withText(body) { decoded in decoded.map { $0.count == text.count && same($0, text) } ?? false }
    }

    /// Appends the text of the slot's string. Returns false and appends nothing if there is none.
    public static func append(_ block: Bytes, _ slot: Slot, to buffer: inout ByteBuffer) -> Bool {
        guard let body = stringBody(block, slot), let start = body.baseAddress else { return false }
        buffer.reserve(body.count)
        guard let n = unescape(start, start + body.count, into: buffer.base + buffer.count) else { return false }
        buffer.extend(by: n)
        return true
    }

    /// Calls `use` with the text of a valid string's body, or with nil if it cannot be decoded. The bytes are valid only during the call.
    public static func withText<Result>(
        _ body: UnsafeBufferPointer<UInt8>, _ use: (UnsafeBufferPointer<UInt8>?) -> Result
    ) -> Result {
        guard isEscaped(body), let start = body.baseAddress else { return use(body) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: body.count) { unescaped in
            guard let out = unescaped.baseAddress, let n = unescape(start, start + body.count, into: out) else { return use(nil) }
            return use(UnsafeBufferPointer(start: out, count: n))
        }
    }

    private static func same(_ a: UnsafeBufferPointer<UInt8>, _ b: UnsafeBufferPointer<UInt8>) -> Bool {
        for i in 0..<a.count where a[i] != b[i] { return false }
        return true
    }
}
