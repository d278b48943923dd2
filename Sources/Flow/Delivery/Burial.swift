// Events of a lane on their way to the dead-letter file.

internal import Admission

/// Events that were given up and are being written to the dead-letter file.
struct Burial {
    var waiting: WaitingBatch
    let reason: LaneAccount.Fate
    let answer: Answer
    /// True if the events already have their fate, so that those that cannot be kept are lost. Otherwise they get their fate when they are
    /// kept.
    var isSettled: Bool

    var batch: Batch { waiting.batch }
    var attempts: Int { waiting.attempts }
    var share: Backlog.Share? { waiting.share }
}
