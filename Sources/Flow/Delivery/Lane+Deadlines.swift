// The thread of a lane that watches deadlines. A call of the provider that does not return cannot be interrupted, so a thread that never
// calls the provider compares the time. It runs only while the plan has a deadline.

internal import Plans
internal import Platform
internal import Queueing

extension Lane {
    /// Starts the thread if the plan has a deadline and the thread does not run.
    func startWatch() {
        guard state.withLock({ $0.plan.deadline > .zero }) else { return }
        let isFirst = watching.withLock { watching in
            defer { watching.isRunning = true }
            return !watching.isRunning
        }
        if isFirst { Thread.start("watch \(name)") { self.watch() }.detach() }
    }

    /// Watches the deadlines. A call that does not return cannot be interrupted, so this separate thread checks the time. It never calls
    /// the provider.
    private func watch() {
        while true {
            let now = clock.now()
            let changes = watching.withLock { $0.changes }
            let effects = perform(.expire, at: now)
            let (next, isOver) = state.withLock { state in
                // A delivery that begins after this moment has a later deadline, so it does not have to wake this thread.
                let next = state.nextDeadline ?? (state.plan.deadline > .zero ? now + state.plan.deadline : nil)
                return (next, state.phase == .ended || state.phase == .stopped)
            }
            carryOut(effects)
            if isOver { return }
            watching.waitUntilReady { watching -> Readiness<Void> in
                if watching.isOver || watching.changes != changes { return .ready(()) }
                guard let next else { return .notBefore(nil) }
                return clock.now() >= next ? .ready(()) : .notBefore(next)
            }
        }
    }

    func endWatch() {
        watching.withLock { $0.isOver = true }
        watching.wake()
    }
}
