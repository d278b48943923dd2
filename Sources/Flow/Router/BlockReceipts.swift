// Makes the receipts of blocks. When everything that came of a block is safe, its ids are stored, its lines are acknowledged, and its
// submissions are answered. If the source of the block waits until its events have come to their end, ids are stored and submissions are
// answered only then (`BlockEnds`).

internal import Events
internal import Ingest
internal import Judging
internal import Plans
internal import Platform
internal import Queueing
internal import Workers

struct BlockReceipts: Sendable {
    /// The ids that have come in. It is nil if duplicates are not dropped.
    let seen: SeenIDs?
    private let seenFile: SeenFile?
    private let acks: AckWriter?
    /// The index of the source that is standard input. It is nil if there is none.
    private let inputSource: Int?
    /// It is nil if no answer to a duplicate can wait for its original.
    private let watermark: Watermark?
    private let ends: BlockEnds
    /// The number of times that ids were forgotten.
    private let forgotten: Monitor<Int>

    /// `key` is the key of the hashes of ids.
    init(_ plan: Plan, options: RouterOptions, key: [UInt8], input: RunInput, say: @escaping @Sendable (String) -> Void) {
        seen = plan.messageID.deduplicate.map { SeenIDs($0, key: key) }
        seenFile = plan.messageID.deduplicate.flatMap { plan in options.seen.map { SeenFile($0, most: plan.most, say: say) } }
        if let seenFile { seen?.recall(seenFile.recall()) }
        acks = options.acks.map { AckWriter($0, say: say) }
        inputSource = input.inputSource
        watermark = seen == nil || input.inbox == nil ? nil : Watermark()
        let forgotten = Monitor(0)
        self.forgotten = forgotten
        ends = BlockEnds(
            keep: { [seenFile] in seenFile?.append($0) },
            forget: { [seen] sightings in BlockReceipts.forget(sightings, seen, forgotten) })
    }

    /// Returns the receipt of a block, which is settled when everything that came of the block is safe. It returns nil if nobody waits for
    /// it. If the ledger could not store the decisions of the block, neither this block nor a later one is acknowledged. `timesForgotten` is
    /// that of the time at which the ids of the block were looked up.
    func receipt(for worker: borrowing Worker, isWritten: Bool, timesForgotten: Int) -> Receipt? {
        if isWritten, let submissions = worker.submissions, submissions.awaitsEnd {
            return receipt(atTheEndOf: worker, submissions, timesForgotten: timesForgotten)
        }
        let acknowledge = worker.block.source == inputSource ? acks?.next(lines: worker.lines) : nil
        guard isWritten else { return nil }
        let answer = Answers.make(worker.submissions?.portions ?? [], worker.faults)
        let sightings = worker.sightings
        // If duplicates are dropped, a block alone does not say that it is safe: the original may still be on its way in another block.
        let block = watermark?.enter()
        guard acknowledge != nil || answer != nil || block != nil || seenFile != nil && !sightings.isEmpty else { return nil }
        let hasDuplicates = worker.tally.duplicates > 0
        return Receipt { [seenFile, watermark] in
            // An id is stored for the next run only when its event is safe. Otherwise, after a crash, the event could be lost: the next run
            // would drop it as a duplicate.
            seenFile?.append(sightings)
            acknowledge?()
            guard let watermark, let block, hasDuplicates else {
                answer?()
                if let block { watermark?.settle(block) }
                return
            }
            watermark.settle(block, then: answer)
        }
    }

    private func receipt(atTheEndOf worker: borrowing Worker, _ submissions: Submissions, timesForgotten: Int) -> Receipt {
        let stored = Answers.make(submissions.portions, worker.faults)
        let sightings = worker.sightings
        let hasDuplicates = worker.tally.duplicates > 0
        let mark = ends.enter {
            BlockEnds.Block(
                sightings: sightings, hasDuplicates: hasDuplicates,
                mayLackOriginals: hasDuplicates && timesForgotten != self.timesForgotten
            ) { isLost in
                guard isLost else { return stored?() ?? () }
                for portion in submissions.portions { portion.answer(.lost) }
            }
        }
        // A later duplicate of another source is safe as promised when this block is, even before its end.
        let block = watermark?.enter()
        return Receipt(mark: mark) { [watermark] in
            if let block { watermark?.settle(block) }
        }
    }

    /// Makes the ids of a block that is given back count as not seen. It runs in the worker's turn.
    func forget(_ worker: borrowing Worker) { BlockReceipts.forget(worker.sightings, seen, forgotten) }

    private static func forget(_ sightings: [SeenIDs.Sighting], _ seen: SeenIDs?, _ forgotten: Monitor<Int>) {
        guard let seen, !sightings.isEmpty else { return }
        seen.forget(sightings)
        forgotten.withLock { $0 += 1 }
    }

    /// The number of times that ids were forgotten. A worker that found duplicates must look them up again if this has changed since it began
    /// its block: their originals may have been given back.
    var timesForgotten: Int { seen == nil ? 0 : forgotten.withLock { $0 } }

    /// Waits until all safe lines are acknowledged and all blocks at their end are answered, but not longer than the deadline.
    func close(by deadline: Instant, _ clock: Clock) {
        ends.close(by: deadline, clock)
        acks?.close(by: deadline, clock)
    }
}
