import Admission
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

    /// The lines of the made events, their ids cut out.
    private func made(_ line: String, _ bench: Bench) -> [String] {
        bench.take(line)
        return bench.lines().dropFirst().map { $0.replacing(#/"messageId":"[0-9a-f-]{36}"/#, with: #""messageId":"*""#) }
    }

    @Test("the made event is the original without its properties, with the members of the rule for its own, marked, and under another id")
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

    @Test("where the rule does not hold, or errs, or a value has none, nothing is made; errors are counted")
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

    @Test("what was made makes nothing, here or at the next router")
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

    @Test("each rule makes an event of its own, all of the original, in the order of the rules, behind it")
    func several() {
        let bench = bench(
            Self.rule("true", ("event", [Self.cel("event + '_1'")])), Self.rule("false", ("event", Self.json("0"))),
            Self.rule("event == 'a'", ("event", [Self.cel("event + '_2'")]), ("properties", Self.json("[]"))))
        let marked = #""context":{"switchyard":{"emitted":true}}"#
        #expect(made(#"{"event":"a"}"#, bench) == [#"{\#(marked),"event":"a_1"}"#, #"{\#(marked),"event":"a_2","properties":[]}"#])
    }

    @Test("the id follows from the original's and the rule: the same whenever the original comes, another for every other")
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

    @Test("an original without an id makes an event without one, which gets one where all events do")
    func noID() {
        let rule = Self.rule("true", ("event", Self.json("1")))
        #expect(made(#"{"messageId":null}"#, bench(rule)) == [#"{"context":{"switchyard":{"emitted":true}},"event":1}"#])
        let adding = bench(rule, change: { $0.messageID.add = true })
        #expect(made("{}", adding) == [#"{"context":{"switchyard":{"emitted":true}},"event":1,"messageId":"*"}"#])
    }

    @Test("every route judges it by its own filter, and its consent and subjects are the original's")
    func judged() {
        let bench = bench(
            Self.slow,
            routes: [
                route {
                    $0.events = [Glob("slow")]
                    $0.consent = ConsentDemand(level: 1)
                    $0.transforms = [.drop([path("context.switchyard")])]
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

    @Test("what the original's name demands, the made event demands too, under any name")
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

    @Test("the verdicts of every route add up to the events and those that were made of them")
    func addsUp() {
        let again = Self.rule("event == 'a'", ("event", Self.json("\"b\"")))
        let bench = bench(Self.slow, again, routes: [route { $0.events = [Glob("a")] }, route()])
        for index in 0..<50 { bench.take(#"{"event":"\#(index % 3 == 0 ? "a" : "c")","properties":{"ms":\#(index * 10)}}"#) }
        #expect(bench.tally.events == 50 && bench.tally.emitted == 39 + 17)
        for route in 0..<2 { #expect(Tally.columns.reduce(0) { $0 + bench.tally[route, $1] } == 50 + 39 + 17) }
    }
}
