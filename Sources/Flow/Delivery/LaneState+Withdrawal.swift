// What a withdrawal destroys of a lane: every event that waits and may not go any more, in memory at once, on disk step by step while
// the lane goes on. What is in the provider's hands stays there and is counted. Pure, like the rest of the state.

internal import Admission
internal import ConsentGate
internal import Platform
internal import Spool

/// What became of a lane's events by a withdrawal.
public struct Swept: Sendable, Equatable {
    /// Destroyed, in memory and on disk.
    public var events = 0
    public var bytes = 0
    /// In the provider's hands when it began: they may have been delivered.
    public var inHands = 0
    /// It did not come to its end: something may be left.
    public var isCut = false
    /// Something may still come back from where it is: from the provider's hands, or from its way to the dead letters.
    public var isLoose = false
    public init() {}
}

extension LaneState {
    /// A sweep under way on disk.
    struct Sweeping {
        /// The rows up to here are done; nil: all are, and what was destroyed in memory is yet to leave the disk.
        var row: Int64?
        var swept: Swept
        var done: [@Sendable (Swept) -> Void]
        /// The store was asked since it began: what it was asked before says nothing of what this one is about.
        var isAsked = false
        /// The rows are done, and so is what there was to record then: what comes later is of others, and need not be waited for.
        var isStored = false
        /// Somebody waits for it; nobody waits for one that looks at ages alone.
        var isForWithdrawal: Bool { !done.isEmpty }
    }

    mutating func sweep(at now: Instant, done: @escaping @Sendable (Swept) -> Void) -> [Effect] {
        guard let check else { return [.swept(Swept(), [done])] }
        var swept = sweeping?.swept ?? Swept()
        swept.inHands = refusedInHands
        sweepMemory(broom(check, at: now), at: now)
        guard canStore else {
            swept = told(swept)
            swept.isCut = isDurable
            return [.swept(swept, [done])]
        }
        sweeping = Sweeping(row: backlog.position, swept: swept, done: (sweeping?.done ?? []) + [done])
        return []
    }

    /// How many events are in the provider's hands that may not go any more.
    var refusedInHands: Int {
        inFlight.values.reduce(0) { count, waiting in
            if case .refused(let indices)? = check?.check(waiting.batch) { count + indices.count } else { count }
        }
    }

    /// The thread that has the store went through some rows. `next`: where it goes on; nil: there are no more.
    mutating func swept(_ rows: SpoolSwept, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        hasSwept(&effects)
        guard var sweeping else { return effects }
        for (route, count) in rows.routes {
            account.settle(route, .withdrawn, count)
            sweeping.swept.events += count
        }
        for (route, count) in rows.aged { account.settle(route, .aged, count) }
        sweeping.swept.bytes += rows.bytes
        backlog.lose(SpoolLoss(routes: rows.routes.merging(rows.aged, uniquingKeysWith: +), bytes: rows.bytes + rows.agedBytes, words: ""))
        noteDue(rows.due, at: now)
        isUntidy = true
        guard sweeping.isAsked else {
            self.sweeping = sweeping
            return effects
        }
        if let next = rows.next {
            sweeping.row = next
            self.sweeping = sweeping
            return effects
        }
        // What came back from disk meanwhile, or was on its way there.
        sweepMemory(broom(sweeping.isForWithdrawal ? check : nil, at: now), at: now)
        sweeping.row = nil
        tidyAt = now
        self.sweeping = sweeping
        return effects
    }

    /// Nothing that was destroyed is in the file or its log any more.
    mutating func finishSweep() -> [Effect] {
        guard let sweeping, sweeping.row == nil, sweeping.isStored || !backlog.hasWork else { return [] }
        self.sweeping = nil
        return sweeping.isForWithdrawal ? [.swept(told(sweeping.swept), sweeping.done)] : []
    }

    /// With all that was destroyed in memory, or on its way, since the last time.
    mutating func told(_ swept: Swept) -> Swept {
        var whole = swept
        whole.events += untold.events
        whole.bytes += untold.bytes
        whole.isLoose = whole.isLoose || refusedInHands > 0 || isBurying
        untold = Swept()
        return whole
    }

    /// What of a batch may wait on. Events whose subject has refused are destroyed; nil: all of them.
    mutating func rest(of waiting: Waiting) -> Waiting? {
        guard let finds = RetentionSweep(check).finds(in: waiting.batch), !finds.isEmpty else { return waiting }
        return destroy(finds, of: waiting)
    }

    mutating func sweepMemory(_ broom: RetentionSweep, at now: Instant) {
        sealAssembly(at: now, always: true)
        if isDurable { sealGathered(at: now, always: true) }
        for waiting in inFlight.values {
            guard let finds = broom.finds(in: waiting.batch) else { continue }
            noteDue(finds.aged.isEmpty ? finds.due : .min, at: now)
            // What is in the provider's hands never waits again, whatever comes of it, so that it need not stay on disk.
            if !finds.refused.isEmpty, let share = waiting.part(finds.refused).share { backlog.release(share) }
        }
        for waiting in queue.removeAll() {
            guard let finds = broom.finds(in: waiting.batch) else {
                queue.append(waiting)
                continue
            }
            noteDue(finds.due, at: now)
            if let left = finds.isEmpty ? waiting : destroy(finds, of: waiting) { queue.append(left) }
        }
        for burial in letters.removeAll() {
            var burial = burial
            if let finds = broom.finds(in: burial.batch) {
                noteDue(finds.due, at: now)
                guard let left = finds.isEmpty ? burial.waiting : destroy(finds, of: burial.waiting) else { continue }
                burial.waiting = left
            }
            letters.append(burial)
        }
        let (gone, due) = backlog.sweep(broom, at: now)
        noteDue(due, at: now)
        for (batch, isRefused) in gone {
            if isRefused { tellLater(batch) }
            settle(batch, isRefused ? .withdrawn : .aged)
        }
    }

    /// What is left of it; nil: nothing.
    mutating func destroy(_ finds: RetentionSweep.Finds, of waiting: Waiting) -> Waiting? {
        if !finds.refused.isEmpty {
            let refused = waiting.part(finds.refused)
            tellLater(refused.batch)
            settle(refused, .withdrawn)
        }
        if !finds.aged.isEmpty { settle(waiting.part(finds.aged), .aged) }
        let left = finds.left(of: waiting.batch.count)
        return left.isEmpty ? nil : waiting.part(left)
    }

    private mutating func tellLater(_ batch: Batch) {
        untold.events += batch.count
        untold.bytes += batch.bytes.count
    }
}
