// The withdrawals on record, for the check of waiting events, and the counts of their receipts. A withdrawal is on record as long as its
// receipt is.

internal import Database
public import Platform

/// What the check of waiting events needs of a withdrawal.
public struct RecordedWithdrawal: Sendable, Equatable {
    public var receipt: Int64
    /// The short hashes of the id and of the ids that were tied to it.
    public var subjects: [ShortHash]
    /// The withdrawn purposes. It is nil if everything was withdrawn.
    public var purposes: [String]?
    public var begun: Int64
    /// True if nothing is left to destroy.
    public var isFinished: Bool
}

extension LedgerFile {
    /// Returns the withdrawals whose receipts follow the given one, in order.
    public func withdrawals(after receipt: Int64, most: Int) throws(StorageFault) -> [RecordedWithdrawal] {
        try LedgerFile.advised { () throws(StorageFault) in
            let find = try database.statement(
                """
                SELECT number, shorts, purposes, begun, finished FROM receipts
                WHERE number > ?1 AND \(LedgerSchema.receiptIsWhole) ORDER BY number LIMIT ?2
                """
            ).bind(1, receipt).bind(2, most)
            defer { find.reset() }
            var found: [RecordedWithdrawal] = []
            while try find.step() {
                let bytes = find.bytes(1)
                let subjects = stride(from: 0, to: bytes.count, by: 16).compactMap {
                    ShortHash(UnsafeRawBufferPointer(rebasing: bytes[$0..<min($0 + 16, bytes.count)]))
                }
                // If the list is cut off, the events of its other subjects would be delivered.
                guard subjects.count * 16 == bytes.count else {
                    throw StorageFault(.damaged, "\(path): receipt \(find.int(0)) is invalid")
                }
                found.append(
                    RecordedWithdrawal(
                        receipt: find.int(0), subjects: subjects, purposes: find.isNull(2) ? nil : stringList(find.text(2)),
                        begun: find.int(3), isFinished: !find.isNull(4)))
            }
            return found
        }
    }

    /// Sets the counts of a place in a receipt to these, unless the receipt has greater ones. The caller may do this any number of times with
    /// the same counts.
    public func settle(_ line: WithdrawalReceipt.Line, of receipt: Int64) throws(StorageFault) {
        assert(line.inHands == 0 && line.events >= 0 && line.bytes >= 0, "a line of destroyed events counts something else")
        try write { () throws(StorageFault) in
            let find = try database.statement(
                """
                SELECT number, events, bytes FROM receipt_lines
                WHERE receipt = ?1 AND place = ?2 AND in_hands = 0 AND \(LedgerSchema.lineIsWhole) ORDER BY number LIMIT 1
                """
            ).bind(1, receipt).bind(2, line.place)
            let known: (number: Int64, events: Int, bytes: Int)?
            do {
                defer { find.reset() }
                known = try find.step() ? (find.int(0), Int(find.int(1)), Int(find.int(2))) : nil
            }
            guard let known else { return try add(line, to: receipt) }
            let (events, bytes) = (max(known.events, line.events), max(known.bytes, line.bytes))
            if (events, bytes) == (known.events, known.bytes) { return }
            try database.statement("UPDATE receipt_lines SET at = ?3, events = ?4, bytes = ?5 WHERE receipt = ?1 AND number = ?2")
                .bind(1, receipt).bind(2, known.number).bind(3, line.at).bind(4, events).bind(5, bytes).run()
        }
    }
}
