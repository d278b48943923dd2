// Reads values of an event in place. The text of a string is decoded only if it contains an escape.

extension Slot {
    /// Returns the whole value as it is written.
    @inlinable @inline(__always) public func value(in block: Bytes) -> ByteRun {
        assert(start <= end, "a value ends before it begins")
        return ByteRun(base: block + Int(start), count: Int(end - start))
    }

    /// Returns the bytes between the quotes, or nil if the value is absent or not a string.
    @inlinable @inline(__always) public func string(in block: Bytes) -> ByteRun? {
        guard end != 0, block[Int(start)] == UInt8(ascii: "\"") else { return nil }
        return ByteRun(base: block + Int(start) + 1, count: Int(end - start) - 2)
    }
}

extension ByteRun {
    @inlinable @inline(__always) public var hasEscape: Bool { contains(UInt8(ascii: "\\"), p: base, count: count) }
    /// True if the value is an object. The following properties test for the other types in the same way.
    @inlinable @inline(__always) public var isObject: Bool { base[0] == UInt8(ascii: "{") }
    @inlinable @inline(__always) public var isNull: Bool { base[0] == UInt8(ascii: "n") }
    @inlinable @inline(__always) public var isTrue: Bool { base[0] == UInt8(ascii: "t") }
    @inlinable @inline(__always) public var isFalse: Bool { base[0] == UInt8(ascii: "f") }
    @inlinable @inline(__always) public var isNumber: Bool { base[0] == UInt8(ascii: "-") || base[0] &- 0x30 < 10 }
}

/// Returns the first place at or after `p` that is not a space. A scanned line always has such a byte.
@inlinable @inline(__always) public func skipSpace(_ p: Bytes) -> Bytes {
    var p = p
    while p[0] <= 0x20 { p += 1 }
    return p
}

/// Returns the place after the string whose opening quote is at `p`. The block always has more than one word after it.
@inlinable @inline(__always) public func stringEnd(_ p: Bytes) -> Bytes {
    var p = p + 1
    while true {
        let word = Words.load(p)
        let stops = Words.places(of: UInt8(ascii: "\""), in: word) | Words.places(of: UInt8(ascii: "\\"), in: word)
        if stops == 0 {
            p += 8
            continue
        }
        p += stops.trailingZeroBitCount &>> 3
        if p[0] == UInt8(ascii: "\"") { return p + 1 }
        p += 2
    }
}

/// Returns the place after the value that begins at `start`. The line must have been scanned.
public func valueEnd(_ start: Bytes) -> Bytes {
    assert(start[0] > 0x20, "a value begins with a space")
    var p = start
    var depth = 0
    repeat {
        switch p[0] {
        case UInt8(ascii: "\""): p = stringEnd(p)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            p += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            depth -= 1
            p += 1
        case UInt8(ascii: ","), UInt8(ascii: ":"), 0...0x20: p += 1
        default: while !isStop(p[0]) { p += 1 }
        }
    } while depth > 0
    assert(depth == 0, "a value closes more brackets than it opens")
    return p
}

/// Returns true if this byte ends a number, true, false or null.
private func isStop(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
}

/// Memory for decoding one string at a time.
public struct Decoder: ~Copyable {
    private var buffer = ByteBuffer()

    public init() {}

    /// Returns the decoded text of the body of a string, valid until the next call, or nil if it has a lone surrogate.
    @inlinable @inline(__always) public mutating func decode(_ raw: ByteRun) -> ByteRun? { raw.hasEscape ? decodeEscapes(raw) : raw }

    @usableFromInline @inline(never) mutating func decodeEscapes(_ raw: ByteRun) -> ByteRun? {
        buffer.removeAll()
        buffer.reserve(raw.count + 8)
        return Text.unescape(raw.base, raw.base + raw.count, into: buffer.base).map { ByteRun(base: buffer.base, count: $0) }
    }

    /// Returns the decoded bytes of the body of a string, valid until the next call. A lone surrogate becomes three bytes, as if it were a
    /// character, so they are not always UTF-8. However a string is written, its bytes are the same.
    public mutating func decodeWithHalves(_ raw: ByteRun) -> ByteRun {
        buffer.removeAll()
        buffer.reserve(raw.count + 8)
        let count = Text.unescape(raw.base, raw.base + raw.count, into: buffer.base, keepsHalves: true)
        return ByteRun(base: buffer.base, count: count ?? 0)
    }

    /// Returns the text of a value that can identify a person or a thing, or nil. Such a value is a string that is neither empty nor
    /// undecodable, or a number, or a boolean if `booleans` is true. Numbers and booleans are returned as written.
    @inlinable @inline(__always) public mutating func identity(_ slot: Slot, in block: Bytes, booleans: Bool) -> ByteRun? {
        guard slot.end != 0 else { return nil }
        let value = slot.value(in: block)
        if value.base[0] == UInt8(ascii: "\"") {
            guard value.count > 2 else { return nil }
            return decode(ByteRun(base: value.base + 1, count: value.count - 2))
        }
        if value.isNumber || booleans && (value.isTrue || value.isFalse) { return value }
        return nil
    }
}
