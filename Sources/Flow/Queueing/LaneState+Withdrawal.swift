// Destroys the waiting events of a lane that may not be delivered any more. In memory it does so at once, on disk step by step while the
// lane continues. Events that were handed over and have not begun to leave are taken out of their delivery; those that have begun are only
// counted. The same sweep destroys events that are too old. This file is a part of the pure lane state.

public import Admission
internal import ConsentGate
internal import Platform
internal import Spool

extension LaneState {
    mutating func sweep(_ answers: ConsentAnswers, at now: Instant, done: @escaping @Sendable (Swept) -> Void) -> [Effect] {
        guard withdrawals.checksConsent else { return [.swept(Swept(), [done])] }
        let earlier = withdrawals.sweeping
        var swept = earlier?.swept ?? Swept()
        swept.inFlight = refusedInFlight(answers)
        sweepMemory(checkedBy: answers, at: now)
        guard storeHealth.canStore else {
            swept = withdrawals.report(of: swept)
            // A store that was closed belongs to no lane any more. The search of such files reaches it.
            swept.isCut = isDurable && storeHealth.use != .closed
            return [.swept(swept, [done])]
        }
        withdrawals.sweeping = WithdrawalWork.Sweeping(
            progress: .row(backlog.position), swept: swept, done: (earlier?.done ?? []) + [done])
        return []
    }

    /// The number of the last delivery so far.
    public var lastDelivery: UInt64 { deliveries.last }

    /// True if the provider has ended every delivery up to this one, or if its deadline is over.
    public func hasEnded(upTo delivery: UInt64) -> Bool { deliveries.hasEnded(upTo: delivery) }

    /// What withdrawals have destroyed in this lane so far, by receipt.
    public var destroyed: Destroyed { withdrawals.destroyed }

    /// The number of events that have begun to leave and may not be delivered any more.
    func refusedInFlight(_ answers: ConsentAnswers) -> Int {
        deliveries.inOrder.reduce(0) { count, delivery in
            guard case .refused(let indices) = answers[delivery.handed.waiting.batch] else { return count }
            return count + indices.count(where: delivery.handed.hasBegun)
        }
    }

    /// Records that the store has swept some rows. `rows.next` is the row after which it continues, or nil if there are no more rows.
    mutating func rowsSwept(_ rows: SpoolSwept, _ answers: ConsentAnswers, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        hasSwept(&effects)
        guard var sweeping = withdrawals.sweeping else { return effects }
        for (route, count) in rows.routes { account.settle(route, fate: .withdrawn, count: count) }
        withdrawals.note(rows.destroyed)
        for (route, count) in rows.aged { account.settle(route, fate: .aged, count: count) }
        backlog.lose(SpoolLoss(routes: rows.routes.merging(rows.aged, uniquingKeysWith: +), bytes: rows.bytes + rows.agedBytes, words: ""))
        ages.noteDue(rows.due, at: now)
        if tidying == .clean { tidying = .untidy }
        guard sweeping.isAsked else {
            withdrawals.sweeping = sweeping
            return effects
        }
        if let next = rows.next {
            sweeping.progress = .row(next)
            withdrawals.sweeping = sweeping
            return effects
        }
        // During the sweep, rows may have come back from disk or may have been on their way to it.
        sweepMemory(checkedBy: sweeping.isForWithdrawal ? answers : nil, at: now)
        sweeping.progress = .committing
        tidying = .due(now)
        withdrawals.sweeping = sweeping
        return effects
    }

    /// Ends the sweep when neither the file nor its log contains a destroyed event.
    mutating func finishSweep(_ answers: ConsentAnswers) -> [Effect] {
        guard let sweeping = withdrawals.sweeping, sweeping.progress == .stored || sweeping.row == nil && !backlog.hasWork else {
            return []
        }
        withdrawals.sweeping = nil
        return sweeping.isForWithdrawal ? [.swept(withdrawals.report(of: sweeping.swept), sweeping.done)] : []
    }

