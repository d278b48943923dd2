// A lane's deadlines: when a call has taken too long, what becomes of its batch, and when the lane stops for it. Pure, like
// the rest of the state; a thread that never enters the provider asks it.

internal import Admission
internal import Configuration
internal import Plans
internal import Platform

extension LaneState {
    func due(from now: Instant) -> Instant? { plan.deadline > .zero ? now + plan.deadline : nil }

    /// When `expire` is to be asked again; nil: nothing is under way.
    var nextDeadline: Instant? {
        switch phase {
        case .stopped, .ended: nil
        case .flushing: flushDue
        case .open, .draining: (inFlight.values.compactMap(\.due) + (calling.map { [$0.due] } ?? [])).min()
        }
    }

    /// How many calls the provider still holds beyond their deadline. One that keeps the lane's thread counts again with each
    /// further deadline: nothing else can be delivered meanwhile, since a module is called by one thread at a time.
    private var overdue: Int {
        guard let calling else { return unanswered.count }
        let isCounted = calling.token.map(unanswered.contains) ?? false
        return unanswered.count + max(0, calling.passed - (isCounted ? 1 : 0))
    }

    /// Gives up what is past its deadline: the batch is unknown and waits to be sent again, and the provider keeps its memory
    /// until it ends the call after all. Asked by a thread that never enters the provider.
    mutating func expire(at now: Instant) -> [Effect] {
        switch phase {
        case .stopped, .ended: return []
        case .flushing:
            guard let flushDue, flushDue <= now else { return [] }
            phase = .ended
            givenUpFor = Answer("it did not flush")
            return [.failing(Answer("it did not flush within \(plan.deadline.configured)"), again: .zero)]
        case .open, .draining: break
        }
        var effects: [Effect] = []
        // The latest first, since each is put back to the front of the queue.
        for (token, waiting) in inFlight.sorted(by: { $0.key > $1.key }) where waiting.due.map({ $0 <= now }) ?? false {
            inFlight[token] = nil
            inFlightBytes -= waiting.batch.bytes.count
            account.abandoned += 1
            unanswered.insert(token)
            var waiting = waiting
            waiting.mayHaveArrived = true
            guard let waiting = rest(of: waiting) else { continue }
            again(waiting, Answer("no answer within \(plan.deadline.configured)"), after: nil, at: now, &effects)
        }
        effects += goOnLeaving()
        if let call = calling, call.due <= now {
            calling?.passed += 1
            calling?.due = now + plan.deadline
        }
        if overdue >= plan.abandon {
            effects += stop(
                for: Answer(
                    "the module holds \(overdue) \(overdue == 1 ? "call" : "calls") beyond the deadline of \(plan.deadline.configured) "
                        + "(delivery.deadline) and is not called again"))
        }
        return effects
    }

    /// The provider is not called again, but for its end: it does not come back from what it was called for.
    mutating func stop(for answer: Answer) -> [Effect] {
        givenUpFor = answer
        guard phase != .ended, phase != .stopped else { return [] }
        var effects = buryAll(phase == .open ? .stopped : .ended, answer)
        failure = answer
        effects.append(.stopped(answer))
        return effects
    }
}
