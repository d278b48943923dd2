import Editing
import Events
import Plans
import Seeded
import Testing

@testable import Admission
@testable import Judging
@testable import Models

private let second: Int64 = 1_000_000_000

/// Sessions that are asked for one event at a time.
private final class Flow {
    private var sessions: Sessions
    init(most: Int = 100) { sessions = Sessions(idle: .seconds(10), most: most) }
    func start(_ subject: Int, _ now: Int64) -> Int64 {
        sessions.start(of: SubjectKey(high: UInt64(subject), low: UInt64(subject % 7)), at: now)
    }
}

@Suite struct SessionsTests {
    @Test("a session continues while its subject is active, and another begins after the idle time")
    func idle() {
        let flow = Flow()
        let moments = [5, 14, 23, 32, 41, 51, 60].map { $0 * second }
        #expect(moments.map { flow.start(1, $0) } == [5, 5, 5, 5, 5, 51, 51].map { $0 * second })
        #expect(flow.start(2, 55 * second) == 55 * second)
    }

    @Test("a clock that is set back, and a block that was overtaken, end no session")
    func setBack() {
        let flow = Flow()
        #expect(flow.start(1, 1000 * second) == 1000 * second)
        #expect(flow.start(1, 999 * second) == 1000 * second)
        #expect(flow.start(1, 1009 * second) == 1000 * second, "the last event was at 1000")
        #expect(flow.start(1, 100 * second) == 1000 * second)
        #expect(flow.start(1, 110 * second) == 110 * second, "the new time counts")
    }

    /// The definition as a model: a list that forgets from its front.
    private struct Model {
        var visits: [(subject: Int, start: Int64, last: Int64)] = []
        let most: Int
        mutating func start(_ subject: Int, _ now: Int64) -> Int64 {
            var visit = (subject: subject, start: now, last: now)
            if let index = visits.firstIndex(where: { $0.subject == subject }) {
                let old = visits.remove(at: index)
                visit.start = now - old.last >= 10 * second ? now : old.start
            }
            visits.append(visit)
            if visits.count > most { visits.removeFirst() }
            return visit.start
        }
    }

    @Test("the subjects that came last are remembered, up to the limit", arguments: [1, 3, 50, 200])
    func bounded(most: Int) {
        var random = Seeded(state: UInt64(most))
        let flow = Flow(most: most)
        var model = Model(most: most)
        var now: Int64 = 0
        for index in 0..<20_000 {
            now += Int64.random(in: 0...300, using: &random) * second / 1000
            let subject = Int.random(in: 0..<(index % 1000 < 500 ? 30 : 300), using: &random)
            let expected = model.start(subject, now)
            guard flow.start(subject, now) == expected else {
                Issue.record("event \(index) of subject \(subject)")
                return
            }
        }
    }
}

@Suite struct SessionTests {
    private static func session(_ change: (inout SessionPlan) -> Void = { _ in }) -> SessionPlan {
        var session = SessionPlan(by: path("userId"))
        change(&session)
        return session
    }

    private static func routeWithSession(_ change: (inout RoutePlan) -> Void = { _ in }) -> RoutePlan {
        route {
            $0.session = session()
            change(&$0)
        }
    }

