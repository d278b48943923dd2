// What the events of one block do to the ledger: all of it in one transaction, each as far as its source may. From a source that may not
// write only refusals count: they stop what is sent from now on, and destroy nothing.

internal import Ledger
internal import Platform
internal import Policy

/// Where the events of a block come from.
struct Speaker {
    let source: String
    let mayWrite: Bool
    let vocabulary: ConsentVocabulary

    var origin: String { "source \(source)" }
}

struct ConsentDeeds {
    /// What a person should know of an event.
    enum Remark: Hashable {
        case forbidden
        case broken(String)
    }

    private let speaker: Speaker
    private(set) var changes: [LedgerChange] = []
    /// Of withdrawals, whose events are destroyed once the ledger has them.
    private(set) var receipts: [Int64] = []
    private(set) var ties: [(SubjectKey, SubjectKey)] = []
    private(set) var counts = ConsentCounts()
    private(set) var remarks: Set<Remark> = []

    init(_ speaker: Speaker) { self.speaker = speaker }

    /// What it changes holds for the next event of the block.
    mutating func carryOut(_ deed: ConsentDeed, on file: LedgerFile) throws(StorageFault) -> [LedgerChange] {
        let before = changes.count
        // Of two decisions of one block the later one holds.
        file.advance()
        let ids = deed.ids.map(LedgerID.raw)
        switch deed.act {
        case .broken(let words): note(broken: words)
        case .tie: try tie(ids, file)
        case .untie:
            for id in ids { changes += try file.untie(id) }
            counts.taken += 1
        case .refuse(let purposes): try withdraw(deed, purposes, destroying: false, file)
        case .withdraw(let purposes): try withdraw(deed, purposes, destroying: speaker.mayWrite, file)
        case .state(let terms): try set(deed, terms, file)
        }
        return Array(changes[before...])
    }

    mutating func note(forbidden count: Int) {
        counts.forbidden += count
        if count > 0 { remarks.insert(.forbidden) }
    }

    private mutating func note(broken words: String) {
        counts.broken += 1
        remarks.insert(.broken(words))
    }

    private mutating func tie(_ ids: [LedgerID], _ file: LedgerFile) throws(StorageFault) {
        switch try file.tie(ids) {
        case .tied(let changes):
            self.changes += changes
            ties.append((file.key(of: ids[0]), file.key(of: ids[1])))
            counts.taken += 1
        case .refused(let words): note(broken: "it \(words)")
        }
    }

    private mutating func withdraw(
        _ deed: ConsentDeed, _ purposes: [String]?, destroying: Bool, _ file: LedgerFile
    ) throws(StorageFault) {
        for id in deed.ids.map(LedgerID.raw) {
            let decided = deed.decided(after: try file.lastDecision(of: id)?.decided)
            changes += try file.withdraw(id, purposes: purposes, decided: decided, origin: speaker.origin).changes
            if destroying { receipts.append(try file.beginReceipt(of: id, purposes: purposes, origin: speaker.origin)) }
        }
        counts.taken += 1
    }

    private mutating func set(_ deed: ConsentDeed, _ terms: ConsentTerms, _ file: LedgerFile) throws(StorageFault) {
        var asksForMore = false
        for id in deed.ids.map(LedgerID.raw) {
            let last = try file.lastDecision(of: id)
            var said = terms
            var decided = deed.decided(after: last?.decided)
            if !speaker.mayWrite {
                asksForMore = asksForMore || terms.grants && terms != last?.terms
                guard let lowered = speaker.vocabulary.lowered(last?.terms, by: terms) else { continue }
                said = lowered
                // What is left is a refusal, whenever it was said.
                decided = deed.time.map { max($0, last?.decided ?? .min) }
            }
            changes += try file.set(id, said, decided: decided, origin: speaker.origin).changes
        }
        if asksForMore { note(forbidden: 1) } else { counts.taken += 1 }
    }
}
