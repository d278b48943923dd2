// What a lane holds of some subjects in memory alone: what is on disk is looked for there.

internal import Admission
internal import Platform

extension LaneState {
    /// Whole batches, of which no row on disk is left or is there yet.
    mutating func inMemory(at now: Instant) -> [Batch] {
        sealAssembly(at: now, always: true)
        var waiting = inFlight.sorted { $0.key < $1.key }.map(\.value)
        waiting += (0..<letters.count).map { letters[$0].waiting } + (0..<queue.count).map { queue[$0] }
        return waiting.filter { $0.share == nil }.map(\.batch) + backlog.unstoredBatches(at: now)
    }
}
