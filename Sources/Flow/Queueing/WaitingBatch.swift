// A batch in a lane, with the history of its attempts and the part of the rows on disk that it consists of.

internal import Admission
internal import Platform

/// A batch that waits or is in flight, with the history of its attempts.
struct WaitingBatch {
    var batch: Batch
    var attempts = 0
    var firstTried: Instant?
    var notBefore: Instant?
    /// True if an attempt had an unknown outcome, so that the batch may have arrived. Later attempts do not change this.
    var mayHaveArrived = false
    /// Returns the fate of the batch when it is given up.
    func fate(otherwise fate: LaneAccount.Fate) -> LaneAccount.Fate { mayHaveArrived ? .unknown : fate }
    /// The deadline of its delivery. It is nil while the batch waits.
    var due: Instant?
    /// The part of the rows on disk that this batch consists of. It is nil if the batch is only in memory.
    var share: Backlog.Share?
    /// The number of the last row when the batch was sealed. Events that come later have higher row numbers on disk.
    var floor: Int64 = 0
}

extension WaitingBatch {
    /// Creates a batch that was made of rows. `epoch` is the time of instant 0, in nanoseconds since 1970.
    init(_ sealed: Backlog.Sealed, epoch: Int64) {
        self.init(
            batch: sealed.batch, attempts: sealed.attempts, firstTried: sealed.firstTried.map { Instant(nanoseconds: $0 - epoch) },
            share: sealed.share)
    }

    /// Returns a copy that has only the events at these indices.
    func part(_ indices: [Int]) -> WaitingBatch {
        assert(share?.members.map { $0.count == batch.count } ?? true, "a batch has another number of events than its share of rows")
        var part = self
        part.batch = batch.subset(indices)
        if let share {
            part.share = Backlog.Share(
                origin: share.origin, members: share.members.map { members in indices.map { members[$0] } } ?? indices)
        }
        return part
    }
}
