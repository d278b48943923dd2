// One provider's queue and the thread that empties it. Lanes are independent: one that is slow or failing delays no
// other. What it does next is decided by `LaneState`; this class holds the lock, tells the time and carries it out.

public import Admission
public import ConsentGate
public import Plans
public import Platform
public import Spool

public final class Lane: Sendable {
    /// What a store was asked for.
    public enum StoreAct: Sendable {
        /// To store new rows.
        case rows
        /// To record what became of some.
        case records
        case reads
        /// To destroy what may not stay.
        case sweeps
    }

    /// What a lane tells the one who runs it.
    public enum News: Sendable {
        case failing(Answer, again: Duration)
        case recovered(attempts: Int)
        /// Events were given up and are in the dead-letter file (but for `lost` of them).
        case buried(count: Int, reason: LaneAccount.Fate, Answer, lost: Int)
        /// The queue is full, and events are dropped as the plan says.
        case dropping
        /// So many failures in a row have opened the breaker.
        case opened(failures: Int)
        /// The store cannot do it, or, without a fault, can again.
        case storing(SpoolFault?, StoreAct)
        /// Events on disk were damaged.
        case damaged(SpoolLoss)
        /// The files of its queue were removed or moved away; it takes nothing more.
        case gone(SpoolFault)
        /// The lane ended, and so many events wait on disk for the next run.
        case left(Int)
        /// The lane has ended because its destination is gone.
        case closed(Answer)
        /// The lane has stopped because the provider does not end what it is called for. Its events are kept as dead letters.
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
    /// How many wait for room.
    private let waiting = Monitor(0)
    /// Of the lane's own thread, and of the one that has the store.
    private let heartbeat: Watchdog.Heartbeat
    private let diskHeartbeat: Watchdog.Heartbeat

    /// Of the thread that looks after deadlines.
    private struct Watching {
        var isRunning = false
        /// Whether deadlines need no watching any more.
        var isOver = false
        /// How often the plan has changed.
        var changes = 0
    }

    /// `store`: where the lane keeps its queue; nil: in memory.
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

    /// Starts the lane's threads, which end when the lane has ended.
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

    /// From now on it goes by another plan, with what waits. `isNewProvider`: there is another provider at its place, too, which
    /// owes nothing for what the old one failed at.
    /// `concurrency`: nil leaves it to what the provider takes.
    public func adopt(_ plan: DeliveryPlan, concurrency: Int?, isNewProvider: Bool) {
        state.withLock { $0.adopt(plan, concurrency: concurrency, isNewProvider: isNewProvider) }
        state.wake()
        watching.withLock { $0.changes += 1 }
        watching.wake()
        startWatch()
    }

    /// How it does at the moment.
    public var status: LaneStatus {
        let now = clock.now()
        return state.withLock { $0.status(at: now) }
    }

    // MARK: - Events come in

    /// Takes what the parcel holds, if anything, and leaves it empty; false, with nothing taken, when the lane is full and the
    /// source is to wait. A busy source calls this for every block, so that nothing gets too old while the lane's thread is left alone.
    /// The receipt, which counts this lane already, is settled when every event is where the plan promises.
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

    /// Takes what the parcel holds, as soon as there is room for it.
    public func waitAndTake(_ parcel: inout Parcel, _ receipt: Receipt? = nil) {
        waiting.withLock { $0 += 1 }
        defer { waiting.withLock { $0 -= 1 } }
        while !take(&parcel, receipt) {
            let bytes = parcel.byteCount
            state.wait(while: { $0.mustWait(for: bytes) })
        }
    }

    /// Whether somebody waits for room in it.
    public var isFull: Bool { waiting.withLock { $0 > 0 } }

    /// Told by the source when input flows, and when there is none at the moment.
    public func sourceIs(busy: Bool) {
        state.withLock { $0.isSourceBusy = busy }
        if !busy { state.wake() }
    }

