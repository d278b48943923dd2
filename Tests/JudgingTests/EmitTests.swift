import Admission
import Editing
import Expressions
import Plans
import Testing

@testable import Judging
@testable import Models

@Suite struct EmitTests {
    private static func rule(_ condition: String, _ members: (String, [EmitPlan.Piece])...) -> EmitPlan {
        EmitPlan(condition: try! Expression.condition(condition), members: members.map { (key: $0.0, value: $0.1) })
    }
    private static func json(_ text: String) -> [EmitPlan.Piece] { [.json(text)] }
    private static func cel(_ text: String) -> EmitPlan.Piece { .value(try! Expression(text)) }

    private static let slow = rule(
        "properties.ms > 100", ("type", json("\"track\"")), ("event", json("\"slow\"")),
        ("properties", [.json("{\"of\":"), cel("event"), .json(",\"ms\":"), cel("properties.ms * 2"), .json("}")]))

    private func fixture(_ rules: EmitPlan..., routes: [RoutePlan] = [route()], change: (inout Plan) -> Void = { _ in }) -> JudgeFixture {
        var plan = plan()
        plan.routes = routes
        plan.emits = rules
        change(&plan)
        return JudgeFixture(plan)
    }

    /// Returns the lines of the emitted events, with a star in place of each id.
    private func made(_ line: String, _ fixture: JudgeFixture) -> [String] {
        fixture.take(line)
        return fixture.lines().dropFirst().map { $0.replacing(#/"messageId":"[0-9a-f-]{36}"/#, with: #""messageId":"*""#) }
    }

    @Test("an emitted event is the original without its properties, with the members of the rule, the mark and another id")
    func made() {
        let original = #"{"event":"get", "userId":"u","properties":{"ms":150,"x":1},"messageId":"m","context":{"ip" : 1},"n":[ 1e1 ]}"#
        #expect(
            made(original, fixture(Self.slow))
                == [
                    #"{"userId":"u","context":{"ip" : 1,"switchyard":{"emitted":true}},"n":[ 1e1 ],"type":"track","event":"slow","#
                        + #""properties":{"of":"get","ms":300},"messageId":"*"}"#
                ])
        #expect(
            made(#"{"properties":{"ms":101},"event":"a\u0062"}"#, fixture(Self.slow)) == [
                #"{"context":{"switchyard":{"emitted":true}},"type":"track","event":"slow","properties":{"of":"a\u0062","ms":202}}"#
            ])
    }