    private static var id: Regex<Substring> { #/[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/# }

    /// Returns the line with a star in place of its id, and the id.
    private func split(_ line: String?) throws -> (line: String, id: String) {
        let line = try #require(line)
        let id = try #require(line.firstMatch(of: Self.id))
        return (line.replacing(Self.id, with: "*"), String(id.output))
    }

    @Test("the id is set as a member of the copy, and the rest stays byte for byte")
    func places() throws {
        func line(_ event: String) throws -> String {
            let fixture = JudgeFixture(plan(Self.routeWithSession()))
            fixture.take(event, arrival: second)
            return try split(fixture.lines().first).line
        }
        #expect(try line(#"{ "userId" : "u" }"#) == #"{ "userId" : "u","context":{"sessionId":"*"} }"#)
        #expect(try line(#"{"context":{"a":[ ]},"userId":"u"}"#) == #"{"context":{"a":[ ],"sessionId":"*"},"userId":"u"}"#)
        let theirs = #"{"context":{"session\u0049d":"theirs","a":1},"userId":7}"#
        #expect(try line(theirs) == theirs.replacing("theirs", with: "*"))
    }

    @Test(
        "an event that names no subject stays as it is",
        arguments: [#"{"a":1}"#, #"{"userId":null,"context":{"sessionId":"theirs"}}"#, #"{"userId":""}"#, #"{"userId":{}}"#])
    func noSubject(line: String) {
        let fixture = JudgeFixture(plan(Self.routeWithSession()))
        fixture.take(line)
        #expect(fixture.lines() == [line])
    }

    @Test("a subject keeps its id until it is idle, and no two subjects have the same; the same key and start give the same id again")
    func ids() throws {
        func ids() throws -> [String] {
            let fixture = JudgeFixture(plan(Self.routeWithSession()))
            for (user, minutes) in [("u", 0), ("v", 0), ("u", 29), ("u", 58), ("u", 89), ("v", 30)] {
                fixture.take(#"{"userId":"\#(user)"}"#, arrival: Int64(minutes) * 60 * second)
            }
            return try fixture.lines().map { try split($0).id }
        }
        let found = try ids()
        #expect(found[0] == found[2] && found[0] == found[3] && found[0] != found[4])
        #expect(found[1] != found[0] && found[1] != found[5])
        #expect(Set(found).count == 4)
        #expect(try ids() == found)
    }

    @Test("an id is the same on every route and provider, even if the subject is dropped or hashed, or a rate is written too")
    func everywhere() throws {
        var plan = plan(
            providers: 2, Self.routeWithSession { $0.providers = [0, 1] },
            Self.routeWithSession {
                $0.transforms = [HashStep([path("userId")], key: 0), DropStep([path("context")])]
                $0.session?.place = path("session")
                $0.sample = SamplePlan(rate: 0.9999)
                $0.sample?.annotation = path("rate")
            })
        plan.messageID.add = true
        let fixture = JudgeFixture(plan)
        fixture.take(#"{"userId":"u","context":{"x":1}}"#)
        let lines = try (fixture.lines(0) + fixture.lines(1)).map { try split($0) }
        #expect(Set(lines.map(\.id)).count == 1)
        try #require(lines.count > 1 && fixture.lines().count > 1)
        #expect(lines[1].line.contains(#""rate":0.9999,"session":"*","messageId":""#))
        #expect(fixture.lines(0)[0] == fixture.lines(1)[0])
        let entry = fixture.parcels[0].entries[0]
        let id = Array(fixture.lines()[0].utf8)[Int(entry.messageIDOffset)...].prefix(Int(entry.messageIDCount))
        #expect(fixture.lines()[0].contains(#""messageId":"\#(String(decoding: id, as: UTF8.self))""#))
    }

    @Test("the id is written after all steps, into the event that they leave")
    func behindSteps() throws {
        let fixture = JudgeFixture(
            plan(
                Self.routeWithSession {
                    $0.transforms = [KeepStep([path("event")])]
                    $0.sample = SamplePlan(rate: 0.9999)
                    $0.sample?.annotation = path("rate")
                }))
        fixture.take(#"{"event":"a","userId":"u","context":{"x":1}}"#)
        fixture.take(#"{"event":"a","context":{"x":1}}"#)
        let first = try #require(fixture.lines().first)
        #expect(try split(first).line == #"{"event":"a","rate":0.9999,"context":{"sessionId":"*"}}"#)
        #expect(fixture.lines().last == #"{"event":"a","rate":0.9999}"#)
    }

    @Test("an event that a route does not admit continues no session, and a request for verdicts begins none")
    func onlyAdmitted() throws {
        let fixture = JudgeFixture(plan(Self.routeWithSession { $0.events = [Glob("a")] }))
        fixture.take(#"{"event":"a","userId":"u"}"#)
        fixture.take(#"{"event":"b","userId":"u"}"#, arrival: 20 * 60 * second)
        _ = fixture.verdicts(#"{"event":"a","userId":"u"}"#, arrival: 25 * 60 * second)
        fixture.take(#"{"event":"a","userId":"u"}"#, arrival: 35 * 60 * second)
        let ids = try fixture.lines().map { try split($0).id }
        #expect(ids[0] != ids[1])
    }

    @Test("the next plan continues the sessions of the plan before, wherever it writes them")
    func handedOn() throws {
        let memories = RouteMemories()
        let fixture = JudgeFixture(plan(Self.routeWithSession()), memories: memories)
        fixture.take(#"{"userId":"u"}"#, arrival: second)
        let moved = Self.routeWithSession { $0.session?.place = path("s") }
        let next = JudgeFixture(plan(route(), moved), memories: memories)
        next.take(#"{"userId":"u"}"#, arrival: 60 * second)
        let other = JudgeFixture(plan(Self.routeWithSession { $0.session?.idle = .seconds(60) }), memories: memories)
        other.take(#"{"userId":"u"}"#, arrival: 61 * second)
        try #require(!fixture.lines().isEmpty && next.lines().count > 1 && !other.lines().isEmpty)
        let ids = try [fixture.lines()[0], next.lines()[1], other.lines()[0]].map { try split($0).id }
        #expect(ids[0] == ids[1] && ids[1] != ids[2])
    }

    @Test("members that consent cuts are cut before the id is written")
    func cut() throws {
        var plan = plan(Self.routeWithSession { $0.consent = ConsentDemand(level: 0) })
        plan.consent = ConsentPlan()
        plan.consent?.levels = [.init(name: "none", purposes: nil), .init(name: "all", purposes: nil)]
        plan.consent?.unknown = .assume(0)
        plan.consent?.fields = [(path("context"), 1)]
        let fixture = JudgeFixture(plan)
        fixture.take(#"{"userId":"u","context":{"ip":"x"}}"#)
        #expect(try split(fixture.lines().first).line == #"{"userId":"u","context":{"sessionId":"*"}}"#)
    }
}
