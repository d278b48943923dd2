// How a lane ends: it delivers what it has, or its destination is gone, or its time is up. What waits then is kept on disk, buried or
// settled; nothing is forgotten. Pure, like the rest of the state.

internal import Admission
internal import Platform

extension LaneState {
    /// No more events will come: what is here leaves without waiting for its batch to fill.
    mutating func drain() {
        if phase == .open { phase = .draining }
        if phase == .stopped { phase = .ended }
    }

    mutating func providerClosed() { isProviderClosed = true }

    mutating func flushed(_ outcome: Outcome) -> [Effect] {
        guard phase == .flushing else { return [] }
        phase = .ended
        if case .delivered = outcome { return [] }
        return outcome.answer.map { [.failing($0, again: .zero)] } ?? []
    }

    /// The destination is gone for good, as the provider said of itself or of a batch. Nothing more is handed over, and what is in its
    /// hands ends first, since its reader may have had that before it left.
    mutating func leave(_ answer: Answer) -> [Effect] {
        guard inFlight.isEmpty else {
            leaving = leaving ?? answer
            return []
        }
        return close(leaving ?? answer)
    }

    /// Something that was in the provider's hands has ended: perhaps the last that was waited for.
    mutating func goOnLeaving() -> [Effect] { leaving.map { leave($0) } ?? [] }

    /// Nothing is in the hands of a provider whose destination is gone. What is in memory only has nowhere to go and is not kept, since
    /// its reader chose to leave: it counts as undelivered, or as unknown where it may have arrived. What is on disk stays there.
    private mutating func close(_ answer: Answer) -> [Effect] {
        guard phase != .ended, phase != .stopped else { return [] }
        isClosedByProvider = true
        if isDurable {
            keepAll(.ended)
            return [.closed(answer)]
        }
        account.unkept += takeAll(.ended).reduce(0) { $0 + $1.waiting.batch.count }
        return buryLast() + [.closed(answer)]
    }

    /// Time is up: what waits is given up and kept in the dead-letter file.
    mutating func giveUp(_ answer: Answer) -> [Effect] {
        givenUpFor = answer
        guard phase != .ended else { return [] }
        return buryAll(.ended, failure ?? answer)
    }

    mutating func buryAll(_ phase: Phase, _ answer: Answer) -> [Effect] {
        if isDurable {
            keepAll(phase)
            return []
        }
        let left = takeAll(phase)
        return buryLast()
            + left.map { waiting, fate in
                unburied += 1
                return .bury(Burial(waiting: waiting, reason: fate, answer: answer, isSettled: true))
            }
    }

    /// Ends or stops the lane and settles everything that it holds. What is in the provider's hands may arrive, or may have.
    private mutating func takeAll(_ phase: Phase) -> [(waiting: Waiting, fate: LaneAccount.Fate)] {
        self.phase = phase
        sealAssembly(at: Instant(nanoseconds: .max), always: true)
        let left =
            inFlight.sorted { $0.key < $1.key }.map { ($0.value, LaneAccount.Fate.unknown) }
            + queue.removeAll().map { ($0, $0.fate(otherwise: .undelivered)) }
        inFlight.removeAll()
        inFlightBytes = 0
        return left.compactMap { waiting, fate in
            guard let rest = rest(of: waiting) else { return nil }
            settle(rest.batch, fate)
            return (rest, fate)
        }
    }
}
