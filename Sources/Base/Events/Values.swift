// Reads values of an event where they lie: the text of strings, decoded only when they hold an escape.

extension Slot {
    /// The whole value, as written.
    @inlinable @inline(__always) public func value(in block: Bytes) -> ByteRun {
        ByteRun(base: block + Int(start), count: Int(end - start))
    }

    /// What stands between the quotes; nil when it is absent or not a string.
    @inlinable @inline(__always) public func string(in block: Bytes) -> ByteRun? {
        guard end != 0, block[Int(start)] == UInt8(ascii: "\"") else { return nil }
        return ByteRun(base: block + Int(start) + 1, count: Int(end - start) - 2)
    }
}

extension ByteRun {
    @inlinable @inline(__always) public var hasEscape: Bool { contains(UInt8(ascii: "\\"), base, count) }
    /// Of a value: whether it is an object, null, a number.
    @inlinable @inline(__always) public var isObject: Bool { base[0] == UInt8(ascii: "{") }
    @inlinable @inline(__always) public var isNull: Bool { base[0] == UInt8(ascii: "n") }
    @inlinable @inline(__always) public var isTrue: Bool { base[0] == UInt8(ascii: "t") }
    @inlinable @inline(__always) public var isFalse: Bool { base[0] == UInt8(ascii: "f") }
    @inlinable @inline(__always) public var isNumber: Bool { base[0] == UInt8(ascii: "-") || base[0] &- 0x30 < 10 }
}

/// Past the spaces at `p`; there is always something behind them in a line that was scanned.
@inlinable @inline(__always) public func skipSpace(_ p: Bytes) -> Bytes {
    var p = p
    while p[0] <= 0x20 { p += 1 }
    return p
}

/// Past the string whose opening quote is at `p`. There is always more than a word behind it in its block.
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

/// Past the value that begins at `p`, in a line that was scanned.
public func valueEnd(_ start: Bytes) -> Bytes {
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
    return p
}

/// Whether a number, true, false or null has ended.
private func isStop(_ byte: UInt8) -> Bool {
    byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
}

/// Room to decode one string at a time.
public struct Decoder: ~Copyable {
    private var room = ByteBuffer()

    public init() {}

    /// The text that the inside of a string stands for, valid until the next call; nil when it holds a lone surrogate.
    @inlinable @inline(__always) public mutating func decode(_ raw: ByteRun) -> ByteRun? { raw.hasEscape ? decodeEscapes(raw) : raw }

    @usableFromInline @inline(never) mutating func decodeEscapes(_ raw: ByteRun) -> ByteRun? {
        room.removeAll()
        room.reserve(raw.count + 8)
        return Text.unescape(raw.base, raw.base + raw.count, into: room.base).map { ByteRun(base: room.base, count: $0) }
    }

    /// The text of a value that can stand for someone or something: a string that is neither empty nor broken,
    /// a number or, where the caller wants them, a boolean, these as written.
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
