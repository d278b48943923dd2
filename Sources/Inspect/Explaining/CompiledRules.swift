// The rules of a plan, compiled for explaining. Explanations of many events share them, unless a route remembers what came before: each event
// is explained as if it were the first.

internal import Admission
internal import Judging
public import Ledger
public import Plans

public struct CompiledRules: Sendable {
    let ruleset: Ruleset
    let levels: RunNames

    init(_ plan: Plan, _ ledger: LedgerView?) {
        let noChance = [UInt8](repeating: 0, count: 16)
        levels = RunNames()
        ruleset = Ruleset(plan, subjectKey: ledger?.key ?? noChance, messageIDKey: noChance, records: ledger?.records, levels: levels)
    }

    /// Returns rules for many events. Returns nil if a route has a target, a limit or sessions: each event then needs rules of its own.
    public static func forManyEvents(_ plan: Plan, _ ledger: LedgerView?) -> CompiledRules? {
        let remembers = plan.routes.contains { $0.session != nil || $0.sample?.target != nil || $0.sample?.limit != nil }
        return remembers ? nil : CompiledRules(plan, ledger)
    }
}
