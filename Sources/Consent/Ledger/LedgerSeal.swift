// The seal of a ledger: a tag over its proof, which only a holder of a key of the ledger can make. The proof has the sum of the checksums of
// all rows, and those are made under the same key. So the seal shows that no row was changed, added, removed or put back to an earlier state
// by somebody without the key. It cannot show that the whole file, with its witness, was replaced by an earlier copy.

internal import Database
internal import Platform

enum LedgerSeal {
    static func write(_ proof: Proof, under key: LedgerKeys.Key, _ database: Database) throws(StorageFault) {
        let tag = key.tag(proof.text, for: "seal")
        let insert = try database.statement("INSERT OR REPLACE INTO seal VALUES (1, ?1)")
        try tag.withUnsafeBufferPointer { (tag) throws(StorageFault) in try insert.bind(1, lending: UnsafeRawBufferPointer(tag)).run() }
    }

    /// Returns the key that made the seal. Throws `foreign` if that key is not configured, and `damaged` if the seal is wrong.
    static func key(of database: Database, _ options: LedgerFile.Options) throws(StorageFault) -> LedgerKeys.Key {
        guard let proof = try Proof.read(database, LedgerSchema.format.application) else {
            throw StorageFault(.damaged, "\(database.path): has no table 'proof'")
        }
        let find = try database.statement("SELECT tag FROM seal WHERE id = 1")
        let stored = try find.step() ? [UInt8](find.bytes(0)) : []
        find.reset()
        if let key = options.keys.all.first(where: { $0.tag(proof.text, for: "seal") == stored }) { return key }
        try LedgerFile.checkMark(database, options)
        var isKnown = false
        for key in options.keys.all { isKnown = try LedgerFile.isKnown(key, database) || isKnown }
        guard isKnown || stored.count != 32 else {
            throw StorageFault(
                .foreign,
                "\(database.path): was written under a key that consent.ledger does not name; name that key as a previous one for one start"
            )
        }
        throw StorageFault(.damaged, "\(database.path): its seal is wrong: it was changed by hand, or under a key that is not named here")
    }
}
