// Tracks which blocks are safe. Blocks may become safe in any order, but the callback of a block waits until all blocks before it are
// safe too.

internal import Platform

final class Watermark: Sendable {
    private let order = Monitor(BlockOrder())

    /// Returns the number of the next block.
    func enter() -> Int { order.withLock { $0.enter() } }

    /// Marks the block as done. `then` is called when all blocks before it are done, in the order of the blocks, perhaps by another thread.
    func settle(_ block: Int, then: (@Sendable () -> Void)? = nil) {
        order.withLock { order in
            // Call them under the lock, so that none overtakes another.
            for call in order.end(block, waits: then != nil, answer: { _ in then?() }) { call() }
        }
    }
}
