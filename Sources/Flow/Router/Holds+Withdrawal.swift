// What a withdrawal destroys of what is held: every event that its subjects refuse by now, in the file at once. While it is at work
// nothing is released, so that it can tell what there was.

internal import Admission
internal import ConsentGate
internal import Delivery
internal import Judging
internal import Platform
internal import Spool

extension Holds {
    /// A withdrawal begins, and will end: until then nothing is released, so that it can tell what it has destroyed.
    func beginWithdrawal() { book.withLock { $0.beginWithdrawal() } }

    func endWithdrawal() {
        book.withLock { $0.endWithdrawal() }
        askAll()
        book.wake()
    }

    /// Destroys what its subjects refuse by now, and what `check` lets go no more, whatever they have said since.
    func sweep(_ check: SecondCheck) throws(StorageFault) -> Swept {
        let generation = roster.enter()
        defer { roster.leave(generation) }
        let bench = HoldBench(generation, sources: sources)
        var swept = Swept()
        for subject in book.withLock({ book in book.subjects(where: records.knows) }) {
            var after: Int64? = 0
            while let from = after { after = try sweep(subject, after: from, check, bench, generation, &swept) }
        }
        if storage.withLock({ $0.file != nil }) {
            try use { (file) throws(StorageFault) in
                try file.tidy()
                try file.clearGaps()
            }
        }
        return swept
    }

    private func sweep(
        _ subject: SubjectKey, after: Int64, _ check: SecondCheck, _ bench: HoldBench, _ generation: Generation, _ swept: inout Swept
    ) throws(StorageFault) -> Int64? {
        let (next, gone): (Int64?, [HeldRow]) = try use { (file) throws(StorageFault) in
            let (events, next) = try file.events(
                of: [subject], after: after, most: Holds.page, bytes: Holds.pageBytes, except: { _ in false })
            let verdicts = bench.judge(events, by: generation, isTrial: true)
            if verdicts.contains(where: { $0.contains { $0.verdict == .denied(.unreadable) || $0.verdict == .denied(.clock) } }) {
                throw StorageFault(.failed, "\(file.path): what is on record of its subjects cannot be told")
            }
            let gone = zip(events, verdicts).filter { event, verdicts in
                verdicts.allSatisfy { $0.verdict.isRefusal || isRefused(event.row, $0.route, check) }
            }.map(\.0.row)
            try file.change(remove: gone.map(\.id))
            return (next, gone)
        }
        let own = book.withLock { book in gone.filter { book.destroy($0) } }
        totals.withLock { totals in for row in own { totals.settle(held: row.routes, as: .withdrawn) } }
        swept.events += own.count
        swept.bytes += own.reduce(0) { $0 + $1.bytes }
        return next
    }

    private func isRefused(_ row: HeldRow, _ route: UInt16, _ check: SecondCheck) -> Bool {
        check.check(route: route, level: EntryLevel.none, arrival: row.arrival, subjects: row.subjects) == .refused([0])
    }
}

extension Totals {
    mutating func settle(held routes: [UInt16], as verdict: Verdict) {
        for route in routes { settle(held: route, as: verdict) }
    }
}

extension Verdict {
    /// It waits on: nothing is known yet, or can be told.
    var isOpen: Bool { self == .held || self == .denied(.unreadable) || self == .denied(.clock) }
    /// Its subjects do not consent to as much as is demanded.
    var isRefusal: Bool { self == .denied(.level) || self == .denied(.purpose) }
}
