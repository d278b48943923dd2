import Admission
import Expressions
import Plans
import Testing

@testable import Judging
@testable import Models

@Suite struct GlobTests {
    @Test(
        "a glob matches as its stars allow",
        arguments: [
            ("error_*", "error_", true), ("error_*", "error_network", true), ("error_*", "Error_network", false),
            ("error_*", "an error_", false), ("*_failed", "login_failed", true), ("*_failed", "login_failed2", false),
            ("*_failed", "_failed", true), ("*_failed", "failed", false), ("*", "", true), ("*", "anything at all", true),
            ("**", "x", true), ("exact", "exact", true), ("exact", "exactly", false), ("exact", "exac", false),
            ("", "", true), ("", "x", false), ("a*b", "ab", true), ("a*b", "axxb", true), ("a*b", "a", false),
            ("a*a", "a", false), ("a*a", "aa", true), ("a*b*c", "a-b-c", true), ("a*b*c", "abc", true),
            ("a*b*c", "acb", false), ("*b*", "abc", true), ("*b*", "ac", false), ("*ab*ab*", "ab", false),
            ("*ab*ab*", "xabyabz", true), ("*ab*ab", "abab", true), ("*ab*ab", "aab", false), ("a**c", "abc", true),
            ("*é*", "café au lait", true), ("item_*_viewed", "item_list_viewed", true), ("item_*_viewed", "item_viewed", false),
        ])
    func globs(pattern: String, name: String, matches: Bool) {
        let expected: Verdict = matches ? .admitted : .filtered(.events)
        #expect(verdict(#"{"event":"\#(name)"}"#) { $0.events = [Glob(pattern)] } == expected)
    }

    @Test("any glob of the list is enough")
    func severalGlobs() {
        func set(_ route: inout RoutePlan) { route.events = [Glob("a*"), Glob("*z"), Glob("mid")] }
        #expect(verdict(#"{"event":"abc"}"#, set) == .admitted)
        #expect(verdict(#"{"event":"xyz"}"#, set) == .admitted)
        #expect(verdict(#"{"event":"mid"}"#, set) == .admitted)
        #expect(verdict(#"{"event":"other"}"#, set) == .filtered(.events))
    }

    @Test("a name with escapes is matched by its decoded text")
    func escapedName() {
        #expect(verdict(#"{"event":"error\u005fdisk"}"#) { $0.events = [Glob("error_*")] } == .admitted)
        #expect(verdict(#"{"ev\u0065nt":"a\"b"}"#) { $0.events = [Glob("a\"b")] } == .admitted)
        #expect(verdict(#"{"event":"a\\nb"}"#) { $0.events = [Glob("a\nb")] } == .filtered(.events))
    }

