// What a lane does for withdrawals: the sweep of the disk that is under way, and the destroyed events that no withdrawal has reported yet.
// A pure value. It promises that each destroyed event is reported once.

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
    /// Events that were destroyed since the last sweep was reported.
    private var unreported = Swept()

    init(checksConsent: Bool) { self.checksConsent = checksConsent }

    mutating func noteDestroyed(_ batch: Batch) {
        unreported.events += batch.count
        unreported.bytes += batch.bytes.count
    }

    /// Adds the events that were destroyed in memory, or on their way, since the last report. With `isLoose`, events may still come back.
    mutating func report(of swept: Swept, isLoose: Bool) -> Swept {
        var whole = swept
        whole.events += unreported.events
        whole.bytes += unreported.bytes
        whole.isLoose = whole.isLoose || isLoose
        unreported = Swept()
        return whole
    }
}
