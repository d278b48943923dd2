// The report of one step of a transform on one event. `explain` shows it.

public import Events
public import Expressions

public struct StepFinding: Sendable {
    /// The index in the route's transforms. It is nil for the stage that drops what consent withholds, and for the stage that writes the
    /// annotation of the sample and the session.
    public var step: Int?
    public var report: Report

    public struct Find: Sendable, Equatable {
        public var kind: String
        public var count: Int
    }

    public enum Report: Sendable {
        /// The number of finds of `scrub` by kind. It never contains the text that was found.
        case found([Find])
        /// The expression had no value, so the member was not set.
        case erred(Path, EvaluationFault)
        /// The number of strings that `mask` replaced whole, because too few steps of the event were left to search them.
        case unsearched(Int)
        /// Too few steps of the event were left to run this step.
        case unread
        /// The event is not valid after this step, or before the first step.
        case broken(Fault)
    }
}

/// The branches that the expression of one step took for one event.
public struct StepBranches: Sendable {
    /// The index in the route's transforms.
    public var step: Int?
    /// The member that the expression sets.
    public var path: Path
    public var taken: [TakenBranch]
}
