// Decides when a call has taken too long, what happens to its batch, and when the lane stops because of such calls. A thread that never
// calls the provider asks for this. This file is a part of the pure lane state.

internal import Admission
internal import Plans
public import Platform

extension LaneState {
    func due(from now: Instant) -> Instant? { plan.deadline > .zero ? now + plan.deadline : nil }

    /// The time at which `expire` must be called again. It is nil if no call is under way.
    public var nextDeadline: Instant? {
        switch phase {
        case .stopped, .ended: nil
        case .flushing: ending.flushDue
        case .open, .draining: deliveries.nextDeadline
        }
    }

    /// Gives up calls that are past their deadline. Their batches are unknown and wait to be sent again. The provider keeps the memory of
    /// such a batch until it ends the call. Only a thread that never calls the provider uses this function.
    mutating func expire(_ answers: ConsentAnswers, at now: Instant) -> [Effect] {
        switch phase {
        case .stopped, .ended: return []
        case .flushing:
            guard let due = ending.flushDue, due <= now else { return [] }
            phase = .ended
            ending.givenUpFor = Answer("it did not flush")
            return [.failing(Answer("it did not flush within \(plan.deadline.configured)"), again: .zero)]
        case .open, .draining: break
        }
        var effects: [Effect] = []
        let overdue = deliveries.overdue(at: now)
        // The latest delivery comes first, since each batch goes back to the front of the queue.
        for token in deliveries.pastDeadline(at: now) {
            guard var delivery = deliveries.abandon(token) else { continue }
            account.abandoned += 1
            if delivery.batch.count == 0 { continue }
            delivery.mayHaveArrived = true
            guard let waiting = rest(of: delivery, answers[delivery.batch]) else { continue }
            again(waiting, answer: Answer("no answer within \(plan.deadline.configured)"), after: nil, at: now, effects: &effects)
        }
        effects += continueClosing(answers)
        deliveries.extendCall(by: plan.deadline, at: now)
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
        ending.givenUpFor = answer
        guard phase != .ended, phase != .stopped else { return [] }
        var effects = buryAll(phase == .open ? .stopped : .ended, answer, answers)
        health.stop(with: answer)
        effects.append(.stopped(answer))
        return effects
    }
}
