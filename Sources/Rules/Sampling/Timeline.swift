// The time that a state has reached. Blocks that are judged in parallel ask slightly out of order, and clocks are set. It promises that a
// block that was overtaken by up to a second gives a state no time twice, and that a clock that is set back stops its time for a second at
// most.

struct Timeline: Sendable, Equatable {
    /// The most microseconds by which a time lies behind the latest one if its block was overtaken. If a time lies further behind, the
    /// clock was set back.
    private static let overtaken: Int64 = 1_000_000

    /// The latest time, in microseconds. It is nil if nothing has come yet.
    private var latest: Int64?

    /// Returns the microseconds since the last time, never a negative number. `now` is in nanoseconds since 1970.
    mutating func advance(to now: Int64) -> Int64 {
        let now = now / 1000
        guard let latest else {
            self.latest = now
            return 0
        }
        if now > latest || latest &- now > Timeline.overtaken { self.latest = now }
        assert(self.latest.map { $0 >= now } ?? false, "the time that was reached is behind")
        return max(0, now &- latest)
    }
}
