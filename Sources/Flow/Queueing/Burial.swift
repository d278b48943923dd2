// Events of a lane on their way to the dead-letter file.

public import Admission

/// Events that were given up and are being written to the dead-letter file.
public struct Burial {
    var waiting: WaitingBatch
    public let reason: LaneAccount.Fate
    public let answer: Answer
    /// True if the events already have their fate, so that those that cannot be kept are lost. Otherwise they get their fate when they are
    /// kept.
    public internal(set) var isSettled: Bool

    public var batch: Batch { waiting.batch }
    public var attempts: Int { waiting.attempts }
    var share: Backlog.Share? { waiting.share }
}
