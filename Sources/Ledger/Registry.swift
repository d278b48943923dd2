// The ledger at work: the file, and the table in memory by which the gate judges. It promises that nothing is in the table that is not
// safely in the file, and that what was written is in the table before whoever wrote it goes on.

public import Platform
public import Policy

public final class Registry: Sendable {
    public let records: ConsentRecords
    private let file: Monitor<LedgerFile>

    /// Reads all of the file into a table.
    public init(_ ledger: LedgerFile) throws(StorageFault) {
        let records = ConsentRecords(room: try ledger.summary().subjects)
        try ledger.readAll { records.set(SubjectKey($0), $1) }
        records.isUnreadable = ledger.isClockBehind
        self.records = records
        file = Monitor(ledger)
    }

    /// Lets the body read or write the file; what it changed takes effect before this returns. One at a time.
    public func use<R: Sendable>(_ body: @Sendable (LedgerFile) throws(StorageFault) -> (R, [LedgerChange])) throws(StorageFault) -> R {
        try file.withLock { (ledger) throws(StorageFault) in
            let (result, changes) = try body(ledger)
            publish(changes)
            records.isUnreadable = ledger.isClockBehind
            return result
        }
    }

    /// For those who change much at a time, and tell of it while they are at it.
    public func publish(_ changes: [LedgerChange]) {
        for change in changes { records.set(SubjectKey(change.short), change.effective) }
    }

    /// The names of levels as they rise, when the configuration has others.
    public func adopt(levels: [String]) { file.withLock { $0.levels = levels } }

    public func close() { file.withLock { $0.close() } }
}

extension SubjectKey {
    init(_ short: ShortHash) { self.init(high: short.high, low: short.low) }
}
