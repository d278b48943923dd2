// Keeps the ledger and the file of its withdrawals in step. Each takes from the other what it lacks: the ledger after it was lost, damaged or
// put back from a copy, and the file after it was lost, or when it is first made for an older ledger.

internal import ConsentGate
internal import Database
public import Platform

extension LedgerFile {
    /// Notes a withdrawal for the file, inside the write that records it.
    func keep(_ id: HashedID, purposes: [String]?, decided: Int64) {
        let entry = WithdrawalLog.Entry(id: id, mark: mark.withBytes { hex($0) }, purposes: purposes, decided: decided)
        if !pending.contains(entry) { pending.append(entry) }
    }

    /// Records what the ledger lacks, and adds to the file what it lacks.
    func reconcile() throws(StorageFault) {
        guard let withdrawals else { return }
        let mark = mark.withBytes { hex($0) }
        let usable = withdrawals.entries.filter { $0.mark == mark }
        if usable.count < withdrawals.entries.count {
            let count = withdrawals.entries.count - usable.count
            options.warn("\(withdrawals.path): \(grouped(count)) lines belong to another subject.key; they are not used")
        }
        var missing: [WithdrawalLog.Entry] = []
        for entry in usable where try lacks(entry) { missing.append(entry) }
        if !missing.isEmpty {
            try write { () throws(StorageFault) in
                // What one line records can make another one superfluous.
                for entry in missing where try lacks(entry) {
                    let id = LedgerID.hashed(entry.id)
                    guard try conflict(entry.id) == nil else { continue }
                    try withdraw(id, purposes: entry.purposes, decided: entry.decided, origin: WithdrawalLog.name)
                    _ = try beginReceipt(of: id, purposes: entry.purposes, origin: WithdrawalLog.name)
                }
                // They are in the file already.
                pending = []
            }
            options.warn(
                "\(path): \(grouped(missing.count)) withdrawals that it lacked were taken from \(WithdrawalLog.name); they hold again")
        }
        try withdrawals.append(try unkept(Set(usable.filter { $0.purposes == nil }.map(\.id.short)), mark))
    }

    /// True if the ledger has no decision of the time of the withdrawal or later.
    private func lacks(_ entry: WithdrawalLog.Entry) throws(StorageFault) -> Bool {
        guard let row = try row(of: .hashed(HashedID(hmac: [], key: "", short: entry.id.short))), row.terms != nil else { return true }
        return row.decided < entry.decided
    }

    /// Returns the ids that have withdrawn everything, and that the file does not have.
    private func unkept(_ kept: Set<ShortHash>, _ mark: String) throws(StorageFault) -> [WithdrawalLog.Entry] {
        let find = try database.statement(
            """
            SELECT subjects.number, hmac, key, short, terms, decided, person FROM subjects JOIN terms ON terms.number = subjects.terms
            WHERE withdrawn = 1 AND \(LedgerSchema.subjectIsWhole) AND \(LedgerSchema.termsAreWhole)
            """)
        defer { find.reset() }
        var unkept: [WithdrawalLog.Entry] = []
        while try find.step() {
            let row = try subject(find)
            if !kept.contains(row.id.short) {
                unkept.append(WithdrawalLog.Entry(id: row.id, mark: mark, purposes: nil, decided: row.decided))
            }
        }
        return unkept
    }
}

extension LedgerFile {
    /// Withdraws the consent of all these ids in one transaction, and begins a receipt for each one whose withdrawal holds. Returns the
    /// receipts, and the ids whose effective terms changed.
    public func withdraw(
        all ids: [LedgerID], purposes: [String]? = nil, origin: String
    ) throws(StorageFault) -> (receipts: [Int64], changes: [LedgerChange]) {
        try write { () throws(StorageFault) in
            var receipts: [Int64] = []
            var changes: [LedgerChange] = []
            for id in ids {
                let outcome = try withdraw(id, purposes: purposes, origin: origin)
                changes += outcome.changes
                if outcome.holds { receipts.append(try beginReceipt(of: id, purposes: purposes, origin: origin)) }
            }
            return (receipts, changes)
        }
    }
}
