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

    private func bench(_ rules: EmitPlan..., routes: [RoutePlan] = [route()], change: (inout Plan) -> Void = { _ in }) -> Bench {
        var plan = plan()
        plan.routes = routes
        plan.emits = rules
        change(&plan)
        return Bench(plan)
    }

    /// Returns the lines of the emitted events, with a star in place of each id.
    private func made(_ line: String, _ bench: Bench) -> [String] {
        bench.take(line)
        return bench.lines().dropFirst().map { $0.replacing(#/"messageId":"[0-9a-f-]{36}"/#, with: #""messageId":"*""#) }
    }

    @Test("an emitted event is the original without its properties, with the members of the rule, the mark and another id")
    func made() {
        let original = #"{"event":"get", "userId":"u","properties":{"ms":150,"x":1},"messageId":"m","context":{"ip" : 1},"n":[ 1e1 ]}"#
        #expect(
            made(original, bench(Self.slow))
                == [
                    #"{"userId":"u","context":{"ip" : 1,"switchyard":{"emitted":true}},"n":[ 1e1 ],"type":"track","event":"slow","#
                        + #""properties":{"of":"get","ms":300},"messageId":"*"}"#
                ])
        #expect(
            made(#"{"properties":{"ms":101},"event":"a\u0062"}"#, bench(Self.slow)) == [
                #"{"context":{"switchyard":{"emitted":true}},"type":"track","event":"slow","properties":{"of":"ab","ms":202}}"#
            ])
    }

    @Test("a rule emits nothing if its condition is false or fails, or if an expression has no value; errors are counted")
    func nothing() {
        let bench = bench(Self.slow)
        bench.take(#"{"event":"get","properties":{"ms":99}}"#)
        #expect(bench.tally.emitted == 0 && bench.tally.emitErrors == 0)
        bench.take(#"{"event":"get"}"#)
        #expect(bench.tally.emitted == 0 && bench.tally.emitErrors == 1)
        bench.take(#"{"properties":{"ms":200}}"#)
        #expect(bench.tally.emitted == 0 && bench.tally.emitErrors == 2)
        bench.take(#"{"event":"get","properties":{"ms":200}}"#)
        #expect(bench.tally.emitted == 1 && bench.tally.emitErrors == 2 && bench.tally.events == 4)
        #expect(bench.lines().count == 5)
    }

    @Test("no event is emitted for an emitted event, here or at the next router")
    func noFeedback() throws {
        let always = Self.rule("true", ("event", Self.json("\"again\"")))
        let first = bench(always)
        first.take(#"{"event":"a"}"#)
        #expect(first.tally.emitted == 1)
        let next = bench(always)
        try #require(first.lines().count == 2)
        next.take(first.lines()[1])
        #expect(next.tally.emitted == 0)
    }

    @Test("each rule emits its own event for the original, behind it, in the order of the rules")
    func several() {
        let bench = bench(
            Self.rule("true", ("event", [Self.cel("event + '_1'")])), Self.rule("false", ("event", Self.json("0"))),
            Self.rule("event == 'a'", ("event", [Self.cel("event + '_2'")]), ("properties", Self.json("[]"))))
        let marked = #""context":{"switchyard":{"emitted":true}}"#
        #expect(made(#"{"event":"a"}"#, bench) == [#"{\#(marked),"event":"a_1"}"#, #"{\#(marked),"event":"a_2","properties":[]}"#])
    }

    @Test("the id is computed from the original's id and the rule: equal ids give equal ids, and others give others")
    func ids() throws {
        func ids(_ line: String) throws -> [String] {
            let rule = Self.rule("true", ("event", Self.json("1")))
            let bench = bench(rule, rule)
            bench.take(line)
            let id = #/"messageId":"([0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"/#
            return try bench.lines().dropFirst().map { String(try #require($0.firstMatch(of: id)).1) }
        }
        let first = try ids(#"{"messageId":"m","n":1}"#)
        #expect(first[0] != first[1])
        #expect(try ids(#"{"n":2,"messageId":"\u006d"}"#) == first)
        #expect(Set(try ids(#"{"messageId":"m2"}"#) + first).count == 4)
    }

    @Test("an original without an id gives an event without one, which gets one if all events do")
    func noID() {
        let rule = Self.rule("true", ("event", Self.json("1")))
        #expect(made(#"{"messageId":null}"#, bench(rule)) == [#"{"context":{"switchyard":{"emitted":true}},"event":1}"#])
        let adding = bench(rule, change: { $0.messageID.add = true })
        #expect(made("{}", adding) == [#"{"context":{"switchyard":{"emitted":true}},"event":1,"messageId":"*"}"#])
    }

    @Test("every route judges an emitted event by its own filter; the consent and the subjects are the original's")
    func judged() {
        let bench = bench(
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
        bench.take(#"{"event":"get","userId":"u","properties":{"ms":200},\#(consent)}"#)
        #expect(bench.tally[0, .admitted] == 1 && bench.tally[1, .admitted] == 1)
        #expect(bench.lines().last == #"{"userId":"u",\#(consent),"type":"track","event":"slow","properties":{"of":"get","ms":400}}"#)
        let entries = bench.parcels[0].entries
        #expect(entries.map(\.subjectCount) == [1, 1])
        #expect(bench.parcels[0].subjects[0] == bench.parcels[0].subjects[1])
        bench.take(#"{"event":"get","userId":"u","properties":{"ms":200},"context":{"ip":1,"consent":{"level":"none"}}}"#)
        #expect(bench.tally[0, .denied(.level)] == 1 && bench.tally[1, .admitted] == 2)
    }

    @Test("an emitted event demands what the name of the original demands, whatever its own name is")
    func demands() {
        let bench = bench(Self.slow) { plan in
            plan.consent = ConsentPlan()
            plan.consent?.levels = ["none", "some", "all"].map { .init(name: $0, purposes: nil) }
            plan.consent?.events = [(Glob("secret_*"), 2), (Glob("slow"), 1)]
            plan.routes[0].consent = ConsentDemand(level: 0)
        }
        func denied(_ name: String, _ level: String) -> Int {
            let before = bench.tally[0, .denied(.level)]
            bench.take(#"{"event":"\#(name)","properties":{"ms":200},"context":{"consent":{"level":"\#(level)"}}}"#)
            return bench.tally[0, .denied(.level)] - before
        }
        #expect(denied("secret_x", "some") == 2)
        #expect(denied("secret_x", "all") == 0)
        #expect(denied("get", "some") == 0)
        #expect(denied("get", "none") == 1)
    }

    @Test("the verdicts of every route add up to the events and the emitted events")
    func addsUp() {
        let again = Self.rule("event == 'a'", ("event", Self.json("\"b\"")))
        let bench = bench(Self.slow, again, routes: [route { $0.events = [Glob("a")] }, route()])
        for index in 0..<50 { bench.take(#"{"event":"\#(index % 3 == 0 ? "a" : "c")","properties":{"ms":\#(index * 10)}}"#) }
        #expect(bench.tally.events == 50 && bench.tally.emitted == 39 + 17)
        for route in 0..<2 { #expect(Tally.columns.reduce(0) { $0 + bench.tally[route, $1] } == 50 + 39 + 17) }
    }
}
