// The evidence of decisions: encrypted in the ledger with AES-256-GCM, under a key that is derived from that of `consent.evidence`. Each is
// bound to its decision. Without the key it cannot be read, and a decision counts all the same.

internal import CCrypto
internal import CJansson
public import ConsentGate
internal import Database
internal import Platform

/// Encrypts and decrypts evidence.
public struct EvidenceCipher: Sendable {
    private static let nonceSize = 12
    private static let tagSize = 16
    private let key: [UInt8]

    public init(_ secret: [UInt8]) {
        var key = [UInt8](repeating: 0, count: 32)
        let purpose = Array("switchyard evidence 1".utf8)
        crypto_hmac_sha256(secret, Int32(secret.count), purpose, purpose.count, &key)
        self.key = key
    }

    /// Returns a random nonce, the encrypted text, and a tag over the text and the place.
    func seal(_ text: [UInt8], at place: String) -> [UInt8] {
        var nonce = [UInt8](repeating: 0, count: EvidenceCipher.nonceSize)
        precondition(crypto_random(&nonce, Int32(nonce.count)) == 1, "libcrypto has no random numbers")
        var body = [UInt8](repeating: 0, count: text.count)
        var tag = [UInt8](repeating: 0, count: EvidenceCipher.tagSize)
        let context = crypto_gcm_new()
        defer { crypto_gcm_free(context) }
        let place = Array(place.utf8)
        let isGood =
            crypto_gcm_begin(context, 1, key, nonce) == 1 && crypto_gcm_add(context, nil, place, Int32(place.count)) == 1
            && crypto_gcm_add(context, &body, text, Int32(text.count)) == 1 && crypto_gcm_seal(context, &tag, Int32(tag.count)) == 1
        precondition(isGood, "libcrypto cannot encrypt")
        return nonce + body + tag
    }

    /// Returns nil if the text was not sealed for this place under this key.
    func open(_ sealed: [UInt8], at place: String) -> [UInt8]? {
        let size = sealed.count - EvidenceCipher.nonceSize - EvidenceCipher.tagSize
        guard size >= 0 else { return nil }
        let nonce = Array(sealed.prefix(EvidenceCipher.nonceSize))
        let body = Array(sealed[EvidenceCipher.nonceSize..<EvidenceCipher.nonceSize + size])
        var tag = Array(sealed.suffix(EvidenceCipher.tagSize))
        var text = [UInt8](repeating: 0, count: size)
        let context = crypto_gcm_new()
        defer { crypto_gcm_free(context) }
        let place = Array(place.utf8)
        let isGood =
            crypto_gcm_begin(context, 0, key, nonce) == 1 && crypto_gcm_add(context, nil, place, Int32(place.count)) == 1
            && crypto_gcm_add(context, &text, body, Int32(size)) == 1 && crypto_gcm_open(context, &tag, Int32(tag.count)) == 1
        return isGood ? text : nil
    }
}

extension ConsentEvidence {
    /// The evidence as a JSON object.
    public var json: String {
        let members = [("ipAddress", ipAddress), ("userAgent", userAgent), ("text", text)]
        return "{\(members.compactMap { name, value in value.map { "\"\(name)\":\(jsonQuoted($0))" } }.joined(separator: ","))}"
    }

    init?(json: [UInt8]) {
        let object = json.withUnsafeBufferPointer { json_loadb(UnsafeRawPointer($0.baseAddress), $0.count, 0, nil) }
        guard let object else { return nil }
        defer { json_decref(object) }
        func member(_ name: String) -> String? { json_object_get(object, name).flatMap { string($0) } }
        self.init(ipAddress: member("ipAddress"), userAgent: member("userAgent"), text: member("text"))
    }
}

extension LedgerFile {
    /// Keeps the evidence of a decision that was just written to the history. Nothing is kept without a key for evidence.
    func keep(_ evidence: ConsentEvidence, subject: Int64, decision: Int64) throws(StorageFault) {
        guard let cipher = options.evidence, !evidence.isEmpty else { return }
        let sealed = cipher.seal(Array(evidence.json.utf8), at: LedgerFile.place(subject: subject, decision: decision))
        let insert = try database.statement("INSERT INTO evidence (subject, number, sealed) VALUES (?1, ?2, ?3)")
        insert.bind(1, subject).bind(2, decision)
        try sealed.withUnsafeBufferPointer { (bytes) throws(StorageFault) in
            try insert.bind(3, lending: UnsafeRawBufferPointer(bytes)).run()
        }
    }

    /// Returns the evidence of a decision. Returns nil if there is none, or if it cannot be read under the present key.
    func evidence(subject: Int64, decision: Int64) throws(StorageFault) -> ConsentEvidence? {
        guard let cipher = options.evidence else { return nil }
        let find = try database.statement(
            "SELECT sealed FROM evidence WHERE subject = ?1 AND number = ?2 AND \(LedgerSchema.evidenceIsWhole)"
        ).bind(1, subject).bind(2, decision)
        defer { find.reset() }
        guard try find.step() else { return nil }
        return cipher.open([UInt8](find.bytes(0)), at: LedgerFile.place(subject: subject, decision: decision)).flatMap {
            ConsentEvidence(json: $0)
        }
    }

    private static func place(subject: Int64, decision: Int64) -> String { "evidence \(subject) \(decision)" }
}
