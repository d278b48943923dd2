// A lane as a pure value: what happens goes in, what is to be done comes out. It reads no clock, takes no lock and
// calls no one, so that every order of events can be tested as a table. `Lane` carries it out.
//
//   open ──drain──► draining ──all settled──► flushing ──flushed──► ended
//     │               │                             │
//     ├───────────────┴── closed by the provider, or out of time ──────┘
//     └── too many calls past their deadline ──► stopped ──drain──► ended

internal import Admission
internal import ConsentGate
internal import Events
internal import Plans
internal import Platform
internal import Spool

struct LaneState: ~Copyable {
    enum Phase: Equatable { case open, draining, flushing, stopped, ended }

    /// What the lane's thread is to do next.
    enum Step {
        case deliver(token: UInt64, Batch, attempt: Int)
        /// Events are to be kept as dead letters: one that the module cannot take, or those that could not be kept so far.
        case bury([Effect])
        /// Nothing to do until something happens, or until then.
        case wait(until: Instant?)
        case flush
        /// The lane has ended: the provider is to be closed and the thread ends.
        case end
    }

    /// What is to be done outside the lock after an event was taken in.
    enum Effect {
        /// Events that are given up, for the dead-letter file.
        case bury(Burial)
        /// The provider refuses or fails where it worked before, or for another reason than before.
        case failing(Answer, again: Duration)
        /// It works again.
        case recovered(attempts: Int)
        /// The queue is full, and events are dropped as the plan says.
        case dropping
        /// So many failures in a row have opened the breaker: one batch at a time probes.
        case opened(failures: Int)
        /// Every event that came with these is where the plan promises.
        case acknowledge([Receipt])
        /// Events cannot be stored, or can be again.
        case storing(SpoolFault?, Lane.StoreAct)
        /// Events on disk were damaged.
        case damaged(SpoolLoss)
        /// The files of the spool were removed or moved away: nothing is taken any more.
        case gone(SpoolFault)
        /// The lane ended; so many events wait on disk for the next run.
        case left(Int)
        /// The provider closed the lane.
        case closed(Answer)
        /// The provider does not end what it is called for; it is not called again.
        case stopped(Answer)
        /// A withdrawal has been carried out.
        case swept(Swept, [@Sendable (Swept) -> Void])
    }

    /// A batch that waits, with what happened to it so far.
    struct Waiting {
        var batch: Batch
        var attempts = 0
        var firstTried: Instant?
        var notBefore: Instant?
        /// One of its attempts came to an unknown end, so that it may have arrived. Later attempts do not change that.
        var mayHaveArrived = false
        /// What becomes of it when it is given up.
        func fate(otherwise fate: LaneAccount.Fate) -> LaneAccount.Fate { mayHaveArrived ? .unknown : fate }
        /// When its delivery must have ended; nil while it waits.
        var due: Instant?
        /// What of the rows on disk it is; nil: it is in memory only.
        var share: Backlog.Share?
        /// The last row there was when it was sealed: what comes behind it on disk has a higher number.
        var floor: Int64 = 0
    }

    /// The call of the provider in which the lane's thread is.
    struct Call {
        /// nil: a flush.
        var token: UInt64?
        var due: Instant
        /// How many deadlines it has let pass.
        var passed = 0
    }

    var phase = Phase.open
    var account: LaneAccount
    /// The answer that the lane is failing with; nil while it works.
    var failure: Answer?
    /// Whether the destination went away: what was left had nowhere to go.
    var isClosedByProvider = false
    /// The provider's destination is gone, while something is in its hands: the lane ends with that.
    var leaving: Answer?
    /// Bytes of events that are neither settled nor given up.
    var heldBytes = 0

    /// Whether events that were given up are not yet in the dead-letter file.
    var isBurying: Bool { unburied > 0 }
    /// How many threads carry out effects at the moment.
    var telling = 0
    /// Whether every event has its fate, which was told, and the provider is closed or was given up on.
    var isOver: Bool { (isProviderClosed || givenUpFor != nil) && !isBurying && telling == 0 && (!isDurable || isStoreClosed) }
    var isProviderClosed = false
    /// Why the lane was given up before its provider had everything.
    var givenUpFor: Answer?
    var isDropping = false

    /// While the source is busy, and looks in at every block, small batches are left to gather: to wake the lane's thread for
    /// each would cost more than the batches.
    var isSourceBusy = false

