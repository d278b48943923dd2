// The keyed hashes of one event's members, each computed at most once, however many routes want it.

internal import Events

struct Digests: ~Copyable {
    /// Sixty-four digits in their quotes.
    static let length = 66

    private let rules: UnsafeBufferPointer<DigestRule>
    private let keys: UnsafeBufferPointer<HMACKey>
    private let texts: UnsafeMutablePointer<UInt8>
    private let turns: UnsafeMutablePointer<UInt64>
    private var decoder = Decoder()

    init(_ rules: UnsafeBufferPointer<DigestRule>, keys: UnsafeBufferPointer<HMACKey>) {
        self.rules = rules
        self.keys = keys
        let count = max(1, rules.count)
        texts = .allocate(capacity: count * Digests.length)
        texts.initialize(repeating: UInt8(ascii: "\""), count: count * Digests.length)
        turns = .allocate(capacity: count)
        turns.initialize(repeating: 0, count: count)
    }

    deinit {
        texts.deallocate()
        turns.deallocate()
    }

    /// The digest, in quotes, of a member that is present and not null. `turn` tells one event from another.
    @inline(__always) mutating func text(_ index: Int, _ event: ScannedEvent, _ turn: UInt64) -> ByteRun {
        let text = texts + index * Digests.length
        if turns[index] != turn {
            turns[index] = turn
            write(event.slots[rules[index].slot].value(in: event.block), key: rules[index].key, to: text)
        }
        return ByteRun(base: Bytes(text), count: Digests.length)
    }

    /// Writes the digest of a value, in quotes.
    mutating func write(_ value: ByteRun, key: Int, to out: UnsafeMutablePointer<UInt8>) {
        keys[key].write(decoder.message(of: value), to: out + 1)
        out[0] = UInt8(ascii: "\"")
        out[Digests.length - 1] = UInt8(ascii: "\"")
    }
}

extension Decoder {
    /// What is hashed of a value: a string's text, or what stands between its quotes when that is no text for a lone
    /// surrogate; of every other value its bytes as written.
    @inline(__always) mutating func message(of value: ByteRun) -> ByteRun {
        guard value.base[0] == UInt8(ascii: "\"") else { return value }
        let inside = ByteRun(base: value.base + 1, count: value.count - 2)
        return decode(inside) ?? inside
    }
}
