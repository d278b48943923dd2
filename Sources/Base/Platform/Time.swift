// Time as values. Nothing below the command reads a clock by itself: it is handed one, so that tests hold the hands.

internal import Glibc

/// A point on the monotonic clock, in nanoseconds.
public struct Instant: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }
    public static func + (a: Instant, b: Duration) -> Instant {
        let (sum, over) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
        return Instant(nanoseconds: over ? .max : sum)
    }
    public static func - (a: Instant, b: Instant) -> Duration { .nanoseconds(a.nanoseconds - b.nanoseconds) }
}

extension Duration {
    /// The whole duration in nanoseconds; one of more than 292 years is cut to that.
    public var nanoseconds: Int64 {
        let (seconds, fraction) = components
        let (scaled, over) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return over ? (seconds < 0 ? .min : .max) : scaled + fraction / 1_000_000_000
    }
}

/// The two clocks: one that never goes back, and one that people read.
public struct Clock: Sendable {
    public var now: @Sendable () -> Instant
    /// Nanoseconds since 1970, UTC.
    public var wall: @Sendable () -> Int64

    public init(now: @escaping @Sendable () -> Instant, wall: @escaping @Sendable () -> Int64) {
        self.now = now
        self.wall = wall
    }

    public static let system = Clock(
        now: { Instant(nanoseconds: read(CLOCK_MONOTONIC)) },
        wall: { read(CLOCK_REALTIME) })

    /// What all threads of this process together had of the processors, in nanoseconds.
    public static func processorTime() -> Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    private static func read(_ id: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(id, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
