// The evidence of decisions: encrypted in the ledger with AES-256-GCM, under a key that is derived from that of `consent.evidence`. Each is
// bound to its decision. Without the key it cannot be read, and a decision counts all the same.

internal import CJansson
public import ConsentGate
internal import Database
internal import Platform
internal import StateFiles

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
        let sealed = Array(evidence.json.utf8).withUnsafeBytes {
            cipher.seal($0, at: LedgerFile.place(subject: subject, decision: decision))
        }
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
        return cipher.open(find.bytes(0), at: LedgerFile.place(subject: subject, decision: decision)).flatMap {
            ConsentEvidence(json: $0)
        }
    }

    private static func place(subject: Int64, decision: Int64) -> String { "evidence \(subject) \(decision)" }
}
