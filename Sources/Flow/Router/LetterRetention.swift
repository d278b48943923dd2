// Removes dead letters that are older than `retention` allows: when a plan takes over, and whenever the next letter is due. While no
// router runs, nothing removes them.

internal import Delivery
internal import Plans
internal import Platform

/// The time when the next letter is due, and the retention of providers and routes. Each burial is noted here.
final class LetterSchedule: Sendable {
    fileprivate struct State {
        /// The retention of providers and of routes by name, in nanoseconds. Removed providers and routes keep their last value.
        var providers: [String: Int64] = [:]
        var routes: [String: Int64] = [:]
        /// The time when the next letter is due, in nanoseconds since 1970. It is nil if no letter will be due.
        var due: Int64?
        var isRunning = false
        var isOver = false
    }

    fileprivate let state = Monitor(State())

    /// The time when the next letter is due, in nanoseconds since 1970. It is nil if no letter will be due.
    var due: Int64? { state.withLock { $0.due } }

    /// Notes a burial. `arrival` is that of its oldest event, in nanoseconds since 1970.
    func note(_ arrival: Int64) {
        state.withLock { state in
            guard let shortest = (Array(state.providers.values) + state.routes.values).min() else { return }
            state.due = min(state.due ?? .max, arrival + shortest)
        }
        state.wake()
    }
}

final class LetterRetention: Sendable {
    private let deadLetters: DeadLetters
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let schedule: LetterSchedule
    private var state: Monitor<LetterSchedule.State> { schedule.state }

    /// The minimum time between two searches for expired letters, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    /// The dead letters note each burial in the schedule.
    init(_ deadLetters: DeadLetters, schedule: LetterSchedule, clock: Clock, say: @escaping @Sendable (String) -> Void) {
        self.deadLetters = deadLetters
        self.schedule = schedule
        self.clock = clock
        self.say = say
    }

    /// Applies the retention of this plan from now on. Letters that are too old are removed before this returns.
    func adopt(_ plan: Plan) {
        let hasLimits = state.withLock { state in
            for provider in plan.providers { state.providers[provider.name] = provider.delivery.retention?.nanoseconds }
            for route in plan.routes { state.routes[route.name] = route.retention?.nanoseconds }
            return !state.providers.isEmpty || !state.routes.isEmpty
        }
        guard hasLimits else { return }
        expire()
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if isFirst { Thread.start("dead letters") { self.run() }.detach() }
    }

    func end() {
        state.withLock { $0.isOver = true }
        state.wake()
    }

    private func run() {
        while waitUntilDue() { expire() }
    }

    /// Waits until the next letter is due. It returns false if the run is over.
    private func waitUntilDue() -> Bool {
        state.waitUntilReady { state -> Readiness<Bool> in
            if state.isOver { return .ready(false) }
            guard let due = state.due else { return .notBefore(nil) }
            let left = due - clock.wall()
            return left <= 0 ? .ready(true) : .notBefore(clock.now() + .nanoseconds(left))
        }
    }

    /// Removes the letters that are too old now, and finds out when the next letter is due.
    private func expire() {
        let (providers, routes) = state.withLock { state in
            state.due = nil
            return (state.providers, state.routes)
        }
        // A message may take any time, so the clock is read before it.
        let soonest = clock.wall() + LetterRetention.pause
        var next: Int64?
        do throws(StorageFault) {
            let (events, due) = try deadLetters.expire { provider, route in
                [providers[provider], routes[route]].compactMap(\.self).min()
            }
            next = due
            if events > 0 { say("dead letters removed because they are older than retention allows: \(grouped(events))") }
        } catch {
            say("dead letters that may be older than retention allows are not removed yet: \(error)")
            next = soonest + 59 * LetterRetention.pause
        }
        state.withLock { state in
            if let next { state.due = min(state.due ?? .max, max(next, soonest)) }
        }
    }
}
