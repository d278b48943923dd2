// Ends a lane: it has delivered everything, its destination is gone, or its time is up. Events that still wait stay on disk, become dead
// letters or are settled; none is forgotten. This file is a part of the pure lane state.

internal import Admission
internal import Platform

extension LaneState {
    /// Announces that no more events will come. Waiting events leave without waiting until their batch is full.
    public mutating func drain() {
        if phase == .open { phase = .draining }
        if phase == .stopped { phase = .ended }
    }

    public mutating func providerClosed() { ending.isProviderClosed = true }

    public mutating func flushed(_ outcome: Outcome) -> [Effect] {
        guard phase == .flushing else { return [] }
        phase = .ended
        if case .delivered = outcome { return [] }
        return outcome.answer.map { [.failing($0, again: .zero)] } ?? []
    }

    /// Ends the lane because its destination is gone for good. The provider reports this for itself or for a batch. Nothing more is handed
    /// over. Deliveries in flight end first, since the reader may have received them before it left.
    mutating func closeAfterDeliveries(_ answer: Answer, _ answers: ConsentAnswers) -> [Effect] {
        guard deliveries.isEmpty else {
            ending.closingAnswer = ending.closingAnswer ?? answer
            return []
        }
        return close(ending.closingAnswer ?? answer, answers)
    }

    /// Continues to close after a delivery in flight has ended. It may have been the last one.
    mutating func continueClosing(_ answers: ConsentAnswers) -> [Effect] {
        ending.closingAnswer.map { closeAfterDeliveries($0, answers) } ?? []
    }

    /// Closes the lane when its destination is gone and nothing is in flight. Events that are only in memory are not kept, since their
    /// reader chose to leave. They count as undelivered, or as unknown if they may have arrived. Events on disk stay there.
    private mutating func close(_ answer: Answer, _ answers: ConsentAnswers) -> [Effect] {
        guard phase != .ended, phase != .stopped else { return [] }
        ending.isClosedByProvider = true
        if isDurable {
            keepAll(.ended, answers)
            return [.closed(answer)]
        }
        for (waiting, _) in takeAll(.ended, answers) {
            account.unkept += waiting.batch.count
            waiting.batch.noteLoss()
        }
        return buryLast(answers) + [.closed(answer)]
    }

    /// Gives up what waits, because time is up. It stays on disk or becomes dead letters.
    mutating func giveUp(_ answer: Answer, _ answers: ConsentAnswers) -> [Effect] {
        ending.givenUpFor = answer
        guard phase != .ended else { return [] }
        return buryAll(.ended, health.failure ?? answer, answers)
    }

    mutating func buryAll(_ phase: Phase, _ answer: Answer, _ answers: ConsentAnswers) -> [Effect] {
        if isDurable {
            keepAll(phase, answers)
            return []
        }
        let left = takeAll(phase, answers)
        return buryLast(answers)
            + left.map { waiting, fate in
                let burial = Burial(waiting: waiting, reason: fate, answer: answer, isSettled: true)
                letters.begin(burial)
                return .bury(burial)
            }
    }

    /// Ends or stops the lane and settles everything that it holds. Events in flight become unknown: they may have arrived, or may still
    /// arrive.
    private mutating func takeAll(_ phase: Phase, _ answers: ConsentAnswers) -> [(waiting: WaitingBatch, fate: LaneAccount.Fate)] {
        self.phase = phase
        sealAssembly()
        let left =
            deliveries.removeAll().map { ($0, LaneAccount.Fate.unknown) }
            + queue.removeAll().map { ($0, $0.fate(otherwise: .undelivered)) }
        return left.compactMap { waiting, fate in
            guard let rest = rest(of: waiting, answers[waiting.batch]) else { return nil }
            settle(rest.batch, fate)
            return (rest, fate)
        }
    }
}
