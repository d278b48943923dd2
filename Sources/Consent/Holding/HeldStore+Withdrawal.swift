// Destroys the held events that a withdrawal refuses: every event that its subjects refuse now, directly in the file. Nothing is released
// while a withdrawal is active, so that the withdrawal can count what it destroyed.

internal import Admission
public import ConsentGate
public import Generations
internal import HeldEventStore
public import Judging
public import Platform
public import Queueing

extension HeldStore {
    /// Begins a withdrawal. Until `endWithdrawal` nothing is released, so that the withdrawal can count what it destroyed.
    public func beginWithdrawal() { heldIndex.withLock { $0.beginWithdrawal() } }

    /// True while a lane is still to get events that were released before a withdrawal began.
    public var isHandingOver: Bool { heldIndex.withLock { $0.isHandingOver } }

    /// Waits until the lanes have what was released. Call it while a withdrawal is active, so that nothing more is released.
    public func waitForHandOver() {
        assert(heldIndex.withLock { $0.isWithdrawing }, "more events may be released meanwhile")
        heldIndex.wait(while: { $0.isHandingOver })
    }

    public func endWithdrawal() {
        heldIndex.withLock { $0.endWithdrawal() }
        askAll()
        heldIndex.wake()
    }

    /// Destroys the events that their subjects refuse now, and the events that `check` refuses even if their subjects consented again.
    public func sweep(_ check: SecondCheck) throws(StorageFault) -> Swept {
        let generation = generations.enter()
        defer { generations.leave(generation) }
        let heldJudge = HeldJudge(generation, sources: sources)
        var swept = Swept()
        for subject in heldIndex.withLock({ heldIndex in heldIndex.subjects(where: records.knows) }) {
            var after: Int64? = 0
            while let from = after {
                after = try sweep(subject, after: from, check: check, heldJudge: heldJudge, generation: generation)
            }
        }
        if storage.withLock({ $0.file != nil }) {
            try use { (file) throws(StorageFault) in
                try file.tidy()
                try file.clearGaps()
                swept.destroyed = file.destroyed
            }
        }
        return swept
    }

    private func sweep(
        _ subject: SubjectKey, after: Int64, check: SecondCheck, heldJudge: HeldJudge, generation: Generation
    ) throws(StorageFault) -> Int64? {
        var told = HeldVerdicts(generation, names: names)
        let (next, gone): (Int64?, [(row: HeldRow, hash: [UInt8]?)]) = try use { (file) throws(StorageFault) in
            let (events, next) = try file.events(
                of: [subject], after: after, most: HeldStore.page, bytes: HeldStore.pageBytes, except: { _ in false })
            let judged = heldJudge.judge(events, by: generation, isTrial: true)
            if judged.contains(where: { $0.verdicts.contains { $0.verdict == .denied(.unreadable) || $0.verdict == .denied(.clock) } }) {
                throw StorageFault(.failed, "\(file.path): the consent records of its subjects cannot be read")
            }
            var gone: [(row: HeldRow, hash: [UInt8]?)] = []
            var destroyed = Destroyed()
            for (event, judged) in zip(events, judged) {
                let verdicts = judged.verdicts
                let receipts = verdicts.map { receipt(event.row, route: $0.route, check: check) }
                guard zip(verdicts, receipts).allSatisfy({ $0.verdict.isRefusal || $1 != nil }) else { continue }
                gone.append((event.row, judged.hash))
                destroyed.add(receipts.compactMap(\.self).first { $0 != 0 } ?? 0, bytes: event.row.bytes)
            }
            try file.change(remove: gone.map(\.row.id), destroyed: destroyed)
            return (next, gone)
        }
        let own = heldIndex.withLock { heldIndex in gone.filter { heldIndex.destroy($0.row) } }
        totals.withLock { totals in for one in own { totals.settle(held: one.row.routes, as: .withdrawn) } }
        for one in own { told.add(one.hash, one.row.routes, .withdrawn) }
        tell(told)
        return next
    }

    /// Returns the receipt of the withdrawal that refuses the event, 0 if it is refused without one, and nil if it is not refused.
    private func receipt(_ row: HeldRow, route: UInt16, check: SecondCheck) -> Int64? {
        let answer = check.check(route: route, level: EntryLevel.none, arrival: row.arrival, subjects: row.subjects)
        if case .refused(let refused) = answer { return refused.receipts[0] }
        return nil
    }
}

extension Totals {
    public mutating func settle(held routes: [UInt16], as verdict: Verdict) {
        for route in routes { settle(held: route, as: verdict) }
    }
}

extension Verdict {
    /// True if the event still waits, because nothing is known yet or the records cannot be read.
    var isOpen: Bool { self == .held || self == .denied(.unreadable) || self == .denied(.clock) }
    /// True if the event's subjects do not consent to what is demanded.
    var isRefusal: Bool { self == .denied(.level) || self == .denied(.purpose) }
}
