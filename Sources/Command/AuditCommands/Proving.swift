// `switchyard audit prove`: what the trail has about an event or a person, each with a proof that it is in the signed tree.

internal import Audit
internal import Ledger
internal import MerkleLog
internal import Platform
internal import Startup
internal import Terminal

/// Shows the proofs. Returns 1 if there is nothing to prove.
func prove(_ place: AuditPlace, _ arguments: Arguments) throws -> Int32 {
    let reader = try place.reader()
    let id = arguments.rest[0]
    let proofs =
        arguments.has("--subject") ? try entries(about: id, in: place, reader) : try verdicts(of: id, in: place, reader)
    for proof in proofs {
        // What is shown is what others will find: a proof that does not hold is damage.
        guard proof.isValid else { throw StateFailure("entry \(proof.index) does not fit the signed head; run switchyard audit verify") }
        try Console.show(arguments.has("--json") ? proof.json + "\n" : try text(proof, reader))
    }
    if proofs.isEmpty { Console.say("the audit trail has nothing about it") }
    return proofs.isEmpty ? ExitCode.noValue : ExitCode.delivered
}

private func verdicts(of id: String, in place: AuditPlace, _ reader: TrailReader) throws -> [EntryProof] {
    let hash = try place.secretKeys().hash(event: Array(id.utf8))
    return try place.failing { () throws(StorageFault) in
        try reader.verdicts(of: hash) { missing in
            if missing > 0 { Console.say("the verdicts of \(grouped(missing)) entries are no longer kept") }
        }
    }
}

/// Returns the proofs of all entries that name the person.
private func entries(about id: String, in place: AuditPlace, _ reader: TrailReader) throws -> [EntryProof] {
    let hash = try place.secretKeys().hash(subject: try place.short(of: id))
    return try place.failing { () throws(StorageFault) in
        var proofs: [EntryProof] = []
        var receipts: Set<Int> = []
        try reader.forEachEntry { (index, entry) throws(StorageFault) in
            let isNamed = entry.text("subject") == hash || entry.texts("subjects")?.contains(hash) == true
            let receipt = entry.number("receipt")
            if isNamed, let receipt { receipts.insert(receipt) }
            // What was destroyed for a withdrawal names only its receipt.
            guard isNamed || receipt.map(receipts.contains) == true, let proof = try reader.proof(of: index) else { return }
            proofs.append(proof)
        }
        return proofs
    }
}

private func text(_ proof: EntryProof, _ reader: TrailReader) throws -> String {
    guard let entry = EntryReading(proof.entry) else { return "entry \(proof.index)\n" }
    guard let row = proof.row else { return "entry \(proof.index): \(String(decoding: proof.entry, as: UTF8.self))\n" }
    let routes = entry.texts("routes") ?? []
    let words = entry.object("verdicts")
    var rows = [("time", entry.text("at") ?? "")]
    if let plan = entry.text("plan") { rows.append(("plan", "\(plan) (\(reader.files.text(plan)))")) }
    if let ledger = entry.ledger { rows.append(("consent", "the ledger after \(grouped(Int(ledger.commits))) writes")) }
    if entry.isTrue("held") { rows.append(("event", "was held until then; this became of it")) }
    for (index, verdict) in row.bytes.dropFirst(VerdictRow.hashSize).enumerated() {
        let route = index < routes.count ? printable(routes[index]) : "route \(index)"
        rows.append(("route \(route)", words?.text(String(verdict)) ?? "verdict \(verdict)"))
    }
    let size = Checkpoint(text: proof.head.text)?.size ?? 0
    rows.append(("proof", "row \(row.index) of \(row.count) of entry \(proof.index), in the signed head of \(grouped(size)) entries"))
    return columns(rows)
}
