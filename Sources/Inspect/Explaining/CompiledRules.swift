// The rules of a plan, compiled for explaining. Explanations of many events share them; what routes remember of an event is forgotten before
// the next one, so that each is explained as if it were the first. Only one thread may use them at a time.

internal import Admission
internal import Judging
public import Ledger
public import Plans

public struct CompiledRules: Sendable {
    let ruleset: Ruleset
    let levels: RunNames

    public init(_ plan: Plan, _ ledger: LedgerView?) {
        let noChance = [UInt8](repeating: 0, count: 16)
        levels = RunNames()
        ruleset = Ruleset(plan, subjectKey: ledger?.key ?? noChance, messageIDKey: noChance, records: ledger?.records, levels: levels)
    }
}
