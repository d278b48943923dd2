// The queue of one provider and the threads that serve it: one delivers, one uses the store, and one watches deadlines. `LaneState` decides
// what happens next; this class holds the lock, reads the clock and carries the decisions out. A slow or failing lane delays no other lane,
// unless its queue is full and its plan makes the source wait.

public import Admission
public import ConsentGate
public import Plans
public import Platform
public import Spool

public final class Lane: Sendable {
    /// A kind of request to the store.
    public enum StoreAct: Sendable {
        /// Store new rows.
        case rows
        /// Record the outcomes of stored events.
        case records
        case reads
        /// Destroy events that must not stay.
        case sweeps
    }

    /// A change that a lane reports to its owner.
    public enum News: Sendable {
        case failing(Answer, again: Duration)
        case recovered(attempts: Int)
        /// Events were given up and are in the dead-letter file, except for `lost` of them.
        case buried(count: Int, reason: LaneAccount.Fate, Answer, lost: Int)
        /// The queue is full, and events are dropped as the plan demands.
        case dropping
        /// This number of failures in a row has opened the breaker.
        case opened(failures: Int)
        /// The store cannot carry out the act. Without a fault, it can carry it out again.
        case storing(SpoolFault?, StoreAct)
        case damaged(SpoolLoss)
        /// The files of the queue were removed or moved away. The lane takes no more events.
        case gone(SpoolFault)
        /// The lane ended. This number of events waits on disk for the next run.
        case left(Int)
        /// The lane has ended because its destination is gone.
        case closed(Answer)
        /// The lane has stopped because the provider does not return from its calls. Its events are kept as dead letters, or on disk.
        case stopped(Answer)
    }

    public let name: String
    private let provider: any Provider
    private let deadLetters: DeadLetters
    private let routes: RunNames
    private let store: (any SpoolStore)?
    private let clock: Clock
    private let news: @Sendable (Lane, News) -> Void
    private let state: Monitor<LaneState>
    private let watching = Monitor(Watching())
    /// The number of threads that wait until a parcel fits.
    private let waiting = Monitor(0)
    /// The heartbeats of the lane's own thread and of the thread that has the store.
    private let heartbeat: Watchdog.Heartbeat
    private let diskHeartbeat: Watchdog.Heartbeat

    /// The state of the thread that watches deadlines.
    private struct Watching {
        var isRunning = false
        /// True if no deadline needs watching any more.
        var isOver = false
        /// The number of changes of the plan.
        var changes = 0
    }

    /// `store` keeps the lane's queue. It is nil if the queue is in memory.
    public init(
        name: String, provider: any Provider, plan: DeliveryPlan, concurrency: Int, routes: RunNames, store: (any SpoolStore)? = nil,
        deadLetters: DeadLetters, clock: Clock, random: RandomSource, watchdog: Watchdog = Watchdog(), check: SecondCheck? = nil,
        news: @escaping @Sendable (Lane, News) -> Void
    ) {
        heartbeat = watchdog.heartbeat("lane \(name)")
        diskHeartbeat = watchdog.heartbeat("spool \(name)")
        self.name = name
        self.provider = provider
        self.deadLetters = deadLetters
        self.routes = routes
        self.clock = clock
        self.news = news
        self.store = store
        state = Monitor(
            LaneState(
                plan, concurrency: concurrency, routes: routes.all.count, random: random, contents: store?.contents,
                epoch: clock.wall() - clock.now().nanoseconds, check: check))
    }

    /// Starts the lane's threads. They end when the lane has ended.
    public func start() {
        provider.onClosed { [weak self] answer in self?.destinationLeft(answer) }
        Thread.start("lane \(name)") { self.run() }.detach()
        if let store { Thread.start("spool \(name)") { self.keep(store) }.detach() }
        startWatch()
    }

    private func startWatch() {
        guard state.withLock({ $0.plan.deadline > .zero }) else { return }
        let isFirst = watching.withLock { watching in
            defer { watching.isRunning = true }
            return !watching.isRunning
        }
        if isFirst { Thread.start("watch \(name)") { self.watch() }.detach() }
    }

