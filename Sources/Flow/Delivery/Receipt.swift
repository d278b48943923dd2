// Tells a source when every event of a block is where the configuration promises: stored by lanes that store, taken by the
// others, or settled already. It tells once, whatever the order in which the lanes are done.

internal import Platform

public final class Receipt: Sendable {
    private let open: Monitor<Int>
    private let done: @Sendable () -> Void

    /// It waits for one settlement of its maker's; each lane that takes part adds one.
    public init(_ done: @escaping @Sendable () -> Void) {
        open = Monitor(1)
        self.done = done
    }

    public func add() { open.withLock { $0 += 1 } }

    public func settle() {
        let left = open.withLock { open in
            open -= 1
            return open
        }
        assert(left >= 0, "a receipt was settled once too often")
        if left == 0 { done() }
    }
}
