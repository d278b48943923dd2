// The state of a lane as a value. Callers report what happens, and it returns what is to be done next. It starts no thread, reads no clock,
// takes no lock and calls no one, so that tests can check every order of events as a table. `Lane` carries out what this value decides. It
// also asks the second check, and hands the answers in as a value (`ConsentAnswers`). The parts of the state are values of their own:
// `Deliveries`, `ProviderHealth`, `PendingLetters`, `StoreHealth`, `WithdrawalWork`, `Backlog` and others.
//
//   open ──drain──► draining ──all settled──► flushing ──flushed──► ended
//     │               │                          │                    ▲
//     ├───────────────┴──────────────────────────┴─ closed or given up ┘
//     └── too many calls past their deadline ──► stopped ──drain──► ended
//
// While the lane drains, too many calls past their deadline end it. A stopped lane also ends when it is given up.

public import Admission
internal import ConsentGate
internal import Events
public import Plans
public import Platform
public import Spool

public struct LaneState: ~Copyable {
    public enum Phase: Equatable { case open, draining, flushing, stopped, ended }

    /// The next task of the lane's thread.
    public enum Step {
        case deliver(token: UInt64, Batch, attempt: Int)
        /// Ask the second check about these batches, and call `next` again with the answers.
        case ask([Batch])
        /// Keep these events as dead letters. Either the module cannot take them, or an earlier attempt to keep them failed.
        case bury([Effect])
        /// Wait until something happens, or until this time if it is not nil.
        case wait(until: Instant?)
        case flush
        /// The lane has ended. Close the provider and end the thread.
        case end
    }

    /// A task that a thread carries out outside the lock after the state has changed.
    public enum Effect {
        /// Write events that were given up to the dead-letter file.
        case bury(Burial)
        /// The provider refuses or fails. It worked before, or it failed for another reason.
        case failing(Answer, again: Duration)
        /// The provider works again.
        case recovered(attempts: Int)
        /// The queue is full, and events are dropped as the plan demands.
        case dropping
        /// This number of failures in a row has opened the breaker. Only one batch at a time is sent as a probe.
        case opened(failures: Int)
        /// Every event that belongs to these receipts is safe as the plan promises.
        case acknowledge([Receipt])
        /// Events cannot be stored. Without a fault, they can be stored again.
        case storing(SpoolFault?, StoreAct)
        case damaged(SpoolLoss)
        /// The files of the spool were removed or moved away. The lane takes no more events.
        case gone(SpoolFault)
        /// The lane ended. This number of events waits on disk for the next run.
        case left(Int)
        case closed(Answer)
        /// The provider does not return from its calls. It is not called again.
        case stopped(Answer)
        /// A withdrawal has been carried out in this lane.
        case swept(Swept, [@Sendable (Swept) -> Void])
    }

    public internal(set) var phase = Phase.open
    var ending = LaneEnding()
    public internal(set) var account: LaneAccount
    public private(set) var plan: DeliveryPlan
    /// The number of batches that the provider takes at once.
    private var offered: Int
    var random: RandomSource
    /// Nanoseconds since 1970 at instant 0. It converts the time of a first attempt.
    let epoch: Int64

    /// The open batch, the batches that wait in memory, and the deliveries that the provider has not ended.
    var assembly: Assembly
    var queue = Deque<WaitingBatch>()
    var deliveries = Deliveries()
    /// The number of bytes of events in memory that are neither settled nor given up.
    var heldBytes = 0 { didSet { assert(heldBytes >= 0, "more bytes left the memory of a lane than came in") } }
    /// True if events are dropped because the queue is full.
    var isDropping = false
    /// True while input flows. The source then looks at the lane again at its next block, so that small batches can gather. To wake the
    /// lane's thread for each of them would cost more than to deliver them.
    public var isSourceBusy = false
    /// What the lane's thread does.
    var rest = Rest.awake
    /// The number of threads that are carrying out effects.
    public var carryingOut = 0 { didSet { assert(carryingOut >= 0, "effects were carried out that no one returned") } }

    var health = ProviderHealth()
    var letters = PendingLetters()
    var measures = DeliveryMeasures()
    var ages: AgeSchedule
    var withdrawals: WithdrawalWork

    var backlog: Backlog
    var storeHealth: StoreHealth
    var receipts = WaitingReceipts()
    var tidying = Tidying.clean
    /// The number of bytes of the oldest events on disk that must be dropped.
    var toDrop = 0 { didSet { assert(toDrop >= 0, "fewer than no bytes are to be dropped") } }

    /// `contents` is what the lane's spool holds. It is nil if the lane has no spool.
    public init(
        _ plan: DeliveryPlan, concurrency: Int, routes: Int, random: RandomSource, contents: SpoolContents? = nil, epoch: Int64 = 0,
        checksConsent: Bool = false
    ) {
        self.plan = plan
        offered = concurrency
        self.random = random
        self.epoch = epoch
        account = LaneAccount(routes: routes)
        assembly = Assembly(plan.batch)
        ages = AgeSchedule(all: plan.retention?.nanoseconds, epoch: epoch)
        withdrawals = WithdrawalWork(checksConsent: checksConsent, destroyed: contents?.destroyed ?? Destroyed())
        backlog = Backlog(plan.batch, contents ?? SpoolContents())
        storeHealth = StoreHealth(use: contents == nil ? .none : .inUse)
        for (route, count) in contents?.routes ?? [:] { account.resume(route, count) }
    }

