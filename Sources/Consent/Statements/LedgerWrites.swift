// Writes the statements of one block's events to the ledger, all in one transaction. From a source that may not write, only refusals count.
// They deny later events, and destroy nothing.

internal import Admission
internal import ConsentGate
internal import Ledger
internal import Platform
internal import Workers

/// An erasure at providers that an event asks for. Its withdrawals are in the ledger.
public struct AskedErasure: Sendable, Equatable {
    public var ids: [String]
    public var receipts: [Int64]
    /// Ids of the same person that are known only as hashes, as `KEY:DIGITS`.
    public var outOfReach: [String]
    public var origin: String
}

/// The source of a block, and what it may do.
struct StatementSource {
    let name: String
    let mayWrite: Bool
    let vocabulary: ConsentVocabulary

    var origin: String { "source \(name)" }
}

struct LedgerWrites {
    /// A warning for the operator about an event.
    enum Warning: Hashable {
        case forbidden
        case broken(String)
    }

    private let source: StatementSource
    private(set) var changes: [LedgerChange] = []
    /// The receipts of withdrawals. Their events are destroyed after the commit.
    private(set) var receipts: [Int64] = []
    /// The erasures that events ask for. They begin after the commit.
    private(set) var erasures: [AskedErasure] = []
    /// Pairs of ids that are tied at the end of the block. It may not list all of them.
    private(set) var ties: [(SubjectKey, SubjectKey)] = []
    private(set) var counts = ConsentCounts()
    private(set) var warnings: Set<Warning> = []

    init(_ source: StatementSource) { self.source = source }

    /// Carries out what one event states, and returns its changes. They hold for the next event of the block.
    mutating func carryOut(_ action: ConsentAction, on file: LedgerFile) throws(StorageFault) -> [LedgerChange] {
        let before = changes.count
        let counted = counts.total
        // A later event of the block gets a later time, so that its decision holds.
        file.advance()
        let ids = action.ids.map(LedgerID.raw)
        switch action.act {
        case .broken(let words): note(broken: words)
        case .tie: try tie(ids, file)
        case .untie:
            for id in ids { changes += try file.untie(id) }
            ties.removeAll()
            counts.taken += 1
        case .refuse(let purposes): try refuse(action, destroying: nil, file: file) { ($0 ?? ConsentTerms()).refusing(purposes) }
        case .withdraw(nil): try withdraw(action, file)
        case .withdraw(let purposes?): try refuse(action, destroying: purposes, file: file) { ($0 ?? ConsentTerms()).refusing(purposes) }
        case .state(let terms) where !source.mayWrite: try lower(action, terms: terms, file: file)
        case .state(let terms): try set(action, terms: terms, file: file)
        }
        assert(counts.total == counted + 1, "an event counts twice, or not at all")
        return Array(changes[before...])
    }

    private mutating func noteForbidden() {
        counts.forbidden += 1
        warnings.insert(.forbidden)
    }

    private mutating func note(broken words: String) {
        counts.broken += 1
        warnings.insert(.broken(words))
    }

    private mutating func tie(_ ids: [LedgerID], _ file: LedgerFile) throws(StorageFault) {
        assert(ids.count >= 2, "a tie names fewer than two ids")
        switch try file.tie(ids) {
        case .tied(let changes):
            self.changes += changes
            ties.append((file.key(of: ids[0]), file.key(of: ids[1])))
            counts.taken += 1
        case .refused(let words): note(broken: "it \(words)")
        }
    }

    private mutating func withdraw(_ action: ConsentAction, _ file: LedgerFile) throws(StorageFault) {
        let before = receipts.count
        for id in action.ids.map(LedgerID.raw) {
            let decided = action.decided(after: try file.lastDecision(of: id)?.decided)
            changes += try file.withdraw(id, decided: decided, origin: source.origin, evidence: action.evidence).changes
            try begin(of: id, nil, file)
        }
        guard action.erases, !source.mayWrite else {
            counts.taken += 1
            if action.erases { try erase(action, Array(receipts[before...]), file) }
            return
        }
        noteForbidden()
    }

    /// Notes that providers are to be asked to erase the ids, which are withdrawn.
    private mutating func erase(_ action: ConsentAction, _ receipts: [Int64], _ file: LedgerFile) throws(StorageFault) {
        var own: Set<HashedID> = []
        var ties: Set<HashedID> = []
        for id in action.ids.map(LedgerID.raw) {
            guard let entry = try file.get(id) else { continue }
            own.insert(entry.id)
            ties.formUnion(entry.ties)
        }
        erasures.append(
            AskedErasure(
                ids: action.ids.map { String(decoding: $0, as: UTF8.self) }, receipts: receipts,
                outOfReach: ties.subtracting(own).map { "\($0.key):\($0.digits)" }.sorted(), origin: source.origin))
    }

    /// Begins a receipt, unless the source may not write.
    private mutating func begin(of id: LedgerID, _ purposes: [String]?, _ file: LedgerFile) throws(StorageFault) {
        guard source.mayWrite else { return }
        receipts.append(try file.beginReceipt(of: id, purposes: purposes, origin: source.origin))
    }

    private mutating func set(_ action: ConsentAction, terms: ConsentTerms, file: LedgerFile) throws(StorageFault) {
        for id in action.ids.map(LedgerID.raw) {
            let decided = action.decided(after: try file.lastDecision(of: id)?.decided)
            changes += try file.set(id, terms, decided: decided, origin: source.origin, evidence: action.evidence).changes
        }
        counts.taken += 1
    }

    /// Writes only what the terms refuse.
    private mutating func lower(_ action: ConsentAction, terms: ConsentTerms, file: LedgerFile) throws(StorageFault) {
        let vocabulary = source.vocabulary
        var asksForMore = false
        try refuse(action, destroying: nil, file: file) { known in
            asksForMore = asksForMore || terms.grants && terms != known
            return vocabulary.lowered(known, by: terms)
        }
        guard asksForMore else { return }
        counts.taken -= 1
        assert(counts.taken >= 0, "an event is taken back that was not counted")
        noteForbidden()
    }

    /// Takes the refused purposes away from the decisions of the ids. If an id has no decision, the decisions of the ids tied to it are
    /// lowered instead. A new decision for the id alone would grant nothing, and would so revoke what the tied ids grant. An id without any
    /// record gets a decision in two cases: if all ids of the event are unknown, or if the plan assumes a level for unknown subjects.
    private mutating func refuse(
        _ action: ConsentAction, destroying purposes: [String]?, file: LedgerFile, body: (ConsentTerms?) -> ConsentTerms?
    ) throws(StorageFault) {
        var unknown: [LedgerID] = []
        for id in action.ids.map(LedgerID.raw) {
            let known = try file.lastDecisions(of: id)
            if known.isEmpty { unknown.append(id) }
            for (id, terms, decided) in known {
                guard let lowered = body(terms), lowered != terms else { continue }
                let time = action.time.map { max($0, decided) }
                changes += try file.set(id, lowered, decided: time, origin: source.origin, evidence: action.evidence).changes
            }
            if let purposes, !known.isEmpty { try begin(of: id, purposes, file) }
        }
        if source.vocabulary.assumes || unknown.count == action.ids.count {
            for id in unknown {
                guard let lowered = body(nil) else { continue }
                changes += try file.set(id, lowered, decided: action.time, origin: source.origin, evidence: action.evidence).changes
                if let purposes { try begin(of: id, purposes, file) }
            }
        }
        counts.taken += 1
    }
}
