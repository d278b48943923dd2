// Tells a source when every event of a block is safe as the configuration promises. Lanes with a store have then stored it, other lanes
// have taken it, or it is already settled. The receipt tells this exactly once, in whatever order the lanes finish. The state of
// a lane only carries receipts. `Lane`, and the creator of a receipt, settle it. A receipt that is dropped without having been settled tells
// nothing, and its mark says that events were lost.

public import Admission
internal import Platform

public final class Receipt: Sendable {
    private let open: Monitor<Int>
    private let done: @Sendable () -> Void
    /// The mark of a block whose source waits until its events have come to their end. Lanes attach it to what they keep in memory.
    public let mark: EndMark?

    /// Creates a receipt that waits for one settlement by its creator. Each lane that takes part adds one more.
    public init(mark: EndMark? = nil, _ done: @escaping @Sendable () -> Void) {
        self.mark = mark
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

    deinit {
        if let mark, open.withLock({ $0 > 0 }) { mark.noteLoss() }
    }
}
