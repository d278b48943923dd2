// The memory that all bodies may use together. Ten thousand clients that each send the largest allowed body cannot fill the machine.

internal import Platform

final class MemoryBudget: Sendable {
    private let most: Int
    private let held = Monitor(0)

    init(most: Int) { self.most = most }

    var inUse: Int { held.withLock { $0 } }

    /// Takes bytes from the budget. Returns false, taking nothing, if not enough are left.
    func take(_ bytes: Int) -> Bool {
        assert(bytes >= 0, "a negative number of bytes is taken")
        return held.withLock { held in
            guard bytes <= most - held else { return false }
            held += bytes
            return true
        }
    }

    func giveBack(_ bytes: Int) {
        held.withLock { held in
            assert((0...held).contains(bytes), "more bytes are given back than were taken")
            held -= bytes
        }
    }
}
