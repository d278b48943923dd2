// Decides when a call has taken too long, what happens to its batch, and when the lane stops because of such calls. A thread that never
// calls the provider asks for this. This file is a part of the pure lane state.

internal import Admission
internal import Plans
internal import Platform

extension LaneState {
    func due(from now: Instant) -> Instant? { plan.deadline > .zero ? now + plan.deadline : nil }

    /// The time at which `expire` must be called again. It is nil if no call is under way.
    var nextDeadline: Instant? {
        switch phase {
        case .stopped, .ended: nil
        case .flushing: flushDue
        case .open, .draining: (inFlight.values.compactMap(\.due) + (calling.map { [$0.due] } ?? [])).min()
        }
    }

    /// The deliveries in flight that are past their deadline. The latest comes first.
    func overdueTokens(at now: Instant) -> [UInt64] {
        inFlight.filter { $0.value.due.map { $0 <= now } ?? false }.keys.sorted(by: >)
    }

    /// The number of calls that the provider still holds after their deadline. A call that blocks the lane's thread counts again after each
    /// further deadline. Nothing else can be delivered meanwhile, since only one thread at a time calls a module.
    func overdue(at now: Instant) -> Int {
        let late = overdueTokens(at: now)
        let held = unanswered.count + late.count
        guard let calling else { return held }
        let isCounted = calling.token.map { unanswered.contains($0) || late.contains($0) } ?? false
        let passed = calling.passed + (calling.due <= now ? 1 : 0)
        return held + max(0, passed - (isCounted ? 1 : 0))
    }

    /// Gives up calls that are past their deadline. Their batches are unknown and wait to be sent again. The provider keeps the memory of
    /// such a batch until it ends the call. Only a thread that never calls the provider uses this function.
    mutating func expire(_ answers: ConsentAnswers, at now: Instant) -> [Effect] {
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
        let overdue = overdue(at: now)
        // The latest delivery comes first, since each batch goes back to the front of the queue.
        for token in overdueTokens(at: now) {
            guard var delivery = inFlight.removeValue(forKey: token) else { continue }
            inFlightBytes -= delivery.batch.bytes.count
            account.abandoned += 1
            unanswered.insert(token)
            delivery.mayHaveArrived = true
            guard let waiting = rest(of: delivery, answers[delivery.batch]) else { continue }
            again(waiting, answer: Answer("no answer within \(plan.deadline.configured)"), after: nil, at: now, effects: &effects)
        }
        effects += continueClosing(answers)
        if let call = calling, call.due <= now {
            calling?.passed += 1
            calling?.due = now + plan.deadline
        }
        if overdue >= plan.abandon {
            effects += stop(
                for: Answer(
                    "the module holds \(overdue) \(overdue == 1 ? "call" : "calls") beyond the deadline of \(plan.deadline.configured) "
                        + "(delivery.deadline) and is not called again"), answers)
        }
        return effects
    }

    /// Stops the lane, because the provider does not return from a call. The provider is not called again, except to close it.
    mutating func stop(for answer: Answer, _ answers: ConsentAnswers) -> [Effect] {
        givenUpFor = answer
        guard phase != .ended, phase != .stopped else { return [] }
        var effects = buryAll(phase == .open ? .stopped : .ended, answer, answers)
        failure = answer
        effects.append(.stopped(answer))
        return effects
    }
}
