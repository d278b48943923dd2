// The ledger at work: the file, and the table in memory by which the gate judges. It promises that nothing is in the table that is not
// safely in the file, and that what was written is in the table before whoever wrote it goes on.

public import Admission
public import ConsentGate
public import Platform

public final class Registry: Sendable {
    /// Why what is on record does not count, or that it does again.
    public enum News: Sendable {
        /// The file turned out to be damaged, or was removed; it stays so until the next start.
        case damaged(StorageFault)
        /// Now is earlier than the last decision on record was written.
        case clockBehind(now: Int64, last: Int64)
        case clockRight
    }

    private struct Watch {
        var last: Int64
        /// What the clock said when it was found to be behind; nil: it is not.
        var behind: Int64?
        var damage: StorageFault?
        var tell: (@Sendable (News) -> Void)?
    }

    public let records: ConsentRecords
    private let file: Monitor<LedgerFile>
    private let listener = Monitor<(@Sendable ([LedgerChange]) -> Void)?>(nil)
    private let untieCount = Monitor(0)
    private let watching: Monitor<Watch>

    /// Reads all of the file into a table.
    public init(_ ledger: LedgerFile) throws(StorageFault) {
        let records = ConsentRecords(room: try ledger.subjectCount())
        try ledger.readAll { records.set(SubjectKey($0), $1) }
        self.records = records
        watching = Monitor(Watch(last: ledger.lastWritten))
        file = Monitor(ledger)
        note(time: ledger.options.clock.wall())
    }

    /// Lets the body read or write the file; what it changed takes effect before this returns. One at a time.
    public func use<R: Sendable>(_ body: @Sendable (LedgerFile) throws(StorageFault) -> (R, [LedgerChange])) throws(StorageFault) -> R {
        try file.withLock { (ledger) throws(StorageFault) in
            try noting(ledger) { () throws(StorageFault) in
                let (result, changes) = try body(ledger)
                publish(changes)
                return result
            }
        }
    }

    /// The same in one transaction, for one who has the turn: what it changes is on disk before it takes effect. `took` is told then,
    /// before anyone else can write.
    public func write(
        _ body: (LedgerFile) throws(StorageFault) -> [LedgerChange], took: ([LedgerChange]) -> Void
    ) throws(StorageFault) {
        try file.withLock { (ledger) throws(StorageFault) in
            try noting(ledger) { () throws(StorageFault) in
                let changes = try ledger.write { () throws(StorageFault) in try body(ledger) }
                publish(changes)
                took(changes)
            }
        }
    }

    /// Whatever the body does with the ledger, what that tells of it is known afterwards.
    private func noting<R>(_ ledger: LedgerFile, _ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        defer {
            let (last, unties) = (ledger.lastWritten, ledger.unties)
            watching.withLock { $0.last = last }
            untieCount.withLock { $0 = unties }
            note(time: ledger.options.clock.wall())
        }
        do throws(StorageFault) {
            return try body()
        } catch {
            if error.kind == .damaged || error.kind == .removed { note(damage: error) }
            throw error
        }
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

    // MARK: - Whether it counts

    /// Tells what is wrong, if something is, and then whenever that changes.
    public func watch(_ tell: @escaping @Sendable (News) -> Void) {
        let news = watching.withLock { watch in
            watch.tell = tell
            return [watch.damage.map(News.damaged), watch.behind.map { .clockBehind(now: $0, last: watch.last) }].compactMap { $0 }
        }
        for news in news { tell(news) }
    }

    /// What time it is, by the clock of whoever asks what is on record. While it is behind, nothing on record counts.
    public func note(time: Int64) {
        let told = watching.withLock { watch -> (tell: (@Sendable (News) -> Void)?, news: News)? in
            let isBehind = time < watch.last - LedgerFile.tolerance
            guard isBehind != (watch.behind != nil) else { return nil }
            watch.behind = isBehind ? time : nil
            records.isClockBehind = isBehind
            return (watch.tell, isBehind ? .clockBehind(now: time, last: watch.last) : .clockRight)
        }
        guard let told else { return }
        told.tell?(told.news)
        if case .clockRight = told.news { tell([]) }
    }

    private func note(damage: StorageFault) {
        let tell = watching.withLock { watch -> (@Sendable (News) -> Void)? in
            guard watch.damage == nil else { return nil }
            watch.damage = damage
            records.isUnreadable = true
            return watch.tell
        }
        tell?(.damaged(damage))
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

    /// Looks whether the file is still where it was; what is told of it when it is not is known as soon as this returns.
    public func checkPlace() {
        file.withLock { ledger in
            do throws(StorageFault) {
                try noting(ledger) { () throws(StorageFault) in try ledger.checkPlace() }
            } catch {}
        }
    }

    public func close() { file.withLock { $0.close() } }
}

extension SubjectKey {
    public init(_ short: ShortHash) { self.init(high: short.high, low: short.low) }
}
