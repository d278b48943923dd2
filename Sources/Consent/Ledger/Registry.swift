// Keeps the ledger file and the table in memory that the gate reads in step. It promises that the table holds only what is safely in the
// file, and that a change is in the table before its writer goes on. There is one exception: a refusal that could not be written holds in
// the table alone (`enforce`).

public import Admission
public import ConsentGate
public import Platform

public final class Registry: Sendable {
    /// Reports that the records do not count, or that they count again.
    public enum News: Sendable {
        /// The file is damaged or was removed. This state lasts until the next start.
        case damaged(StorageFault)
        /// The clock is behind the last write of the ledger.
        case clockBehind(now: Int64, last: Int64)
        case clockRight
    }

    private struct Watch {
        var last: Int64
        /// The latest time that was noted.
        var latest = Int64.min
        /// The time of the clock when it was found to be behind. It is nil if the clock is right.
        var behind: Int64?
        var damage: StorageFault?
        var tell: (@Sendable (News) -> Void)?
    }

    private struct Listener {
        var hear: (@Sendable ([LedgerChange]) -> Void)?
    }

    public let records: ConsentRecords
    private let file: Monitor<LedgerFile>
    private let listener = Monitor(Listener())
    private let untieCount = Monitor(0)
    private let watching: Monitor<Watch>

    /// Reads the whole file into a table.
    public init(_ ledger: LedgerFile) throws(StorageFault) {
        let records = ConsentRecords(capacity: try ledger.subjectCount())
        try ledger.readAll { records.set(SubjectKey($0), $1) }
        self.records = records
        watching = Monitor(Watch(last: ledger.lastWritten))
        file = Monitor(ledger)
        note(time: ledger.options.clock.wall())
    }

    /// Calls the body with the file, for one caller at a time. The changes that the body returns take effect before this function returns.
    public func use<R: Sendable>(_ body: @Sendable (LedgerFile) throws(StorageFault) -> (R, [LedgerChange])) throws(StorageFault) -> R {
        try file.withLock { (ledger) throws(StorageFault) in
            try noting(ledger) { () throws(StorageFault) in
                ledger.latestArrival = watching.withLock { $0.latest }
                let (result, changes) = try body(ledger)
                publish(changes)
                return result
            }
        }
    }

    /// Runs the body in one transaction, for a caller whose turn it is. The changes are on disk before they take effect. Then calls `took`,
    /// before another caller can write.
    public func write(
        _ body: (LedgerFile) throws(StorageFault) -> [LedgerChange], took: ([LedgerChange]) -> Void
    ) throws(StorageFault) {
        try file.withLock { (ledger) throws(StorageFault) in
            try noting(ledger) { () throws(StorageFault) in
                ledger.latestArrival = watching.withLock { $0.latest }
                let changes = try ledger.write { () throws(StorageFault) in try body(ledger) }
                publish(changes)
                took(changes)
            }
        }
    }

    /// Runs the body. Afterwards records the time of the last write, the number of unties and any damage that the body found.
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

    /// The damage that was found while the ledger is in use. It is nil if there is none.
    public var damage: StorageFault? { watching.withLock { $0.damage } }

    /// The time of the last write of the ledger, in nanoseconds since 1970.
    public var lastWritten: Int64 { watching.withLock { $0.last } }

    /// The number of ids that were untied. If it has risen, ties that were known before may be gone.
    public var unties: Int { untieCount.withLock { $0 } }

    /// Sets terms in memory alone, for the id and all ids tied to it, when the file cannot be written. They hold until something is written
    /// for these ids or the router ends. The body computes the new terms from the current ones; nil leaves them unchanged. Returns the keys
    /// that were changed.
    public func enforce(_ id: LedgerID, _ body: ([ConsentTerms]) -> [ConsentTerms]?) -> [SubjectKey] {
        file.withLock { ledger in
            // The file does not have these terms, so it must from now on report every change.
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

    // MARK: - Damage, clock and changes

    /// Reports the current trouble, if there is any, and then each change of it.
    public func watch(_ tell: @escaping @Sendable (News) -> Void) {
        let news = watching.withLock { watch in
            watch.tell = tell
            return [watch.damage.map(News.damaged), watch.behind.map { .clockBehind(now: $0, last: watch.last) }].compactMap { $0 }
        }
        for news in news { tell(news) }
    }

    /// Compares a caller's clock with the last write. While the clock is behind, the records do not count. The time may be one at which events
    /// come in.
    public func note(time: Int64) {
        let told = watching.withLock { watch -> (tell: (@Sendable (News) -> Void)?, news: News)? in
            watch.latest = max(watch.latest, time)
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

    /// Puts changes into the table and reports them. An import calls this after each transaction, while it has the file.
    public func publish(_ changes: [LedgerChange]) {
        for change in changes { records.set(SubjectKey(change.short), change.effective) }
        if !changes.isEmpty { tell(changes) }
    }

    /// From now on, calls `hear` with each list of changes after they are in the table. Calls it with an empty list when the clock is no
    /// longer behind. `hear` must not call the registry.
    public func onChange(_ hear: @escaping @Sendable ([LedgerChange]) -> Void) { listener.withLock { $0.hear = hear } }

    private func tell(_ changes: [LedgerChange]) { listener.withLock { $0.hear }?(changes) }

    /// Sets the names of the levels, from lowest to highest, after a reload has changed them.
    public func adopt(levels: [String]) { file.withLock { $0.levels = levels } }

    /// Checks that the file is still at its path. If it is not, the fault is reported before this function returns.
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
