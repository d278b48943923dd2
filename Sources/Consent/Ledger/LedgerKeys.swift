// Under what names the ledger knows people: keyed hashes, from which no id can be had without the key. Raw ids go no further.

internal import CCrypto

/// The 128-bit value by which the table in memory and the spools know a subject.
public struct ShortHash: Hashable, Sendable, BitwiseCopyable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self).bigEndian
        low = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self).bigEndian
    }

    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        let words = [high.bigEndian, low.bigEndian]
        return try words.withUnsafeBufferPointer { (words) throws(E) in try body(UnsafeRawBufferPointer(words)) }
    }
}

/// A subject as the ledger keeps it.
public struct HashedID: Hashable, Sendable {
    /// HMAC-SHA-256 of the raw id, 32 bytes.
    public var hmac: [UInt8]
    /// The name of the key that it was made under.
    public var key: String
    public var short: ShortHash

    public init(hmac: [UInt8], key: String, short: ShortHash) {
        self.hmac = hmac
        self.key = key
        self.short = short
    }

    /// The hash as exports write it.
    public var digits: String { hex(hmac) }
}

/// A subject as others name it.
public enum LedgerID: Hashable, Sendable {
    case raw([UInt8])
    case hashed(HashedID)

    public init(_ id: String) { self = .raw(Array(id.utf8)) }
}

/// The keys under which ids are hashed. New and newly seen ids go under the current one.
public struct LedgerKeys: Sendable {
    public struct Key: Sendable {
        public var name: String
        public var secret: [UInt8]

        public init(_ name: String, _ secret: [UInt8]) {
            self.name = name
            self.secret = secret
        }

        func hmac(_ text: [UInt8]) -> [UInt8] {
            var digest = [UInt8](repeating: 0, count: 32)
            crypto_hmac_sha256(secret, Int32(secret.count), text, text.count, &digest)
            return digest
        }

        /// What tells this key from another of the same name.
        var mark: [UInt8] { Array(hmac([0] + Array("switchyard ledger key".utf8)).prefix(16)) }
    }

    public var current: Key
    public var previous: [Key]

    public init(current: Key, previous: [Key] = []) {
        self.current = current
        self.previous = previous
    }

    var all: [Key] { [current] + previous }
    subscript(name: String) -> Key? { all.first { $0.name == name } }
}
