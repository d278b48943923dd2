// A clock for tests: its time advances only when the test says so.

public import Platform

public final class ManualClock: Sendable {
    private struct Time {
        var instant: Instant
        var wall: Int64
    }

    private let time: Monitor<Time>

    /// `wall` and `instant` are the times at the beginning. A thread that waits for an instant of this clock sleeps until the system's
    /// monotonic clock has it, which began when the machine did, and then looks at this one. So this clock begins near zero: its instants are
    /// past, and no thread sleeps for long. An instant that is far away lets a thread sleep until the test wakes it.
    public init(wall: Int64 = 1_000_000_000_000, instant: Instant = Instant(nanoseconds: 1_000_000_000)) {
        time = Monitor(Time(instant: instant, wall: wall))
    }

    public var clock: Clock {
        Clock(now: { self.time.withLock { $0.instant } }, wall: { self.time.withLock { $0.wall } })
    }

    public func advance(_ duration: Duration) {
        time.withLock { time in
            time.instant = time.instant + duration
            time.wall += duration.nanoseconds
        }
    }
}
