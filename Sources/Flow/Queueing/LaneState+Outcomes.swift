// Applies the outcome of a delivery to its batch: the batch is settled, tried again, halved or given up. This file is a part of the pure
// lane state.

internal import Admission
internal import ConsentGate
internal import Plans
internal import Platform

extension LaneState {
    mutating func completed(_ token: UInt64, _ outcome: BatchOutcome, _ answers: ConsentAnswers, at now: Instant) -> [Effect] {
        let handed: Handed
        switch deliveries.end(token) {
        case .delivery(let delivery): handed = delivery
        case .late:
            account.late += 1
            return []
        case .unknown: return []
        }
        let waiting = handed.waiting
        // A pause that the old provider asks for does not concern the provider that replaced it.
        let told = handed.outcome(outcome)
        let outcome = deliveries.isOfReplacedProvider(token) ? told.withoutTimes : told
        var effects: [Effect] = []
        if waiting.batch.count == 0 {
            if case .closed(let answer) = outcome.batch { effects += closeAfterDeliveries(answer, answers) }
        } else if outcome.events.isEmpty {
            apply(outcome.batch, to: waiting, answers[waiting.batch], answers, at: now, &effects)
            if outcome.batch.showsHealth { noteSuccess(&effects) }
        } else {
            applyEach(outcome, to: waiting, answers, at: now, &effects)
        }
        // The pause begins last, since a failure during a pause does not count, but this one does.
        if case .retry(_, let after?) = outcome.batch { health.pause(for: after, at: now) }
        return effects + continueClosing(answers)
    }

    /// Applies an outcome in which some events have an outcome of their own. The other events are the rest, which is treated like any
    /// batch.
    private mutating func applyEach(
        _ outcome: BatchOutcome, to waiting: WaitingBatch, _ answers: ConsentAnswers, at now: Instant, _ effects: inout [Effect]
    ) {
        // Events with the same outcome continue together, in their order in the batch. A refusal of the rest is not a refusal of each of
        // its events, so the rest never joins events that were refused individually.
        assert(outcome.events.keys.allSatisfy(waiting.batch.entries.indices.contains), "an outcome is about an event behind the batch")
        var groups: [(outcome: Outcome, isRefusedRest: Bool, indices: [Int])] = []
        for index in 0..<waiting.batch.count {
            let own = outcome.events[index]
            let fate = own ?? outcome.batch
            let isRefusedRest = own == nil && fate.isRejected
            if let group = groups.firstIndex(where: { $0.outcome == fate && $0.isRefusedRest == isRefusedRest }) {
                groups[group].indices.append(index)
            } else {
                groups.append((fate, isRefusedRest, [index]))
            }
        }
        assert(groups.reduce(0) { $0 + $1.indices.count } == waiting.batch.count, "an event has no outcome, or more than one")
        for group in groups.reversed() {
            var part = waiting
            var answer = answers[waiting.batch]
            if groups.count > 1 { (part, answer) = (waiting.part(group.indices), answer.part(group.indices)) }
            if outcome.batch.isClosed, !group.outcome.isSettled {
                // The lane closes below and treats this part like the events that wait.
                if case .unknown = group.outcome { part.mayHaveArrived = true }
                if let rest = rest(of: part, answer) { queue.prepend(rest) }
            } else {
                apply(group.outcome, to: part, answer, answers, isVerdictOnEvents: !group.isRefusedRest, at: now, &effects)
            }
        }
        if case .closed(let answer) = outcome.batch { effects += closeAfterDeliveries(answer, answers) }
        // Events that were left out or have to wait say nothing about the provider.
        let told = groups.map(\.outcome).filter { !$0.isUntouched }
        if !told.isEmpty, told.allSatisfy(\.showsHealth), outcome.batch.isSettled || outcome.batch == .untried { noteSuccess(&effects) }
    }

    // MARK: - What becomes of a batch

    /// `isVerdictOnEvents` says that a rejection concerns these very events, so that halving is not necessary.
    private mutating func apply(
        _ outcome: Outcome, to waiting: WaitingBatch, _ consent: SecondCheck.Answer, _ answers: ConsentAnswers,
        isVerdictOnEvents: Bool = false, at now: Instant, _ effects: inout [Effect]
    ) {
        if case .delivered = outcome {
            measures.note(waiting.batch, at: now, wall: epoch + now.nanoseconds)
            return settle(waiting, .delivered)
        }
        if case .filtered(let reason) = outcome {
            account.exclude(waiting.batch.count, for: reason)
            return settle(waiting, .filtered)
        }
        // Events that the provider did not take must not wait again if their subject has refused meanwhile.
        guard let waiting = rest(of: waiting, consent) else {
            if case .closed(let answer) = outcome { effects += closeAfterDeliveries(answer, answers) }
            return
        }
        switch outcome {
        case .delivered, .filtered: break
        case .untried: putBack(waiting, effects: &effects)
        case .rejected(let answer):
            if waiting.batch.count > 1, !isVerdictOnEvents {
                halve(waiting)
            } else {
                bury(waiting, fate: .rejected, answer: answer, effects: &effects)
            }
        case .retry(let answer, let after):
            again(waiting, answer: answer, after: after.map { min($0, ProviderHealth.longestPause) }, at: now, effects: &effects)
        case .unknown(let answer):
            var waiting = waiting
            waiting.mayHaveArrived = true
            again(waiting, answer: answer, after: nil, at: now, effects: &effects)
        case .fault(let answer):
            again(waiting, answer: answer, after: plan.retry.most, forever: true, at: now, effects: &effects)
        case .closed(let answer):
            queue.prepend(waiting)
            effects += closeAfterDeliveries(answer, answers)
        }
    }