    var inFlightBytes = 0
    private var queuedBytes: Int { heldBytes - inFlightBytes - assembly.byteCount }
    private(set) var plan: DeliveryPlan
    private(set) var concurrency: Int
    /// How many batches the provider takes at once.
    private var offered: Int
    private(set) var backoff: Backoff
    var random: RandomSource
    var assembly: Assembly
    var queue = Deque<Waiting>()
    var inFlight: [UInt64: Waiting] = [:]
    private var lastToken: UInt64 = 0
    /// The first delivery of the present provider: one with a lower token was handed to a provider that has been replaced.
    private(set) var firstToken: UInt64 = 1
    var calling: Call?
    var isBreakerOpen = false
    /// While the breaker is open: when the next batch may probe.
    var breakerUntil: Instant?
    /// The provider asked to be left alone until then: nothing is handed over.
    var pausedUntil: Instant?
    /// Deliveries that were given up at their deadline and not ended since: the provider may still be reading their events.
    var unanswered: Set<UInt64> = []
    var unburied = 0
    /// How many of these burials settle their events only when they are done.
    var unsettled = 0
    /// Events that were given up and cannot be kept as dead letters, with `dead_letters: block`: nothing is handed over until they are.
    var letters = Deque<Burial>()
    /// Why that is, when it is tried again, and how often in a row it failed.
    var letterFault: SpoolFault?
    var lettersAgain: Instant?
    var letterFailures = 0
    var failedAttempts = 0
    var rate = Rate()
    /// How old events were when they were delivered.
    var ages = Histogram.times
    /// How many events a delivered batch had.
    var sizes = Histogram.sizes
    /// The last answer of the provider that was not good, and when it came, where that is known.
    var lastFailure: (answer: Answer, at: Instant)?
    var flushDue: Instant?

    // MARK: - Of a lane with a spool

    let isDurable: Bool
    var backlog: Backlog
    var receipts = Deque<(position: UInt64, receipt: Receipt)>()
    var storeFault: SpoolFault?
    var storeFailures = 0
    var storeAgain: Instant?
    /// What it was that failed: the fault is over when that succeeds.
    var failedAct: Lane.StoreAct?
    /// While there is no room to store: when what became of stored events may be recorded again, and how often in a row that failed.
    var recordAgain: Instant?
    var recordFailures = 0
    /// When rows may be read again, and how often in a row that failed.
    var readAgain: Instant?
    var readFailures = 0
    /// When it may be tried again to destroy what may not stay, and how often in a row there was no room for that.
    var sweepAgain: Instant?
    var sweepFailures = 0
    var isStoreClosed = false
    /// Its files were removed or moved away.
    var isStoreGone = false
    /// Whether the store is to look whether they are where they were.
    var mustCheckPlace = false
    /// Whether it has looked at the very end.
    var isPlaceChecked = false
    /// The lane ended while nothing could be stored: the store is only to be closed.
    var isStoreGivenUp = false
    /// Whether something was removed since the spool was tidied up.
    var isUntidy = false
    var tidyAt: Instant?
    /// How many bytes of the oldest events on disk are to be dropped.
    var toDrop = 0
    /// Whether what waited may still go; nil: nobody asks.
    let check: SecondCheck?
    var sweeping: Sweeping?
    /// How old events of a route may get, by its number, besides what the plan says of all.
    var routeRetention: [UInt16: Int64] = [:]
    /// When to look for events that are too old; nil: none is here, or any age will do.
    var ageDue: Instant?
    /// What was destroyed since a receipt was told.
    var untold = Swept()
    /// Nanoseconds since 1970 at the instant 0, to keep the time of a first try.
    let epoch: Int64

    /// `contents`: what the lane's spool holds; nil: it has none.
    init(
        _ plan: DeliveryPlan, concurrency: Int, routes: Int, random: RandomSource, contents: SpoolContents? = nil, epoch: Int64 = 0,
        check: SecondCheck? = nil
    ) {
        self.check = check
        isDurable = contents != nil
        backlog = Backlog(plan.batch, contents ?? SpoolContents())
        self.epoch = epoch
        self.plan = plan
        offered = concurrency
        self.concurrency = LaneState.concurrency(plan, concurrency)
        self.random = random
        backoff = Backoff(plan: plan.retry)
        account = LaneAccount(routes: routes)
        assembly = Assembly(plan.batch)
        for (route, count) in contents?.routes ?? [:] { account.resume(route, count) }
    }

    private static func concurrency(_ plan: DeliveryPlan, _ most: Int) -> Int { plan.ordered ? 1 : max(1, most) }

