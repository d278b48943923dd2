// Tests which routes take the events that speak to the ledger.

import Events
import Judging
import Plans
import Testing

@testable import Models

@Suite("Events that speak to the ledger") struct LedgerRouteTests {
    private func plan(ledger: Bool) -> Plan {
        var consent = ConsentPlan()
        consent.levels = [.init(name: "none", purposes: [])]
        consent.subject = [path("userId"), path("anonymousId")]
        if ledger { consent.ledger = LedgerPlan() }
        let typed: (String) -> MatchPlan = { MatchPlan(path: path("type"), anyOf: [.string($0)]) }
        var plan = Models.plan(
            route(), route { $0.match = [typed("consent")] }, route { $0.match = [typed("track")] }, route { $0.takesRest = true })
        plan.consent = consent
        return plan
    }

    private func taken(_ line: String, ledger: Bool = true) -> [Bool] {
        JudgeFixture(plan(ledger: ledger)).verdicts(line).map { $0 == .admitted }
    }

    @Test("take only routes that match on the type, if a ledger is kept")
    func types() {
        #expect(taken(#"{"type":"consent","userId":"u","consent":{"level":"none"}}"#) == [false, true, false, false])
        #expect(taken(#"{"type":"consent"}"#) == [false, true, false, false])
        #expect(taken(#"{"type":"\u0063onsent"}"#) == [false, true, false, false])
        #expect(taken(#"{"type":"reset","anonymousId":"a"}"#) == [false, false, false, false])
        #expect(taken(#"{"type":"consent"}"#, ledger: false) == [true, true, false, false])
        #expect(taken(#"{"type":"reset"}"#, ledger: false) == [true, false, false, false])
    }

    @Test("are not identify, alias and the preferences of Segment, which routes take like any other")
    func others() {
        #expect(taken(#"{"type":"identify","userId":"u","anonymousId":"a"}"#) == [true, false, false, false])
        #expect(taken(#"{"type":"alias","userId":"u","previousId":"a"}"#) == [true, false, false, false])
        #expect(
            taken(#"{"type":"track","event":"Segment Consent Preference Updated","userId":"u"}"#) == [true, false, true, false])
    }
}
