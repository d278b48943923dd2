// Collects for the audit trail what became of events that were held: each event under its hash, with the verdict of each route that settled
// it. A route that did not settle the event, or that still holds it, is not in its row.

internal import Admission
internal import Audit
internal import Generations
internal import Judging
internal import Plans

struct HeldVerdicts {
    private let plan: String?
    private let names: RunNames
    /// One block for each list of routes, in the order in which they came. All rows of a block are of the same width.
    private(set) var blocks: [VerdictBlock] = []
    private let isOn: Bool

    /// `names` are the names of the run's routes.
    init(_ generation: Generation, names: RunNames) {
        plan = generation.plan.text?.hash
        isOn = generation.ruleset.keepsVerdicts
        self.names = names
    }

    /// Adds what became of an event. `hash` is nil if the event cannot be read any more; then it is only counted.
    mutating func add(_ hash: [UInt8]?, _ verdicts: HeldJudge.Verdicts) {
        guard isOn, !verdicts.isEmpty else { return }
        let routes = verdicts.map { names[$0.route] }
        let columns = verdicts.map { Tally.column(of: $0.verdict) }
        var counts = Array(repeating: 0, count: routes.count * Tally.columns.count)
        for (route, column) in columns.enumerated() { counts[route * Tally.columns.count + column] += 1 }
        let row = hash.map { $0 + columns.map { UInt8($0) } } ?? []
        let block = VerdictBlock(plan: plan, routes: routes, rows: row, counts: counts, events: 1, isHeld: true)
        if let known = blocks.firstIndex(where: { $0.isSameKind(as: block) }) { blocks[known].add(block) } else { blocks.append(block) }
    }

    /// Adds an event that has the same verdict for these routes.
    mutating func add(_ hash: [UInt8]?, _ routes: [UInt16], _ verdict: Verdict) { add(hash, routes.map { ($0, verdict) }) }
}