    /// The plan has changed, or the provider has: what waits goes on under the new one. A new provider owes nothing for what the
    /// old one failed at, so it is tried at once.
    mutating func adopt(_ plan: DeliveryPlan, concurrency: Int?, isNewProvider: Bool) {
        let keptBefore = self.plan.retention
        self.plan = plan
        if plan.retention != keptBefore { ageDue = Instant(nanoseconds: .min) }
        offered = concurrency ?? offered
        self.concurrency = LaneState.concurrency(plan, offered)
        backoff = Backoff(plan: plan.retry)
        assembly.limits = plan.batch
        backlog.adopt(plan.batch)
        guard isNewProvider else { return }
        leaving = nil
        isBreakerOpen = false
        breakerUntil = nil
        pausedUntil = nil
        firstToken = lastToken + 1
        failure = nil
        failedAttempts = 0
        for waiting in queue.removeAll() {
            var waiting = waiting
            (waiting.attempts, waiting.firstTried, waiting.notBefore) = (0, nil, nil)
            queue.append(waiting)
        }
    }

    // MARK: - Events come in

    /// Whether a parcel of that size may come in now; a lane that holds nothing takes any.
    func hasRoom(for bytes: Int) -> Bool {
        phase == .ended || phase == .stopped || heldBytes == 0 || heldBytes + bytes <= plan.queue.memory
    }

