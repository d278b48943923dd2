// What becomes of a batch once its delivery has ended: settled, tried again, halved, or given up. Pure, like the rest of the state.

internal import Configuration
internal import Platform
internal import Policy

extension LaneState {
    mutating func completed(_ token: UInt64, _ outcome: BatchOutcome, at now: Instant) -> [Effect] {
        guard let waiting = inFlight.removeValue(forKey: token) else {
            if unanswered.remove(token) != nil { account.late += 1 }
            return []
        }
        inFlightBytes -= waiting.batch.bytes.count
        var effects: [Effect] = []
        if outcome.events.isEmpty {
            apply(outcome.batch, to: waiting, at: now, &effects)
            if outcome.batch.isSettled { noteSuccess(&effects) }
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
            if groups.count > 1 { part = waiting.part(group.indices) }
            apply(group.outcome, to: part, isVerdictOnEvents: true, at: now, &effects)
        }
        if groups.allSatisfy(\.outcome.isSettled) { noteSuccess(&effects) }
        return effects
    }

    private mutating func noteDelivery(of batch: Batch, at now: Instant) {
        rate.note(batch.count, at: now)
        sizes.note(Int64(batch.count))
        // Events of one block came in together.
        let wall = epoch + now.nanoseconds
        var first = 0
        for index in 1...batch.count where index == batch.count || batch.arrivals[index] != batch.arrivals[first] {
            ages.note(max(0, wall - batch.arrivals[first]), count: index - first)
            first = index
        }
    }

    /// `isVerdictOnEvents`: a rejection is of these very events, so there is no need to halve them.
    private mutating func apply(
        _ outcome: Outcome, to waiting: Waiting, isVerdictOnEvents: Bool = false, at now: Instant, _ effects: inout [Effect]
    ) {
        if case .delivered = outcome {
            noteDelivery(of: waiting.batch, at: now)
            return settle(waiting, .delivered)
        }
        // What the provider did not take may not wait on if its subject has refused meanwhile.
        guard let waiting = rest(of: waiting) else {
            if case .closed(let answer) = outcome { effects += close(answer) }
            return
        }
        switch outcome {
        case .delivered: break
        case .rejected(let answer):
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
            if isDurable { keep(waiting) } else { settle(waiting, .undelivered) }
            effects += close(answer)
        }
    }

    mutating func halve(_ waiting: Waiting) {
        let middle = waiting.batch.count / 2
        for range in [middle..<waiting.batch.count, 0..<middle] {
            var half = waiting.part(Array(range))
            half = Waiting(batch: half.batch, firstTried: waiting.firstTried, share: half.share, floor: half.floor)
            queue.prepend(half)
        }
    }

    mutating func again(
        _ waiting: Waiting, _ answer: Answer, after: Duration?, forever: Bool = false, at now: Instant, _ effects: inout [Effect]
    ) {
        if phase == .ended || phase == .stopped, isDurable {
            keep(waiting)
            return
        }
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
        if failedAttempts >= plan.breaker {
            if !isBreakerOpen { effects.append(.opened(failures: failedAttempts)) }
            breakerUntil = now + wait
            isBreakerOpen = true
        }
        if let share = waiting.share, let first = waiting.firstTried {
            backlog.noteTry(share, attempts: waiting.attempts, first: first.nanoseconds + epoch)
        }
        if failure != answer { effects.append(.failing(answer, again: wait)) }
        failure = answer
        lastFailure = (answer, now)
        var waiting = waiting
        waiting.due = nil
        waiting.notBefore = now + wait
        queue.prepend(waiting)
    }

    private mutating func noteSuccess(_ effects: inout [Effect]) {
        if failure != nil { effects.append(.recovered(attempts: failedAttempts)) }
        failure = nil
        failedAttempts = 0
        isBreakerOpen = false
        breakerUntil = nil
    }

    mutating func bury(_ waiting: Waiting, _ fate: LaneAccount.Fate, _ answer: Answer, _ effects: inout [Effect]) {
        settle(waiting.batch, fate)
        unburied += 1
        effects.append(.bury(waiting.batch, reason: fate, answer, attempts: waiting.attempts, waiting.share))
    }

    /// A burial has been carried out; `lost` events could not be kept. Only now may the others leave the disk.
    mutating func buried(_ share: Backlog.Share?, lost: Int) {
        unburied -= 1
        account.lost += lost
        if let share, lost == 0 { backlog.release(share) }
    }
}

extension Outcome {
    /// Whether the provider has done its part, whether it took the events or not.
    fileprivate var isSettled: Bool {
        switch self {
        case .delivered, .rejected: true
        case .retry, .unknown, .fault, .closed: false
        }
    }

    /// The provider's words, where it had any.
    var answer: Answer? {
        switch self {
        case .delivered: nil
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer
        }
    }
}
