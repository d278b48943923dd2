// The state of a lane as a value. Callers report what happens, and it returns what is to be done next. It starts no thread, reads no clock,
// takes no lock and calls no one, so that tests can check every order of events as a table. `Lane` carries out what this value decides. It
// also asks the second check, and hands the answers in as a value (`ConsentAnswers`).
//
//   open ──drain──► draining ──all settled──► flushing ──flushed──► ended
//     │               │                          │                    ▲
//     ├───────────────┴──────────────────────────┴─ closed or given up ┘
//     └── too many calls past their deadline ──► stopped ──drain──► ended
//
// While the lane drains, too many calls past their deadline end it. A stopped lane also ends when it is given up.

internal import Admission
internal import ConsentGate
internal import Events
internal import Plans
internal import Platform
internal import Spool

struct LaneState: ~Copyable {
    enum Phase: Equatable { case open, draining, flushing, stopped, ended }

    /// The next task of the lane's thread.
    enum Step {
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
    enum Effect {
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
        case storing(SpoolFault?, Lane.StoreAct)
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

    /// A batch that waits or is in flight, with the history of its attempts.
    struct Waiting {
        var batch: Batch
        var attempts = 0
        var firstTried: Instant?
        var notBefore: Instant?
        /// True if an attempt had an unknown outcome, so that the batch may have arrived. Later attempts do not change this.
        var mayHaveArrived = false
        /// Returns the fate of the batch when it is given up.
        func fate(otherwise fate: LaneAccount.Fate) -> LaneAccount.Fate { mayHaveArrived ? .unknown : fate }
        /// The deadline of its delivery. It is nil while the batch waits.
        var due: Instant?
        /// The part of the rows on disk that this batch consists of. It is nil if the batch is only in memory.
        var share: Backlog.Share?
        /// The number of the last row when the batch was sealed. Events that come later have higher row numbers on disk.
        var floor: Int64 = 0
    }

    /// A call of the provider that the lane's thread is making.
    struct Call {
        /// The token of the delivery.
        var token: UInt64?
        var due: Instant
        /// The number of deadlines that the call has missed.
        var passed = 0
    }

    var phase = Phase.open
    /// True if the lane delivers.
    var isRunning: Bool { phase == .open || phase == .draining }
    var account: LaneAccount
    /// The answer with which the lane is failing. It is nil while the lane works.
    var failure: Answer?
    /// True if the destination went away. The events that were left could not be delivered.
    var isClosedByProvider = false
    /// The provider's answer that its destination is gone, while deliveries are still in flight. The lane ends after them.
    var closingAnswer: Answer?
    /// The number of bytes of events in memory that are neither settled nor given up.
    var heldBytes = 0

    /// True if events that were given up are not yet in the dead-letter file.
    var isBurying: Bool { unburied > 0 }
    /// The number of threads that are carrying out effects.
    var carryingOut = 0
    /// True if every event has its fate, all effects are carried out, and the provider is closed or was given up.
    var isOver: Bool { (isProviderClosed || givenUpFor != nil) && !isBurying && carryingOut == 0 && (!isDurable || isStoreClosed) }
    var isProviderClosed = false
    /// The reason why the lane was given up before its provider had everything.
    var givenUpFor: Answer?
    var isDropping = false

    /// True while input flows. The source then calls the lane with every block, so that small batches can gather. To wake the lane's thread
    /// for each of them would cost more than to deliver them.
    var isSourceBusy = false

    var inFlightBytes = 0
    private var queuedBytes: Int { heldBytes - inFlightBytes - assembly.byteCount }
    private(set) var plan: DeliveryPlan
    private(set) var concurrency: Int
    /// The number of batches that the provider takes at once.
    private var offered: Int
    private(set) var backoff: Backoff
    var random: RandomSource
    var assembly: Assembly
    var queue = Deque<Waiting>()
    var inFlight: [UInt64: Waiting] = [:]
    private var lastToken: UInt64 = 0
    /// The first token of the current provider. A delivery with a lower token went to a provider that has been replaced.
    private(set) var firstToken: UInt64 = 1
    var calling: Call?
    var isBreakerOpen = false
    /// The time at which the next batch may probe while the breaker is open.
    var breakerUntil: Instant?
    /// The provider asked for a pause until this time. Nothing is handed over before it.
    var pausedUntil: Instant?
    /// The deliveries that were given up at their deadline and have not ended since. The provider may still be reading their events.
    var unanswered: Set<UInt64> = []
    var unburied = 0
    /// The number of these burials that settle their events only when they are done.
    var unsettled = 0
    /// Events that were given up and cannot be kept as dead letters, with `dead_letters: block`. Nothing is handed over until they are
    /// kept.
    var letters = Deque<Burial>()
    /// The fault that prevents it, the time of the next attempt, and the number of failures in a row.
    var letterFault: SpoolFault?
    var lettersAgain: Instant?
    var letterFailures = 0
    var failedAttempts = 0
    var rate = Rate()
    /// The ages of events at their delivery.
    var ages = Histogram.times
    /// The numbers of events in delivered batches.
    var sizes = Histogram.sizes
    /// The last answer of the provider that reported a failure, and its time. It is nil if there was none.
    var lastFailure: (answer: Answer, at: Instant)?
    var flushDue: Instant?