    /// Puts events that were not handed over in front of all that wait.
    private mutating func putBack(_ waiting: WaitingBatch, effects: inout [Effect]) {
        if phase == .ended || phase == .stopped, isDurable { return keep(waiting) }
        if phase == .ended {
            let answer = health.failure ?? Answer("the lane ended before it was handed over")
            return bury(waiting, fate: waiting.fate(otherwise: .undelivered), answer: answer, effects: &effects)
        }
        var waiting = waiting
        assert(waiting.attempts > 0, "an event comes back that was not under way")
        waiting.attempts -= 1
        if waiting.attempts == 0 { waiting.firstTried = nil }
        (waiting.notBefore, waiting.due) = (nil, nil)
        queue.prepend(waiting)
    }

    mutating func halve(_ waiting: WaitingBatch) {
        assert(waiting.batch.count > 1, "a single event is halved")
        let middle = waiting.batch.count / 2
        for range in [middle..<waiting.batch.count, 0..<middle] {
            var half = waiting.part(Array(range))
            (half.attempts, half.notBefore, half.due) = (0, nil, nil)
            queue.prepend(half)
        }
    }

    mutating func again(
        _ waiting: WaitingBatch, answer: Answer, after: Duration?, forever: Bool = false, at now: Instant, effects: inout [Effect]
    ) {
        if phase == .ended || phase == .stopped, isDurable {
            keep(waiting)
            return
        }
        if phase == .ended {
            bury(waiting, fate: waiting.fate(otherwise: .undelivered), answer: answer, effects: &effects)
            return
        }
        if !forever, let first = waiting.firstTried, now - first >= plan.retry.total {
            bury(waiting, fate: waiting.fate(otherwise: .expired), answer: answer, effects: &effects)
            return
        }
        account.retries += 1
        let backoff = backoff
        let wait = after ?? backoff.wait(after: waiting.attempts, &random)
        let change = health.noteFailure(answer, wait: wait, most: plan.breaker, at: now)
        if change.hasOpened { effects.append(.opened(failures: health.failedAttempts)) }
        if let share = waiting.share, let first = waiting.firstTried {
            backlog.noteTry(share, attempts: waiting.attempts, first: first.nanoseconds + epoch)
        }
        if change.isNew { effects.append(.failing(answer, again: wait)) }
        var waiting = waiting
        waiting.due = nil
        waiting.notBefore = now + wait
        queue.prepend(waiting)
    }

    private mutating func noteSuccess(_ effects: inout [Effect]) {
        if let failed = health.noteSuccess() { effects.append(.recovered(attempts: failed)) }
    }

}

extension Outcome {
    /// True if the events need not be handed over again, whether the provider took them or not.
    fileprivate var isSettled: Bool {
        switch self {
        case .delivered, .filtered, .rejected: true
        case .untried, .retry, .unknown, .fault, .closed: false
        }
    }

    /// True if the provider did not get the events.
    fileprivate var isUntouched: Bool {
        switch self {
        case .filtered, .untried: true
        case .delivered, .rejected, .retry, .unknown, .fault, .closed: false
        }
    }

    /// True if the provider has finished with the events, so that it works.
    fileprivate var showsHealth: Bool { isSettled && !isUntouched }

    fileprivate var isRejected: Bool { if case .rejected = self { true } else { false } }
    var isClosed: Bool { if case .closed = self { true } else { false } }

    fileprivate var withoutTime: Outcome {
        if case .retry(let answer, _?) = self { return .retry(answer, after: nil) }
        return self
    }

    /// The provider's answer. It is nil for a delivery.
    var answer: Answer? {
        switch self {
        case .delivered, .filtered, .untried: nil
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer
        }
    }
}

extension BatchOutcome {
    fileprivate var withoutTimes: BatchOutcome { BatchOutcome(batch.withoutTime, events: events.mapValues(\.withoutTime)) }
}
