// Consent that comes in the stream of events, in turn. It promises that what an event says holds for it and for every later line of its
// stream, whoever worked on that meanwhile; that a block is not answered for before the ledger has what its events said; and that when
// the ledger cannot be written what they refuse holds all the same, and nothing that they grant.

internal import Admission
internal import ConsentGate
internal import Events
public import Judging
public import Ledger
internal import Platform
public import Workers

public final class ConsentWriter: Sendable {
    private struct Told {
        var remarks: Set<String> = []
        /// The ledger could not be written the last time.
        var isFailing = false
    }

    private let registry: Registry
    private let changes = ConsentChanges()
    private let ties: KnownTies
    /// When the last withdrawal of the stream was written down: what came in until then goes no more, what the stream brings behind it does.
    private let withdrawn = Monitor(Int64.min)
    /// Destroys what waits of withdrawals that the ledger has.
    private let destroy: @Sendable ([Int64]) -> Void
    private let say: @Sendable (String) -> Void
    private let told = Monitor(Told())

    public init(_ registry: Registry, destroy: @escaping @Sendable ([Int64]) -> Void, say: @escaping @Sendable (String) -> Void) {
        self.registry = registry
        self.destroy = destroy
        self.say = say
        ties = KnownTies { registry.unties }
    }

    /// Before the worker works on the block.
    public func prepare(_ worker: inout Worker, _ ruleset: Ruleset) {
        worker.consentIntake = ConsentIntake(
            mayWrite: ruleset.mayWrite(source: worker.block.source, key: worker.block.key), epoch: changes.epoch, ties: ties,
            unties: registry.unties)
        // Read behind the epoch: of a later withdrawal the block learns in turn.
        let time = withdrawn.withLock { $0 }
        if time > .min { worker.comesAfter(time) }
    }

    /// In turn, before what the worker made goes anywhere. False: the ledger could not be written, and what is in it is not what the
    /// events of the block have granted.
    public func settle(_ worker: inout Worker, _ ruleset: Ruleset, source: String) -> Bool {
        guard let consentIntake = worker.consentIntake, let vocabulary = ruleset.consent?.vocabulary else { return true }
        if consentIntake.epoch != changes.epoch, changes.concern(worker.judge, since: consentIntake.epoch) || consentIntake.isOutdated {
            worker.beginAgain()
            let time = withdrawn.withLock { $0 }
            if time > .min { worker.comesAfter(time) }
            worker.goOn()
        }
        defer { if worker.heard.forbidden > 0 { tell(.forbidden, source) } }
        guard worker.isWaiting else { return true }
        let speaker = Speaker(source: source, mayWrite: consentIntake.mayWrite, vocabulary: vocabulary)
        do throws(StorageFault) {
            try write(&worker, speaker)
            tell(failing: nil)
            return true
        } catch {
            tell(failing: error)
            enforce(&worker, vocabulary)
            return false
        }
    }

    private func write(_ worker: inout Worker, _ speaker: Speaker) throws(StorageFault) {
        var writes = LedgerWrites(speaker)
        var last: Int64?
        try registry.write(
            { (file) throws(StorageFault) in
                try worker.finish { (judge, event, statement) throws(StorageFault) in
                    let receipts = writes.receipts.count
                    for change in try writes.carryOut(judge.action(event, statement), on: file) { judge.foresee(change.key, change.effective) }
                    if writes.receipts.count == receipts { return nil }
                    last = file.now
                    return last
                }
                return writes.changes
            },
            took: { taken in
                if let last { withdrawn.withLock { $0 = last } }
                if !taken.isEmpty { changes.note(taken.map(\.key)) }
                // Before another can set them apart.
                for (one, other) in writes.ties { ties.learn(one, other) }
            })
        worker.judge.forgetForeseen()
        worker.heard.add(writes.counts)
        destroy(writes.receipts)
        for remark in writes.remarks { tell(remark, speaker.source) }
    }

    /// Judges the block by what its events refuse, in memory alone.
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

    // MARK: - Words

    private func tell(_ remark: LedgerWrites.Remark, _ source: String) {
        let words =
            switch remark {
            case .forbidden:
                "\(source): an event grants consent or ties ids, which only a source or key with \"consent\": \"write\" may; "
                    + "such events are routed and counted, and what they refuse holds"
            case .broken(let words): "\(source): an event of consent is passed over by the ledger: \(words); it is routed and counted"
            }
        if told.withLock({ $0.remarks.insert(words).inserted }) { say(words) }
    }

    /// nil: it could be written.
    private func tell(failing fault: StorageFault?) {
        let isNews = told.withLock { told in
            defer { told.isFailing = fault != nil }
            return told.isFailing != (fault != nil)
        }
        guard isNews else { return }
        say(
            fault.map { "the ledger cannot be written: \($0); what events refuse holds until the router ends, and they grant nothing" }
                ?? "the ledger can be written again")
    }
}

extension ConsentIntake {
    /// Ids that it took to be tied may have been set apart.
    fileprivate var isOutdated: Bool { trustedTies && unties != ties.unties() }
}
