// The memory that all bodies, and what has arrived behind them, may use together. Ten thousand clients that each send the largest allowed body,
// or requests behind one that is in work, cannot fill the machine.

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

    /// Replaces a quantity that was taken by another one. Returns false, changing nothing, if not enough is left.
    func change(from before: Int, to bytes: Int) -> Bool {
        if bytes > before { return take(bytes - before) }
        giveBack(before - bytes)
        return true
    }

    func giveBack(_ bytes: Int) {
        held.withLock { held in
            assert((0...held).contains(bytes), "more bytes are given back than were taken")
            held -= bytes
        }
    }
}
