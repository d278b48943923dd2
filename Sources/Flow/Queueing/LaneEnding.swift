// Why and how far a lane has ended. A pure value.

internal import Platform

struct LaneEnding {
    /// The provider's answer that its destination is gone, while deliveries are still in flight. The lane ends after them.
    var closingAnswer: Answer?
    /// True if the destination went away. The events that were left could not be delivered.
    var isClosedByProvider = false
    /// The reason why the lane was given up before its provider had everything.
    var givenUpFor: Answer?
    /// The time after which the lane no longer waits for the provider to flush. It is nil if it waits without limit, or not at all.
    var flushDue: Instant?
    var isProviderClosed = false
    /// What stays on disk for the next run, as it was in memory when the lane ended. Until the store is closed, a withdrawal destroys events
    /// of it too: the sweep of the disk begins behind the rows that were in memory.
    var kept: [WaitingBatch] = []

    /// Removes and returns what stays for the next run.
    mutating func takeKept() -> [WaitingBatch] {
        defer { kept = [] }
        return kept
    }
}
