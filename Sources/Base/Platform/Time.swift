// Time as values. Modules below the command receive a clock, so that tests can control the time. Only Process uses the system clock
// directly.

internal import Glibc

/// A point on the monotonic clock, in nanoseconds.
public struct Instant: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    /// The first or the last instant if the sum is beyond it.
    public static func + (a: Instant, b: Duration) -> Instant {
        let (sum, over) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
        return Instant(nanoseconds: over ? (b < .zero ? .min : .max) : sum)
    }
    /// The exact difference, also if its nanoseconds need more than 64 bits.
    public static func - (a: Instant, b: Instant) -> Duration {
        let (difference, over) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
        return over ? .nanoseconds(a.nanoseconds) - .nanoseconds(b.nanoseconds) : .nanoseconds(difference)
    }
}

extension Duration {
    /// The whole duration in nanoseconds. Durations of more than 292 years are limited to that.
    public var nanoseconds: Int64 {
        // A duration under nine seconds has few enough attoseconds for one division.
        if let short = Int64(exactly: attoseconds) { return short / 1_000_000_000 }
        let (seconds, fraction) = components
        let (scaled, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isOverWithFraction) = scaled.addingReportingOverflow(fraction / 1_000_000_000)
        return isOver || isOverWithFraction ? (seconds < 0 ? .min : .max) : sum
    }
}

/// The two clocks: a monotonic one, and one for calendar time.
public struct Clock: Sendable {
    public var now: @Sendable () -> Instant
    /// The time in nanoseconds since 1970, UTC.
    public var wall: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Instant, wall: @escaping @Sendable () -> Int64) {
        self.now = now
        self.wall = wall
    }

    public static let system = Clock(
        now: { Instant(nanoseconds: read(CLOCK_MONOTONIC)) },
        wall: { read(CLOCK_REALTIME) })

    /// Returns the processor time of all threads of this process together, in nanoseconds.
    public static func processorTime() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ id: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(id, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
