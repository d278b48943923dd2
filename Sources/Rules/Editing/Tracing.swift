// Reports what the steps of a transform find in one event, for `explain`. It runs the same stages on the event, and asks each for its
// report before it changes anything. The hot path never calls it.

public import Events
public import Expressions

extension Transformer {
    /// Returns the findings in the order of the steps, up to the step that rejects the event.
    public mutating func trace(_ program: Int, event: ScannedEvent, around: EvaluationContext, turn: UInt64) -> [StepFinding] {
        var context = StageContext(around: around, turn: turn)
        var findings: [StepFinding] = []
        branches = []
        var line = Line(event)
        var step: Int?
        for number in programs[program].stages {
            let stage = stage(number)
            let needed = stage.steps(toRead: line.bytes)
            guard needed <= around.steps?.available ?? .max else {
                return findings + [StepFinding(step: rules[number].step, report: .unread)]
            }
            guard let given = stage.scan(line.block, line.start) else {
                return findings + [StepFinding(step: step, report: .broken(stage.fault))]
            }
            step = rules[number].step
            // The report must not use up steps that the stage itself needs.
            let stepsLeft = around.steps?.left
            _ = around.steps?.take(needed)
            let report = stage.finding(on: given, around)
            if let found = stage.branches(on: given, around), !found.taken.isEmpty {
                branches.append(StepBranches(step: step, path: found.path, taken: found.taken))
            }
            if let stepsLeft { around.steps?.left = stepsLeft }
            if let report { findings.append(StepFinding(step: step, report: report)) }
            guard let next = self.step(stage, line, context: &context) else { return findings }
            line = next
        }
        if last.scan(line.block, line.start) == nil { findings.append(StepFinding(step: step, report: .broken(last.fault))) }
        return findings
    }
}
