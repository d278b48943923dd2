// A snapshot of a lane for status requests. Taking it changes nothing, and all its values belong to one instant.

internal import Admission
public import Platform
internal import Spool

public struct LaneStatus: Sendable, Equatable {
    public enum Phase: String, Sendable { case open, draining, stopped, ended }
    public enum Breaker: String, Sendable {
        case closed
        /// Nothing is sent for a while.
        case open
        /// One batch is in flight or may leave, to find out whether the provider works again.
        case probing = "half_open"
    }

    public var phase: Phase
    /// The number of events that have no fate yet.
    public var events: Int
    /// The number of bytes of these events that are in memory, and of those that are on disk or on their way there.
    public var memory: Int
    public var disk: Int
    /// The arrival of the oldest of these events, in nanoseconds since 1970. It is nil if none waits or it is not known yet.
    public var oldest: Int64?
    /// The number of events delivered per second, over the last ten seconds.
    public var rate: Double
    /// The number of batches in flight.
    public var underWay: Int
    public var breaker: Breaker
    /// The remaining time of a pause that the provider asked for. It is nil if there is no pause.
    public var paused: Duration?
    /// The number of attempts in a row that failed.
    public var attempts: Int
    /// The answer with which the lane fails, or failed last.
    public var lastError: Answer?
    /// The time since that answer.
    public var lastErrorAge: Duration?
    /// The reason why events cannot be stored, or why dead letters cannot be kept for which the lane waits.
    public var storeFault: String?
    /// The numbers of events by fate.
    public var account: LaneAccount
    /// The ages of events at delivery, in nanoseconds, and the numbers of events in delivered batches.
    public var ages: Histogram
    public var sizes: Histogram
}

extension LaneState {
    public func status(at now: Instant) -> LaneStatus {
        let phase: LaneStatus.Phase =
            switch phase {
            case .open: .open
            case .draining, .flushing: .draining
            case .stopped: .stopped
            case .ended: .ended
            }
        let breaker: LaneStatus.Breaker =
            health.probeAt.map { now < $0 ? .open : .probing } ?? .closed
        return LaneStatus(
            phase: phase, events: account.totalWaiting, memory: heldBytes, disk: isDurable ? backlog.diskBytes + backlog.unstoredBytes : 0,
            oldest: account.totalWaiting > 0 ? oldest : nil, rate: measures.rate.perSecond(at: now), underWay: deliveries.count,
            breaker: breaker,
            paused: health.isPaused(at: now) ? health.pausedUntil.map { $0 - now } : nil, attempts: health.failedAttempts,
            lastError: health.lastFailure?.answer,
            lastErrorAge: health.lastFailure.map { now - $0.at },
            storeFault: (storeHealth.fault ?? letters.fault)?.description, account: account, ages: measures.ages,
            sizes: measures.sizes)
    }

    /// Events are in order within a batch, so the first event of each batch is its oldest.
    private var oldest: Int64? {
        var oldest = (0..<queue.count).compactMap { queue[$0].batch.arrivals.first }
        oldest += (0..<letters.held.count).compactMap { letters.held[$0].batch.arrivals.first }
        oldest += deliveries.batches.compactMap(\.arrivals.first)
        oldest += backlog.gathering.rows.compactMap { $0.batch.arrivals.first }
        if let first = assembly.oldest { oldest.append(first) }
        // Events that are only on disk are younger than those in memory. If memory is empty, the oldest event of an earlier run counts.
        return oldest.min() ?? backlog.oldest
    }
}
