// The keyed hashes of one event's members, each computed at most once, however many routes want it.

public import Events

public struct Digests: ~Copyable {
    /// Sixty-four digits in their quotes.
    public static let length = 66

    private let rules: UnsafeBufferPointer<DigestRule>
    private let keys: UnsafeBufferPointer<HMACKey>
    private let texts: UnsafeMutablePointer<UInt8>
    private let turns: UnsafeMutablePointer<UInt64>
    private var decoder = Decoder()
    /// Whether a value that looks like a digest is one, and stays.
    private let keepsDigests: Bool

    /// `rooms`: how many digests of edited values there are besides.
    public init(_ rules: UnsafeBufferPointer<DigestRule>, keys: UnsafeBufferPointer<HMACKey>, rooms: Int, keepsDigests: Bool = false) {
        self.keepsDigests = keepsDigests
        self.rules = rules
        self.keys = keys
        let size = (rules.count + rooms) * Digests.length + Words.slack
        texts = .allocate(capacity: size)
        texts.initialize(repeating: UInt8(ascii: "\""), count: size)
        turns = .allocate(capacity: max(1, rules.count))
        turns.initialize(repeating: 0, count: max(1, rules.count))
    }

    deinit {
        texts.deallocate()
        turns.deallocate()
    }

    /// The digest, in quotes, of a member that is present and not null. `turn` tells one event from another.
    @inline(__always) public mutating func text(_ index: Int, event: ScannedEvent, turn: UInt64) -> ByteRun {
        if turns[index] != turn {
            turns[index] = turn
            write(event.slots[rules[index].slot].value(in: event.block), key: rules[index].key, at: index)
        }
        return ByteRun(base: Bytes(texts + index * Digests.length), count: Digests.length)
    }

    /// The digest, in quotes, of a value that was edited before; good until the next one for the same room.
    public mutating func write(_ value: ByteRun, key: Int, aside room: Int) -> ByteRun {
        let index = rules.count + room
        write(value, key: key, at: index)
        return ByteRun(base: Bytes(texts + index * Digests.length), count: Digests.length)
    }

    /// Sixty-four small hex digits in quotes.
    private static func isDigest(_ value: ByteRun) -> Bool {
        guard value.count == length, value.base[0] == UInt8(ascii: "\"") else { return false }
        for at in 1...64 {
            let byte = value.base[at]
            guard byte &- 0x30 < 10 || byte &- UInt8(ascii: "a") < 6 else { return false }
        }
        return true
    }

    /// Writes the digits between their quotes.
    private mutating func write(_ value: ByteRun, key: Int, at index: Int) {
        if keepsDigests, Digests.isDigest(value) {
            (texts + index * Digests.length).update(from: value.base, count: Digests.length)
            return
        }
        keys[key].write(decoder.message(of: value), to: texts + index * Digests.length + 1)
    }
}

extension Decoder {
    /// What is hashed of a value: a string's text, or what stands between its quotes when that is no text for a lone
    /// surrogate; of every other value its bytes as written.
    @inline(__always) public mutating func message(of value: ByteRun) -> ByteRun {
        guard value.base[0] == UInt8(ascii: "\"") else { return value }
        let inside = ByteRun(base: value.base + 1, count: value.count - 2)
        return decode(inside) ?? inside
    }
}
