// Tests that all routes of an event share its steps, and what happens when none are left.

import Editing
import Expressions
import Plans
import Redaction
import Testing

@testable import Judging
@testable import Models

@Suite struct EventStepsTests {
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
}