    // MARK: - Of a lane with a spool

    let isDurable: Bool
    var backlog: Backlog
    var receipts = Deque<(position: UInt64, receipt: Receipt)>()
    var storeFault: SpoolFault?
    var storeFailures = 0
    var storeAgain: Instant?
    /// The act that failed. The fault is over when this act succeeds.
    var failedAct: Lane.StoreAct?
    /// The time at which outcomes may be recorded again while the disk is full, and the number of failures in a row.
    var recordAgain: Instant?
    var recordFailures = 0
    /// The time at which rows may be read again, and the number of failures in a row.
    var readAgain: Instant?
    var readFailures = 0
    /// The time at which the sweep may be tried again, and the number of times in a row that it failed because the disk was full.
    var sweepAgain: Instant?
    var sweepFailures = 0
    var isStoreClosed = false
    /// True if the files of the spool were removed or moved away.
    var isStoreGone = false
    /// True if the store must check whether its files are still in their place.
    var mustCheckPlace = false
    /// True if the last check, at the very end, has been made.
    var isPlaceChecked = false
    /// True if the lane ended while nothing could be stored. The store then only has to be closed.
    var isStoreGivenUp = false
    /// True if rows may have been removed since the spool was last tidied.
    var isUntidy = false
    var tidyAt: Instant?
    /// The number of bytes of the oldest events on disk that must be dropped.
    var toDrop = 0
    /// True if waiting events are checked for consent again. It is false if no ledger is kept.
    let checksConsent: Bool
    var sweeping: Sweeping?
    /// The maximum age of events by route number, in addition to the plan's limit for all events.
    var routeRetention: [UInt16: Int64] = [:]
    /// The time of the next search for events that are too old. It is nil if no such search is needed.
    var ageDue: Instant?
    /// Events that were destroyed since the last sweep was reported.
    var unreported = Swept()
    /// Nanoseconds since 1970 at instant 0. It converts the time of a first attempt.
    let epoch: Int64

    /// `contents` is what the lane's spool holds. It is nil if the lane has no spool.
    init(
        _ plan: DeliveryPlan, concurrency: Int, routes: Int, random: RandomSource, contents: SpoolContents? = nil, epoch: Int64 = 0,
        checksConsent: Bool = false
    ) {
        self.checksConsent = checksConsent
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

    /// Applies a changed plan or a changed provider. Waiting events continue under the new plan. A new provider is tried at once, since it
    /// is not responsible for the old provider's failures.
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
        closingAnswer = nil
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

    /// Returns true if a parcel of this size fits now. A lane that holds nothing takes a parcel of any size.
    func hasRoom(for bytes: Int) -> Bool {
        phase == .ended || phase == .stopped || heldBytes == 0 || heldBytes + bytes <= plan.queue.memory
    }

    /// Takes a parcel and leaves it empty. If the queue is full, the events are treated as the plan demands. A caller that must wait for
    /// free memory calls `mustWait` first. The receipt is settled when every event is safe as the plan promises.
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
            takeToDisk(&parcel, receipt: receipt, at: now, effects: &effects)
            return effects
        }
        let acknowledgement = receipt.map { [Effect.acknowledge([$0])] } ?? []
        // The burial comes first, so that the events are kept as dead letters before they are acknowledged.
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

    /// The lane has ended or stopped, but a worker still had events for it. They are treated like the events that were left in the queue.
    private mutating func takeTooLate(_ parcel: inout Parcel) -> [Effect] {
        // Events that the lane must keep become dead letters, since its spool takes no more events.
        guard let reason = givenUpFor ?? (isDurable ? Answer("its spool is closed") : nil) else {
            account.unkept += parcel.entries.count
            settle(&parcel, .undelivered)
            return []
        }
        var rest = Parcel()
        swap(&rest, &parcel)
        heldBytes += rest.bytes.count
        var effects: [Effect] = []
        bury(Waiting(batch: Batch(rest)), fate: .undelivered, answer: failure ?? reason, effects: &effects)
        return effects
    }

    mutating func settle(_ parcel: inout Parcel, _ fate: LaneAccount.Fate) {
        for entry in parcel.entries { account.settle(entry.route, fate: fate) }
        parcel.removeAll()
    }

    /// Drops waiting batches, oldest first. Batches in flight stay.
    private mutating func dropOldest(until bytes: Int, at now: Instant) {
        sealAssembly(at: now, always: true)
        while heldBytes > max(0, bytes), !queue.isEmpty { settle(queue.removeFirst(), .dropped) }
    }

    /// Counts the fate of the events and releases them from the disk.
    mutating func settle(_ waiting: Waiting, _ fate: LaneAccount.Fate) {
        settle(waiting.batch, fate)
        if let share = waiting.share { backlog.release(share) }
    }

