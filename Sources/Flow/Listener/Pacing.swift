// How slow a client may be: a deadline for each phase of a connection, so that one that drips costs its place only for so
// long. Pure; the watch holds the clock.

internal import Plans
internal import Platform

struct Pacing: Sendable {
    /// From when on the rate of a body is asked for.
    static let grace = Duration.seconds(5)
    let limits: HTTPLimits

    /// A connection has begun: its first head must be whole by then.
    func head(from now: Instant) -> Instant { now + limits.headTime }

    /// A reply was read: the next head must be whole by then, however its bytes come.
    func idle(from now: Instant) -> Instant { now + limits.idle }

    /// A body began at `start` and has brought that many bytes, the last of them now.
    func body(start: Instant, received: Int, now: Instant) -> Instant {
        var deadline = min(now + limits.pause, start + limits.request)
        if limits.rate > 0 {
            // As long as the bytes that came would take at the least rate.
            let (milliseconds, isFar) = received.multipliedReportingOverflow(by: 1000)
            if !isFar { deadline = min(deadline, start + Pacing.grace + .milliseconds(milliseconds / limits.rate)) }
        }
        return deadline
    }

    /// A reply was handed over: the client must have read it by then.
    func reply(from now: Instant) -> Instant { now + limits.reply }
}
