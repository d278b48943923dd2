// What a lane does for withdrawals: the sweep of the disk that is under way, and what withdrawals have destroyed so far. A pure value. It
// promises that each destroyed event is counted once, under the receipt of its withdrawal.

internal import Admission

struct WithdrawalWork {
    /// A sweep of the disk that is under way.
    struct Sweeping {
        /// How far the sweep is.
        enum Progress: Equatable {
            /// The rows up to this one are done.
            case row(Int64)
            /// All rows are done. The destroyed events still have to leave the disk.
            case committing
            /// The rows are done and the records of that time are committed. The sweep does not wait for later records, which belong to
            /// other events.
            case stored
        }

        var progress: Progress
        var swept: Swept
        var done: [@Sendable (Swept) -> Void]
        /// True if the store was asked since this sweep began. An answer to an earlier request says nothing about this sweep.
        var isAsked = false
        /// True if a caller waits for the sweep. Nobody waits for a sweep that looks only for old events.
        var isForWithdrawal: Bool { !done.isEmpty }
        /// The row after which the sweep continues. It is nil if all rows are done.
        var row: Int64? { if case .row(let row) = progress { row } else { nil } }

        /// Notes that what had to leave the disk has left it.
        mutating func noteStored() { if progress == .committing { progress = .stored } }
    }

    /// True if waiting events are checked for consent again. It is false if no ledger is kept.
    let checksConsent: Bool
    var sweeping: Sweeping?
    /// What withdrawals have destroyed in this lane, in this run and, if its queue is on disk, in earlier ones.
    private(set) var destroyed: Destroyed

    /// `destroyed` is what earlier runs recorded in the store.
    init(checksConsent: Bool, destroyed: Destroyed = Destroyed()) {
        self.checksConsent = checksConsent
        self.destroyed = destroyed
    }

    mutating func note(_ more: Destroyed) { destroyed.add(more) }

    /// Completes the result of a sweep.
    func report(of swept: Swept) -> Swept {
        var whole = swept
        whole.destroyed = destroyed
        return whole
    }
}
