// What a withdrawal destroys of a lane: every event that waits and may not go any more, in memory at once, on disk step by step while
// the lane goes on. What is in the provider's hands stays there and is counted. Pure, like the rest of the state.

internal import Platform
internal import Policy
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
    }

    mutating func sweep(at now: Instant, done: @escaping @Sendable (Swept) -> Void) -> [Effect] {
        guard let check else { return [.swept(Swept(), [done])] }
        var swept = sweeping?.swept ?? Swept()
        swept.inHands = refusedInHands
        sweepMemory(check, at: now)
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
        guard var sweeping, let check else { return [] }
        for (route, count) in rows.routes {
            account.settle(route, .withdrawn, count)
            sweeping.swept.events += count
        }
        sweeping.swept.bytes += rows.bytes
        backlog.lose(SpoolLoss(routes: rows.routes, bytes: rows.bytes, words: ""))
        isUntidy = true
        if let next = rows.next {
            sweeping.row = next
            self.sweeping = sweeping
            return []
        }
        // What came back from disk meanwhile, or was on its way there.
        sweepMemory(check, at: now)
        sweeping.row = nil
        tidyAt = now
        self.sweeping = sweeping
        return []
    }

    /// Nothing that was destroyed is in the file or its log any more.
    mutating func finishSweep() -> [Effect] {
        guard let sweeping, sweeping.row == nil, !backlog.hasWork else { return [] }
        self.sweeping = nil
        return [.swept(told(sweeping.swept), sweeping.done)]
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
        guard case .refused(let refused)? = check?.check(waiting.batch) else { return waiting }
        destroy(waiting.part(refused))
        let gone = Set(refused)
        let left = (0..<waiting.batch.count).filter { !gone.contains($0) }
        return left.isEmpty ? nil : waiting.part(left)
    }

    private mutating func destroy(_ waiting: Waiting) {
        untold.events += waiting.batch.count
        untold.bytes += waiting.batch.bytes.count
        settle(waiting, .withdrawn)
    }

    private mutating func sweepMemory(_ check: SecondCheck, at now: Instant) {
        sealAssembly(at: now, always: true)
        if isDurable { sealGathered(at: now, always: true) }
        for waiting in queue.removeAll() {
            if let rest = rest(of: waiting) { queue.append(rest) }
        }
        // What is in the provider's hands never waits again, whatever comes of it, so that it need not stay on disk.
        for waiting in inFlight.values {
            guard case .refused(let refused) = check.check(waiting.batch), let share = waiting.part(refused).share else { continue }
            backlog.release(share)
        }
        for batch in backlog.sweep(check, at: now) {
            untold.events += batch.count
            untold.bytes += batch.bytes.count
            settle(batch, .withdrawn)
        }
    }
}
