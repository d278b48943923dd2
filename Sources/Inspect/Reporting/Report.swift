// The report of `consent report`, for a person without the router: what the configuration lets each provider have, and what the ledger and
// the state folder hold. It is made from the plan and the ledger themselves. It shows no id, no event, no secret and no setting of a module.

internal import Document
public import Plans
internal import Platform

public enum Report {
    /// Makes the report. `facts` is nil if no ledger is kept. `now` is in nanoseconds since 1970.
    public static func document(_ plan: Plan, _ facts: ReportFacts?, now: Int64) -> ReportDocument {
        var sentences = ["Made by switchyard on \(moment(now)), from the configuration\(facts == nil ? "" : " and the ledger") in use."]
        var sections = PlanSections(plan: plan).all
        if let facts {
            sections += LedgerSections(facts: facts, shown: plan.hidden.masked).all
        } else {
            sentences.append("No ledger is kept, so nothing is on record about consent and withdrawals.")
        }
        return ReportDocument(title: "What is collected, and with whose consent", sentences: sentences, sections: sections)
    }
}