    /// Applies another plan to the lane and its waiting events. `isNewProvider` says that another provider has replaced the old one; it is
    /// not responsible for the old one's failures. If `concurrency` is nil, the number of batches at once stays the same.
    public func adopt(_ plan: DeliveryPlan, concurrency: Int?, isNewProvider: Bool) {
        state.withLock { $0.adopt(plan, concurrency: concurrency, isNewProvider: isNewProvider) }
        state.wake()
        watching.withLock { $0.changes += 1 }
        watching.wake()
        startWatch()
    }

    /// A snapshot of the lane's state.
    public var status: LaneStatus {
        let now = clock.now()
        return state.withLock { $0.status(at: now) }
    }

    // MARK: - Events come in

    /// Takes the parcel's events, if there are any, and leaves it empty. Returns false and takes nothing if the lane is full and the source
    /// must wait. A busy source calls this for every block, so that no batch gets too old while the lane's thread sleeps. The receipt
    /// already counts this lane. It is settled when every event is safe as the plan promises.
    public func take(_ parcel: inout Parcel, _ receipt: Receipt? = nil) -> Bool {
        let now = clock.now()
        let (effects, needsAttention): ([LaneState.Effect]?, Bool) = state.withLock { state in
            if !parcel.isEmpty, state.mustWait(for: parcel.byteCount) { return (nil, true) }
            let effects = parcel.isEmpty ? [] : state.take(&parcel, receipt, at: now)
            state.telling += effects.isEmpty ? 0 : 1
            return (effects, state.needsAttention(at: now))
        }
        if needsAttention { state.wake() }
        if let effects, !effects.isEmpty { carryOut(effects) }
        return effects != nil
    }

    /// Takes the parcel's events as soon as they fit.
    public func waitAndTake(_ parcel: inout Parcel, _ receipt: Receipt? = nil) {
        waiting.withLock { $0 += 1 }
        defer { waiting.withLock { $0 -= 1 } }
        while !take(&parcel, receipt) {
            let bytes = parcel.byteCount
            state.wait(while: { $0.mustWait(for: bytes) })
        }
    }

    /// True if a thread waits until its parcel fits.
    public var isFull: Bool { waiting.withLock { $0 > 0 } }

    /// Reports that input flows, or that there is none at the moment.
    public func sourceIs(busy: Bool) {
        state.withLock { $0.isSourceBusy = busy }
        if !busy { state.wake() }
    }

    /// The events that were taken so far and their fates.
    public var account: LaneAccount { state.withLock { $0.account } }
    /// The answer with which the lane is failing at the moment.
    public var failure: Answer? { state.withLock { $0.failure } }

    /// True if the destination went away.
    public var isClosedByProvider: Bool { state.withLock { $0.isClosedByProvider } }

    /// True if events that are left when the run ends wait on disk for the next run.
    public var isDurable: Bool { store != nil }

    /// True if events that do not fit are dropped.
    public var drops: Bool { state.withLock { $0.drops } }

    /// Tells the provider to reopen files that were moved away.
    public func reopen() { provider.reopen() }

    // MARK: - The end

    /// Announces that no more events will come, so that open batches leave at once.
    public func drain() {
        state.withLock { $0.drain() }
        state.wake()
    }

    /// True if every event has its fate and nothing more is to be done.
    public var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits until the lane is over, either because it ended or because it was given up.
    public func waitForEnd() { state.wait(while: { !$0.isOver }) }