    mutating func settle(_ batch: Batch, _ fate: LaneAccount.Fate) {
        for entry in batch.entries { account.settle(entry.route, fate: fate) }
        heldBytes -= batch.bytes.count
    }

    mutating func sealAssembly(at now: Instant, always: Bool) {
        guard !assembly.isEmpty else { return }
        let floor = backlog.floor()
        assembly.sealIfDue(at: now, always: always) { queue.append(Waiting(batch: $0, floor: floor)) }
    }

    /// Returns true if the lane's thread must be woken now and not at the next call of the source.
    func needsAttention(at now: Instant) -> Bool {
        guard isSourceBusy else { return true }
        return queuedBytes >= worthWaking || assembly.isDue(at: now) || isDurable
    }

    private var worthWaking: Int { min(1 << 20, plan.queue.memory / 4) }

    // MARK: - What to do next

    /// Returns the next step. Only the lane's thread calls this, so at that moment it is in no call of the provider. `version` is the present
    /// version of consent, and nil if the lane has no second check. A batch is handed over only with an answer of this version.
    mutating func next(
        at now: Instant, _ answers: ConsentAnswers = ConsentAnswers(), consentIs version: SecondCheck.Version? = nil
    ) -> Step {
        calling = nil
        switch phase {
        case .ended:
            // Closing the provider ends the deliveries that it still holds. Such an end is no late answer.
            unanswered = []
            return .end
        case .flushing, .stopped: return .wait(until: nil)
        case .open, .draining: break
        }
        if closingAnswer != nil { return .wait(until: nil) }
        if let due = ageDue, due <= now { lookForAged(at: now) }
        sealWhatIsDue(at: now, always: phase == .draining)
        if !letters.isEmpty {
            guard let again = lettersAgain, again > now else { return .bury(buryAgain()) }
            return .wait(until: ageDue.map { min($0, again) } ?? again)
        }
        while let index = firstReady(at: now) {
            let batch = queue[index].batch
            if isOverLimits(batch) {
                halve(queue.remove(at: index))
                continue
            }
            if let refusal = tooLarge(batch) {
                var effects: [Effect] = []
                bury(queue.remove(at: index), fate: .rejected, answer: refusal, effects: &effects)
                return .bury(effects)
            }
            let open = unchecked([batch], answers, consentIs: version)
            guard open.isEmpty else { return .ask(open) }
            var waiting = queue.remove(at: index)
            guard passesSecondCheck(&waiting, answers, at: now) else { continue }
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

    /// The pause before the second check is repeated when it cannot decide.
    private static let unreadablePause = Duration.seconds(1)

    /// Destroys events that may not be delivered any more or are too old. It returns false if nothing is left to hand over now.
    private mutating func passesSecondCheck(_ waiting: inout Waiting, _ answers: ConsentAnswers, at now: Instant) -> Bool {
        guard let found = ageSweep(at: now).finds(in: waiting.batch, answer: answers[waiting.batch]) else {
            waiting.notBefore = now + LaneState.unreadablePause
            queue.prepend(waiting)
            return false
        }
        if found.isEmpty { return true }
        guard let left = destroy(found, of: waiting) else { return false }
        waiting = left
        return true
    }

    /// Returns true if the batch was cut to the limits of a plan that has since been replaced.
    private func isOverLimits(_ batch: Batch) -> Bool {
        batch.count > 1 && (batch.count > plan.batch.events || batch.bytes.count > plan.batch.bytes)
    }

    /// Returns a refusal if a single event exceeds the size that the module takes. Larger batches are cut to that size.
    private func tooLarge(_ batch: Batch) -> Answer? {
        guard let most = plan.batch.largest, batch.bytes.count > most, batch.count == 1 else { return nil }
        return Answer("the event has \(batch.bytes.count) bytes, and the module takes \(most) at most")
    }

    /// The positions in the queue from which a batch may be taken. An ordered lane takes only the first.
    private var candidates: Range<Int> { 0..<(plan.ordered ? min(1, queue.count) : queue.count) }

    /// The maximum number of batches in flight. While the breaker is open it is one, to find out whether the provider works again.
    private var mostInFlight: Int { isBreakerOpen ? 1 : concurrency }

    /// True if nothing may be handed over until an act ends that wakes the lane. The act is either a commit that records confirmed
    /// deliveries or, in an ordered lane, a burial. A dead letter that cannot be kept stays in front of all other events.
    private var isHeldBack: Bool { isUnrecorded || plan.ordered && unsettled > 0 }

    /// Returns the index of the first batch that may leave now.
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
            // A breaker or a pause delays only batches that wait. Without such a batch there is no reason to wake up.
            let times = [queue[index].notBefore, breakerUntil, pausedUntil].compactMap(\.self)
            if let then = times.max(), soonest.map({ then < $0 }) ?? true { soonest = then }
        }
        return soonest
    }
}
