// How a lane does at the moment, for who asks. It changes nothing, and what it says was true at one instant.

internal import Admission
public import Platform
internal import Spool

public struct LaneStatus: Sendable, Equatable {
    public enum Phase: String, Sendable { case open, draining, stopped, ended }
    public enum Breaker: String, Sendable {
        case closed
        /// Nothing is sent for a while.
        case open
        /// One batch is under way or may leave, to see whether the provider is back.
        case probing = "half_open"
    }

    public var phase: Phase
    /// Events that have no fate yet.
    public var events: Int
    /// Of those: the bytes that are in memory, and those that are on disk or on their way.
    public var memory: Int
    public var disk: Int
    /// When the oldest of them came in, in nanoseconds since 1970; nil: none waits, or that is not known yet.
    public var oldest: Int64?
    /// Events delivered for each second, over the last ten.
    public var rate: Double
    /// Batches in the provider's hands.
    public var underWay: Int
    public var breaker: Breaker
    /// For how long nothing is sent because the provider asked for it; nil: it did not, or the time is over.
    public var paused: Duration?
    /// How many attempts in a row have failed.
    public var attempts: Int
    /// The answer that it fails with, or failed with last.
    public var lastError: Answer?
    /// How long ago that was.
    public var lastErrorAge: Duration?
    /// Why events cannot be stored at the moment, or dead letters cannot be kept that the lane waits for.
    public var storeFault: String?
    /// Events that took another end than delivery, by their fate.
    public var account: LaneAccount
    /// How old events were when they were delivered, in nanoseconds; and how many of them a batch had.
    public var ages: Histogram
    public var sizes: Histogram
}

extension LaneState {
    func status(at now: Instant) -> LaneStatus {
        let phase: LaneStatus.Phase =
            switch phase {
            case .open: .open
            case .draining, .flushing: .draining
            case .stopped: .stopped
            case .ended: .ended
            }
        let breaker: LaneStatus.Breaker =
            !isBreakerOpen ? .closed : breakerUntil.map { now < $0 } ?? false ? .open : .probing
        return LaneStatus(
            phase: phase, events: account.totalWaiting, memory: heldBytes, disk: isDurable ? backlog.diskBytes + backlog.unstoredBytes : 0,
            oldest: account.totalWaiting > 0 ? oldest : nil, rate: rate.perSecond(at: now), underWay: inFlight.count, breaker: breaker,
            paused: isPaused(at: now) ? pausedUntil.map { $0 - now } : nil, attempts: failedAttempts, lastError: lastFailure?.answer,
            lastErrorAge: lastFailure.map { now - $0.at },
            storeFault: (storeFault ?? letterFault)?.description, account: account, ages: ages, sizes: sizes)
    }

    /// Events are in order within a batch, so that the first of each tells.
    private var oldest: Int64? {
        var oldest = (0..<queue.count).compactMap { queue[$0].batch.arrivals.first }
        oldest += (0..<letters.count).compactMap { letters[$0].batch.arrivals.first }
        oldest += inFlight.values.compactMap { $0.batch.arrivals.first }
        oldest += backlog.gathered.compactMap { $0.batch.arrivals.first }
        if let first = assembly.oldest { oldest.append(first) }
        // What is on disk only is younger than what is in memory; where nothing is, what an earlier run left counts.
        return oldest.min() ?? backlog.oldest
    }
}

/// How many events were delivered in the last ten seconds, in boxes of a second each.
struct Rate {
    private static let seconds = 10
    private var boxes = Array(repeating: 0, count: Rate.seconds)
    /// The second that the newest box stands for.
    private var newest: Int64?

    mutating func note(_ count: Int, at now: Instant) {
        let second = now.nanoseconds / 1_000_000_000
        let passed = newest.map { min(max(0, second - $0), Int64(Rate.seconds)) } ?? Int64(Rate.seconds)
        for step in 0..<passed { boxes[Rate.box(second - step)] = 0 }
        newest = max(newest ?? second, second)
        boxes[Rate.box(second)] += count
    }

    /// Of the whole seconds of which there are figures.
    func perSecond(at now: Instant) -> Double {
        guard let newest else { return 0 }
        let second = now.nanoseconds / 1_000_000_000
        let sum = (0..<Int64(Rate.seconds)).reduce(0) { sum, age in
            let then = second - age
            return then <= newest && then > newest - Int64(Rate.seconds) ? sum + boxes[Rate.box(then)] : sum
        }
        return Double(sum) / Double(Rate.seconds)
    }

    private static func box(_ second: Int64) -> Int { Int(((second % Int64(seconds)) + Int64(seconds)) % Int64(seconds)) }
}
