// A lane as a pure value: what happens goes in, what is to be done comes out. It reads no clock, takes no lock and
// calls no one, so that every order of events can be tested as a table. `Lane` carries it out.
//
//   open ──drain──► draining ──all settled──► flushing ──flushed──► ended
//     └───────────────┴── closed by the provider, or out of time ──────┘

internal import Configuration
internal import Events
internal import Platform
internal import Policy

struct LaneState: ~Copyable {
    enum Phase: Equatable { case open, draining, flushing, ended }

    /// What the lane's thread is to do next.
    enum Step {
        case deliver(token: UInt64, Batch, attempt: Int)
        /// Nothing to do until something happens, or until then.
        case wait(until: Instant?)
        case flush
        /// The lane has ended: the provider is to be closed and the thread ends.
        case end
    }

    /// What is to be done outside the lock after an event was taken in.
    enum Effect {
        /// Events that are given up, for the dead-letter file.
        case bury(Batch, reason: LaneAccount.Fate, Answer, attempts: Int)
        /// The provider refuses or fails where it worked before, or for another reason than before.
        case failing(Answer, again: Duration)
        /// It works again.
        case recovered(attempts: Int)
        /// The provider closed the lane.
        case closed(Answer)
    }

    /// A batch that waits, with what happened to it so far.
    private struct Waiting {
        var batch: Batch
        var attempts = 0
        var firstTried: Instant?
        var notBefore: Instant?
    }

    private(set) var phase = Phase.open
    private(set) var account: LaneAccount
    /// The answer that the lane is failing with; nil while it works.
    private(set) var failure: Answer?
    /// Whether the destination went away: what was left had nowhere to go.
    private(set) var isClosedByProvider = false
    /// Bytes of events that are neither settled nor given up.
    private(set) var heldBytes = 0

    /// Whether events that were given up are not yet in the dead-letter file.
    private var isBurying: Bool { unburied > 0 }
    /// Whether every event has its fate, and the provider is closed or was given up on.
    var isOver: Bool { (isProviderClosed || isGivenUp) && !isBurying }
    private(set) var isProviderClosed = false
    private var isGivenUp = false

    /// While the source is busy, and looks in at every block, small batches are left to gather: to wake the lane's thread for
    /// each would cost more than the batches.
    var isSourceBusy = false

    private var inFlightBytes = 0
    private var queuedBytes: Int { heldBytes - inFlightBytes - assembly.byteCount }
    private let plan: DeliveryPlan
    private let concurrency: Int
    private let backoff: Backoff
    private var chance: Chance
    private var assembly: Assembly
    private var queue = Deque<Waiting>()
    private var inFlight: [UInt64: Waiting] = [:]
    private var lastToken: UInt64 = 0
    private var unburied = 0
    private var failedAttempts = 0

    init(_ plan: DeliveryPlan, concurrency: Int, routes: Int, chance: Chance) {
        self.plan = plan
        self.concurrency = plan.ordered ? 1 : max(1, concurrency)
        self.chance = chance
        backoff = Backoff(plan: plan.retry)
        account = LaneAccount(routes: routes)
        assembly = Assembly(plan.batch)
    }

    // MARK: - Events come in

    /// Whether a parcel of that size may come in now; a lane that holds nothing takes any.
    func hasRoom(for bytes: Int) -> Bool {
        phase == .ended || heldBytes == 0 || heldBytes + bytes <= plan.queue.memory
    }

    /// Takes a parcel, which is left empty. When the queue is full it is settled as the plan says; a lane that blocks is
    /// asked `hasRoom` before.
    mutating func take(_ parcel: inout Parcel, at now: Instant) {
        for entry in parcel.entries { account.take(entry.route) }
        if phase == .ended {
            settle(&parcel, .undelivered)
            return
        }
        if !hasRoom(for: parcel.bytes.count) {
            switch plan.queue.full {
            case .block: break
            case .dropNewest:
                settle(&parcel, .dropped)
                return
            case .dropOldest: dropOldest(until: plan.queue.memory - parcel.bytes.count, at: now)
            }
        }
        heldBytes += parcel.bytes.count
        assembly.add(&parcel, at: now) { queue.append(Waiting(batch: $0)) }
    }

