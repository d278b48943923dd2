// The acts of a lane for which the state must know the consent of batches. The state asks no one. If it lacks an answer, or has one of
// another version than the present one, it does nothing and names the batches that the caller must ask about. So every act is carried
// out as if the second check had been asked at that very moment. This file is a part of the pure lane state.

public import Admission
public import ConsentGate
internal import Plans
public import Platform
public import Spool

extension LaneState {
    /// Something that happens to the lane, after which events may have to be destroyed because their subject has refused.
    public enum Act {
        /// The provider has ended a delivery.
        case completed(UInt64, BatchOutcome)
        /// Deadlines may have passed.
        case expire
        /// The destination is gone, and no delivery reported it.
        case destinationGone(Answer)
        case giveUp(Answer)
        /// The provider does not return from a call. The call may be no delivery.
        case stop(Answer, isInDelivery: Bool)
        case sweep(@Sendable (Swept) -> Void)
        /// The store has swept some rows.
        case rowsSwept(SpoolSwept)
        case tidied(isDone: Bool)
        case storeClosed
    }

    /// The reply of the state to an act or to a question.
    public enum Reply<Result> {
        case done(Result)
        /// Ask the second check about these batches, and try again with the answers. At most, open batches were sealed.
        case ask([Batch])
    }

    /// Carries the act out. `version` is the present version of consent. It is nil if the lane has no second check.
    public mutating func perform(
        _ act: Act, _ answers: ConsentAnswers = ConsentAnswers(), consentIs version: SecondCheck.Version? = nil, at now: Instant
    ) -> Reply<[Effect]> {
        let open = unchecked(concerned(by: act, at: now), answers, consentIs: version)
        guard open.isEmpty else { return .ask(open) }
        switch act {
        case .completed(let token, let outcome): return .done(completed(token, outcome, answers, at: now))
        case .expire: return .done(expire(answers, at: now))
        case .destinationGone(let answer): return .done(closeAfterDeliveries(answer, answers))
        case .giveUp(let answer): return .done(giveUp(answer, answers))
        case .stop(let answer, let isInDelivery):
            return .done(isInDelivery || phase == .ended ? stop(for: answer, answers) : [])
        case .sweep(let done): return .done(sweep(answers, at: now, done: done))
        case .rowsSwept(let rows): return .done(rowsSwept(rows, answers, at: now))
        case .tidied(let isDone): return .done(tidied(isDone: isDone, answers, at: now))
        case .storeClosed: return .done(storeClosed(answers))
        }
    }

    /// Returns true if these events of a delivery may leave now, and notes that they have begun. They are indices into the batch as it was
    /// handed over; nil stands for all of them. A delivery that was given up, or that is unknown, may not leave: its events may be in
    /// another delivery, or have another fate.
    public mutating func mayBegin(
        _ token: UInt64, _ events: UnsafeBufferPointer<UInt64>?, _ answers: ConsentAnswers, consentIs version: SecondCheck.Version?
    ) -> Reply<Bool> {
        guard let handed = deliveries[token] else { return .done(false) }
        let wanted = events.map { $0.map { Int(clamping: $0) } }
        guard handed.has(wanted) else { return .done(false) }
        if withdrawals.checksConsent, handed.passed != version {
            let batch = handed.waiting.batch
            guard unchecked([batch], answers, consentIs: version).isEmpty else { return .ask([batch]) }
            switch answers[batch] {
            case .pass: deliveries.notePassed(token, at: version)
            case .unreadable: return .done(false)
            case .refused(let refused):
                let refused = Set(refused)
                if handed.left(wanted).contains(where: refused.contains) { return .done(false) }
            }
        }
        deliveries.noteBegun(token, wanted)
        return .done(true)
    }

    /// Returns the number of events in flight that may not be delivered any more.
    public func refusedInFlight(_ answers: ConsentAnswers, consentIs version: SecondCheck.Version?) -> Reply<Int> {
        let open = unchecked(deliveries.batches, answers, consentIs: version)
        return open.isEmpty ? .done(refusedInFlight(answers)) : .ask(open)
    }

    /// Returns the batches without an answer of this version.
    func unchecked(_ batches: [Batch], _ answers: ConsentAnswers, consentIs version: SecondCheck.Version?) -> [Batch] {
        withdrawals.checksConsent ? batches.filter { !answers.has($0, at: version) } : []
    }

    /// Returns the batches whose consent the act needs.
    private mutating func concerned(by act: Act, at now: Instant) -> [Batch] {
        guard withdrawals.checksConsent else { return [] }
        switch act {
        case .completed(let token, let outcome):
            guard let handed = deliveries[token] else { return [] }
            if closes(token, outcome) { return allToEnd() }
            return outcome == BatchOutcome(.delivered) ? [] : [handed.waiting.batch]
        case .expire:
            guard isRunning else { return [] }
            let due = deliveries.pastDeadline(at: now)
            let closes = ending.closingAnswer != nil && due.count == deliveries.count
            return closes || deliveries.overdue(at: now) >= plan.abandon ? allToEnd() : due.compactMap { deliveries[$0]?.waiting.batch }
        case .destinationGone: return deliveries.isEmpty && isRunning ? allToEnd() : []
        case .giveUp: return phase == .ended ? [] : allToEnd()
        case .stop(_, let isInDelivery): return isInDelivery && phase != .ended && phase != .stopped ? allToEnd() : []
        case .sweep: return allToSweep(at: now)
        case .rowsSwept(let rows):
            guard let sweeping = withdrawals.sweeping, sweeping.isForWithdrawal, sweeping.isAsked, rows.next == nil else { return [] }
            return allToSweep(at: now)
        case .tidied, .storeClosed: return withdrawals.sweeping == nil ? [] : deliveries.batches
        }
    }

    /// Returns true if the lane closes when this delivery ends with this outcome.
    private func closes(_ token: UInt64, _ outcome: BatchOutcome) -> Bool {
        guard isRunning, deliveries.count == 1 else { return false }
        return ending.closingAnswer != nil || outcome.batch.isClosed || outcome.events.values.contains(where: \.isClosed)
    }

    /// Returns the batches that the end of the lane settles or keeps.
    private mutating func allToEnd() -> [Batch] {
        sealAssembly()
        if isDurable { sealGathered() }
        return batchesInMemory
    }

    /// Returns the batches that a sweep for a withdrawal searches in memory.
    private mutating func allToSweep(at now: Instant) -> [Batch] {
        sealAssembly()
        if isDurable { sealGathered() }
        return batchesInMemory + backlog.unstoredBatches(at: now)
    }

    /// The batches in flight, in the queue, among the letters that could not be kept, and among what stays for the next run.
    private var batchesInMemory: [Batch] {
        deliveries.batches + (0..<queue.count).map { queue[$0].batch } + (0..<letters.held.count).map { letters.held[$0].batch }
            + ending.kept.map(\.batch)
    }
}
