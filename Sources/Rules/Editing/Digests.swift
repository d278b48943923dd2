// Holds the keyed hashes of one event's members. One `Digests` computes the hash of a member at most once per event and key, so routes can
// share it. The hash of an edited value is computed each time.

public import Events

public struct Digests: ~Copyable {
    /// The number of bytes of a digest: 64 digits and two quotes.
    public static let length = 66

    private let rules: UnsafeBufferPointer<DigestRule>
    private let keys: UnsafeBufferPointer<HMACKey>
    private let texts: UnsafeMutablePointer<UInt8>
    private let turns: UnsafeMutablePointer<UInt64>
    private var decoder = Decoder()
    /// True if a value that looks like a digest is not hashed again.
    private let keepsDigests: Bool

    /// `editedDigests` is the number of additional digests, those of edited values.
    public init(
        _ rules: UnsafeBufferPointer<DigestRule>, keys: UnsafeBufferPointer<HMACKey>, editedDigests: Int, keepsDigests: Bool = false
    ) {
        self.keepsDigests = keepsDigests
        self.rules = rules
        self.keys = keys
        let size = (rules.count + editedDigests) * Digests.length + Words.slack
        texts = .allocate(capacity: size)
        texts.initialize(repeating: UInt8(ascii: "\""), count: size)
        turns = .allocate(capacity: max(1, rules.count))
        turns.initialize(repeating: 0, count: max(1, rules.count))
    }

    deinit {
        texts.deallocate()
        turns.deallocate()
    }

    /// Returns the digest, in quotes, of a member that is present and not null. `turn` identifies the event and must not be 0.
    @inline(__always) public mutating func text(_ index: Int, event: ScannedEvent, turn: UInt64) -> ByteRun {
        if turns[index] != turn {
            turns[index] = turn
            write(event.slots[rules[index].slot].value(in: event.block), key: rules[index].key, at: index)
        }
        return ByteRun(base: Bytes(texts + index * Digests.length), count: Digests.length)
    }

    /// Returns the digest, in quotes, of an edited value. It is valid until the next call with the same `editedDigest`.
    public mutating func write(_ value: ByteRun, key: Int, aside editedDigest: Int) -> ByteRun {
        let index = rules.count + editedDigest
        write(value, key: key, at: index)
        return ByteRun(base: Bytes(texts + index * Digests.length), count: Digests.length)
    }

    /// Returns true if the value is 64 lower-case hex digits in quotes.
    private static func isDigest(_ value: ByteRun) -> Bool {
        guard value.count == length, value.base[0] == UInt8(ascii: "\"") else { return false }
        for at in 1...64 {
            let byte = value.base[at]
            guard byte &- 0x30 < 10 || byte &- UInt8(ascii: "a") < 6 else { return false }
        }
        return true
    }

    /// Writes the digest of the value to the text at `index`, between the quotes.
    private mutating func write(_ value: ByteRun, key: Int, at index: Int) {
        if keepsDigests, Digests.isDigest(value) {
            (texts + index * Digests.length).update(from: value.base, count: Digests.length)
            return
        }
        keys[key].write(decoder.message(of: value), to: texts + index * Digests.length + 1)
    }
}

extension Decoder {
    /// Returns the bytes of a value that are hashed. For a string, these are its decoded text, in which a lone surrogate has the three bytes
    /// that it would have as a character. For every other value, these are its bytes as written.
    @inline(__always) public mutating func message(of value: ByteRun) -> ByteRun {
        guard value.base[0] == UInt8(ascii: "\"") else { return value }
        let inside = ByteRun(base: value.base + 1, count: value.count - 2)
        return decode(inside) ?? decodeWithHalves(inside)
    }
}
