// Decides what the store of a lane does next: sweep, commit, read, check its place, tidy or close. This file is a part of the pure lane
// state.

internal import Admission
public import ConsentGate
internal import Plans
public import Platform
public import Spool

extension LaneState {
    /// The next task of the thread that has the store.
    public enum DiskStep {
        case commit(SpoolWork)
        case read(after: Int64, most: Int)
        /// Check whether the files are in their place.
        case check
        /// Destroy events in rows after this one that may not be delivered any more or are too old.
        case sweep(after: Int64, SweepOrder)
        /// Give free space back. With `clearsGaps`, also remove the remains of destroyed events from the file.
        case tidy(clearsGaps: Bool)
        case wait(until: Instant?)
        /// The lane is over. Close the store and end the thread.
        case close
    }

    /// What the store must look for in its rows.
    public struct SweepOrder {
        /// True if events whose subject has refused must go, in addition to those that are too old.
        var checksConsent: Bool
        var retention: Retention
        /// The time in nanoseconds since 1970.
        var now: Int64

        /// True if the sweep carries out a withdrawal.
        var isForWithdrawal = false

        public func sweep(_ check: SecondCheck?) -> RetentionSweep {
            RetentionSweep(checksConsent ? check : nil, retention, now: now, isForWithdrawal: isForWithdrawal)
        }
    }

    /// The number of attempts to store the rest after the lane has ended, and the pause between them.
    static let lastTries = 3
    static let lastPause = Duration.milliseconds(100)

    /// Returns the next step. Only the thread that has the store calls this, so at that moment the store does nothing.
    public mutating func diskStep(at now: Instant) -> DiskStep {
        switch storeHealth.use {
        case .none, .closed: return .wait(until: nil)
        case .givenUp: return .close
        case .inUse: break
        }
        if storeHealth.mustCheckPlace {
            storeHealth.mustCheckPlace = false
            return .check
        }
        if let step = sweepStep(at: now) { return step }
        if readsOn, storeHealth.mayStore(at: now) || storeHealth.isFull, storeHealth.reads.isDue(at: now) {
            let space = max(plan.batch.bytes, plan.queue.memory / 2 - heldBytes)
            return .read(after: backlog.position, most: min(space, 4 << 20))
        }
        // Delivered events are removed also from a full disk, which frees space.
        if storeHealth.mayRecord(at: now), let work = backlog.work(at: now, onlyRecords: !storeHealth.mayStore(at: now)) {
            return .commit(work)
        }
        if hasNothingToStore {
            // The lane is about to report that the rest waits on disk, so it first checks that the files are still there.
            if account.totalWaiting == 0 || !storeHealth.canStore || storeHealth.isPlaceChecked { return .close }
            storeHealth.isPlaceChecked = true
            return .check
        }
        return idleStep(at: now)
    }

    /// Returns the next step of the sweep that is under way, or nil if it has to wait.
    private mutating func sweepStep(at now: Instant) -> DiskStep? {
        guard let sweeping = withdrawals.sweeping else { return nil }
        // A deletion frees space.
        if let row = sweeping.row, storeHealth.mayRecord(at: now), storeHealth.sweeps.isDue(at: now), !hasGivenUpSweeping {
            withdrawals.sweeping?.isAsked = true
            let order = SweepOrder(
                checksConsent: sweeping.isForWithdrawal && withdrawals.checksConsent, retention: ages.retention, now: ages.wall(now),
                isForWithdrawal: sweeping.isForWithdrawal)
            return .sweep(after: max(row, backlog.position), order)
        }
        // This comes before all other work, since a withdrawal waits until the destroyed events have left the file.
        if sweeping.progress == .committing, storeHealth.mayRecord(at: now) {
            if let work = backlog.work(at: now, onlyRecords: !storeHealth.mayStore(at: now)) { return .commit(work) }
            withdrawals.sweeping?.noteStored()
        }
        let isStored = withdrawals.sweeping?.progress == .stored
        return isStored && storeHealth.mayStore(at: now) && tidying.isDue(at: now) ? .tidy(clearsGaps: true) : nil
    }

    /// Returns a wait for the next time at which the store has something to do, or a step that gives space back.
    private mutating func idleStep(at now: Instant) -> DiskStep {
        let sweeping = withdrawals.sweeping
        let mayStore = storeHealth.mayStore(at: now)
        // If the store may be used and has nothing to do, there is no time to wait for.
        var times: [Instant?] = [mayStore ? nil : storeHealth.stores.again]
        if storeHealth.isFull, !mayStore, backlog.hasRecords || sweeping != nil { times.append(storeHealth.records.again) }
        if sweeping?.row != nil, !hasGivenUpSweeping { times.append(storeHealth.sweeps.again) }
        if readsOn, mayStore || storeHealth.isFull { times.append(storeHealth.reads.again) }
        if tidying != .clean, sweeping?.row == nil {
            if tidying == .untidy { tidying = .due(sweeping == nil ? now + .seconds(1) : now) }
            if tidying.isDue(at: now) { return .tidy(clearsGaps: sweeping != nil) }
            if case .due(let instant) = tidying { times.append(instant) }
        }
        return .wait(until: times.compactMap(\.self).min())
    }

    /// True if a lane that has ended does not try any more to sweep a full disk.
    private var hasGivenUpSweeping: Bool { phase == .ended && storeHealth.sweeps.failures >= LaneState.lastTries }

    /// True if rows are to be read as soon as the store permits.
    private var readsOn: Bool { isRunningOrFlushing && backlog.hasMore && (toDrop > 0 || wantsRows) }
    private var isRunningOrFlushing: Bool { phase != .ended && phase != .stopped }

    /// True if memory has space for more rows.
    private var wantsRows: Bool { heldBytes - backlog.unstoredBytes <= plan.queue.memory / 2 }

    /// True if the lane has ended and the store has everything that it must have.
    private var hasNothingToStore: Bool {
        phase == .ended && (ending.isProviderClosed || ending.givenUpFor != nil || ending.isClosedByProvider) && !backlog.hasWork
            && letters.count == 0
    }

    /// True if confirmed deliveries cannot be recorded because the disk is full. Events that are handed over now would be handed over again
    /// after a kill, so nothing is handed over until recording works.
    var isUnrecorded: Bool { storeHealth.records.failures > 0 && !storeHealth.isGone }
}
