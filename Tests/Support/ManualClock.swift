// A clock for tests: its time advances only when the test says so.

public import Platform

public final class ManualClock: Sendable {
    private let time: Monitor<Int64>

    /// The time in nanoseconds at the beginning, of the monotonic clock and of the wall clock.
    public init(wall: Int64 = 1_000_000_000_000) { time = Monitor(wall) }

    public var clock: Clock {
        Clock(now: { Instant(nanoseconds: self.time.withLock { $0 }) }, wall: { self.time.withLock { $0 } })
    }

    public func advance(_ duration: Duration) { time.withLock { $0 += duration.nanoseconds } }
}
