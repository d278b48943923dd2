import Expressions
import Plans
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Judging
@testable import Models

/// The bits of these verdicts in a watch.
private func bits(_ verdicts: Verdict...) -> UInt32 { verdicts.reduce(0) { $0 | 1 << UInt32(Tally.column(of: $1)) } }

extension JudgeFixture {
    fileprivate func watch(_ verdicts: UInt32, routes: [Bool]? = nil, events: Int = 100, bytes: Int = 10_000) {
        let all = [Bool](repeating: true, count: ruleset.routeCount)
        judge.watch([Watch(verdicts: verdicts, routes: routes ?? all, mostEvents: events, mostBytes: bytes)])
    }

    fileprivate var watched: [String] { judge.watchedEvents.map { String(decoding: $0.line, as: UTF8.self) } }

    fileprivate func columns(_ index: Int) -> [Verdict] { judge.watchedEvents[index].columns.map { Tally.columns[Int($0)] } }
}

@Suite("Watching events") struct WatchTests {
    private let routes = plan(route { $0.events = [Glob("a")] }, route { $0.takesRest = true })

    @Test("a judge that nobody watches collects nothing")
    func nobody() {
        let fixture = JudgeFixture(routes)
        fixture.take(#"{"event":"a"}"#)
        #expect(!fixture.judge.isWatched && fixture.judge.watchedEvents.isEmpty)
    }

    @Test("an event is collected as it came, with the verdict of each route, and its copies are the same")
    func verdicts() {
        let fixture = JudgeFixture(routes)
        fixture.watch(.max)
        fixture.take(#"{"event":"a", "n": 1}"#, arrival: 7)
        fixture.take(#"{"event":"b"}"#)
        #expect(fixture.watched == [#"{"event":"a", "n": 1}"#, #"{"event":"b"}"#])
        #expect(fixture.columns(0) == [.admitted, .filtered(.else)])
        #expect(fixture.columns(1) == [.filtered(.events), .admitted])
        #expect(fixture.judge.watchedEvents[0].arrival == 7)
        #expect(fixture.lines() == [#"{"event":"a", "n": 1}"#, #"{"event":"b"}"#])
    }

    @Test("only events are collected to which a watched route gives a watched verdict")
    func chosen() {
        let fixture = JudgeFixture(routes)
        fixture.watch(bits(.filtered(.events)), routes: [true, false])
        for name in ["a", "b", "a"] { fixture.take(#"{"event":"\#(name)"}"#) }
        #expect(fixture.watched == [#"{"event":"b"}"#])
        fixture.watch(bits(.filtered(.events)), routes: [false, true])
        fixture.take(#"{"event":"b"}"#)
        #expect(fixture.watched == [])
    }

    @Test("each watch has its own limits, and what is over them is counted")
    func limits() {
        let fixture = JudgeFixture(routes)
        let all = [true, true]
        fixture.judge.watch([
            Watch(verdicts: .max, routes: all, mostEvents: 2, mostBytes: 1000),
            Watch(verdicts: bits(.filtered(.events)), routes: all, mostEvents: 9, mostBytes: 13),
        ])
        for name in ["a", "b", "b", "b"] { fixture.take(#"{"event":"\#(name)"}"#) }
        #expect(fixture.judge.watchedEvents.map(\.watches) == [[0], [0, 1]])
        #expect(fixture.judge.unwatchedEvents == [2, 2])
    }

    @Test("events of a block that is judged again are collected once")
    func again() {
        let fixture = JudgeFixture(routes)
        fixture.watch(.max, events: 1)
        fixture.take(#"{"event":"a"}"#)
        fixture.take(#"{"event":"b"}"#)
        fixture.judge.forgetVerdicts()
        #expect(fixture.judge.unwatchedEvents == [0])
        fixture.take(#"{"event":"b"}"#)
        #expect(fixture.watched == [#"{"event":"b"}"#])
    }

    @Test("a plan of many routes gives the verdicts that it gives unwatched, and an event has one for each route")
    func many() {
        let plan = plan(
            route { $0.events = [Glob("name0")] }, route { $0.events = [Glob("name1")] }, route { $0.events = [Glob("name2")] },
            route { $0.events = [Glob("name3")] }, route { $0.events = [Glob("name4")] }, route { $0.events = [Glob("name5")] },
            route { $0.events = [Glob("name6")] }, route { $0.events = [Glob("name7")] }, route { $0.events = [Glob("name8")] },
            route { $0.events = [Glob("name9")] }, route { $0.events = [Glob("name10")] }, route { $0.events = [Glob("name11")] },
            route { $0.events = [Glob("name*")] })
        let (seen, unseen) = (JudgeFixture(plan), JudgeFixture(plan))
        seen.watch(.max)
        for fixture in [seen, unseen] { for number in [3, 11, 40] { fixture.take(#"{"event":"name\#(number)"}"#) } }
        #expect(seen.tally.counts == unseen.tally.counts)
        #expect((0..<3).map { seen.columns($0).filter { $0 == .admitted }.count } == [2, 2, 1])
        #expect(seen.columns(0).count == 13 && seen.columns(0)[3] == .admitted)
    }

    @Test("an event that cannot be held is shown as denied")
    func unheld() {
        var held = plan(route { $0.consent = ConsentDemand(level: 1) })
        var consent = ConsentPlan()
        consent.levels = [.init(name: "none", purposes: []), .init(name: "some", purposes: ["a"])]
        consent.subject = [path("userId")]
        consent.unknown = .hold
        held.consent = consent
        let fixture = JudgeFixture(held, records: ConsentRecords())
        fixture.watch(bits(.held))
        fixture.take(#"{"userId":"ann"}"#)
        fixture.take(#"{"userId":"bob"}"#)
        #expect(fixture.columns(0) == [.held] && fixture.judge.watchedEvents[0].subjects.count == 1)
        fixture.judge.deny(held: 1, .full)
        #expect(fixture.columns(0) == [.held] && fixture.columns(1) == [.denied(.full)])
    }
}
