// How far a state has come in time. Blocks that are judged side by side ask a little out of turn, and clocks are set: neither may
// give a state time twice, or make it stand still.

struct Timeline: Sendable, Equatable {
    /// How far the time may lie behind, in microseconds, and be that of a block that was overtaken; what is further behind is a
    /// clock that was set back.
    private static let overtaken: Int64 = 1_000_000

    /// In microseconds; nil: nothing has come yet.
    private var latest: Int64?

    /// How many microseconds have gone by since the last time, at a time in nanoseconds since 1970. Never negative.
    mutating func advance(to now: Int64) -> Int64 {
        let now = now / 1000
        guard let latest else {
            self.latest = now
            return 0
        }
        if now > latest || latest &- now > Timeline.overtaken { self.latest = now }
        return max(0, now &- latest)
    }
}
