// Writes the consent statements of the event stream to the ledger, in the order of the stream. It makes three promises. What an event
// states holds for the event itself and for every later line of its stream, whichever worker judges it. A block is not answered before the
// ledger has the statements of its events. If the ledger cannot be written, refusals hold in memory, and grants do not hold.

internal import Admission
internal import ConsentGate
internal import Events
public import Judging
public import Ledger
public import Platform
public import Workers

public final class ConsentWriter: Sendable {
    public typealias Erase = @Sendable ([AskedErasure]) throws(StorageFault) -> Void

    private struct Reported {
        var warnings: Set<String> = []
        /// True if the last write of the ledger failed.
        var isFailing = false
    }

    private let registry: Registry
    private let changes = ConsentChanges()
    private let ties: KnownTies
    /// The time of the last withdrawal that the stream brought. A later line of the stream gets a later arrival time, so that the
    /// withdrawal does not destroy it.
    private let withdrawn = Monitor(Int64.min)
    /// Destroys the waiting events of withdrawals that are in the ledger, given the numbers of their receipts.
    private let destroy: @Sendable ([Int64]) -> Void
    /// Begins erasures at providers. When it returns, they are on disk.
    private let erase: Erase
    private let say: @Sendable (String) -> Void
    private let reported = Monitor(Reported())

    public init(
        _ registry: Registry, destroy: @escaping @Sendable ([Int64]) -> Void, erase: @escaping Erase,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.erase = erase
        self.registry = registry
        self.destroy = destroy
        self.say = say
        ties = KnownTies { registry.unties }
    }

    /// Prepares a worker. Call it before the worker works on its block.
    public func prepare(_ worker: inout Worker, _ ruleset: Ruleset) {
        worker.consentIntake = ConsentIntake(
            mayWrite: ruleset.mayWrite(source: worker.block.source, key: worker.block.key), epoch: changes.epoch, ties: ties,
            unties: registry.unties)
        // The time is read after the epoch. A withdrawal that comes later raises the epoch, and `settle` then notices it.
        if let time = lastWithdrawal { worker.comesAfter(time) }
    }

    /// The time of the last withdrawal that the stream brought, or nil if there was none. If the clock was ahead and the ledger was corrected
    /// since, it is that of the last write.
    private var lastWithdrawal: Int64? {
        let time = withdrawn.withLock { $0 }
        return time > .min ? min(time, registry.lastWritten) : nil
    }

    /// Writes the statements of a block. Call it in turn, before the worker's parcels are handed over. Returns false if the ledger could
    /// not be written. Then the ledger lacks what the events of the block granted. Also returns false if erasures could not be stored that
    /// events ask for. Then their withdrawals hold, and the block must not be acknowledged, so that the events come again.
    public func settle(_ worker: inout Worker, _ ruleset: Ruleset, source: String) -> Bool {
        guard let consentIntake = worker.consentIntake, let vocabulary = ruleset.consent?.vocabulary else { return true }
        if consentIntake.epoch != changes.epoch, changes.concern(worker.judge, since: consentIntake.epoch) || consentIntake.isOutdated {
            worker.beginAgain()
            if let time = lastWithdrawal { worker.comesAfter(time) }
            worker.goOn()
        }
        defer { if worker.heard.forbidden > 0 { tell(.forbidden, source) } }
        guard worker.isWaiting else { return true }
        let source = StatementSource(name: source, mayWrite: consentIntake.mayWrite, vocabulary: vocabulary)
        do throws(StorageFault) {
            let erasures = try write(&worker, source)
            tell(failing: nil)
            return begin(erasures)
        } catch {
            tell(failing: error)
            enforce(&worker, vocabulary)
            return false
        }
    }

    /// Returns true if `settle` has nothing to write and nothing to judge again for this worker.
    public func isSettled(_ worker: borrowing Worker) -> Bool {
        !worker.isWaiting && worker.consentIntake?.epoch ?? changes.epoch == changes.epoch
    }

    private func begin(_ erasures: [AskedErasure]) -> Bool {
        if erasures.isEmpty { return true }
        do throws(StorageFault) {
            try erase(erasures)
            return true
        } catch {
            say("erasures that events ask for cannot be stored: \(error); their withdrawals hold, and the events are not acknowledged")
            return false
        }
    }

    /// Returns the erasures that the events ask for.
    private func write(_ worker: inout Worker, _ source: StatementSource) throws(StorageFault) -> [AskedErasure] {
        var writes = LedgerWrites(source)
        var last: Int64?
        try registry.write(
            { (file) throws(StorageFault) in
                try worker.finish { (judge, event, statement) throws(StorageFault) in
                    let receipts = writes.receipts.count
                    for change in try writes.carryOut(judge.action(event, statement), on: file) {
                        judge.foresee(change.key, change.effective)
                    }
                    if writes.receipts.count == receipts { return nil }
                    last = file.now
                    return last
                }
                return writes.changes
            },
            took: { taken in
                if let last { withdrawn.withLock { $0 = last } }
                if !taken.isEmpty { changes.note(taken.map(\.key)) }
                // Another thread can untie them only after this.
                for (one, other) in writes.ties { ties.learn(one, other) }
            })
        worker.judge.forgetForeseen()
        worker.heard.add(writes.counts)
        destroy(writes.receipts)
        for warning in writes.warnings { tell(warning, source.name) }
        return writes.erasures
    }

    /// Judges the block by the refusals of its events, which it sets in memory alone.
    private func enforce(_ worker: inout Worker, _ vocabulary: ConsentVocabulary) {
        var changed: [SubjectKey] = []
        var unwritten = 0
        worker.beginAgain()
        worker.finish { judge, event, statement in
            let action = judge.action(event, statement)
            unwritten += 1
            for id in action.ids { changed += registry.enforce(.raw(id)) { vocabulary.lowered($0, by: action.act) } }
            return nil
        }
        worker.heard.unwritten += unwritten
        if !changed.isEmpty { changes.note(changed) }
    }

    // MARK: - Messages

    private func tell(_ warning: LedgerWrites.Warning, _ source: String) {
        let words =
            switch warning {
            case .forbidden:
                "\(source): an event grants consent, ties ids or asks for an erasure, which only a source or key with \"consent\": \"write\" may do; "
                    + "such events are routed and counted, and their refusals hold"
            case .broken(let words): "\(source): the ledger skips a consent event: \(words); the event is routed and counted"
            }
        if reported.withLock({ $0.warnings.insert(words).inserted }) { say(words) }
    }

    /// Reports that the ledger cannot be written, or that it can be written again. `fault` is nil if the last write succeeded.
    private func tell(failing fault: StorageFault?) {
        let isNews = reported.withLock { reported in
            defer { reported.isFailing = fault != nil }
            return reported.isFailing != (fault != nil)
        }
        guard isNews else { return }
        say(
            fault.map { "the ledger cannot be written: \($0); until the router ends, refusals in events hold and grants do not" }
                ?? "the ledger can be written again")
    }
}

extension ConsentIntake {
    /// True if the block relied on known ties, and ids were untied since then.
    fileprivate var isOutdated: Bool { trustedTies && unties != ties.unties() }
}