    /// Waits until the lane is over, but not longer than the deadline.
    public func waitForEnd(until deadline: Instant) {
        state.waitUntilReady { state -> Readiness<Void> in
            state.isOver || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    /// Waits until the provider is closed, but not longer than the deadline. A stuck provider never closes.
    public func waitForClose(until deadline: Instant) {
        state.waitUntilReady { state -> Readiness<Void> in
            state.isProviderClosed || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    /// Gives up what still waits, because time is up. It stays on disk or goes to the dead-letter file.
    public func giveUp(_ answer: Answer) {
        carryOut(telling { $0.giveUp(answer) })
        endWatch()
    }

    /// Stops the lane because the provider does not return from a call. The provider is not called again, and the waiting events are given
    /// up. If the call is not a delivery, this has an effect only on a lane that has ended: nobody waits for its provider to close.
    public func stop(for answer: Answer, isInDelivery: Bool) {
        carryOut(telling { isInDelivery || $0.phase == .ended ? $0.stop(for: answer) : [] })
        endWatch()
    }

    private func destinationLeft(_ answer: Answer) {
        carryOut(telling { $0.leave(answer) })
    }

    // MARK: - The lane's thread

    private func run() {
        while true {
            switch nextStep() {
            case .deliver(let token, let batch, let attempt):
                heartbeat.beat {
                    provider.deliver(batch, attempt: attempt) { [weak self] outcome in
                        guard let self else { return }
                        carryOut(telling { $0.completed(token, outcome, at: clock.now()) })
                    }
                }
            case .bury(let effects): carryOut(effects)
            case .flush:
                heartbeat.beat {
                    provider.flush { [weak self] outcome in
                        guard let self else { return }
                        carryOut(telling { $0.flushed(outcome) })
                    }
                }
            case .end:
                endWatch()
                provider.close()
                state.withLock { $0.providerClosed() }
                state.wake()
                return
            case .wait: preconditionFailure("nextStep never returns a wait")
            }
        }
    }

    private func nextStep() -> LaneState.Step {
        state.waitUntilReady { state in
            let step = state.next(at: clock.now())
            if case .wait(let instant) = step { return .notBefore(instant) }
            if case .bury(let effects) = step, !effects.isEmpty { state.telling += 1 }
            return .ready(step)
        }
    }

    // MARK: - The thread that has the store

    private func keep(_ store: any SpoolStore) {
        while true {
            let step = state.waitUntilReady { state -> Readiness<LaneState.DiskStep> in
                let step = state.diskStep(at: clock.now())
                if case .wait(let instant) = step { return .notBefore(instant) }
                return .ready(step)
            }
            switch step {
            case .commit(let work): carryOut(diskHeartbeat.beat { commit(work, store) })
            case .read(let row, let most): carryOut(diskHeartbeat.beat { read(after: row, most, store) })
            case .sweep(let row, let broom): carryOut(diskHeartbeat.beat { sweep(after: row, broom, store) })
            case .tidy(let clearsGaps):
                let isDone = diskHeartbeat.beat { (try? store.tidy()) != nil && (!clearsGaps || (try? store.clearGaps()) != nil) }
                carryOut(telling { $0.tidied(isDone: isDone, at: clock.now()) })
            case .check: carryOut(check(store))
            case .close:
                // Report a loss also if the lane has never used the store.
                if let loss = store.takeLoss() { carryOut(telling { $0.lost(loss) }) }
                store.close()
                carryOut(telling { $0.storeClosed() })
                return
            case .wait: preconditionFailure("a wait is handled above")
            }
            if let loss = store.takeLoss() { carryOut(telling { $0.lost(loss) }) }
        }
    }

    private func commit(_ work: SpoolWork, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            try store.commit(work)
            return telling { $0.committed(at: clock.now()) }
        } catch {
            if error.kind == .removed { store.letGo() }
            return telling { $0.storeFailed(error, at: clock.now()) }
        }
    }

    private func read(after row: Int64, _ most: Int, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            let rows = try store.read(after: row, most: most)
            return telling { $0.came(rows, at: clock.now()) }
        } catch {
            return telling { $0.readFailed(error, at: clock.now()) }
        }
    }

    private func sweep(after row: Int64, _ broom: RetentionSweep, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            let swept = try store.sweep(after: row, broom)
            return telling { $0.swept(swept, at: clock.now()) }
        } catch {
            if error.kind == .removed { store.letGo() }
            return telling { $0.sweepFailed(error, at: clock.now()) }
        }
    }

    private func check(_ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            try store.checkPlace()
            return []
        } catch {
            store.letGo()
            return telling { $0.storeGone(error, at: clock.now()) }
        }
    }

    /// Checks whether the queue's files are still in their folder. It is called when something in that folder has changed.
    public func checkStore() {
        state.withLock { $0.checkPlace() }
        state.wake()
    }

