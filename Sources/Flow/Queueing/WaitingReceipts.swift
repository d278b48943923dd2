// The receipts of blocks whose events are not stored yet, in the order of their events. A pure value. It promises that a receipt is taken
// out once, and never before everything in front of it is stored.

internal import Platform

struct WaitingReceipts {
    private var receipts = Deque<(position: UInt64, receipt: Receipt)>()

    /// Adds a receipt that is settled when the stream of bytes is stored up to this position.
    mutating func add(_ receipt: Receipt, position: UInt64) {
        assert(receipts.last.map { $0.position <= position } ?? true, "a receipt comes before an earlier one")
        receipts.append((position, receipt))
    }

    /// Removes and returns the receipts up to this position.
    mutating func take(stored: UInt64) -> [Receipt] {
        var settled: [Receipt] = []
        while let next = receipts.first, next.position <= stored { settled.append(receipts.removeFirst().receipt) }
        return settled
    }

    /// Forgets all receipts. Their senders get no acknowledgement and can send the events again.
    mutating func removeAll() { _ = receipts.removeAll() }
}

/// Whether the store has space to give back, and when it does that.
enum Tidying: Equatable {
    case clean
    /// Rows may have been removed since the spool was last tidied.
    case untidy
    /// The spool is tidied at this time.
    case due(Instant)

    /// True if it is time. `Tidying.untidy` has no time yet.
    func isDue(at now: Instant) -> Bool {
        switch self {
        case .clean: false
        case .untidy: true
        case .due(let instant): instant <= now
        }
    }
}
