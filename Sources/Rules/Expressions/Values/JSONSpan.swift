// A JSON value in an event, which is read where it lies. The scanner has proved that it is valid JSON, so nothing is checked again.

internal import Events

public struct JSONSpan: @unchecked Sendable {
    let start: Bytes
    let end: Bytes

    init(_ start: Bytes, _ end: Bytes) {
        self.start = start
        self.end = end
        assert(start < end, "a value has no bytes")
    }

    var count: Int { end - start }
    var first: UInt8 { start[0] }

    /// The bytes between the quotes of a string.
    var body: UnsafeBufferPointer<UInt8> {
        assert(count >= 2 && first == UInt8(ascii: "\""), "a value without quotes is read as a string")
        return UnsafeBufferPointer(start: start + 1, count: count - 2)
    }

    /// The value. A list or a map remains a span. It is nil for a string with a lone surrogate, which is not valid text.
    var value: Value? {
        switch first {
        case UInt8(ascii: "{"): return .map(.json(self))
        case UInt8(ascii: "["): return .list(.json(self))
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "\""): return Text.withText(body) { text in text.map { .string(TextValue(Array($0))) } }
        default:
            switch JSONNumber(self) {
            case .int(let value): return .int(value)
            case .uint(let value): return .uint(value)
            case .double(let value): return .double(value)
            }
        }
    }

    static func skipBlanks(_ start: Bytes) -> Bytes {
        var p = start
        while p[0] == 0x20 || p[0] == 0x09 || p[0] == 0x0d || p[0] == 0x0a { p += 1 }
        return p
    }

    /// Returns the end of the value that begins at p.
    static func end(of p: Bytes) -> Bytes {
        switch p[0] {
        case UInt8(ascii: "\""): return stringEnd(p)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            var depth = 0
            var p = p
            while true {
                switch p[0] {
                case UInt8(ascii: "\""):
                    p = stringEnd(p)
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    if depth == 0 { return p + 1 }
                default: break
                }
                p += 1
            }
        default:
            var p = p
            while !JSONSpan.endsWord(p[0]) { p += 1 }
            return p
        }
    }

    private static func endsWord(_ c: UInt8) -> Bool {
        c <= 0x20 || c == UInt8(ascii: ",") || c == UInt8(ascii: "}") || c == UInt8(ascii: "]")
    }

    private static func stringEnd(_ quote: Bytes) -> Bytes {
        var p = quote + 1
        while p[0] != UInt8(ascii: "\"") { p += p[0] == UInt8(ascii: "\\") ? 2 : 1 }
        return p + 1
    }
}

/// Iterates over the elements of a list or the members of a map.
struct JSONCursor {
    private var at: Bytes
    private let isMap: Bool
    private(set) var key: JSONSpan
    private(set) var value: JSONSpan

    init(_ span: JSONSpan) {
        at = JSONSpan.skipBlanks(span.start + 1)
        isMap = span.first == UInt8(ascii: "{")
        assert(isMap || span.first == UInt8(ascii: "["), "the elements of something else than a list or a map are read")
        key = span
        value = span
    }

    /// Moves to the next element or member. Returns false if there is none.
    mutating func next() -> Bool {
        if at[0] == UInt8(ascii: "}") || at[0] == UInt8(ascii: "]") { return false }
        if at[0] == UInt8(ascii: ",") { at = JSONSpan.skipBlanks(at + 1) }
        if isMap {
            assert(at[0] == UInt8(ascii: "\""), "a member has no key")
            key = JSONSpan(at, JSONSpan.end(of: at))
            assert(JSONSpan.skipBlanks(key.end)[0] == UInt8(ascii: ":"), "a key has no colon")
            at = JSONSpan.skipBlanks(JSONSpan.skipBlanks(key.end) + 1)
        }
        value = JSONSpan(at, JSONSpan.end(of: at))
        at = JSONSpan.skipBlanks(value.end)
        return true
    }
}