    /// Destroys waiting events that may not be delivered any more according to the ledger. Any thread may call `done` afterwards.
    public func sweep(_ done: @escaping @Sendable (Swept) -> Void) {
        carryOut(telling { $0.sweep(at: clock.now(), done: done) })
    }

    /// Sets the maximum age of events by route number. Older waiting events are destroyed.
    public func adopt(routeRetention routes: [UInt16: Int64]) {
        state.withLock { $0.adopt(routeRetention: routes, at: clock.now()) }
        state.wake()
    }

    /// Returns the events of these subjects that are only in memory, including those in flight.
    public func inMemory(of subjects: Set<SubjectKey>) -> [Batch] {
        let batches = state.withLock { $0.inMemory(at: clock.now()) }
        state.wake()
        return batches.map { $0.subset($0.events(of: subjects)) }.filter { $0.count > 0 }
    }

    /// The number of events in flight that may not be delivered any more according to the ledger.
    public var refusedInHands: Int { state.withLock { $0.refusedInHands } }

    // MARK: - Deadlines

    /// Watches the deadlines. A call that does not return cannot be interrupted, so this separate thread checks the time. It never calls
    /// the provider.
    private func watch() {
        while true {
            let now = clock.now()
            let changes = watching.withLock { $0.changes }
            let (effects, next, isOver) = state.withLock { state in
                let effects = state.expire(at: now)
                state.telling += effects.isEmpty ? 0 : 1
                // A delivery that begins after this moment has a later deadline, so it does not have to wake this thread.
                let next = state.nextDeadline ?? (state.plan.deadline > .zero ? now + state.plan.deadline : nil)
                return (effects, next, state.phase == .ended || state.phase == .stopped)
            }
            carryOut(effects)
            if isOver { return }
            watching.waitUntilReady { watching -> Readiness<Void> in
                if watching.isOver || watching.changes != changes { return .ready(()) }
                guard let next else { return .notBefore(nil) }
                return clock.now() >= next ? .ready(()) : .notBefore(next)
            }
        }
    }

    private func endWatch() {
        watching.withLock { $0.isOver = true }
        watching.wake()
    }

    /// Runs the body and returns the effects that the caller must carry out next. Until then the lane is not over.
    private func telling(_ body: (inout LaneState) -> [LaneState.Effect]) -> [LaneState.Effect] {
        state.withLock { state in
            let effects = body(&state)
            state.telling += effects.isEmpty ? 0 : 1
            return effects
        }
    }

    private func carryOut(_ effects: [LaneState.Effect]) {
        state.wake()
        if effects.isEmpty { return }
        defer {
            let isOver = state.withLock { state in
                state.telling -= 1
                return state.isOver
            }
            if isOver { state.wake() }
        }
        for effect in effects {
            switch effect {
            case .bury(let burial):
                let (lost, fault) = deadLetters.bury(
                    burial.batch, provider: name, routes: routes.all, reason: burial.reason, burial.answer, attempts: burial.attempts,
                    isLost: burial.isSettled)
                state.withLock { $0.buried(burial, lost: lost, fault, at: clock.now()) }
                state.wake()
                if lost > 0, !burial.isSettled { continue }
                news(self, .buried(count: burial.batch.count, reason: burial.reason, burial.answer, lost: lost))
            case .failing(let answer, let again): news(self, .failing(answer, again: again))
            case .recovered(let attempts): news(self, .recovered(attempts: attempts))
            case .dropping: news(self, .dropping)
            case .opened(let failures): news(self, .opened(failures: failures))
            case .acknowledge(let receipts): for receipt in receipts { receipt.settle() }
            case .storing(let fault, let act): news(self, .storing(fault, act))
            case .damaged(let loss): news(self, .damaged(loss))
            case .gone(let fault): news(self, .gone(fault))
            case .left(let count): news(self, .left(count))
            case .closed(let answer): news(self, .closed(answer))
            case .stopped(let answer): news(self, .stopped(answer))
            case .swept(let swept, let done): for tell in done { tell(swept) }
            }
        }
    }
}
