// When an act that failed may be tried again, and how often in a row it failed.

internal import Platform

struct RetryTimer {
    /// The time of the next attempt. It is nil if the act may be tried now.
    private(set) var again: Instant?
    /// The number of failures in a row.
    private(set) var failures = 0

    func isDue(at now: Instant) -> Bool { again.map { $0 <= now } ?? true }

    /// Counts a failure. The pause after it doubles up to the maximum of the backoff, and no more than five times.
    mutating func fail(at now: Instant, _ backoff: Backoff, _ random: inout RandomSource) {
        failures += 1
        again = now + backoff.wait(after: min(failures, 6), &random)
    }

    /// Counts a failure after which the pause has a fixed length.
    mutating func fail(at now: Instant, pause: Duration) {
        failures += 1
        again = now + pause
    }

    /// Changes the time of the next attempt, and counts nothing.
    mutating func wait(until instant: Instant) { again = instant }

    mutating func waitLonger(until instant: Instant) { again = again.map { max($0, instant) } ?? instant }
    /// Tries again at this time at the latest. It changes nothing if no attempt is delayed.
    mutating func waitAtMost(until instant: Instant) { again = again.map { min($0, instant) } }

    mutating func reset() { (again, failures) = (nil, 0) }
}