    /// True if the lane delivers.
    var isRunning: Bool { phase == .open || phase == .draining }
    /// The answer with which the lane is failing. It is nil while the lane works.
    public var failure: Answer? { health.failure }
    /// True if the destination went away.
    public var isClosedByProvider: Bool { ending.isClosedByProvider }
    public var isProviderClosed: Bool { ending.isProviderClosed }
    /// True if events wait on disk.
    var isDurable: Bool { storeHealth.use != .none }
    /// True if every event has its fate, all effects are carried out, and the provider is closed or was given up.
    public var isOver: Bool {
        (ending.isProviderClosed || ending.givenUpFor != nil) && letters.count == 0 && carryingOut == 0
            && (!isDurable || storeHealth.use == .closed)
    }
    var backoff: Backoff { Backoff(plan: plan.retry) }
    var concurrency: Int { plan.ordered ? 1 : max(1, offered) }
    var queuedBytes: Int {
        let queued = heldBytes - deliveries.bytes - assembly.byteCount
        assert(queued >= 0, "more bytes are in flight and in the open batch than in memory")
        return queued
    }

    /// Applies a changed plan or a changed provider. Waiting events continue under the new plan. A new provider is tried at once, since it
    /// is not responsible for the old provider's failures.
    public mutating func adopt(_ plan: DeliveryPlan, concurrency: Int?, isNewProvider: Bool) {
        self.plan = plan
        ages.adopt(all: plan.retention?.nanoseconds)
        offered = concurrency ?? offered
        assembly.limits = plan.batch
        backlog.adopt(plan.batch)
        guard isNewProvider else { return }
        ending.closingAnswer = nil
        health.replaceProvider()
        deliveries.replaceProvider()
        for waiting in queue.removeAll() {
            var waiting = waiting
            (waiting.attempts, waiting.firstTried, waiting.notBefore) = (0, nil, nil)
            queue.append(waiting)
        }
    }

    // MARK: - Events come in

    /// Returns true if a parcel of this size fits now. A lane that holds nothing takes a parcel of any size.
    func hasSpace(for bytes: Int) -> Bool {
        phase == .ended || phase == .stopped || heldBytes == 0 || heldBytes + bytes <= plan.queue.memory
    }

    /// Takes a parcel and leaves it empty. If the queue is full, the events are treated as the plan demands. A caller that must wait for
    /// free memory calls `mustWait` first. The receipt is settled when every event is safe as the plan promises. Its mark follows the events
    /// that are kept in memory.
    @discardableResult
    public mutating func take(_ parcel: inout Parcel, _ receipt: Receipt? = nil, at now: Instant) -> [Effect] {
        for entry in parcel.entries { account.take(entry.route) }
        if storeHealth.isGone {
            refuse(&parcel)
            return []
        }
        ages.noteArrival(at: now)
        var effects: [Effect] = []
        if storeHealth.canStore, goesToDisk(parcel.byteCount) {
            takeToDisk(&parcel, receipt: receipt, at: now, effects: &effects)
            return effects
        }
        if let mark = receipt?.mark { parcel.attach(mark) }
        let acknowledgement = receipt.map { [Effect.acknowledge([$0])] } ?? []
        // The burial comes first, so that the events are kept as dead letters before they are acknowledged.
        if phase == .ended || phase == .stopped { return effects + takeTooLate(&parcel) + acknowledgement }
        effects += acknowledgement
        if !hasSpace(for: parcel.bytes.count), plan.queue.full == .dropNewest || plan.queue.full == .dropOldest {
            if !isDropping { effects.append(.dropping) }
            isDropping = true
            if plan.queue.full == .dropNewest {
                settle(&parcel, .dropped)
                return effects
            }
            dropOldest(until: plan.queue.memory - parcel.bytes.count, at: now)
        } else {
            isDropping = false
        }
        heldBytes += parcel.bytes.count
        let floor = backlog.floor()
        assembly.add(&parcel, at: now) { queue.append(WaitingBatch(batch: $0, floor: floor)) }
        return effects
    }

    /// The lane has ended or stopped, but a worker still had events for it. They are treated like the events that were left in the queue.
    private mutating func takeTooLate(_ parcel: inout Parcel) -> [Effect] {
        // Events that the lane must keep become dead letters, since its spool takes no more events.
        guard let reason = ending.givenUpFor ?? (isDurable ? Answer("its spool is closed") : nil) else {
            account.unkept += parcel.entries.count
            for mark in parcel.marks { mark.noteLoss() }
            settle(&parcel, .undelivered)
            return []
        }
        var rest = Parcel()
        swap(&rest, &parcel)
        heldBytes += rest.bytes.count
        var effects: [Effect] = []
        bury(WaitingBatch(batch: Batch(rest)), fate: .undelivered, answer: health.failure ?? reason, effects: &effects)
        return effects
    }

    mutating func settle(_ parcel: inout Parcel, _ fate: LaneAccount.Fate) {
        for entry in parcel.entries { account.settle(entry.route, fate: fate) }
        parcel.removeAll()
    }

    /// Drops waiting batches, oldest first. Batches in flight stay.
    private mutating func dropOldest(until bytes: Int, at now: Instant) {
        sealAssembly()
        while heldBytes > max(0, bytes), !queue.isEmpty { settle(queue.removeFirst(), .dropped) }
    }

    /// Counts the fate of the events and releases them from the disk.
    mutating func settle(_ waiting: WaitingBatch, _ fate: LaneAccount.Fate) {
        settle(waiting.batch, fate)
        if let share = waiting.share { backlog.release(share) }
    }

    mutating func settle(_ batch: Batch, _ fate: LaneAccount.Fate) {
        for entry in batch.entries { account.settle(entry.route, fate: fate) }
        heldBytes -= batch.bytes.count
    }

    mutating func sealAssembly() {
        guard !assembly.isEmpty else { return }
        let floor = backlog.floor()
        assembly.sealOpen { queue.append(WaitingBatch(batch: $0, floor: floor)) }
    }
}
