// Decides what the lane's thread does next: which batch leaves, when, and when the lane is at its end. This file is a part of the pure lane
// state.

internal import Admission
public import ConsentGate
internal import Plans
public import Platform

extension LaneState {
    /// Returns the next step. Only the lane's thread calls this, so at that moment it is in no call of the provider. `version` is the
    /// present version of consent, and nil if the lane has no second check. A batch is handed over only with an answer of this version.
    public mutating func next(
        at now: Instant, _ answers: ConsentAnswers = ConsentAnswers(), consentIs version: SecondCheck.Version? = nil
    ) -> Step {
        let step = decide(at: now, answers, consentIs: version)
        if case .wait(let instant) = step { rest = .asleep(until: instant) } else { rest = .awake }
        return step
    }

    private mutating func decide(at now: Instant, _ answers: ConsentAnswers, consentIs version: SecondCheck.Version?) -> Step {
        deliveries.callReturned()
        switch phase {
        case .ended:
            deliveries.forgetAbandoned()
            return .end
        case .flushing, .stopped: return .wait(until: nil)
        case .open, .draining: break
        }
        if ending.closingAnswer != nil { return .wait(until: nil) }
        if let due = ages.due, due <= now { lookForAged(at: now) }
        sealWhatIsDue(at: now)
        if !letters.held.isEmpty {
            guard let again = letters.retry.again, again > now else { return .bury(buryAgain()) }
            return .wait(until: ages.due.map { min($0, again) } ?? again)
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
            return .deliver(token: deliveries.begin(waiting, passedAt: version), waiting.batch, attempt: waiting.attempts)
        }
        if phase == .draining, deliveries.isEmpty, queue.isEmpty, letters.count == 0, !isDurable || isDiskEmpty {
            assert(heldBytes == 0, "the lane has delivered everything, but bytes are left in memory")
            phase = .flushing
            ending.flushDue = due(from: now)
            return .flush
        }
        return .wait(until: nextInstant())
    }

    /// The pause before the second check is repeated when it cannot decide.
    private static let unreadablePause = Duration.seconds(1)

    /// Destroys events that may not be delivered any more or are too old. It returns false if nothing is left to hand over now.
    private mutating func passesSecondCheck(_ waiting: inout WaitingBatch, _ answers: ConsentAnswers, at now: Instant) -> Bool {
        guard let found = ages.sweep(at: now).finds(in: waiting.batch, answer: answers[waiting.batch]) else {
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
    private var mostInFlight: Int { health.isBreakerOpen ? 1 : concurrency }

    /// True if nothing may be handed over until an act ends that wakes the lane. The act is either a commit that records confirmed
    /// deliveries or, in an ordered lane, a burial. A dead letter that cannot be kept stays in front of all other events.
    private var isHeldBack: Bool { isUnrecorded || plan.ordered && letters.unsettled > 0 }

    /// Returns the index of the first batch that may leave now.
    func firstReady(at now: Instant) -> Int? {
        guard isFree(at: now) else { return nil }
        return candidates.first { queue[$0].notBefore.map { $0 <= now } ?? true }
    }

    /// Returns the time from which a batch leaves that is still open, and nil if there is none or another batch must leave first.
    private var openDue: Instant? {
        if plan.ordered, !queue.isEmpty { return nil }
        return [assemblyDue, gatheredDue].compactMap(\.self).min()
    }

    /// True if no batch is in flight and none waits.
    private var isAlone: Bool { deliveries.isEmpty && queue.isEmpty }
    private var assemblyDue: Instant? { assembly.due(isAlone: isAlone) }
    private var gatheredDue: Instant? { isDurable ? backlog.gathering.due(isAlone: isAlone) : nil }

    /// Seals the open batches that leave now. A batch stays open, and takes more events, as long as the provider is not free for it. While
    /// the lane drains, all leave.
    private mutating func sealWhatIsDue(at now: Instant) {
        if phase == .draining {
            sealAssembly()
            // Rows that are still on disk follow the gathered rows and may fill their batch.
            if isDurable, !backlog.hasMore { return sealGathered() }
        }
        guard isFree(at: now), let due = openDue, due <= now else { return }
        let (isAssemblyDue, isGatheredDue) = (assemblyDue.map { $0 <= now } ?? false, gatheredDue.map { $0 <= now } ?? false)
        if isAssemblyDue { sealAssembly() }
        if isGatheredDue { sealGathered() }
    }

    /// Returns true if a batch could be handed over now.
    private func isFree(at now: Instant) -> Bool {
        if let probe = health.probeAt, now < probe { return false }
        return deliveries.count < mostInFlight && !health.isPaused(at: now) && !isHeldBack
    }

    func nextInstant() -> Instant? {
        var soonest = ages.due
        guard deliveries.count < mostInFlight, !isHeldBack else { return soonest }
        if let due = openDue, let then = [due, health.probeAt, health.pausedUntil].compactMap(\.self).max() {
            soonest = soonest.map { min($0, then) } ?? then
        }
        for index in candidates {
            // A breaker or a pause delays only batches that wait. Without such a batch there is no reason to wake up.
            let times = [queue[index].notBefore, health.probeAt, health.pausedUntil].compactMap(\.self)
            if let then = times.max(), soonest.map({ then < $0 }) ?? true { soonest = then }
        }
        return soonest
    }
}
