// The keys of an audit trail, all derived from one configured secret: the key that signs its heads, and the key that hashes the ids in it. The
// two are independent, so an auditor can be given the second one without being able to sign.

internal import CCrypto
public import Ledger
public import MerkleLog

public struct AuditKeys: Sendable {
    public let signing: SigningKey
    /// The public key with its name. Heads are signed under it.
    public let name: NoteKey
    /// The public keys of earlier secrets. Heads that they signed are accepted too.
    public let previous: [NoteKey]
    /// The key of the HMAC-SHA-256 that hashes ids: 32 bytes.
    public let hashing: [UInt8]

    /// `origin` is the name of the log. If it is nil, the name is made from the public key.
    public init(_ secret: [UInt8], previous: [[UInt8]] = [], origin: String? = nil) {
        signing = SigningKey(seed: AuditKeys.derive(secret, "switchyard audit signature 1"))
        hashing = AuditKeys.derive(secret, "switchyard audit hash 1")
        let origin = origin ?? AuditKeys.defaultOrigin(signing)
        name = AuditKeys.named(origin, signing)
        self.previous = previous.map { AuditKeys.named(origin, SigningKey(seed: AuditKeys.derive($0, "switchyard audit signature 1"))) }
    }

    private static func named(_ origin: String, _ key: SigningKey) -> NoteKey {
        guard let name = NoteKey(name: origin, .ed25519, publicKey: key.publicKey) else {
            preconditionFailure("the name of the audit trail was not checked")
        }
        return name
    }

    private static func defaultOrigin(_ key: SigningKey) -> String {
        "switchyard-" + hex(Digest(of: key.publicKey).bytes.prefix(8))
    }

    public var origin: String { name.name }
    /// All keys that may have signed a head of this trail.
    public var all: [NoteKey] { [name] + previous }

    private static func derive(_ secret: [UInt8], _ purpose: String) -> [UInt8] {
        AuditKeys.hmac(secret, Array(purpose.utf8))
    }

    static func hmac(_ key: [UInt8], _ text: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hmac_sha256(key, Int32(key.count), text, text.count, &digest)
        return digest
    }

    /// Returns the hash of an event's id as the trail has it: the first 16 bytes of the HMAC.
    public func hash(event id: [UInt8]) -> [UInt8] { Array(AuditKeys.hmac(hashing, id).prefix(16)) }

    /// Returns the hash of a subject as the trail has it, given the subject's short hash: 32 hexadecimal digits.
    public func hash(subject short: [UInt8]) -> String {
        hex(AuditKeys.hmac(hashing, Array("subject ".utf8) + short).prefix(16))
    }

    public func hash(subject: ShortHash) -> String { hash(subject: subject.bytes) }

    /// Returns a text that differs between keys and tells nothing about them.
    public static func fingerprint(_ secret: [UInt8]) -> String {
        hex(AuditKeys.hmac(secret, Array("switchyard audit fingerprint 1".utf8)).prefix(8))
    }
}

/// Returns the bytes as lower-case hexadecimal digits.
public func hex(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] { digits.append(nibble < 10 ? nibble + 0x30 : nibble + 0x57) }
    }
    return String(decoding: digits, as: UTF8.self)
}
