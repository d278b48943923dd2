// Records what withdrawals have destroyed, together with the events that they destroyed.

internal import Admission
internal import Database
internal import Platform
internal import StateFiles

extension SpoolFile {
    /// Records what is destroyed and not recorded yet. Must be called inside a transaction.
    func recordDestroyed() throws(StorageFault) {
        var whole = destroyed
        whole.add(unrecordedDestroyed)
        try database.writeDestroyed(whole, of: unrecordedDestroyed.counts.keys, application: SpoolSchema.format.application)
    }

    /// Notes that the transaction that called `recordDestroyed` was committed.
    func noteDestroyedRecorded() {
        destroyed.add(unrecordedDestroyed)
        unrecordedDestroyed = Destroyed()
    }

    /// Reads what was recorded. A file that was made anew gets the counts of the one that it replaces.
    func readDestroyed() throws(StorageFault) {
        let found = try database.readDestroyed(application: SpoolSchema.format.application)
        var known = destroyed
        known.add(unrecordedDestroyed)
        destroyed = found
        unrecordedDestroyed = Destroyed()
        for (receipt, count) in known.counts {
            let missing = (events: count.events - found[receipt].events, bytes: count.bytes - found[receipt].bytes)
            if missing.events > 0 { unrecordedDestroyed.add(receipt, events: missing.events, bytes: max(0, missing.bytes)) }
        }
    }
}