    private mutating func settle(_ parcel: inout Parcel, _ fate: LaneAccount.Fate) {
        for entry in parcel.entries { account.settle(entry.route, fate) }
        parcel.removeAll()
    }

    /// Drops waiting batches, oldest first; those in a provider's hands stay.
    private mutating func dropOldest(until bytes: Int, at now: Instant) {
        assembly.sealIfDue(at: now, always: true) { queue.append(Waiting(batch: $0)) }
        while heldBytes > max(0, bytes), !queue.isEmpty { settle(queue.removeFirst().batch, .dropped) }
    }

    private mutating func settle(_ batch: Batch, _ fate: LaneAccount.Fate) {
        for entry in batch.entries { account.settle(entry.route, fate) }
        heldBytes -= batch.bytes.count
    }

    /// Whether the lane's thread must be woken now, rather than when the source looks in again.
    func needsAttention(at now: Instant) -> Bool {
        guard isSourceBusy else { return true }
        return queuedBytes >= worthWaking || assembly.isDue(at: now)
    }

    private var worthWaking: Int { min(1 << 20, plan.queue.memory / 4) }

    // MARK: - What to do next

    mutating func next(at now: Instant) -> Step {
        switch phase {
        case .ended: return .end
        case .flushing: return .wait(until: nil)
        case .open, .draining: break
        }
        assembly.sealIfDue(at: now, always: phase == .draining) { queue.append(Waiting(batch: $0)) }
        if let index = firstReady(at: now) {
            var waiting = queue.remove(at: index)
            waiting.attempts += 1
            waiting.firstTried = waiting.firstTried ?? now
            lastToken += 1
            inFlight[lastToken] = waiting
            inFlightBytes += waiting.batch.bytes.count
            return .deliver(token: lastToken, waiting.batch, attempt: waiting.attempts)
        }
        if phase == .draining, inFlight.isEmpty, queue.isEmpty, !isBurying {
            phase = .flushing
            return .flush
        }
        return .wait(until: nextInstant())
    }

    /// Where in the queue a batch may be taken from: only the very front where order is kept.
    private var candidates: Range<Int> { 0..<(plan.ordered ? min(1, queue.count) : queue.count) }

    /// The first batch that may leave now.
    private func firstReady(at now: Instant) -> Int? {
        guard inFlight.count < concurrency else { return nil }
        return candidates.first { queue[$0].notBefore.map { $0 <= now } ?? true }
    }

    private func nextInstant() -> Instant? {
        var soonest = assembly.deadline
        guard inFlight.count < concurrency else { return soonest }
        for index in candidates {
            if let then = queue[index].notBefore, soonest.map({ then < $0 }) ?? true { soonest = then }
        }
        return soonest
    }

    // MARK: - What became of a delivery

    mutating func completed(_ token: UInt64, _ outcome: BatchOutcome, at now: Instant) -> [Effect] {
        guard let waiting = inFlight.removeValue(forKey: token) else { return [] }
        inFlightBytes -= waiting.batch.bytes.count
        var effects: [Effect] = []
        if outcome.events.isEmpty {
            apply(outcome.batch, to: waiting, at: now, &effects)
            return effects
        }
        // Events that fared alike go on together, in the order in which they stand in the batch.
        var groups: [(outcome: Outcome, indices: [Int])] = []
        for index in 0..<waiting.batch.count {
            let own = outcome.events[index] ?? outcome.batch
            if let group = groups.firstIndex(where: { $0.outcome == own }) {
                groups[group].indices.append(index)
            } else {
                groups.append((own, [index]))
            }
        }
        for group in groups.reversed() {
            var part = waiting
            if groups.count > 1 { part.batch = waiting.batch.subset(group.indices) }
            apply(group.outcome, to: part, isVerdictOnEvents: true, at: now, &effects)
        }
        return effects
    }