    @Test(
        "a name that is missing or not text matches only an empty list of globs",
        arguments: ["{}", #"{"event":null}"#, #"{"event":7}"#, #"{"event":{"x":1}}"#, #"{"event":["a"]}"#, #"{"event":"\ud800"}"#])
    func noName(line: String) {
        #expect(verdict(line) { $0.events = [Glob("*")] } == .filtered(.events))
        #expect(verdict(line) { _ in } == .admitted)
    }
}

@Suite("The expression of not") struct NotWhereTests {
    private func decide(_ line: String, _ condition: String, _ more: (inout RoutePlan) -> Void = { _ in }) -> Verdict? {
        verdict(line) {
            $0.not.condition = try! Expression.condition(condition)
            more(&$0)
        }
    }

    @Test("excludes an event for which it is true, and no other")
    func excludes() {
        #expect(decide(#"{"n":3}"#, "n > 2") == .filtered(.not))
        #expect(decide(#"{"n":2}"#, "n > 2") == .admitted)
    }

    @Test("keeps an event out if it fails on the event, and counts that as an error of an expression")
    func fails() {
        #expect(decide("{}", "n > 2") == .filtered(.whereErrors))
        #expect(decide("{}", "has(this.n) && n > 2") == .admitted)
    }

    @Test("is asked after globs and members, and before where")
    func order() {
        let line = #"{"event":"a","n":3}"#
        #expect(decide(line, "missing > 2") { $0.not.events = [Glob("a")] } == .filtered(.not))
        #expect(decide(line, "n > 2") { $0.condition = try! Expression.condition("n > 5") } == .filtered(.not))
        #expect(decide(line, "n > 5") { $0.condition = try! Expression.condition("n > 5") } == .filtered(.where))
    }
}

@Suite struct MatchTests {
    private func matches(_ value: String, _ anyOf: Scalar...) -> Bool {
        verdict(#"{"m":\#(value)}"#) { $0.match = [MatchPlan(path: path("m"), anyOf: anyOf)] } == .admitted
    }

    @Test("strings are compared by their decoded text")
    func strings() {
        #expect(matches(#""track""#, .string("track")))
        #expect(matches(#""tr\u0061ck""#, .string("track")))
        #expect(!matches(#""Track""#, .string("track")))
        #expect(!matches(#""track ""#, .string("track")))
        #expect(matches(#""""#, .string("")))
        #expect(matches(#""a\\b""#, .string(#"a\b"#)))
        #expect(!matches(#""a\nb""#, .string(#"a\nb"#)))
        #expect(matches(#""\ud83d\ude97""#, .string("🚗")))
        #expect(!matches(#""\ud83d""#, .string("\u{fffd}")))
        #expect(!matches("7", .string("7")))
        #expect(!matches(#""e\u0301""#, .string("\u{e9}")))
    }

    @Test("numbers are compared by their exact value")
    func numbers() {
        #expect(matches("10", .number("10")))
        #expect(matches("1e1", .number("10.0")))
        #expect(matches("-0", .number("0")))
        #expect(matches("9007199254740993", .number("9007199254740993")))
        #expect(!matches("9007199254740993", .number("9007199254740992")))
        #expect(!matches(#""10""#, .number("10")))
        #expect(!matches("null", .number("0")))
    }

    @Test("true, false and null are compared as such")
    func constants() {
        #expect(matches("true", .bool(true)))
        #expect(!matches("false", .bool(true)))
        #expect(matches("false", .bool(false)))
        #expect(matches("null", .null))
        #expect(!matches("false", .null))
        #expect(!matches(#""null""#, .null))
        #expect(!matches("{}", .null))
    }

    @Test("a list matches if any of its values does")
    func anyOf() {
        #expect(matches(#""b""#, .string("a"), .string("b"), .null))
        #expect(matches("null", .string("a"), .null))
        #expect(!matches("1", .string("a"), .null))
    }

    @Test("a missing member equals nothing, not even null")
    func absent() {
        #expect(verdict("{}") { $0.match = [MatchPlan(path: path("m"), anyOf: [.null])] } == .filtered(.match))
        #expect(verdict(#"{"a":[{"b":1}]}"#) { $0.match = [MatchPlan(path: path("a.b"), anyOf: [.number("1")])] } == .filtered(.match))
    }

    @Test("all named members must match, nested ones too")
    func all() {
        func set(_ route: inout RoutePlan) {
            route.match = [
                MatchPlan(path: path("type"), anyOf: [.string("track")]),
                MatchPlan(path: path("properties.source"), anyOf: [.string("app"), .string("web")]),
            ]
        }
        #expect(verdict(#"{"properties":{"source":"web"},"type":"track"}"#, set) == .admitted)
        #expect(verdict(#"{"properties":{"source":"tv"},"type":"track"}"#, set) == .filtered(.match))
        #expect(verdict(#"{"source":"web","type":"track"}"#, set) == .filtered(.match))
    }

    @Test("a duplicate member makes the event invalid only if some rule names it")
    func duplicates() {
        let fixture = JudgeFixture(plan(route { $0.match = [MatchPlan(path: path("m"), anyOf: [.null])] }))
        #expect(!fixture.take(#"{"m":null,"m":null}"#))
        #expect(fixture.take(#"{"m":null,"event":1,"event":2,"messageId":1,"messageId":2,"context":1,"context":2}"#))
        #expect(fixture.lines().count == 1)
    }
}

@Suite struct ExclusionTests {
    private static let not = ExclusionPlan(
        events: [Glob("debug_*"), Glob("ping")],
        match: [
            MatchPlan(path: path("type"), anyOf: [.string("page"), .string("screen")]),
            MatchPlan(path: path("properties.test"), anyOf: [.bool(true)]),
        ])

    @Test(
        "one glob or one member under not is enough to exclude an event",
        arguments: [
            (#"{"event":"debug_x","type":"track"}"#, false), (#"{"event":"ping"}"#, false), (#"{"event":"pings"}"#, true),
            (#"{"event":"a","type":"page"}"#, false), (#"{"event":"a","type":"scr\u0065en"}"#, false), (#"{"type":"track"}"#, true),
            (#"{"event":"a","type":"track","properties":{"test":true}}"#, false),
            (#"{"event":"a","type":"track","properties":{"test":false}}"#, true),
        ])
    func each(line: String, isIn: Bool) {
        #expect(verdict(line) { $0.not = Self.not } == (isIn ? .admitted : .filtered(.not)))
    }

    @Test(
        "a missing member never excludes an event",
        arguments: ["{}", #"{"event":7}"#, #"{"event":"\ud800","type":null}"#, #"{"properties":{}}"#, #"{"properties":"test"}"#])
    func absent(line: String) {
        #expect(verdict(line) { $0.not = Self.not } == .admitted)
    }

    @Test("not is checked after events and match, and before where")
    func order() {
        let fixture = JudgeFixture(
            plan(
                route {
                    $0.events = [Glob("a*")]
                    $0.match = [MatchPlan(path: path("n"), anyOf: [.number("1")])]
                    $0.not = ExclusionPlan(events: [Glob("*z")])
                    $0.condition = try! Expression.condition("has(this.userId)")
                }))
        #expect(fixture.verdicts(#"{"event":"bz","n":2}"#) == [.filtered(.events)])
        #expect(fixture.verdicts(#"{"event":"az","n":2}"#) == [.filtered(.match)])
        #expect(fixture.verdicts(#"{"event":"az","n":1}"#) == [.filtered(.not)])
        #expect(fixture.verdicts(#"{"event":"ay","n":1}"#) == [.filtered(.where)])
        #expect(fixture.verdicts(#"{"event":"ay","n":1,"userId":"u"}"#) == [.admitted])
    }
}

@Suite struct ElseTests {
    private func rest(_ change: (inout RoutePlan) -> Void = { _ in }) -> RoutePlan {
        route {
            $0.takesRest = true
            change(&$0)
        }
    }

    @Test("a route with else takes what no earlier route took, whatever later routes do")
    func rest() {
        let fixture = JudgeFixture(plan(route { $0.events = [Glob("a*")] }, rest(), route { $0.events = [Glob("b*")] }))
        #expect(fixture.verdicts(#"{"event":"a"}"#) == [.admitted, .filtered(.else), .filtered(.events)])
        #expect(fixture.verdicts(#"{"event":"b"}"#) == [.filtered(.events), .admitted, .admitted])
        #expect(fixture.verdicts("{}") == [.filtered(.events), .admitted, .filtered(.events)])
        #expect(fixture.verdicts(#"{"event":"a"}"#)[1] == .filtered(.else), "the routes that took an event do not count for the next one")
    }

    @Test("an event that is sampled out or denied was taken all the same")
    func takenIsTaken() {
        var plan = plan(
            route {
                $0.events = [Glob("a*")]
                $0.sample = SamplePlan(rate: 0)
            },
            route {
                $0.events = [Glob("b*")]
                $0.consent = ConsentDemand(level: 1)
            }, rest { $0.consent = ConsentDemand(level: 0) })
        plan.consent = ConsentPlan()
        plan.consent?.levels = [.init(name: "none", purposes: nil), .init(name: "all", purposes: nil)]
        plan.routes[0].consent = ConsentDemand(level: 0)
        let fixture = JudgeFixture(plan)
        #expect(fixture.verdicts(#"{"event":"a"}"#) == [.sampledOut, .filtered(.events), .filtered(.else)])
        #expect(fixture.verdicts(#"{"event":"b"}"#) == [.filtered(.events), .denied(.unknown), .filtered(.else)])
        #expect(fixture.verdicts(#"{"event":"c"}"#) == [.filtered(.events), .filtered(.events), .admitted])
    }

    @Test("an event with a key takes only the routes of its key, and a route with else takes it if none of them did")
    func bounded() {
        var plan = plan(route { $0.name = "a" }, route { $0.name = "b" }, rest { $0.name = "c" })
        var source = SourcePlan(name: "web", plugin: "http")
        source.http = HTTPSourcePlan()
        source.http?.keys = [
            AccessKey(name: "all", secrets: []), AccessKey(name: "some", secrets: [], routes: ["b"]),
            AccessKey(name: "rest", secrets: [], routes: ["c"]),
        ]
        plan.namedSources = [source]
        let fixture = JudgeFixture(plan)
        func judge(_ key: Int) -> [Int] {
            fixture.tally.removeAll()
            fixture.take(#"{"event":"e"}"#, key: key)
            #expect(
                (0..<3).allSatisfy {
                    fixture.tally[$0, .admitted] + fixture.tally[$0, .filtered(.key)] + fixture.tally[$0, .filtered(.else)] == 1
                })
            return (0..<3).filter { fixture.tally[$0, .admitted] == 1 }
        }
        #expect(judge(0) == [0, 1])
        #expect(judge(1) == [0, 1])
        #expect(judge(2) == [1])
        #expect(judge(3) == [2])
        #expect(judge(0) == [0, 1])
    }

    @Test(
        "a route whose expression fails takes nothing; a route with else has its own filter, and takes events before later routes with else"
    )
    func chain() {
        let fixture = JudgeFixture(
            plan(
                route { $0.condition = try! Expression.condition("n > 5") }, rest { $0.not = ExclusionPlan(events: [Glob("x")]) }, rest()))
        #expect(fixture.verdicts(#"{"event":"a","n":6}"#) == [.admitted, .filtered(.else), .filtered(.else)])
        #expect(fixture.verdicts(#"{"event":"a"}"#) == [.filtered(.whereErrors), .admitted, .filtered(.else)])
        #expect(fixture.verdicts(#"{"event":"x"}"#) == [.filtered(.whereErrors), .filtered(.not), .admitted])
    }
}
