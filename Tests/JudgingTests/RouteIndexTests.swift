import Admission
import Events
import Expressions
import Plans
import Seeded
import TestSupport
import Testing

@testable import Judging
@testable import Models

/// The filters of many routes are compiled together. The verdicts must be those of each route alone, which a trial visits one by one.
@Suite struct RouteIndexTests {
    /// Makes plans whose routes differ by names and by values of members, and events in usual and unusual forms.
    private struct Generator {
        var random: Seeded
        /// True if a condition may take all steps of an event.
        var isCostly = false

        mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }
        mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
        mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

        mutating func plan() -> Plan {
            let names = number(3)
            let members = number(3)
            var plan = Models.plan(route { _ in })
            plan.routes = (0..<(12 + number(60))).map { _ in
                route {
                    if names > 0, !chance(names + 1) { $0.events = globs() }
                    if members > 0, chance(2) { $0.match = matches() }
                    if chance(8) { $0.not.events = globs() }
                    if chance(8) { $0.not.match = matches() }
                    if chance(12) { $0.not.condition = condition() }
                    if members < 2 || chance(3) { $0.condition = condition() }
                    $0.takesRest = chance(12)
                    if chance(8) { $0.sample = SamplePlan(rate: 0.5, by: path("a")) }
                }
            }
            if chance(4) {
                plan.emits = [
                    EmitPlan(condition: try! .condition("n == 1"), members: [("event", [.json(#""a1""#)]), ("a", [.json("2.0")])])
                ]
            }
            return plan
        }

        private mutating func globs() -> [Glob] {
            (0..<(1 + number(3))).map { _ in
                let n = number(12)
                return Glob(
                    pick([
                        "a\(n)", "a\(n)_*", "a*_\(n)", "*_\(n)", "*", "a*", "", "*\(n)*", "a_name_that_is_long_\(n)*", "é\(n)*", "a\"\(n)",
                    ]))
            }
        }

        private mutating func matches() -> [MatchPlan] {
            let members = ["type", "a", "c.d"].filter { _ in chance(2) }
            return (members.isEmpty ? ["a"] : members).map { member in
                MatchPlan(path: path(member), anyOf: (0..<(1 + number(3))).map { _ in scalar() })
            }
        }

        private mutating func scalar() -> Scalar {
            let n = number(12)
            let number: Scalar = .number(pick(["\(n)", "\(n)", "\(n)", chance(4) ? "\(n).0" : "\(n)"]))
            return pick([
                .string("v\(n)"), .string("v\(n)"), .string("\(n)"), number, .bool(chance(2)), .null, .string("ö\"\(n)\\"), .string(""),
            ])
        }

        private mutating func condition() -> Expression {
            let n = number(12)
            let parts = (0..<(1 + number(3))).map { _ in
                pick([
                    "a == 'v\(number(12))'", "a == 'v\(n)'", "'v\(n)' == type", "a == \(n)", "a == \(n).0", "c.d in ['v\(n)', 'v1']",
                    "c.d == true",
                    "a == null", "n > \(n)", "has(c.d)", "type != 'v1'", "string(n) == '1'", "c.d == 'v\(n)'", "b", "!(a == 'v1')",
                    "a == 'v1' || type == 'v2'", "type.endsWith('\(n)')", "glob(type, '*v*\(n)')",
                    isCostly && chance(2) ? "l.all(x, l.all(y, x + y > 0))" : "this.a == 'v\(n)'",
                ])
            }
            return try! Expression.condition(parts.joined(separator: pick([" && ", " && ", " && ", " || "])))
        }

        mutating func event() -> String {
            var members: [String] = []
            if !chance(10) { members.append(#""event":\#(name())"#) }
            for member in ["type", "a"] where !chance(6) { members.append(#""\#(member)":\#(value())"#) }
            if !chance(6) { members.append(#""c":\#(chance(12) ? value() : #"{"d":\#(value())}"#)"#) }
            if chance(2) { members.append(#""n":\#(pick(["1", "1.0", "7", "12", "\"1\""]))"#) }
            if chance(2) { members.append(#""b":\#(pick(["true", "false", "0"]))"#) }
            if isCostly { members.append("\"l\":[\((0..<900).map { _ in "1" }.joined(separator: ","))]") }
            if chance(12) { members.append("\"long\":\"\(String(repeating: "x", count: 1200))\"") }
            return "{\(members.shuffled(using: &random).joined(separator: ","))}"
        }

        private mutating func name() -> String {
            let n = number(12)
            return pick([
                #""a\#(n)""#, #""a\#(n)_\#(number(12))""#, #""a_name_that_is_long_\#(n)b""#, #""\u0061\#(n)""#, #""é\#(n)x""#,
                #""a\"\#(n)""#, #""""#,
                "\(n)", "null", #""\ud800""#, chance(8) ? #""a\#(String(repeating: "_", count: 1100))\#(n)""# : #""z""#,
            ])
        }

        private mutating func value() -> String {
            let n = number(12)
            let usual = pick([#""v\#(n)""#, #""v\#(n)""#, #""\#(n)""#, "\(n)"])
            guard chance(3) else { return usual }
            return pick([
                #""v\u003\#(n % 10)""#, #""ö\"\#(n)\\""#, #""\u00f6\"\#(n)\\""#, "\(n).0", "\(n)e0", "-0", "0.0", "true", "false", "null",
                "{}", "[1]", #""""#,
                #""\ud800""#, #""v\#(n)\ud800""#, chance(6) ? #""v\#(String(repeating: "1", count: 2000))""# : "1",
                chance(6) ? "1\(String(repeating: "0", count: 1100))" : "10",
            ])
        }
    }

    @Test("on random plans of many routes every event gets the verdicts that each route alone gives it", arguments: [false, true])
    func agrees(isCostly: Bool) {
        var fallen: Set<Verdict> = []
        var indexed = 0
        for seed in 0..<UInt64(isCostly ? rounds(12) : rounds(160)) {
            var generator = Generator(random: Seeded(state: seed), isCostly: isCostly)
            let plan = generator.plan()
            let fixture = JudgeFixture(plan)
            if fixture.ruleset.rules.index != nil { indexed += 1 }
            var counted = fixture.tally
            var places: [Int: Int] = [:]
            for _ in 0..<(isCostly ? 6 : 30) {
                // Several events are counted together, as those of a block are.
                let events = (0..<(1 + generator.number(3))).map { _ in generator.event() }
                var expected: [[Verdict]] = []
                for event in events {
                    expected.append(fixture.verdicts(event))
                    let emitted = fixture.emissions(event)
                    expected += emitted.map { fixture.verdicts($0) }
                    #expect(fixture.take(event))
                }
                let admitted = expected.flatMap { verdicts in verdicts.indices.filter { verdicts[$0] == .admitted } }
                let entries = fixture.parcels[0].entries.dropFirst(places[0, default: 0]).map { Int($0.route) }
                places[0] = fixture.parcels[0].entries.count
                let tally = fixture.tally
                for route in plan.routes.indices {
                    for verdict in Tally.columns {
                        let count = expected.count { $0[route] == verdict }
                        guard tally[route, verdict] - counted[route, verdict] != count else { continue }
                        Issue.record(
                            "seed \(seed), route \(route): \(verdict) \(tally[route, verdict] - counted[route, verdict]) times, not \(count)\n\(events)"
                        )
                        return
                    }
                }
                if entries != admitted {
                    Issue.record("seed \(seed): the routes \(entries) took the events, not \(admitted)\n\(events)")
                    return
                }
                counted = tally
                fallen.formUnion(expected.joined())
            }
        }
        if isSanitized { return }
        #expect(indexed > (isCostly ? 6 : 80))
        #expect(fallen.isSuperset(of: FilterStage.allCases.filter { $0 != .key }.map(Verdict.filtered)), "\(fallen)")
    }
    /// Fourteen routes that differ by the value of a member.
    private func fourteen(_ member: String) -> Plan {
        var plan = Models.plan(route { _ in })
        plan.routes = (0..<14).map { n in route { $0.match = [MatchPlan(path: path(member), anyOf: [.string("v\(n)")])] } }
        return plan
    }

    @Test("a condition with a costly part before an equality takes its steps whether the equality fails or not")
    func steps() throws {
        var plan = fourteen("type")
        plan.routes += try (0..<14).map { n in
            let condition = try Expression.condition("l.all(x, l.all(y, x + y > 0)) && a == 'v\(n)'")
            return route { $0.condition = condition }
        }
        let fixture = JudgeFixture(plan)
        #expect(fixture.ruleset.rules.index != nil)
        var seen: Set<Verdict> = []
        for length in [5, 100, 200] {
            let event = #"{"a":"v13","l":[\#(Array(repeating: "1", count: length).joined(separator: ","))]}"#
            let expected = fixture.verdicts(event)[27]
            let before = fixture.tally[27, expected]
            fixture.take(event)
            #expect(fixture.tally[27, expected] == before + 1, "\(expected) of a list of \(length)")
            seen.insert(expected)
        }
        #expect(seen == [.admitted, .filtered(.whereErrors)])
    }

    @Test("routes that the key of an event excludes are counted so, and not as filtered by their values")
    func keys() {
        var plan = fourteen("a")
        for n in plan.routes.indices { plan.routes[n].name = "r\(n)" }
        var source = SourcePlan(name: "in", plugin: "http")
        source.http = HTTPSourcePlan()
        source.http?.keys = [AccessKey(name: "app", secrets: [], routes: ["r0", "r1"])]
        plan.namedSources = [source]
        let fixture = JudgeFixture(plan)
        #expect(fixture.ruleset.rules.index != nil)
        fixture.take(#"{"a":"v0"}"#, key: 1)
        fixture.take(#"{"a":"v13"}"#, key: 1)
        fixture.take(#"{"a":"v13"}"#)
        #expect(fixture.tally[0, .admitted] == 1)
        #expect(fixture.tally[1, .filtered(.match)] == 3)
        #expect(fixture.tally[13, .filtered(.key)] == 2)
        #expect(fixture.tally[13, .admitted] == 1)
    }

    @Test("events that speak to the ledger take no route by their names")
    func ledger() {
        var plan = Models.plan(route { _ in })
        plan.routes = (0..<14).map { n in route { $0.events = [Glob("e\(n)")] } }
        var consent = ConsentPlan()
        consent.levels = [.init(name: "none", purposes: [])]
        consent.subject = [path("userId")]
        consent.ledger = LedgerPlan()
        plan.consent = consent
        let fixture = JudgeFixture(plan)
        #expect(fixture.ruleset.rules.index != nil)
        fixture.take(#"{"type":"consent","event":"e1","userId":"u"}"#)
        fixture.take(#"{"type":"track","event":"e1","userId":"u"}"#)
        #expect(fixture.tally[1, .filtered(.match)] == 1)
        #expect(fixture.tally[1, .admitted] == 1)
        #expect(fixture.tally[2, .filtered(.match)] == 1)
        #expect(fixture.tally[2, .filtered(.events)] == 1)
    }
}
