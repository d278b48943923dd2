// Lists the events that a lane has only in memory, for an inquiry about a subject. The inquiry searches the spool separately.

public import Admission
public import Platform

extension LaneState {
    /// Returns whole batches that have no row on disk, or no row yet.
    public mutating func inMemory(at now: Instant) -> [Batch] {
        sealAssembly()
        var waiting = deliveries.inOrder.map(\.handed.waiting)
        waiting += (0..<letters.held.count).map { letters.held[$0].waiting } + (0..<queue.count).map { queue[$0] }
        return waiting.filter { $0.share == nil }.map(\.batch) + backlog.unstoredBatches(at: now)
    }
}
