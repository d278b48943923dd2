// Tests that all routes of an event share its steps, and what happens when none are left.

import Editing
import Expressions
import Plans
import Redaction
import TestSupport
import Testing

@testable import Judging
@testable import Models

// The bounds need texts of up to a megabyte, on which unoptimised code with the checks of a sanitizer takes minutes.
@Suite(.enabled(if: !isSanitized)) struct EventStepsTests {
    /// A line whose member `a` has so many bytes.
    private func line(_ bytes: Int) -> String { #"{"a":"\#(String(repeating: "x", count: bytes))"}"# }

    @Test func `routes that come after the last step of an event do not take it, and the next event has all steps again`() throws {
        let condition = try Expression.condition("!this.a.matches('[a-z]+[0-9]+[a-z]')")
        var many = plan()
        many.routes = (0..<12).map { _ in route { $0.condition = condition } }
        let fixture = JudgeFixture(many)
        let large = line(800_000)
        for _ in 0..<2 {
            let verdicts = fixture.verdicts(large)
            #expect(verdicts.first == .admitted && verdicts.last == .filtered(.whereErrors))
            #expect(fixture.findings(large).map(\.verdict) == verdicts)
            #expect(fixture.findings(large).last?.condition?.fault?.message.contains("of the event") == true)
        }
        fixture.take(large)
        #expect(fixture.lines().count == fixture.verdicts(large).count { $0 == .admitted })
        #expect(fixture.verdicts(line(1000)).allSatisfy { $0 == .admitted })
    }

    @Test func `a mask that cannot search a text replaces it, counts an error, and explain says so`() throws {
        let mask = try Mask(pattern: "[a-z]{5,300}!", with: "[masked]")
        let fixture = JudgeFixture(plan(route { $0.transforms = [MaskStep(mask)] }))
        fixture.take(line(1_000_000))
        #expect(fixture.lines() == [#"{"a":"[masked]"}"#])
        #expect(fixture.tally.transformErrors(route: 0) == 1)
        let finding = try #require(fixture.findings(line(1_000_000)).first)
        guard case .unsearched(1)? = finding.steps.first?.report else {
            Issue.record("explain does not say that a text was replaced whole")
            return
        }
        #expect(fixture.findings(#"{"a":"hello!"}"#).allSatisfy { $0.steps.isEmpty })
        fixture.take(#"{"a":"hello!"}"#)
        #expect(fixture.lines().last == #"{"a":"[masked]"}"# && fixture.tally.transformErrors(route: 0) == 1)
    }

    @Test func `explain takes no steps that the masks of the event need`() throws {
        let pattern = "[a-z]{5,50}!"
        let mask = try Mask(pattern: pattern, with: "-")
        let compiled = try CompiledPattern(Array(pattern.utf8))
        let bytes = 200_000 * CompiledPattern.operationsOfStep / compiled.instructions
        let both = JudgeFixture(plan(route { $0.transforms = [MaskStep(mask)] }, route { $0.transforms = [MaskStep(mask)] }))
        #expect(both.findings(line(bytes)).allSatisfy { $0.steps.isEmpty })
        var many = plan()
        many.routes = (0..<3).map { _ in route { $0.transforms = [MaskStep(mask)] } }
        let three = JudgeFixture(many)
        #expect(three.findings(line(bytes)).map(\.steps.count) == [0, 0, 1])
        three.take(line(bytes))
        #expect((0..<3).map { three.tally.transformErrors(route: $0) } == [0, 0, 1])
    }

    /// A plan with so many routes, each of which takes an event if the expression is true.
    private func many(_ count: Int, where text: (Int) -> String) throws -> Plan {
        var plan = Models.plan()
        plan.routes = try (0..<count).map { index in
            let condition = try Expression.condition(text(index))
            return route { $0.condition = condition }
        }
        return plan
    }

    private let email = #"!this.a.matches('[a-z0-9._%+-]+@[a-z0-9.-]+[.][a-z]{2,}')"#

    @Test func `500 routes with a usual pattern all judge a text of 12 KB`() throws {
        let verdicts = JudgeFixture(try many(500) { _ in email }).verdicts(line(12_000))
        #expect(verdicts.count == 500 && verdicts.allSatisfy { $0 == .admitted })
    }

    @Test func `a usual route after hostile ones that took all shared steps still has its own, and explain agrees`() throws {
        let hostile = "!this.a.matches('[a-z]+[0-9]+[a-z]')"
        let fixture = JudgeFixture(try many(14) { $0 < 13 ? hostile : "size(this.b) + 1 == 2" })
        let event = #"{"a":"\#(String(repeating: "x", count: 800_000))","b":"y"}"#
        let verdicts = fixture.verdicts(event)
        #expect(verdicts[12] == .filtered(.whereErrors) && verdicts[13] == .admitted)
        let findings = fixture.findings(event)
        #expect(findings.map(\.verdict) == verdicts)
        #expect(findings[12].condition?.fault?.message.contains("of the event") == true)
        #expect(findings[13].condition?.holds == true)
    }

    @Test func `the rules that give an answer never take more steps together than the event has`() throws {
        let texts = [email, "!this.a.matches('a[ab]{200}c')", "size(this.a.split('')) > 0", "!this.a.contains('q')"]
        let event = line(20_000)
        let costs = try texts.map { text in
            let fixture = JudgeFixture(try many(1) { _ in text })
            fixture.take(event)
            let left = fixture.judge.context.steps.left
            return EventSteps.shared + EventSteps.ofRule - left.shared - left.own
        }
        #expect(costs.allSatisfy { $0 > 0 })
        let count = 200
        let verdicts = JudgeFixture(try many(count) { texts[$0 % texts.count] }).verdicts(event)
        let taken = verdicts.enumerated().reduce(0) { $0 + ($1.element == .admitted ? costs[$1.offset % costs.count] : 0) }
        #expect(verdicts.contains(.filtered(.whereErrors)), "the plan is not hostile")
        #expect(taken > EventSteps.shared / 2 && taken <= EventSteps.shared + count * EventSteps.ofRule)
    }
}