    @Test("a rule emits nothing if its condition is false or fails, or if an expression has no value; errors are counted")
    func nothing() {
        let fixture = fixture(Self.slow)
        fixture.take(#"{"event":"get","properties":{"ms":99}}"#)
        #expect(fixture.tally.emitted == 0 && fixture.tally.emitErrors == 0)
        fixture.take(#"{"event":"get"}"#)
        #expect(fixture.tally.emitted == 0 && fixture.tally.emitErrors == 1)
        fixture.take(#"{"properties":{"ms":200}}"#)
        #expect(fixture.tally.emitted == 0 && fixture.tally.emitErrors == 2)
        fixture.take(#"{"event":"get","properties":{"ms":200}}"#)
        #expect(fixture.tally.emitted == 1 && fixture.tally.emitErrors == 2 && fixture.tally.events == 4)
        #expect(fixture.lines().count == 5)
    }

    @Test("no event is emitted for an emitted event, here or at the next router")
    func noFeedback() throws {
        let always = Self.rule("true", ("event", Self.json("\"again\"")))
        let first = fixture(always)
        first.take(#"{"event":"a"}"#)
        #expect(first.tally.emitted == 1)
        let next = fixture(always)
        try #require(first.lines().count == 2)
        next.take(first.lines()[1])
        #expect(next.tally.emitted == 0)
    }

    @Test("each rule emits its own event for the original, behind it, in the order of the rules")
    func several() {
        let fixture = fixture(
            Self.rule("true", ("event", [Self.cel("event + '_1'")])), Self.rule("false", ("event", Self.json("0"))),
            Self.rule("event == 'a'", ("event", [Self.cel("event + '_2'")]), ("properties", Self.json("[]"))))
        let marked = #""context":{"switchyard":{"emitted":true}}"#
        #expect(made(#"{"event":"a"}"#, fixture) == [#"{\#(marked),"event":"a_1"}"#, #"{\#(marked),"event":"a_2","properties":[]}"#])
    }

    @Test("the id is computed from the original's id and the rule: equal ids give equal ids, and others give others")
    func ids() throws {
        func ids(_ line: String) throws -> [String] {
            let rule = Self.rule("true", ("event", Self.json("1")))
            let fixture = fixture(rule, rule)
            fixture.take(line)
            let id = #/"messageId":"([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"/#
            return try fixture.lines().dropFirst().map { String(try #require($0.firstMatch(of: id)).1) }
        }
        let first = try ids(#"{"messageId":"m","n":1}"#)
        #expect(first[0] != first[1])
        #expect(try ids(#"{"n":2,"messageId":"\u006d"}"#) == first)
        #expect(Set(try ids(#"{"messageId":"m2"}"#) + first).count == 4)
    }

    @Test("an original without an id gives an event without one, which gets one if all events do")
    func noID() {
        let rule = Self.rule("true", ("event", Self.json("1")))
        #expect(made(#"{"messageId":null}"#, fixture(rule)) == [#"{"context":{"switchyard":{"emitted":true}},"event":1}"#])
        let adding = fixture(rule, change: { $0.messageID.add = true })
        #expect(made("{}", adding) == [#"{"context":{"switchyard":{"emitted":true}},"event":1,"messageId":"*"}"#])
    }

    @Test("every route judges an emitted event by its own filter; the consent and the subjects are the original's")
    func judged() {
        let fixture = fixture(
            Self.slow,
            routes: [
                route {
                    $0.events = [Glob("slow")]
                    $0.consent = ConsentDemand(level: 1)
                    $0.transforms = [DropStep([path("context.switchyard")])]
                }, route { $0.takesRest = true },
            ]
        ) { plan in
            plan.consent = ConsentPlan()
            plan.consent?.levels = [.init(name: "none", purposes: nil), .init(name: "some", purposes: nil)]
            plan.consent?.subject = [path("userId")]
            plan.consent?.fields = [(path("context.ip"), 1)]
            plan.routes[1].consent = ConsentDemand(level: 0)
        }
        let consent = #""context":{"ip":1,"consent":{"level":"some"}}"#
        fixture.take(#"{"event":"get","userId":"u","properties":{"ms":200},\#(consent)}"#)
        #expect(fixture.tally[0, .admitted] == 1 && fixture.tally[1, .admitted] == 1)
        #expect(fixture.lines().last == #"{"userId":"u",\#(consent),"type":"track","event":"slow","properties":{"of":"get","ms":400}}"#)
        let entries = fixture.parcels[0].entries
        #expect(entries.map(\.subjectCount) == [1, 1])
        #expect(fixture.parcels[0].subjects[0] == fixture.parcels[0].subjects[1])
        fixture.take(#"{"event":"get","userId":"u","properties":{"ms":200},"context":{"ip":1,"consent":{"level":"none"}}}"#)
        #expect(fixture.tally[0, .denied(.level)] == 1 && fixture.tally[1, .admitted] == 2)
    }

    @Test("an emitted event demands what the name of the original demands, whatever its own name is")
    func demands() {
        let fixture = fixture(Self.slow) { plan in
            plan.consent = ConsentPlan()
            plan.consent?.levels = ["none", "some", "all"].map { .init(name: $0, purposes: nil) }
            plan.consent?.events = [(Glob("secret_*"), 2), (Glob("slow"), 1)]
            plan.routes[0].consent = ConsentDemand(level: 0)
        }
        func denied(_ name: String, _ level: String) -> Int {
            let before = fixture.tally[0, .denied(.level)]
            fixture.take(#"{"event":"\#(name)","properties":{"ms":200},"context":{"consent":{"level":"\#(level)"}}}"#)
            return fixture.tally[0, .denied(.level)] - before
        }
        #expect(denied("secret_x", "some") == 2)
        #expect(denied("secret_x", "all") == 0)
        #expect(denied("get", "some") == 0)
        #expect(denied("get", "none") == 1)
    }

    @Test("the verdicts of every route add up to the events and the emitted events")
    func addsUp() {
        let again = Self.rule("event == 'a'", ("event", Self.json("\"b\"")))
        let fixture = fixture(Self.slow, again, routes: [route { $0.events = [Glob("a")] }, route()])
        for index in 0..<50 { fixture.take(#"{"event":"\#(index % 3 == 0 ? "a" : "c")","properties":{"ms":\#(index * 10)}}"#) }
        #expect(fixture.tally.events == 50 && fixture.tally.emitted == 39 + 17)
        for route in 0..<2 { #expect(Tally.columns.reduce(0) { $0 + fixture.tally[route, $1] } == 50 + 39 + 17) }
    }
}
