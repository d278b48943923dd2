// The tracking plan in the judge: when it is asked, what the routes get, and what is kept of rejected events.

import Editing
import Events
import Expressions
import Plans
import Testing
import TrackingPlans

@testable import Admission
@testable import Judging
@testable import Models

private func tracking(_ action: String) throws -> TrackingPlan {
    try PlanFile.read(
        Array(#"{"violation": "\#(action)", "events": {"a": {"properties": {"properties": {"n": {"type": "number"}}}}}}"#.utf8)
    ).get()
}

private let bad = #"{"event":"a","userId":"u","properties":{"n":"x","k":1}}"#
private let good = #"{"event":"a","userId":"u","properties":{"n":1,"k":1}}"#

extension JudgeFixture {
    /// The rejected events, each with its provider and its reason.
    fileprivate var rejected: [String] {
        judge.rejected.flatMap { group in
            let batch = group.take()
            return (0..<batch.count).map { "\(group.provider) \(group.reason) \(String(decoding: batch.event($0), as: UTF8.self))" }
        }
    }

    /// Returns the verdict of the first route on an event that was held.
    fileprivate func release(_ line: String, isTrial: Bool) -> [Verdict] {
        var block = Block()
        block.text.append(line)
        block.seal()
        var verdicts: [Verdict] = []
        let event = scanner.scan(block.bytes, 0)!
        judge.judge(held: event, HeldTerms(arrival: 7, routes: [0]), isTrial: isTrial, into: parcels) { verdicts.append($1) }
        return verdicts
    }

    fileprivate func count(_ action: String) -> Int { tally.violationsByAction.first { $0.action == action }!.count }
}

@Suite("The tracking plan")
struct PlanTests {
    private func fixture(_ action: String, _ routes: RoutePlan..., change: (inout Plan) -> Void = { _ in }) throws -> JudgeFixture {
        var plan = Plan()
        plan.routes = routes.isEmpty ? [route()] : routes
        plan.providers = [ProviderPlan(name: "p", plugin: "noop", settings: Secret([]))]
        plan.trackingPlan = try tracking(action)
        change(&plan)
        return JudgeFixture(plan)
    }

    @Test("a rejected event goes to no lane, and its edited copy is kept with the reason")
    func rejected() throws {
        let fixture = try fixture("reject", route { $0.transforms = [DropStep([path("userId")])] })
        fixture.take(good)
        fixture.take(bad)
        #expect(fixture.lines() == [#"{"event":"a","properties":{"n":1,"k":1}}"#])
        #expect(fixture.tally[0, .violating] == 1 && fixture.tally[0, .admitted] == 1)
        #expect(fixture.count("reject") == 1)
        #expect(fixture.rejected == [#"0 violates the tracking plan: /properties/n: type {"event":"a","properties":{"n":"x","k":1}}"#])
        fixture.judge.forgetHeld()
        #expect(fixture.judge.rejected.isEmpty)
    }

    @Test("a stripped event goes to all routes without the offending member, and is counted once")
    func stripped() throws {
        let fixture = try fixture("strip", route(), route { $0.transforms = [DropStep([path("properties.k")])] })
        fixture.take(bad)
        #expect(fixture.lines() == [#"{"event":"a","userId":"u","properties":{"k":1}}"#, #"{"event":"a","userId":"u","properties":{}}"#])
        #expect(fixture.count("strip") == 1)
    }

    @Test("an event that no route takes is not looked at")
    func notLookedAt() throws {
        let consent = ConsentPlan.of(levels: ["none", "some"])
        let fixture = try fixture("reject", route { $0.consent = ConsentDemand(level: 1) }, change: { $0.consent = consent })
        fixture.take(bad)
        #expect(fixture.tally[0, .denied(.unknown)] == 1)
        #expect(fixture.count("reject") == 0 && fixture.judge.rejected.isEmpty)
        fixture.take(bad.dropLast() + #","context":{"consent":{"level":"some"}}}"#)
        #expect(fixture.tally[0, .violating] == 1 && fixture.count("reject") == 1)
    }

    @Test("a route with `else` does not get an event that the plan rejects")
    func isTaken() throws {
        let fixture = try fixture("reject", route(), route { $0.takesRest = true })
        fixture.take(bad)
        #expect(fixture.tally[1, .filtered(.else)] == 1 && fixture.lines() == [])
    }

    @Test("a trial finds the same and keeps nothing")
    func trial() throws {
        let fixture = try fixture("reject")
        #expect(fixture.verdicts(bad) == [.violating])
        #expect(fixture.findings(bad)[0].plan?.violation.text == "/properties/n: type")
        #expect(fixture.findings(good)[0].plan == nil)
        #expect(fixture.judge.rejected.isEmpty && fixture.count("reject") == 0)
        let marking = try self.fixture("mark")
        #expect(marking.verdicts(bad) == [.admitted])
        #expect(marking.findings(bad)[0].plan?.action == .mark)
    }

    @Test("an event that was held is checked when it is judged again, by the routes that held it")
    func held() throws {
        var consent = ConsentPlan.of(levels: ["none", "some"])
        consent.unknown = .hold
        let fixture = try fixture("reject", route { $0.consent = ConsentDemand(level: 1) }, change: { $0.consent = consent })
        fixture.take(bad)
        #expect(fixture.tally[0, .held] == 1 && fixture.count("reject") == 0)
        fixture.judge.forgetHeld()
        let answered = bad.dropLast() + #","context":{"consent":{"level":"some"}}}"#
        #expect(fixture.release(String(answered), isTrial: true) == [.violating] && fixture.judge.rejected.isEmpty)
        #expect(fixture.release(String(answered), isTrial: false) == [.violating])
        #expect(fixture.rejected.count == 1 && fixture.lines() == [])
    }

    @Test("reasons beyond the first ones in a block lose their place, not their rule")
    func manyReasons() throws {
        let fixture = try fixture(
            "reject",
            change: { plan in
                plan.trackingPlan = try? PlanFile.read(
                    Array(#"{"violation": "reject", "events": {"a": {"properties": {"additionalProperties": false}}}}"#.utf8)
                ).get()
            })
        for index in 0..<100 { fixture.take(#"{"event":"a","properties":{"k\#(index)":1}}"#) }
        #expect(fixture.judge.rejected.count == 33)
        #expect(fixture.judge.rejected.last?.reason == "violates the tracking plan: additionalProperties")
        #expect(fixture.rejected.count == 100)
    }

    @Test("an emitted event is checked like any other")
    func emitted() throws {
        let rule = EmitPlan(
            condition: try Expression.condition("event == 'b'"),
            members: [("event", [.json("\"a\"")]), ("properties", [.json(#"{"n":"x"}"#)])])
        let fixture = try fixture("reject", change: { $0.emits = [rule] })
        fixture.take(#"{"event":"b"}"#)
        #expect(fixture.tally[0, .admitted] == 1 && fixture.tally[0, .violating] == 1)
    }
}

extension ConsentPlan {
    fileprivate static func of(levels: [String]) -> ConsentPlan {
        var consent = ConsentPlan()
        consent.levels = levels.map { ConsentPlan.Level(name: $0, purposes: nil) }
        consent.subject = [path("userId")]
        return consent
    }
}
