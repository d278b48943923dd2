// What a committed write did, for a record of it that is kept elsewhere.

public import ConsentGate
internal import Database
public import Platform

/// One act of a write. Ids are short hashes.
public enum LedgerAct: Sendable, Equatable {
    /// A decision was recorded. It holds if no later decision was on record.
    case decided(ShortHash, ConsentTerms, decided: Int64, received: Int64, origin: String, holds: Bool)
    case tied([ShortHash])
    case untied(ShortHash)
    /// A withdrawal has begun. `purposes` is nil if everything was withdrawn.
    case withdrawn(receipt: Int64, [ShortHash], purposes: [String]?, origin: String)
    /// Something was destroyed for a withdrawal.
    case destroyed(receipt: Int64, WithdrawalReceipt.Line)
    case finished(receipt: Int64)
    /// Decisions that no longer hold and finished receipts from before this time were deleted.
    case forgot(before: Int64)
    /// Times in the future became this time.
    case believedClock(Int64)
}

/// How far a ledger has come.
public struct LedgerPosition: Sendable, Equatable {
    /// The random number that identifies the file.
    public var database: Int64
    /// The number of committed transactions.
    public var commits: Int64
    /// The time of the last write, in nanoseconds since 1970.
    public var written: Int64

    public init(database: Int64, commits: Int64, written: Int64) {
        self.database = database
        self.commits = commits
        self.written = written
    }

    /// The number of the file in hexadecimal digits.
    public var name: String { String(UInt64(bitPattern: database), radix: 16) }
}

extension LedgerFile {
    /// Returns the decisions and withdrawals that were written after the time, in the order of writing.
    public func acts(after time: Int64) throws(StorageFault) -> [LedgerAct] {
        var acts: [(at: Int64, act: LedgerAct)] = []
        let find = try database.statement(
            """
            SELECT short, history.terms, history.decided, history.received, history.origin, held FROM history
            JOIN subjects ON subjects.number = subject
            WHERE history.received > ?1 AND \(LedgerSchema.decisionIsWhole) AND \(LedgerSchema.subjectIsWhole)
            ORDER BY history.received, history.number
            """
        ).bind(1, time)
        var rows: [(short: ShortHash, terms: Int64, decided: Int64, received: Int64, origin: Int64, holds: Bool)] = []
        while try find.step() {
            guard let short = ShortHash(find.bytes(0)) else { throw StorageFault(.damaged, "\(path): a row of subjects is invalid") }
            rows.append((short, find.int(1), find.int(2), find.int(3), find.int(4), find.int(5) != 0))
        }
        find.reset()
        for row in rows {
            let terms = try names.terms(row.terms, in: database)
            let origin = try names.name(ofOrigin: row.origin, in: database)
            acts.append(
                (row.received, .decided(row.short, terms, decided: row.decided, received: row.received, origin: origin, holds: row.holds)))
        }
        var last: Int64 = 0
        while true {
            let page = try receipts(after: last)
            guard let end = page.last else { break }
            last = end.number
            for receipt in page {
                if receipt.begun > time {
                    acts.append(
                        (
                            receipt.begun,
                            .withdrawn(receipt: receipt.number, receipt.subjects, purposes: receipt.purposes, origin: receipt.origin)
                        ))
                }
                for line in receipt.lines where line.at > time { acts.append((line.at, .destroyed(receipt: receipt.number, line))) }
                if let finished = receipt.finished, finished > time { acts.append((finished, .finished(receipt: receipt.number))) }
            }
        }
        return acts.sorted { $0.at < $1.at }.map(\.act)
    }
}