    /// Events taken so far and what became of them.
    public var account: LaneAccount { state.withLock { $0.account } }
    /// The answer that the lane is failing with at the moment.
    public var failure: Answer? { state.withLock { $0.failure } }

    /// Whether the destination went away.
    public var isClosedByProvider: Bool { state.withLock { $0.isClosedByProvider } }

    /// Whether what is left when the run ends waits on disk for the next one.
    public var isDurable: Bool { store != nil }

    /// Whether what finds no room is dropped.
    public var drops: Bool { state.withLock { $0.drops } }

    /// Opens anew what was moved away.
    public func reopen() { provider.reopen() }

    // MARK: - The end

    /// No more events will come: what is here leaves at once.
    public func drain() {
        state.withLock { $0.drain() }
        state.wake()
    }

    /// Whether every event has its fate, and nothing more is to be done.
    public var isOver: Bool { state.withLock { $0.isOver } }

    /// Waits until the lane is over, which it is when it has ended by itself or was given up.
    public func waitForEnd() { state.wait(while: { !$0.isOver }) }

    /// The same, but no longer than that.
    public func waitForEnd(until deadline: Instant) {
        state.waitUntilReady { state -> Readiness<Void> in
            state.isOver || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    /// Waits until the provider is closed, which a stuck one never is.
    public func waitForClose(until deadline: Instant) {
        state.waitUntilReady { state -> Readiness<Void> in
            state.isProviderClosed || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    /// Time is up: what still waits is given up and kept in the dead-letter file.
    public func giveUp(_ answer: Answer) {
        carryOut(telling { $0.giveUp(answer) })
        endWatch()
    }

    /// The provider does not come back from a call, and is not called again: what waits is given up. Where it was not in
    /// a delivery, only a lane that has ended by itself is meant, so that its provider's end is not waited for.
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
            case .wait: preconditionFailure("nextStep waits by itself")
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
                // Also where there was nothing to ask it.
                if let loss = store.takeLoss() { carryOut(telling { $0.lost(loss) }) }
                store.close()
                carryOut(telling { $0.storeClosed() })
                return
            case .wait: preconditionFailure("waits by itself")
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

    /// Something has happened in the folder where it keeps its queue: it looks whether its files are still there.
    public func checkStore() {
        state.withLock { $0.checkPlace() }
        state.wake()
    }

    /// Destroys what waits and may not go any more, by what is on record now; `done` is told when it is, from any thread.
    public func sweep(_ done: @escaping @Sendable (Swept) -> Void) {
        carryOut(telling { $0.sweep(at: clock.now(), done: done) })
    }

    /// How old events of a route may get, by its number; what waits and is older is destroyed.
    public func adopt(routeRetention routes: [UInt16: Int64]) {
        state.withLock { $0.adopt(routeRetention: routes, at: clock.now()) }
        state.wake()
    }

    /// The events of these subjects that it has in memory alone, in the provider's hands too.
    public func inMemory(of subjects: Set<SubjectKey>) -> [Batch] {
        let batches = state.withLock { $0.inMemory(at: clock.now()) }
        state.wake()
        return batches.map { $0.subset($0.events(of: subjects)) }.filter { $0.count > 0 }
    }

    /// How many events are in the provider's hands that may not go any more by what is on record now.
    public var refusedInHands: Int { state.withLock { $0.refusedInHands } }

    // MARK: - Deadlines

    /// A thread in a call that does not return cannot be cut, so another one looks at the time. It never enters the provider.
    private func watch() {
        while true {
            let now = clock.now()
            let changes = watching.withLock { $0.changes }
            let (effects, next, isOver) = state.withLock { state in
                let effects = state.expire(at: now)
                state.telling += effects.isEmpty ? 0 : 1
                // A delivery that begins from now on is due later than this, so that none has to wake the watch.
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

    /// What it comes to is carried out next, and the lane is not over before.
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
