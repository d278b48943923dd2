// The ledger at work: the file, and the table in memory by which the gate judges. It promises that nothing is in the table that is not
// safely in the file, and that what was written is in the table before whoever wrote it goes on.

public import Platform
public import Policy

public final class Registry: Sendable {
    public let records: ConsentRecords
    private let file: Monitor<LedgerFile>
    private let untieCount = Monitor(0)

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
            defer { note(ledger) }
            let (result, changes) = try body(ledger)
            publish(changes)
            return result
        }
    }

    /// The same in one transaction, for one who has the turn: what it changes is on disk before it takes effect. `took` is told then,
    /// before anyone else can write.
    public func write(
        _ body: (LedgerFile) throws(StorageFault) -> [LedgerChange], took: ([LedgerChange]) -> Void
    ) throws(StorageFault) {
        try file.withLock { (ledger) throws(StorageFault) in
            defer { note(ledger) }
            let changes = try ledger.write { () throws(StorageFault) in try body(ledger) }
            publish(changes)
            took(changes)
        }
    }

    private func note(_ ledger: LedgerFile) {
        let unties = ledger.unties
        untieCount.withLock { $0 = unties }
        records.isUnreadable = ledger.isClockBehind
    }

    /// Rises with every id that is set apart from others: what was known of ties before may not be so any more.
    public var unties: Int { untieCount.withLock { $0 } }

    /// What cannot be written holds in memory all the same, for the id and those tied to it, until something of theirs is written or the
    /// router ends. The body makes it of what holds so far; nil: it stays.
    public func enforce(_ id: LedgerID, _ body: ([ConsentTerms]) -> [ConsentTerms]?) -> [SubjectKey] {
        file.withLock { ledger in
            // The file does not know what memory holds then.
            ledger.tellsAll = true
            let person: [SubjectKey]
            do throws(StorageFault) {
                person = try ledger.person(of: id).map { SubjectKey($0) }
            } catch {
                person = [ledger.key(of: id)]
            }
            return person.filter { key in
                let known = records.terms(of: key)
                guard let terms = body(known), terms != known else { return false }
                records.set(key, terms)
                return true
            }
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
