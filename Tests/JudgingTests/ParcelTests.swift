import Admission
import Editing
import Expressions
import Plans
import Testing

@testable import Judging
@testable import Models

@Suite struct ParcelTests {
    @Test("an entry carries everything that a lane needs to know about its event")
    func entries() throws {
        var plan = plan(providers: 2)
        plan.consent = ConsentPlan()
        plan.consent!.levels = [.init(name: "none", purposes: nil)]
        plan.consent!.subject = [path("userId"), path("anonymousId"), path("context.guardian")]
        plan.providers[1].delivery.immediate = [Glob("error_*")]
        plan.routes = [
            route { $0.providers = [0] },
            route {
                $0.providers = [0, 1]
                $0.transforms = [DropStep([path("userId")]), SetStep(constants: [(path("n"), "1")])]
            },
        ]
        let fixture = JudgeFixture(plan, locatesMessageIDs: true)
        fixture.take(#"{"event":"error_x","userId":"u","messageId":"m\u002d1","anonymousId":"a"}"#, arrival: 5)
        fixture.take(#"{"event":"other","userId":7,"context":{"guardian":"u"},"messageId":12}"#, arrival: 6)
        fixture.take(#"{"userId":"","anonymousId":null,"context":{"guardian":["u"]},"messageId":""}"#, arrival: 7)

        let lines = fixture.lines(1)
        try #require(lines.count > 1)
        #expect(lines[0] == #"{"event":"error_x","messageId":"m\u002d1","anonymousId":"a","n":1}"#)
        #expect(lines[1] == #"{"event":"other","context":{"guardian":"u"},"messageId":12,"n":1}"#)
        let first = fixture.parcels[0].entries
        let second = fixture.parcels[1].entries
        #expect(first.map(\.route) == [0, 1, 0, 1, 0, 1])
        #expect(second.map(\.route) == [1, 1, 1])
        #expect(first.map(\.isImmediate) == Array(repeating: false, count: 6))
        #expect(second.map(\.isImmediate) == [true, false, false])
        #expect(second.map(\.arrival) == [5, 6, 7])
        #expect(second.map(\.subjectCount) == [2, 2, 0])
        #expect(second.map(\.firstSubject) == [0, 2, 4])
        // An id has the same key in every member. A number has the key of its text.
        let subjects = fixture.parcels[1].subjects
        #expect(subjects[0] == subjects[3])
        #expect(Set(subjects).count == 3)

        func id(_ provider: Int, _ index: Int) -> String {
            let entry = fixture.parcels[provider].entries[index]
            let line = Array(fixture.lines(provider)[index].utf8)
            return String(decoding: line[Int(entry.messageIDOffset)...].prefix(Int(entry.messageIDCount)), as: UTF8.self)
        }
        #expect(id(0, 0) == #"m\u002d1"#)
        #expect(id(0, 1) == #"m\u002d1"#)
        #expect(id(1, 0) == #"m\u002d1"#)
        #expect(second.map(\.messageIDCount) == [8, 0, 0])
    }

    @Test("a message id that a transform sets or drops has no place")
    func touchedMessageID() {
        let transforms: [any Step] = [
            DropStep([path("messageId")]), SetStep(constants: [(path("messageId"), "\"x\"")]), HashStep([path("messageId")], key: 0),
        ]
        for transform in transforms {
            let fixture = JudgeFixture(plan(route { $0.transforms = [transform] }), locatesMessageIDs: true)
            fixture.take(#"{"messageId":"m"}"#)
            #expect(fixture.parcels[0].entries.first?.messageIDCount == 0)
        }
    }

    @Test("a subject has the same key however its id is written")
    func subjectKeys() {
        var plan = plan(route())
        plan.consent = ConsentPlan()
        plan.consent!.levels = [.init(name: "none", purposes: nil)]
        plan.consent!.subject = [path("userId")]
        plan.routes[0].consent = ConsentDemand(level: 0)
        let (a, b) = (JudgeFixture(plan), JudgeFixture(plan))
        a.take(#"{"userId":"u"}"#)
        b.take(#"{ "userId" : "\u0075" }"#)
        #expect(Array(a.parcels[0].subjects) == Array(b.parcels[0].subjects))
        #expect(a.parcels[0].subjects.count == 1)
    }

    @Test("a provider that a route names twice gets the event once")
    func twice() {
        let fixture = JudgeFixture(plan(route { $0.providers = [0, 0] }))
        fixture.take("{}")
        #expect(fixture.lines() == ["{}"])
    }

    @Test("a duplicate messageId makes an event invalid only if a rule needs it")
    func messageIDNotWanted() {
        #expect(JudgeFixture(plan(route())).take(#"{"messageId":1,"messageId":2}"#))
        #expect(!JudgeFixture(plan(route { $0.sample = SamplePlan(rate: 0.5) })).take(#"{"messageId":1,"messageId":2}"#))
    }

    @Test("the verdicts of each route add up to the events")
    func tally() {
        var plan = plan(
            route {
                $0.events = [Glob("a*")]
                $0.match = [MatchPlan(path: path("m"), anyOf: [.bool(true)])]
                $0.not = ExclusionPlan(match: [MatchPlan(path: path("id"), anyOf: [.number("14"), .number("22")])])
                $0.condition = try! Expression.condition("id % 7 != 3 && (id % 11 != 4 || gone)")
                $0.consent = ConsentDemand(level: 1, purposes: ["p"])
                $0.sample = SamplePlan(rate: 0.5, by: path("id"))
                $0.sample?.limit = LimitPlan(EventRate(perDay: 86_400), burst: 2)
            }, route { $0.consent = ConsentDemand(level: 0) }, route { $0.takesRest = true })
        plan.consent = ConsentPlan()
        plan.consent!.levels = [.init(name: "none", purposes: []), .init(name: "some", purposes: ["q"])]
        let fixture = JudgeFixture(plan)
        let contexts = [
            "{}", #"{"gpc":0}"#, #"{"consent":{"level":"none"}}"#, #"{"consent":{"level":"some"}}"#, #"{"consent":{"purposes":["p","q"]}}"#,
        ]
        var total = Tally(routes: 3)
        for i in 0..<200 {
            let line = #"{"event":"\#(i % 2 == 0 ? "a" : "b")","m":\#(i % 3 > 0),"id":\#(i),"context":\#(contexts[i % 5])}"#
            fixture.take(line)
            #expect(fixture.verdicts(line).count == 3)
        }
        total.add(fixture.tally)
        #expect(total.events == 200)
        for route in 0..<3 { #expect(Tally.columns.reduce(0) { $0 + total[route, $1] } == 200) }
        let others: [Verdict] = [
            .withheld, .filtered(.key), .denied(.unreadable), .denied(.clock), .denied(.full), .denied(.unstored), .held, .expired,
            .withdrawn, .outdated, .violating,
        ]
        for verdict in Tally.columns where !others.contains(verdict) {
            #expect((0..<3).contains { total[$0, verdict] > 0 }, "\(verdict)")
        }
        for (i, verdict) in Tally.columns.enumerated() { #expect(Tally.column(of: verdict) == i) }
        #expect(total[1, .admitted] == 200)
        #expect(fixture.lines().count == 200 + total[0, .admitted])
    }
}
