// Who may talk to the program: it gets one batch or one erasure at a time. An erasure comes next after the batch that is under way, so a
// provider that is always busy cannot put it off; and it waits only as long as its call may take.

internal import PluginKit

final class Turns: Sendable {
    private struct State {
        var isTaken = false
        /// The number of erasures that wait for their turn, or have it.
        var erasures = 0
    }

    private let state = Monitor(State())

    /// True if an erasure waits for its turn, or has it.
    var isWanted: Bool { state.withLock { $0.erasures > 0 } }

    /// Waits until the program is free and no erasure wants it.
    func beginDelivery() {
        state.waitUntilReady { (state) -> Readiness<Void> in
            guard !state.isTaken, state.erasures == 0 else { return .notBefore(nil) }
            state.isTaken = true
            return .ready(())
        }
    }

    func endDelivery() {
        state.withLock { state in
            assert(state.isTaken, "a turn ends that has not begun")
            state.isTaken = false
        }
        state.wake()
    }

    /// Waits until the program is free. Returns false if it is not free in time.
    func beginErasure(until deadline: Instant) -> Bool {
        state.withLock { $0.erasures += 1 }
        let hasBegun: Bool = state.waitUntilReady { state in
            if !state.isTaken {
                state.isTaken = true
                return .ready(true)
            }
            guard Clock.system.now() < deadline else {
                state.erasures -= 1
                return .ready(false)
            }
            return .notBefore(deadline)
        }
        if !hasBegun { state.wake() }
        return hasBegun
    }

    func endErasure() {
        state.withLock { state in
            assert(state.isTaken && state.erasures > 0, "an erasure ends that has not begun")
            state.isTaken = false
            state.erasures -= 1
        }
        state.wake()
    }
}
