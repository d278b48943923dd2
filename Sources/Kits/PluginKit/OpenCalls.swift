// Counts the calls of an instance into the host. After `end` has returned, no call is active and no new call starts, so a late call is
// harmless.

internal import Platform

final class OpenCalls: Sendable {
    private struct State {
        var calls = 0
        var ended = false
    }
    private let state = Monitor(State())

    /// Calls are counted, not locked, so that several threads may call at once, and a call may make another one.
    func call(_ body: () -> Void) {
        let isOpen = state.withLock { state in
            if !state.ended { state.calls += 1 }
            return !state.ended
        }
        guard isOpen else { return }
        body()
        state.withLock { state in
            state.calls -= 1
            assert(state.calls >= 0, "a call into the host ended twice")
            if state.ended { self.state.wake() }
        }
    }

    func end() {
        state.withLock { state in
            assert(!state.ended, "an instance was destroyed twice")
            state.ended = true
        }
        state.wait(while: { $0.calls > 0 })
    }
}
