import Events
import Expressions
import Plans
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Judging
@testable import Models

private func holding(_ change: (inout ConsentPlan) -> Void = { _ in }) -> ConsentPlan {
    var consent = ConsentPlan()
    consent.levels = [.init(name: "none", purposes: []), .init(name: "some", purposes: ["a"]), .init(name: "all", purposes: ["a", "b"])]
    consent.subject = [path("userId"), path("anonymousId")]
    consent.unknown = .hold
    change(&consent)
    return consent
}

/// Three routes that demand the levels none, some and all, and a fourth for events that none of them took.
private func plan(_ change: (inout Plan) -> Void = { _ in }) -> Plan {
    var plan = plan(
        route { $0.consent = ConsentDemand(level: 0) }, route { $0.consent = ConsentDemand(level: 1) },
        route { $0.consent = ConsentDemand(level: 2) }, route { $0.takesRest = true })
    plan.consent = holding()
    change(&plan)
    return plan
}

extension JudgeFixture {
    /// The events that the fixture holds, each as `[routes] event`, with the id that it was given before the event.
    fileprivate var held: [String] {
        (0..<judge.held.count).map { index in
            let body = judge.held.body(index)
            let given = judge.held.idLength(index)
            let id = given == 0 ? "" : " \(String(decoding: body[..<given], as: UTF8.self))"
            return "\(Array(judge.held.routes(index)))\(id) \(String(decoding: body[given...], as: UTF8.self))"
        }
    }

    /// Returns the verdicts of these routes on an event that was held.
    fileprivate func release(
        _ line: String, routes: [Int], isTrial: Bool = false, _ change: (inout HeldTerms) -> Void = { _ in }
    ) -> [Int: Verdict] {
        var block = Block()
        block.text.append(line)
        block.seal()
        var verdicts: [Int: Verdict] = [:]
        var terms = HeldTerms(arrival: 77, routes: routes)
        terms.source = 0
        change(&terms)
        let event = scanner.scan(block.bytes, 0)!
        judge.judge(held: event, terms, isTrial: isTrial, into: parcels) { verdicts[$0] = $1 }
        return verdicts
    }

    fileprivate func say(_ id: String, _ level: String) {
        ruleset.records?.set(SubjectKey(of: Array(id.utf8), under: Array(0..<16)), [ConsentTerms(level: level)])
    }
}

@Suite("Events of unknown subjects") struct HoldTests {
    private let ann = #"{"userId":"ann", "n": 1}"#

    @Test("an event is held as it came for the routes that demand something, and passes the others")
    func held() {
        let fixture = JudgeFixture(plan(), records: ConsentRecords())
        fixture.take(ann, arrival: 5)
        #expect(fixture.held == ["[1, 2] " + ann])
        #expect(fixture.judge.held.arrival(0) == 5 && fixture.judge.held.level(0) == 0)
        #expect(Array(fixture.judge.held.subjects(0)) == [SubjectKey(of: Array("ann".utf8), under: Array(0..<16))])
        #expect(fixture.tally[0, .admitted] == 1 && fixture.tally[1, .held] == 1 && fixture.tally[2, .held] == 1)
        #expect(fixture.tally[3, .filtered(.else)] == 1 && fixture.lines() == [ann])
        fixture.judge.forgetHeld()
        #expect(fixture.held == [])
    }

