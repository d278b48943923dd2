// Tests that every part of the rules of an event takes steps: the filter, the transform and the rules of `emit`. It counts steps, never time.

import Editing
import Expressions
import Plans
import Redaction
import Testing

@testable import Judging
@testable import Models

@Suite struct HostileEventTests {
    /// A condition that takes all steps of an evaluation on a long text, and fails. Six routes with it leave an event no shared steps.
    private static let greedy = try! Expression.condition("this.a.matches('[ab]{500}c')")

    private func plan(after last: RoutePlan) -> Plan {
        var plan = Models.plan()
        plan.routes = (0..<6).map { _ in route { $0.condition = Self.greedy } } + [last]
        return plan
    }

    private func long(_ bytes: Int, _ rest: String = "") -> String { #"{"a":"\#(String(repeating: "a", count: bytes))"\#(rest)}"# }

    /// Judges the line and expects that all routes but the last have taken all shared steps.
    private func lastVerdict(_ fixture: JudgeFixture, _ line: String) -> Verdict? {
        let verdicts = fixture.verdicts(line)
        #expect(verdicts.dropLast().allSatisfy { $0 == .filtered(.whereErrors) })
        #expect(fixture.findings(line).map(\.verdict) == verdicts)
        return verdicts.last
    }

    @Test func `a name that is too long to be searched is not taken, and a shorter one or a glob at its end is compared`() {
        let searching = JudgeFixture(plan(after: route { $0.events = [Glob("a*b*c")] }))
        let name = String(repeating: "x", count: 1_100_000)
        #expect(lastVerdict(searching, long(100_000, #","event":"a\#(name)bc""#)) == .filtered(.whereErrors))
        #expect(searching.findings(long(100_000, #","event":"a\#(name)bc""#)).last?.isUncompared == true)
        #expect(lastVerdict(searching, long(100_000, #","event":"axbxc""#)) == .admitted)
        #expect(lastVerdict(searching, long(100_000, #","event":"axb""#)) == .filtered(.events))
        let plain = JudgeFixture(plan(after: route { $0.events = [Glob("a*"), Glob("*b")] }))
        #expect(lastVerdict(plain, long(100_000, #","event":"a\#(name)""#)) == .admitted)
        let excluded = JudgeFixture(plan(after: route { $0.not = ExclusionPlan(events: [Glob("*b*")]) }))
        #expect(lastVerdict(excluded, long(100_000, #","event":"\#(name)""#)) == .filtered(.whereErrors))
    }

    @Test func `a number is compared with many numbers within the steps of the event`() {
        let numbers = (0..<20).map { Scalar.number("\($0)") }
        let fixture = JudgeFixture(plan(after: route { $0.match = [MatchPlan(path: path("n"), anyOf: numbers)] }))
        let digits = String(repeating: "0", count: 60_000)
        #expect(lastVerdict(fixture, long(100_000, #","n":7.\#(digits)"#)) == .filtered(.whereErrors))
        #expect(lastVerdict(fixture, long(100_000, #","n":7.0"#)) == .admitted)
    }

    @Test func `a list of texts decodes no text that is too long to be equal`() {
        let fixture = JudgeFixture(Models.plan(route { $0.match = [MatchPlan(path: path("n"), anyOf: [.string("ab")])] }))
        #expect(fixture.verdicts(##"{"n":"\u0061\u0062"}"##) == [.admitted])
        #expect(fixture.verdicts(##"{"n":"\u0061\u0062\u0063"}"##) == [.filtered(.match)])
    }

    @Test func `a step of a transform for which too few steps are left withholds the event, counts an error, and explain says so`() throws {
        for step in [ScrubStep(), try MaskStep(Mask(pattern: "zz", with: "-")), LowerStep([path("b")])] as [any Step] {
            let fixture = JudgeFixture(plan(after: route { $0.transforms = [step, ScrubStep()] }))
            let line = long(300_000, #","b":"X""#)
            #expect(lastVerdict(fixture, line) == .withheld)
            guard case .unread? = try #require(fixture.findings(line).last).steps.last?.report else {
                Issue.record("explain does not say that a step was not run")
                return
            }
            fixture.take(line)
            #expect(fixture.lines().isEmpty && fixture.tally.transformErrors(route: 6) > 0)
            #expect(fixture.verdicts(#"{"a":"short"}"#).last == .admitted)
        }
    }

    @Test func `the rules of emit have steps that no route can take`() throws {
        var hostile = plan(after: route())
        let condition = try Expression.condition("!this.a.matches('[a-z]{30}[0-9]')")
        hostile.emits = [EmitPlan(condition: condition, members: [(key: "type", value: [.json("\"made\"")])])]
        let fixture = JudgeFixture(hostile)
        fixture.take(long(100_000))
        #expect(fixture.tally.emitted == 1 && fixture.tally.emitErrors == 0)
        #expect(fixture.emissions(long(100_000)).count == 1)
    }

    @Test func `emit names the rule that has no steps left, and only that`() throws {
        var hostile = Models.plan(route())
        hostile.emits = (0..<8).map { index in
            EmitPlan(condition: index < 6 ? Self.greedy : try! Expression.condition("size(this.a) > 0"), members: [])
        }
        let fixture = JudgeFixture(hostile)
        let line = long(100_000)
        fixture.take(line)
        #expect(fixture.tally.emitErrors == 8)
        #expect(fixture.emitFaults(line).map(\.rule) == Array(0..<8))
        #expect(fixture.emitFaults(line).last?.fault.message.contains("of the event") == true)
        #expect(fixture.emitFaults(long(1000)).isEmpty)
    }
}
