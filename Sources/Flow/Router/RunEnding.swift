// The end of a run: when it begins, and how long the lanes may then deliver what they have. Any thread may begin it. The thread "drain" of
// the router waits here until the time is up.

internal import Platform

final class RunEnding: Sendable {
    private struct State {
        /// The maximum time for draining after the router was told to end, from the current plan.
        var shutdown: Duration
        /// The end of draining. It is nil if the run is not ending.
        var deadline: Instant?
        /// The time from the beginning of draining to `deadline`.
        var time = Duration.zero
        var isHurried = false
        var isOver = false
    }

    private let state: Monitor<State>
    /// The maximum time for draining after the end of the input.
    private let drain: Duration
    private let clock: Clock

    init(drain: Duration, shutdown: Duration, clock: Clock) {
        self.drain = drain
        self.clock = clock
        state = Monitor(State(shutdown: shutdown))
    }

    var hasBegun: Bool { state.withLock { $0.deadline != nil } }
    /// True if the lanes were told to deliver nothing more.
    var isHurried: Bool { state.withLock { $0.isHurried } }

    func adopt(shutdown: Duration) { state.withLock { $0.shutdown = shutdown } }
    func hurry() { state.withLock { $0.isHurried = true } }

    /// Begins the end of the run, since its input has ended.
    func begin() { begin(within: drain) }

    /// Begins the end of the run, since the router was told to end.
    func beginShutdown() { begin(within: state.withLock { $0.shutdown }) }

    private func begin(within time: Duration) {
        let deadline = clock.now() + time
        state.withLock { state in
            // A second call while the lanes drain can only shorten the time.
            if state.deadline.map({ deadline < $0 }) ?? true { (state.deadline, state.time) = (deadline, time) }
        }
        state.wake()
    }

    /// Waits until the time for draining is up. Returns this time, or nil if all lanes have ended before.
    func waitUntilTimeIsUp() -> Duration? {
        state.waitUntilReady { state -> Readiness<Duration?> in
            if state.isOver { return .ready(nil) }
            guard let deadline = state.deadline else { return .notBefore(nil) }
            return clock.now() >= deadline ? .ready(state.time) : .notBefore(deadline)
        }
    }

    /// Records that all lanes have ended.
    func end() {
        state.withLock { state in
            assert(state.deadline != nil && !state.isOver, "the run ends twice, or before its end has begun")
            state.isOver = true
        }
        state.wake()
    }
}