    @Test("an event without an id is denied, and an event that states consent is judged by its statement")
    func notHeld() {
        let fixture = JudgeFixture(plan(), records: ConsentRecords())
        fixture.take(#"{"n":1}"#)
        fixture.take(#"{"userId":"","n":1}"#)
        #expect(fixture.held == [] && fixture.tally[1, .denied(.unknown)] == 2)
        fixture.take(#"{"userId":"ann","context":{"consent":{"level":"some"}}}"#)
        #expect(fixture.held == [] && fixture.tally[1, .admitted] == 1 && fixture.tally[2, .denied(.level)] == 1)
        let refusing = #"{"userId":"ann","context":{"gpc":true}}"#
        fixture.take(refusing)
        #expect(fixture.held == ["[1, 2] " + refusing], "a refusal alone does not say what is granted")
    }

    @Test("an event has each of its subjects once, and is held only if all of them are unknown")
    func subjects() {
        let fixture = JudgeFixture(plan(), records: ConsentRecords())
        fixture.take(#"{"userId":"ann","anonymousId":"ann"}"#)
        fixture.take(#"{"userId":"ann","anonymousId":"bob"}"#)
        #expect((0..<2).map { fixture.judge.held.subjects($0).count } == [1, 2])
        fixture.say("bob", "none")
        fixture.take(#"{"userId":"ann","anonymousId":"bob"}"#)
        #expect(fixture.judge.held.count == 2 && fixture.tally[1, .denied(.level)] == 1)
    }

    @Test("a member decides whether an event is held, if the plan says so")
    func byMember() {
        let regional = plan {
            $0.consent = holding { consent in
                consent.unknown = .deny
                consent.unknownBy = UnknownByPlan(path: path("region"), cases: [("DE", .hold), ("US", .assume(1))])
            }
        }
        let fixture = JudgeFixture(regional, records: ConsentRecords())
        func verdict(_ region: String) -> Verdict { fixture.verdicts(#"{"userId":"ann","region":"\#(region)"}"#)[1] }
        #expect([verdict("DE"), verdict("US"), verdict("FR")] == [.held, .admitted, .denied(.unknown)])
        #expect(fixture.findings(#"{"userId":"ann","region":"DE"}"#)[1].gate?.isHolding == true)
    }

    @Test("a request for verdicts holds no event")
    func trial() {
        let fixture = JudgeFixture(plan(), records: ConsentRecords())
        #expect(fixture.verdicts(ann) == [.admitted, .held, .held, .filtered(.else)])
        #expect(fixture.findings(ann).map(\.verdict) == [.admitted, .held, .held, .filtered(.else)])
        #expect(fixture.held == [])
    }

    @Test("an event that was held is judged only by the routes for which it was held, with the time when it came")
    func released() {
        let fixture = JudgeFixture(plan(), records: ConsentRecords())
        fixture.say("ann", "some")
        #expect(fixture.release(ann, routes: [1, 2]) == [1: .admitted, 2: .denied(.level)])
        #expect(fixture.lines() == [ann])
        #expect(fixture.parcels[0].entries.map(\.arrival) == [77] && fixture.parcels[0].entries.map(\.subjectCount) == [1])
        #expect(fixture.release(#"{"userId":"bob"}"#, routes: [1]) == [1: .held] && fixture.held == [], "it is not held a second time")
        #expect(fixture.release(ann, routes: [3]) == [3: .filtered(.else)], "another route had taken it")
        #expect(fixture.release(ann, routes: [1], isTrial: true) == [1: .admitted])
        #expect(fixture.lines() == [ann], "a trial sends nothing")
        #expect(fixture.tally.events == 0)
    }

    @Test("an event that was held keeps the id that it was given when it came")
    func givenID() throws {
        let adding = plan {
            $0.messageID.add = true
            $0.providers[0].deduplicates = true
        }
        try #require(adding.addsMessageIDs)
        let fixture = JudgeFixture(adding, records: ConsentRecords())
        fixture.take(ann)
        let sent = try #require(fixture.lines().first)
        let id = try #require(fixture.held.first?.split(separator: " ").first { $0.hasPrefix("\"") })
        #expect(sent == #"{"userId":"ann", "n": 1,"messageId":\#(id)}"#, "every copy has the same id")
        fixture.say("ann", "all")
        #expect(fixture.release(ann, routes: [2]) { $0.messageID = Array(id.utf8) } == [2: .admitted])
        #expect(fixture.lines().last == sent)
    }

    @Test("an emitted event that was held demands what its original did")
    func emitted() {
        let raising = plan {
            $0.consent = holding { $0.events = [(glob: Glob("secret"), level: 2)] }
            $0.emits = [
                EmitPlan(
                    condition: try! Expression.condition("event == 'secret'"),
                    members: [(key: "event", value: [EmitPlan.Piece.json("\"plain\"")])])
            ]
        }
        let fixture = JudgeFixture(raising, records: ConsentRecords())
        fixture.take(#"{"userId":"ann","event":"secret","context":{}}"#)
        #expect(fixture.judge.held.count == 2)
        #expect((0..<2).map { fixture.judge.held.level($0) } == [0, 2])
        #expect(fixture.held.map { $0.contains("\"plain\"") } == [false, true])
        fixture.say("ann", "some")
        let made = #"{"userId":"ann","context":{"switchyard":{"emitted":true}},"event":"plain"}"#
        #expect(fixture.release(made, routes: [1]) { $0.level = 2 } == [1: .denied(.level)])
        #expect(fixture.release(made, routes: [1]) == [1: .admitted])
    }

    @Test("an event that was held takes only the routes that its key allows")
    func bounded() {
        let bounded = plan {
            var source = SourcePlan(name: "web", plugin: "http")
            source.http = HTTPSourcePlan()
            source.http?.keys = [AccessKey(name: "app", secrets: [], routes: ["elsewhere"])]
            $0.namedSources = [source]
        }
        let fixture = JudgeFixture(bounded, records: ConsentRecords())
        fixture.say("ann", "all")
        #expect(fixture.release(ann, routes: [1]) { $0.key = 1 } == [1: .filtered(.key)])
        #expect(fixture.release(ann, routes: [1]) { $0.source = nil } == [1: .admitted])
    }
}
