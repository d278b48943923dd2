// The queue of one provider and the threads that serve it: one delivers (`Lane+Delivery.swift`), one uses the store (`Lane+Store.swift`),
// and one watches deadlines (`Lane+Deadlines.swift`). `LaneState` decides what happens next; this class holds the lock, reads the clock,
// asks the second check and carries the decisions out. A slow or failing lane delays no other lane, unless its queue is full and its plan
// makes the source wait.

public import Admission
public import ConsentGate
public import Plans
public import Platform
public import Queueing
public import Spool
public import Tapping

public final class Lane: Sendable {
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
    let provider: any Provider
    let deadLetters: DeadLetters
    let routes: RunNames
    let store: (any SpoolStore)?
    let clock: Clock
    let news: @Sendable (Lane, News) -> Void
    let state: Monitor<LaneState>
    /// What the lane's own thread waits for, and the thread that has the store. All others wait for the state to change.
    let deliveryWork = Condition()
    let storeWork = Condition()
    let watching = Monitor(Watching())
    /// The threads that wait until a parcel fits.
    private let waiting = Monitor(Waiting())
    /// The second check of waiting events. It is nil if no ledger is kept.
    let check: SecondCheck?
    /// Those who look at the events. It is nil if nobody can.
    let taps: Taps?
    /// The heartbeats of the lane's own thread and of the thread that has the store.
    let heartbeat: Watchdog.Heartbeat
    let diskHeartbeat: Watchdog.Heartbeat

    private struct Waiting {
        var threads = 0
        /// True if a block was refused for lack of room, and there has been no room since. Then further blocks are refused at once: a wait
        /// would only delay the blocks behind them.
        var isRefusing = false
    }

    /// The state of the thread that watches deadlines.
    struct Watching {
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
        taps: Taps? = nil, news: @escaping @Sendable (Lane, News) -> Void
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
        self.check = check
        self.taps = taps
        state = Monitor(
            LaneState(
                plan, concurrency: concurrency, routes: routes.all.count, random: random, contents: store?.contents,
                epoch: clock.wall() - clock.now().nanoseconds, checksConsent: check != nil))
    }

    /// Starts the lane's threads. They end when the lane has ended.
    public func start() {
        provider.onClosed { [weak self] answer in self?.destinationGone(answer) }
        Thread.start("lane \(name)") { self.deliverAll() }.detach()
        if let store { Thread.start("spool \(name)") { self.use(store) }.detach() }
        startWatch()
    }

