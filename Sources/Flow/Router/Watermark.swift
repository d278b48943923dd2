// Tracks which blocks are safe. Blocks may become safe in any order, but the callback of a block waits until all blocks before it are
// safe too.

internal import Platform

final class Watermark: Sendable {
    private struct State {
        var entered = 0
        /// The number of blocks, from the first one on, that are done without a gap.
        var passed = 0
        /// The blocks after the first gap that are done.
        var done: Set<Int> = []
        var waiting: [Int: @Sendable () -> Void] = [:]
    }

    private let state = Monitor(State())

    /// Returns the number of the next block.
    func enter() -> Int {
        state.withLock { state in
            defer { state.entered += 1 }
            return state.entered
        }
    }

    /// Marks the block as done. `then` is called when all blocks before it are done, in the order of the blocks, perhaps by another thread.
    func settle(_ block: Int, then: (@Sendable () -> Void)? = nil) {
        state.withLock { state in
            precondition(block >= state.passed && block < state.entered, "a block that did not enter, or has passed, is done")
            let isFirst = state.done.insert(block).inserted
            assert(isFirst, "a block is done twice")
            if let then { state.waiting[block] = then }
            // Call them under the lock, so that none overtakes another.
            while state.done.remove(state.passed) != nil {
                state.waiting.removeValue(forKey: state.passed)?()
                state.passed += 1
            }
            assert(state.waiting.keys.allSatisfy { $0 > state.passed }, "the callback of a safe block was not called")
        }
    }
}
