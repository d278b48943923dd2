// The memory that all bodies may have together: ten thousand clients that each send as much as one may cannot fill the machine.

internal import Platform

final class MemoryBudget: Sendable {
    private let most: Int
    private let held = Monitor(0)

    init(most: Int) { self.most = most }

    var inUse: Int { held.withLock { $0 } }

    /// Whether there was room for that many more.
    func take(_ bytes: Int) -> Bool {
        held.withLock { held in
            guard bytes <= most - held else { return false }
            held += bytes
            return true
        }
    }

    func giveBack(_ bytes: Int) { held.withLock { $0 -= bytes } }
}