    /// Applies another plan to the lane and its waiting events. `isNewProvider` says that another provider has replaced the old one; it is
    /// not responsible for the old one's failures. If `concurrency` is nil, the number of batches at once stays the same.
    public func adopt(_ plan: DeliveryPlan, concurrency: Int?, isNewProvider: Bool) {
        state.withLock { $0.adopt(plan, concurrency: concurrency, isNewProvider: isNewProvider) }
        wake()
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

    /// What became of a parcel.
    public enum Taking {
        /// The lane is full and the source must wait. Nothing was taken.
        case full
        case taken
        /// It is taken, and the lane's thread was not woken. The source must look at the lane at its next block, and when it waits for input.
        case takenUnnoticed
    }

    /// Takes the parcel's events and leaves it empty. Returns false and takes nothing if the lane is full and the source must wait. The
    /// receipt already counts this lane. It is settled when every event is safe as the plan promises.
    public func take(_ parcel: inout Parcel, _ receipt: Receipt? = nil) -> Bool { take(&parcel, receipt, sourceIsBusy: false) != .full }

    /// Does the same for a source that perhaps brings more events soon.
    public func take(_ parcel: inout Parcel, _ receipt: Receipt?, sourceIsBusy: Bool, evenIfFull: Bool = false) -> Taking {
        assert(!parcel.isEmpty, "a lane is asked to take nothing")
        let now = clock.now()
        let taken: (effects: [LaneState.Effect], attention: LaneState.Attention, isToBeStored: Bool)? = state.withLock { state in
            if !evenIfFull, state.mustWait(for: parcel.byteCount) { return nil }
            let effects = state.take(&parcel, receipt, at: now)
            state.carryingOut += effects.isEmpty ? 0 : 1
            state.isSourceBusy = sourceIsBusy
            return (effects, state.attention(at: now), state.hasStoreWork)
        }
        guard let taken else { return .full }
        if taken.attention == .now { deliveryWork.wake() }
        if taken.isToBeStored { storeWork.wake() }
        if !taken.effects.isEmpty { work(off: taken.effects) }
        return taken.attention == .later ? .takenUnnoticed : .taken
    }

    /// Looks at events that were taken unnoticed. Returns true if the lane's thread need not be looked after any more.
    public func look(sourceIsBusy: Bool) -> Bool {
        let attention = state.withLock { state in
            state.isSourceBusy = sourceIsBusy
            return state.attention(at: clock.now())
        }
        if attention == .now { deliveryWork.wake() }
        return attention != .later
    }

    /// Takes the parcel's events as soon as they fit.
    public func waitAndTake(_ parcel: inout Parcel, _ receipt: Receipt? = nil) {
        waiting.withLock { $0.threads += 1 }
        defer { waiting.withLock { $0.threads -= 1 } }
        while !take(&parcel, receipt) {
            let bytes = parcel.byteCount
            state.wait(while: { $0.mustWait(for: bytes) })
        }
    }

    /// Takes the parcel's events into the room for which the caller has waited. Since then, released events may have come in from the thread
    /// of held events. Then the queue exceeds its limit by these.
    public func takeIntoRoom(_ parcel: inout Parcel, _ receipt: Receipt?, sourceIsBusy: Bool) -> Taking {
        let taking = take(&parcel, receipt, sourceIsBusy: sourceIsBusy, evenIfFull: true)
        assert(taking != .full, "a lane refused events for which it had room")
        return taking
    }

    /// Wakes every thread that waits for the state to change.
    func wake() {
        state.wake()
        deliveryWork.wake()
        storeWork.wake()
    }

    /// Returns true if so many bytes of events fit, and can be acknowledged as the plan promises.
    public func hasRoom(for bytes: Int) -> Bool {
        guard state.withLock({ $0.canPromise(bytes) }) else { return false }
        waiting.withLock { $0.isRefusing = false }
        return true
    }

    /// Returns true if so many bytes of events fit, and if the thread that brings them does nothing but hand them over.
    public func takesAtOnce(_ bytes: Int) -> Bool { state.withLock { $0.phase == .open && $0.canPromise(bytes) } }

    /// Waits until so many bytes fit. Returns false if they do not fit at the deadline, or if an earlier call has returned false and there
    /// has been no room since.
    public func waitForRoom(for bytes: Int, until deadline: Instant) -> Bool {
        let mayWait = waiting.withLock { waiting in
            if waiting.isRefusing { return false }
            waiting.threads += 1
            return true
        }
        guard mayWait else { return false }
        let clock = clock
        let hasRoom = state.waitUntilReady { state -> Readiness<Bool> in
            if state.canPromise(bytes) { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
        waiting.withLock { waiting in
            waiting.threads -= 1
            waiting.isRefusing = !hasRoom
        }
        return hasRoom
    }

    /// True if a thread waits until its parcel fits, or if parcels are refused because they do not fit.
    public var isFull: Bool {
        let (waits, refuses) = waiting.withLock { ($0.threads > 0, $0.isRefusing) }
        return waits || refuses && !state.withLock { $0.canPromise(1) }
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
        wake()
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
        carryOut(perform(.giveUp(answer)))
        endWatch()
    }

    /// Stops the lane because the provider does not return from a call. The provider is not called again, and the waiting events are given
    /// up. If the call is not a delivery, this has an effect only on a lane that has ended: nobody waits for its provider to close.
    public func stop(for answer: Answer, isInDelivery: Bool) {
        carryOut(perform(.stop(answer, isInDelivery: isInDelivery)))
        endWatch()
    }

    private func destinationGone(_ answer: Answer) {
        carryOut(perform(.destinationGone(answer)))
    }

    // MARK: - Requests of the owner

    /// Checks whether the queue's files are still in their folder. It is called when something in that folder has changed.
    public func checkStore() {
        state.withLock { $0.checkPlace() }
        wake()
    }

    /// Destroys waiting events that may not be delivered any more according to the ledger. Any thread may call `done` afterwards.
    public func sweep(_ done: @escaping @Sendable (Swept) -> Void) {
        carryOut(perform(.sweep(done)))
    }

    /// Sets the maximum age of events by route number. Older waiting events are destroyed.
    public func adopt(routeRetention routes: [UInt16: Int64]) {
        state.withLock { $0.adopt(routeRetention: routes, at: clock.now()) }
        wake()
    }

    /// Returns the events of these subjects that are only in memory, including those in flight.
    public func inMemory(of subjects: Set<SubjectKey>) -> [Batch] {
        let batches = state.withLock { $0.inMemory(at: clock.now()) }
        wake()
        return batches.map { $0.subset($0.events(of: subjects)) }.filter { $0.count > 0 }
    }

    /// The number of the last delivery so far.
    public var lastDelivery: UInt64 { state.withLock { $0.lastDelivery } }

    /// True if the provider has ended every delivery up to this one, or if its deadline is over.
    public func hasEnded(upTo delivery: UInt64) -> Bool { state.withLock { $0.hasEnded(upTo: delivery) } }

    /// What withdrawals have destroyed in this lane so far, by receipt.
    public var destroyed: Destroyed { state.withLock { $0.destroyed } }

    /// The number of events that have begun to leave and may not be delivered any more according to the ledger.
    public var refusedInFlight: Int { decide { $0.refusedInFlight($1, consentIs: $2) } }
}
