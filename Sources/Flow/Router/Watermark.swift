// The order in which blocks become safe: each is done when it is done, and what must not be said before its forerunners are done waits
// for them.

internal import Platform

final class Watermark: Sendable {
    private struct State {
        var entered = 0
        /// How many from the first on are done.
        var passed = 0
        /// Those behind it that are done.
        var done: Set<Int> = []
        var waiting: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Monitor(State())

    /// The number of the next block.
    func enter() -> Int {
        state.withLock { state in
            defer { state.entered += 1 }
            return state.entered
        }
    }

    /// The block is done. `then` is called once all before it are, in their order, perhaps by another thread.
    func settle(_ block: Int, then: (@Sendable () -> Void)? = nil) {
        state.withLock { state in
            state.done.insert(block)
            if let then { state.waiting[block] = then }
            // Under the lock, so that nothing overtakes.
            while state.done.remove(state.passed) != nil {
                state.waiting.removeValue(forKey: state.passed)?()
                state.passed += 1
            }
        }
    }
}
