// The second check of dead letters that are sent again. Another process may change the records of their subjects until the hand-over. So
// the records are read again for each batch.

internal import Admission
internal import ConsentGate
internal import DeadLetterStore
internal import Delivery
internal import Judging
internal import Ledger
internal import Plans
internal import Platform
internal import Queueing

final class ReplayCheck: Sendable {
    private let ledger: LedgerView
    private let check: SecondCheck

    /// Returns nil if no ledger is kept.
    init?(_ plan: Plan, _ ledger: LedgerView?) {
        guard let ledger else { return nil }
        self.ledger = ledger
        let levels = RunNames()
        check = SecondCheck(ledger.records, levels: levels)
        check.adopt(Ruleset(plan, levels: levels).consent)
    }

    /// Checks a letter at the level under which it was admitted, which may be higher than the level that its route demands. The caller has
    /// already looked up its subjects. Returns nil if the letter passes.
    func judge(_ letter: DeadLetter) -> Judgement? {
        heedWithdrawals()
        return switch check.check(level: check.entryLevel(letter.level), arrival: letter.arrival, subjects: letter.subjects) {
        case .pass: nil
        case .refused: .denied
        case .unreadable: .undecided
        }
    }

    /// Bans the events that came in before a withdrawal. They are not sent, even if their subject has consented again since.
    private func heedWithdrawals() { for withdrawal in ledger.takeWithdrawals() { check.ban(withdrawal) } }

    /// Returns the indices of the events of a batch that may be sent now.
    func allowed(_ batch: Batch) -> [Int] {
        ledger.look(up: batch.subjects)
        heedWithdrawals()
        switch check.check(batch) {
        case .pass: return Array(0..<batch.count)
        case .unreadable: return []
        case .refused(let refused):
            let gone = Set(refused)
            return (0..<batch.count).filter { !gone.contains($0) }
        }
    }
}

/// Hands over only the events that may be sent at that moment, and rejects the others itself.
final class CheckedProvider: Provider {
    private let provider: any Provider
    private let look: ReplayCheck

    init(_ provider: any Provider, _ look: ReplayCheck) {
        self.provider = provider
        self.look = look
    }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let refusal = Outcome.rejected(Answer("the record of its subject does not allow it now"))
        let allowed = look.allowed(batch)
        assert(Set(allowed).count == allowed.count && allowed.allSatisfy { $0 < batch.count }, "an event is allowed that the batch lacks")
        if allowed.count == batch.count { return provider.deliver(batch, attempt: attempt, done) }
        let refused = Dictionary(uniqueKeysWithValues: (0..<batch.count).map { ($0, refusal) })
        if allowed.isEmpty { return done(BatchOutcome(.delivered, events: refused)) }
        provider.deliver(batch.subset(allowed), attempt: attempt) { outcome in
            var events = refused
            for (index, place) in allowed.enumerated() { events[place] = outcome.events[index] ?? outcome.batch }
            done(BatchOutcome(outcome.batch, events: events))
        }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { provider.flush(done) }
    func reopen() { provider.reopen() }
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { provider.onClosed(handler) }
    func close() { provider.close() }
}
