// The ledger at work: the file, and the table in memory by which the gate judges. It promises that nothing is in the table that is not
// safely in the file, and that what was written is in the table before whoever wrote it goes on.

public import Platform
public import Policy

public final class Registry: Sendable {
    public let records: ConsentRecords
    private let file: Monitor<LedgerFile>
    private let listener = Monitor<(@Sendable ([LedgerChange]) -> Void)?>(nil)

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
            let wasUnreadable = records.isUnreadable
            records.isUnreadable = ledger.isClockBehind
            if wasUnreadable, !records.isUnreadable { tell([]) }
            return result
        }
    }

    /// For those who change much at a time, and tell of it while they are at it.
    public func publish(_ changes: [LedgerChange]) {
        for change in changes { records.set(SubjectKey(change.short), change.effective) }
        if !changes.isEmpty { tell(changes) }
    }

    /// From now on `hear` is told what has changed, when it is in the table; of nothing, when what is on record can be told again. It may not
    /// ask the registry.
    public func onChange(_ hear: @escaping @Sendable ([LedgerChange]) -> Void) { listener.withLock { $0 = hear } }

    private func tell(_ changes: [LedgerChange]) { listener.withLock { $0 }?(changes) }

    /// The names of levels as they rise, when the configuration has others.
    public func adopt(levels: [String]) { file.withLock { $0.levels = levels } }

    public func close() { file.withLock { $0.close() } }
}

extension SubjectKey {
    public init(_ short: ShortHash) { self.init(high: short.high, low: short.low) }
}
