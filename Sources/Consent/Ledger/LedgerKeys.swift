// Identifies subjects by keyed hashes. Without the key, no id can be computed from a hash. Raw ids go no further than this module.

internal import CCrypto
internal import Events

/// The 128-bit hash that identifies a subject in the table in memory and in the spools.
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

/// A subject as the ledger stores it.
public struct HashedID: Hashable, Sendable {
    /// The HMAC-SHA-256 of the raw id, 32 bytes.
    public var hmac: [UInt8]
    /// The name of the key that made the HMAC.
    public var key: String
    public var short: ShortHash

    public init(hmac: [UInt8], key: String, short: ShortHash) {
        self.hmac = hmac
        self.key = key
        self.short = short
    }

    /// The HMAC in hexadecimal digits, as exports write it.
    public var digits: String { hex(hmac) }
}

/// A subject as a caller names it: by its raw id or by its hashes.
public enum LedgerID: Hashable, Sendable {
    case raw([UInt8])
    case hashed(HashedID)

    public init(_ id: String) { self = .raw(Array(id.utf8)) }
}

/// The keys that ids are hashed with. New ids, and ids that are written again, use the current key.
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
            assert(secret.count <= Int(Int32.max), "the size of a key does not fit into its parameter")
            crypto_hmac_sha256(secret, Int32(secret.count), text, text.count, &digest)
            return digest
        }

        /// The key of the checksums of rows.
        var rows: SipKey { SipKey(Array(hmac([0] + Array("switchyard ledger rows".utf8)).prefix(16))) }

        /// Returns a tag that only a holder of the key can make. `use` keeps the tags of different uses apart.
        func tag(_ text: String, for use: StaticString) -> [UInt8] {
            hmac([0] + Array("switchyard ledger \(use)".utf8) + [0] + Array(text.utf8))
        }

        /// A value that differs between keys of the same name.
        var mark: [UInt8] { Array(hmac([0] + Array("switchyard ledger key".utf8)).prefix(16)) }
    }

    public var current: Key
    public var previous: [Key]

    public init(current: Key, previous: [Key] = []) {
        self.current = current
        self.previous = previous
        assert(Set(all.map(\.name)).count == all.count, "two keys have the same name")
    }

    var all: [Key] { [current] + previous }
    subscript(name: String) -> Key? { all.first { $0.name == name } }
}
