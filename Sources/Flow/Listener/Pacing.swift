// Sets a deadline for each phase of a connection, so that a slow client keeps its connection only for a limited time. It is pure; the watch
// holds the clock.

internal import Plans
internal import Platform

struct Pacing: Sendable {
    /// The time that is added to the time that the received bytes need at the least rate.
    static let grace = Duration.seconds(5)
    let limits: HTTPLimits

    /// Returns the deadline for the first head of a connection that has just begun.
    func head(from now: Instant) -> Instant { now + limits.headTime }

    /// Returns the deadline for the next head after a reply was read, however its bytes arrive.
    func idle(from now: Instant) -> Instant { now + limits.idle }

    /// Returns the deadline for a body that began at `start`. `received` bytes have arrived, the last of them now.
    func body(start: Instant, received: Int, now: Instant) -> Instant {
        assert(received >= 0, "a negative number of bytes was received")
        var deadline = min(now + limits.pause, start + limits.request)
        if limits.rate > 0 {
            // The body may take as long as the received bytes need at the least rate.
            let (milliseconds, isFar) = received.multipliedReportingOverflow(by: 1000)
            if !isFar { deadline = min(deadline, start + Pacing.grace + .milliseconds(milliseconds / limits.rate)) }
        }
        return deadline
    }

    /// Returns the deadline by which the client must have read a reply.
    func reply(from now: Instant) -> Instant { now + limits.reply }
}