    /// Returns the part of a batch that may continue to wait, or nil if there is none. Events whose subject has refused are destroyed.
    mutating func rest(of waiting: WaitingBatch, _ answer: SecondCheck.Answer) -> WaitingBatch? {
        guard case .refused(let refused) = answer else { return waiting }
        var found = RetentionSweep.Finds()
        (found.refused, found.receipts) = (refused.events, refused.receipts)
        return destroy(found, of: waiting)
    }

    /// Destroys events in memory that are too old, or that the answers refuse.
    mutating func sweepMemory(checkedBy answers: ConsentAnswers?, at now: Instant) {
        let sweep = ages.sweep(at: now)
        func find(in batch: Batch) -> RetentionSweep.Finds? { sweep.finds(in: batch, answer: answers?[batch] ?? .pass) }
        sealAssembly()
        if isDurable { sealGathered() }
        for (token, handed) in deliveries.inOrder {
            guard let found = find(in: handed.waiting.batch) else { continue }
            ages.noteDue(found.aged.isEmpty ? found.due : .min, at: now)
            // A refused event in flight never waits again, whatever its outcome is, so it need not stay on disk.
            let begun = found.refused.filter(handed.hasBegun)
            if !begun.isEmpty, let share = handed.waiting.part(begun).share { backlog.release(share) }
            let notBegun = found.refused.filter { !handed.hasBegun($0) }
            if let taken = deliveries.withdraw(notBegun, from: token) {
                noteDestroyed(found.part(notBegun).destroyed(of: handed.waiting.batch))
                settle(taken, .withdrawn)
            }
        }
        for waiting in queue.removeAll() {
            guard let found = find(in: waiting.batch) else {
                queue.append(waiting)
                continue
            }
            ages.noteDue(found.due, at: now)
            if let left = found.isEmpty ? waiting : destroy(found, of: waiting) { queue.append(left) }
        }
        var held: [Burial] = []
        for var burial in letters.takeHeld() {
            if let found = find(in: burial.batch) {
                ages.noteDue(found.due, at: now)
                guard let left = found.isEmpty ? burial.waiting : destroy(found, of: burial.waiting) else { continue }
                burial.waiting = left
            }
            held.append(burial)
        }
        letters.keepHolding(held)
        for var waiting in ending.takeKept() {
            if let found = find(in: waiting.batch) {
                ages.noteDue(found.due, at: now)
                // What stays on disk does not count as held in memory.
                heldBytes += waiting.batch.bytes.count
                guard let left = found.isEmpty ? waiting : destroy(found, of: waiting) else { continue }
                heldBytes -= left.batch.bytes.count
                waiting = left
            }
            ending.kept.append(waiting)
        }
        let (gone, destroyed, due) = backlog.sweep(at: now, find)
        ages.noteDue(due, at: now)
        for (batch, isRefused) in gone { settle(batch, isRefused ? .withdrawn : .aged) }
        noteDestroyed(destroyed)
    }

    /// Counts destroyed events. If the queue is on disk, the store records the count together with the destruction.
    mutating func noteDestroyed(_ destroyed: Destroyed) {
        withdrawals.note(destroyed)
        if isDurable { backlog.note(destroyed) }
    }

    /// Destroys these events of a batch. Returns the rest, or nil if nothing is left.
    mutating func destroy(_ found: RetentionSweep.Finds, of waiting: WaitingBatch) -> WaitingBatch? {
        if !found.refused.isEmpty {
            let refused = waiting.part(found.refused)
            noteDestroyed(found.destroyed(of: waiting.batch))
            settle(refused, .withdrawn)
        }
        if !found.aged.isEmpty { settle(waiting.part(found.aged), .aged) }
        let left = found.left(of: waiting.batch.count)
        return left.isEmpty ? nil : waiting.part(left)
    }
}
