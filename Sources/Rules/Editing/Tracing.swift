// What the steps of a transform found out about one event, for those who ask why: the same stages go over it once more, and each
// is asked before it changes anything. The hot path knows nothing of it.

public import Events
public import Expressions

public struct StepFinding: Sendable {
    /// An index into the route's transforms; nil: what consent cuts, or what the sample and the session write.
    public var step: Int?
    public var report: Report

    public struct Find: Sendable, Equatable {
        public var kind: String
        public var count: Int
    }

    public enum Report: Sendable {
        /// What `scrub` found, by kind; nothing of what it says.
        case found([Find])
        /// The expression had no value, so that the member was not set.
        case erred(Path, EvaluationFault)
        /// What the step was given, or the last one left, is no event.
        case broken(Fault)
    }
}

extension Transformer {
    /// In the order of the steps, up to the one that holds the event back.
    public mutating func trace(_ program: Int, event: ScannedEvent, around: EvaluationContext, turn: UInt64) -> [StepFinding] {
        var context = StageContext(around: around, turn: turn)
        var findings: [StepFinding] = []
        var (block, start) = (event.block, event.start)
        var step: Int?
        for number in programs[program].stages {
            let stage = stage(number)
            guard let given = stage.scan(block, start) else { return findings + [StepFinding(step: step, report: .broken(stage.fault))] }
            step = rules[number].step
            if let report = stage.finding(on: given, around) { findings.append(StepFinding(step: step, report: report)) }
            guard let next = self.step(stage, block: block, start: start, context: &context) else { return findings }
            (block, start) = next
        }
        if last.scan(block, start) == nil { findings.append(StepFinding(step: step, report: .broken(last.fault))) }
        return findings
    }
}
