// How a provider works at the moment: its last failure, the breaker, and a pause that it asked for. A pure value. It promises that the
// breaker is open only after as many failures in a row as the plan says, and that another answer never shortens a pause.

internal import Platform

struct ProviderHealth {
    private enum Breaker {
        case closed
        /// One batch at a time may leave as a probe, from this time on.
        case open(probeAt: Instant)
    }

    /// What a failure has changed.
    struct Change {
        /// True if it opened the breaker.
        var hasOpened: Bool
        /// True if the provider worked before, or failed with another answer.
        var isNew: Bool
    }

    /// The maximum pause that a provider can ask for, so that no provider stops a lane for years.
    static let longestPause = Duration.seconds(3600)

    /// The answer with which the lane is failing. It is nil while the lane works.
    private(set) var failure: Answer?
    /// The number of attempts in a row that failed.
    private(set) var failedAttempts = 0
    /// The last answer of the provider that reported a failure, and its time. It is nil if there was none.
    private(set) var lastFailure: (answer: Answer, at: Instant)?
    private var breaker = Breaker.closed
    /// The provider asked for a pause until this time. Nothing is handed over before it.
    private(set) var pausedUntil: Instant?

    var isBreakerOpen: Bool { if case .open = breaker { true } else { false } }

    /// The time at which the next batch may probe. It is nil while the breaker is closed.
    var probeAt: Instant? { if case .open(let probe) = breaker { probe } else { nil } }

    func isPaused(at now: Instant) -> Bool { pausedUntil.map { now < $0 } ?? false }

    /// Hands nothing over until the pause ends, whatever other deliveries in flight answer meanwhile.
    mutating func pause(for time: Duration, at now: Instant) {
        let until = now + min(time, ProviderHealth.longestPause)
        pausedUntil = pausedUntil.map { max($0, until) } ?? until
    }

    /// Notes an attempt that failed and is repeated after `wait`. `most` is the number of failures in a row that opens the breaker.
    mutating func noteFailure(_ answer: Answer, wait: Duration, most: Int, at now: Instant) -> Change {
        // A delivery that was in flight when the provider asked for a pause fails for the same reason.
        if !isPaused(at: now) { failedAttempts += 1 }
        var change = Change(hasOpened: false, isNew: failure != answer)
        if failedAttempts >= most {
            change.hasOpened = !isBreakerOpen
            breaker = .open(probeAt: now + wait)
        }
        failure = answer
        lastFailure = (answer, now)
        return change
    }

    /// Notes a delivery that succeeded. Returns the number of failed attempts before it, or nil if the lane was not failing.
    mutating func noteSuccess() -> Int? {
        let failed = failure == nil ? nil : failedAttempts
        failure = nil
        failedAttempts = 0
        breaker = .closed
        return failed
    }

    /// Notes that the lane stops with this answer.
    mutating func stop(with answer: Answer) { failure = answer }

    /// Begins anew with another provider. It is not responsible for the old provider's failures.
    mutating func replaceProvider() {
        failure = nil
        failedAttempts = 0
        breaker = .closed
        pausedUntil = nil
    }
}