    /// `isVerdictOnEvents`: a rejection is of these very events, so there is no need to halve them.
    private mutating func apply(
        _ outcome: Outcome, to waiting: Waiting, isVerdictOnEvents: Bool = false, at now: Instant, _ effects: inout [Effect]
    ) {
        switch outcome {
        case .delivered:
            settle(waiting.batch, .delivered)
            noteSuccess(&effects)
        case .rejected(let answer):
            noteSuccess(&effects)
            if waiting.batch.count > 1, !isVerdictOnEvents {
                halve(waiting)
            } else {
                bury(waiting, .rejected, answer, &effects)
            }
        case .retry(let answer, let after):
            again(waiting, answer, after: after, at: now, &effects)
        case .unknown(let answer):
            again(waiting, answer, after: nil, at: now, &effects)
        case .fault(let answer):
            again(waiting, answer, after: plan.retry.most, forever: true, at: now, &effects)
        case .closed(let answer):
            settle(waiting.batch, .undelivered)
            effects += close(answer)
        }
    }

    private mutating func halve(_ waiting: Waiting) {
        let middle = waiting.batch.count / 2
        for range in [middle..<waiting.batch.count, 0..<middle] {
            queue.prepend(Waiting(batch: waiting.batch.subset(range), firstTried: waiting.firstTried))
        }
    }

    private mutating func again(
        _ waiting: Waiting, _ answer: Answer, after: Duration?, forever: Bool = false, at now: Instant, _ effects: inout [Effect]
    ) {
        if phase == .ended {
            bury(waiting, .undelivered, answer, &effects)
            return
        }
        if !forever, let first = waiting.firstTried, now - first >= plan.retry.total {
            bury(waiting, .expired, answer, &effects)
            return
        }
        account.retries += 1
        failedAttempts += 1
        let wait = after ?? backoff.wait(after: waiting.attempts, &chance)
        if failure != answer { effects.append(.failing(answer, again: wait)) }
        failure = answer
        var waiting = waiting
        waiting.notBefore = now + wait
        queue.prepend(waiting)
    }

    private mutating func noteSuccess(_ effects: inout [Effect]) {
        if failure != nil { effects.append(.recovered(attempts: failedAttempts)) }
        failure = nil
        failedAttempts = 0
    }

    private mutating func bury(_ waiting: Waiting, _ fate: LaneAccount.Fate, _ answer: Answer, _ effects: inout [Effect]) {
        settle(waiting.batch, fate)
        unburied += 1
        effects.append(.bury(waiting.batch, reason: fate, answer, attempts: waiting.attempts))
    }

    /// A burial has been carried out; `lost` events could not be kept.
    mutating func buried(lost: Int) {
        unburied -= 1
        account.lost += lost
    }

    // MARK: - The end

    /// No more events will come: what is here leaves without waiting for its batch to fill.
    mutating func drain() {
        if phase == .open { phase = .draining }
    }

    mutating func providerClosed() { isProviderClosed = true }

    mutating func flushed(_ outcome: Outcome) -> [Effect] {
        guard phase == .flushing else { return [] }
        phase = .ended
        if case .delivered = outcome { return [] }
        return outcome.answer.map { [.failing($0, again: .zero)] } ?? []
    }

    /// The destination is gone for good. What waits has nowhere to go and is not kept: its reader chose to leave.
    mutating func close(_ answer: Answer) -> [Effect] {
        guard phase != .ended else { return [] }
        isClosedByProvider = true
        abandon { _, _ in }
        return [.closed(answer)]
    }

    /// Time is up: what waits is given up and kept in the dead-letter file.
    mutating func giveUp(_ answer: Answer) -> [Effect] {
        isGivenUp = true
        guard phase != .ended else { return [] }
        var effects: [Effect] = []
        abandon { waiting, state in
            state.unburied += 1
            effects.append(.bury(waiting.batch, reason: .undelivered, state.failure ?? answer, attempts: waiting.attempts))
        }
        return effects
    }

    private mutating func abandon(_ body: (Waiting, inout LaneState) -> Void) {
        phase = .ended
        assembly.sealIfDue(at: Instant(nanoseconds: .max), always: true) { queue.append(Waiting(batch: $0)) }
        let left = inFlight.sorted { $0.key < $1.key }.map(\.value) + queue.removeAll()
        inFlight.removeAll()
        inFlightBytes = 0
        for waiting in left {
            settle(waiting.batch, .undelivered)
            body(waiting, &self)
        }
    }
}

extension Outcome {
    /// The provider's words, where it had any.
    var answer: Answer? {
        switch self {
        case .delivered: nil
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer
        }
    }
}
