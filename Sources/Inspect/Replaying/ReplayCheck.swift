// The second check of dead letters that are sent again: what is on record of their subjects may change until the very hand-over, and whoever
// replays has no part in it. So it is looked up once more for each batch.

internal import Admission
internal import ConsentGate
internal import Delivery
internal import Judging
internal import Ledger
internal import Plans
internal import Platform
internal import Spool

final class ReplayCheck: Sendable {
    private let ledger: LedgerView
    private let check: SecondCheck

    /// nil: no ledger is kept.
    init?(_ plan: Plan, _ ledger: LedgerView?) {
        guard let ledger else { return nil }
        self.ledger = ledger
        let levels = RunNames()
        check = SecondCheck(ledger.records, levels: levels)
        check.adopt(Ruleset(plan, levels: levels).consent)
    }

    /// By what the letter was admitted under, which may be more than its route demands; its subjects have been looked up. nil: it may go on.
    func judge(_ letter: DeadLetter) -> Judgement? {
        heedWithdrawals()
        return switch check.check(level: check.entryLevel(letter.level), arrival: letter.arrival, subjects: letter.subjects) {
        case .pass: nil
        case .refused: .denied
        case .unreadable: .undecided
        }
    }

    /// What is to be destroyed is not sent, also if its subject has consented again since.
    private func heedWithdrawals() { for receipt in ledger.unfinished { check.ban(receipt) } }

    /// Which events of a batch may go now, by index.
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

/// Hands over only what may go at that moment; what may not is refused in its place.
final class CheckedProvider: Provider {
    private let provider: any Provider
    private let look: ReplayCheck

    init(_ provider: any Provider, _ look: ReplayCheck) {
        self.provider = provider
        self.look = look
    }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let refusal = Outcome.rejected(Answer("what is on record of its subject does not allow it now"))
        let allowed = look.allowed(batch)
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