    /// Takes a parcel, which is left empty. When the queue is full it is settled as the plan says; one that is to wait for room
    /// is asked `mustWait` before. The receipt is settled when every event is where the plan promises.
    @discardableResult
    mutating func take(_ parcel: inout Parcel, _ receipt: Receipt? = nil, at now: Instant) -> [Effect] {
        for entry in parcel.entries { account.take(entry.route) }
        if isStoreGone {
            refuse(&parcel)
            return []
        }
        noteArrival(at: now)
        var effects: [Effect] = []
        if canStore, goesToDisk(parcel.byteCount) {
            takeToDisk(&parcel, receipt, at: now, &effects)
            return effects
        }
        let acknowledgement = receipt.map { [Effect.acknowledge([$0])] } ?? []
        // What is kept as dead letters is acknowledged when it is.
        if phase == .ended || phase == .stopped { return effects + takeTooLate(&parcel) + acknowledgement }
        effects += acknowledgement
        if !hasRoom(for: parcel.bytes.count), plan.queue.full == .dropNewest || plan.queue.full == .dropOldest {
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
        assembly.add(&parcel, at: now) { queue.append(Waiting(batch: $0, floor: floor)) }
        return effects
    }

    /// The lane has ended or stopped, but a worker still had events for it: they fare like those that were left in the queue.
    private mutating func takeTooLate(_ parcel: inout Parcel) -> [Effect] {
        // What was promised to be kept is kept, if no longer in the spool.
        guard let reason = givenUpFor ?? (isDurable ? Answer("its spool is closed") : nil) else {
            account.unkept += parcel.entries.count
            settle(&parcel, .undelivered)
            return []
        }
        var rest = Parcel()
        swap(&rest, &parcel)
        heldBytes += rest.bytes.count
        var effects: [Effect] = []
        bury(Waiting(batch: Batch(rest)), .undelivered, failure ?? reason, &effects)
        return effects
    }

    mutating func settle(_ parcel: inout Parcel, _ fate: LaneAccount.Fate) {
        for entry in parcel.entries { account.settle(entry.route, fate) }
        parcel.removeAll()
    }

    /// Drops waiting batches, oldest first; those in a provider's hands stay.
    private mutating func dropOldest(until bytes: Int, at now: Instant) {
        sealAssembly(at: now, always: true)
        while heldBytes > max(0, bytes), !queue.isEmpty { settle(queue.removeFirst(), .dropped) }
    }

    /// The events have their fate: they are accounted for, and leave the disk.
    mutating func settle(_ waiting: Waiting, _ fate: LaneAccount.Fate) {
        settle(waiting.batch, fate)
        if let share = waiting.share { backlog.release(share) }
    }

    mutating func settle(_ batch: Batch, _ fate: LaneAccount.Fate) {
        for entry in batch.entries { account.settle(entry.route, fate) }
        heldBytes -= batch.bytes.count
    }

    mutating func sealAssembly(at now: Instant, always: Bool) {
        guard !assembly.isEmpty else { return }
        let floor = backlog.floor()
        assembly.sealIfDue(at: now, always: always) { queue.append(Waiting(batch: $0, floor: floor)) }
    }

    /// Whether the lane's thread must be woken now, rather than when the source looks in again.
    func needsAttention(at now: Instant) -> Bool {
        guard isSourceBusy else { return true }
        return queuedBytes >= worthWaking || assembly.isDue(at: now) || isDurable
    }

    private var worthWaking: Int { min(1 << 20, plan.queue.memory / 4) }

    // MARK: - What to do next

    /// Asked by the lane's thread, which is therefore in no call of the provider.
    mutating func next(at now: Instant) -> Step {
        calling = nil
        switch phase {
        case .ended:
            // Closing the provider ends what it holds; that is not its answer.
            unanswered = []
            return .end
        case .flushing, .stopped: return .wait(until: nil)
        case .open, .draining: break
        }
        if leaving != nil { return .wait(until: nil) }
        if let due = ageDue, due <= now { lookForAged(at: now) }
        sealWhatIsDue(at: now, always: phase == .draining)
        if !letters.isEmpty {
            guard let again = lettersAgain, again > now else { return .bury(buryAgain()) }
            return .wait(until: ageDue.map { min($0, again) } ?? again)
        }
        while let index = firstReady(at: now) {
            var waiting = queue.remove(at: index)
            if isOverLimits(waiting.batch) {
                halve(waiting)
                continue
            }
            if let refusal = tooLarge(waiting.batch) {
                var effects: [Effect] = []
                bury(waiting, .rejected, refusal, &effects)
                return .bury(effects)
            }
            guard stillMay(&waiting, at: now) else { continue }
            waiting.attempts += 1
            waiting.firstTried = waiting.firstTried ?? now
            waiting.due = due(from: now)
            lastToken += 1
            inFlight[lastToken] = waiting
            calling = waiting.due.map { Call(token: lastToken, due: $0) }
            inFlightBytes += waiting.batch.bytes.count
            return .deliver(token: lastToken, waiting.batch, attempt: waiting.attempts)
        }
        if phase == .draining, inFlight.isEmpty, queue.isEmpty, !isBurying, !isDurable || isDiskEmpty {
            phase = .flushing
            flushDue = due(from: now)
            return .flush
        }
        return .wait(until: nextInstant())
    }

    /// How long what nobody can tell of waits until it is asked about again.
    private static let unreadablePause = Duration.seconds(1)

    /// The second check, in the same breath with the hand-over: whoever has the lane's lock sees a batch either in the provider's
    /// hands or checked later. Events that may not go any more, or are too old, are destroyed; false: nothing is left to go now.
    private mutating func stillMay(_ waiting: inout Waiting, at now: Instant) -> Bool {
        guard let finds = broom(check, at: now).finds(in: waiting.batch) else {
            waiting.notBefore = now + LaneState.unreadablePause
            queue.prepend(waiting)
            return false
        }
        if finds.isEmpty { return true }
        guard let left = destroy(finds, of: waiting) else { return false }
        waiting = left
        return true
    }

    /// A batch was cut to what a plan allowed that has been replaced since.
    private func isOverLimits(_ batch: Batch) -> Bool {
        batch.count > 1 && (batch.count > plan.batch.events || batch.bytes.count > plan.batch.bytes)
    }

    /// Only an event that stands alone can be over what the module takes; batches are cut to it.
    private func tooLarge(_ batch: Batch) -> Answer? {
        guard let most = plan.batch.largest, batch.bytes.count > most, batch.count == 1 else { return nil }
        return Answer("the event has \(batch.bytes.count) bytes, and the module takes \(most) at most")
    }

    /// Where in the queue a batch may be taken from: only the very front where order is kept.
    private var candidates: Range<Int> { 0..<(plan.ordered ? min(1, queue.count) : queue.count) }

    /// How many batches may be under way: while the breaker is open just one, to see whether the provider is back.
    private var mostInFlight: Int { isBreakerOpen ? 1 : concurrency }

    /// Whether nothing is handed over until something else has come to its end, which wakes the lane: a record of what was confirmed; or a
    /// dead letter which, if it cannot be kept, stays in front of all others.
    private var isHeldBack: Bool { isUnrecorded || plan.ordered && unsettled > 0 }

    /// The first batch that may leave now.
    private func firstReady(at now: Instant) -> Int? {
        guard inFlight.count < mostInFlight else { return nil }
        if let probe = breakerUntil, now < probe { return nil }
        if isPaused(at: now) { return nil }
        if isHeldBack { return nil }
        return candidates.first { queue[$0].notBefore.map { $0 <= now } ?? true }
    }

    private func nextInstant() -> Instant? {
        var soonest = assembly.deadline
        for due in [backlog.deadline, ageDue].compactMap(\.self) { soonest = soonest.map { min($0, due) } ?? due }
        guard inFlight.count < mostInFlight, !isHeldBack else { return soonest }
        for index in candidates {
            // A breaker or a pause holds back what waits; when nothing does, there is nothing to wake up for.
            let times = [queue[index].notBefore, breakerUntil, pausedUntil].compactMap(\.self)
            if let then = times.max(), soonest.map({ then < $0 }) ?? true { soonest = then }
        }
        return soonest
    }
}
