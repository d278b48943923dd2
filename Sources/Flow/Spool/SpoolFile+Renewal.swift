// How a spool file makes room on a full disk: where all that it holds is settled, and there is no room to say so in it, an empty file takes
// its place. A log that cannot grow can neither be brought into the file, which would have to grow too, so that no room would ever come
// back by itself. Batches that were damaged and are kept for a person keep the file.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform

extension SpoolFile {
    /// Called when there is no room for what is owed, and it is noted.
    func renewIfSettled() {
        guard owed.rewritten.isEmpty,
            (try? database.number("SELECT (SELECT count(*) FROM batches) + (SELECT count(*) FROM damaged)")) == owed.gone.count
        else { return }
        database.closeKeepingLog()
        isRenewing = true
        do throws(SpoolFault) {
            try renew()
            say("\(path): everything in it is settled; it was replaced by an empty file, which makes room")
            isOwing = false
        } catch {
            // It is tried again before anything else is done.
            tellBudget()
        }
    }

    /// Whether there is no file, since all that it held was settled, and no room for another either: then there is nothing to read and
    /// nothing to record.
    func isWithoutFile() throws(SpoolFault) -> Bool {
        guard isRenewing else { return false }
        if isLetGo { return true }
        do throws(SpoolFault) {
            try renew()
            return false
        } catch {
            guard error.kind == .full else { throw error }
            return true
        }
    }

    /// A kill at any moment leaves a file of which everything is noted as settled, or one that was destroyed on purpose, or the new one.
    func renew() throws(SpoolFault) {
        database.closeKeepingLog()
        try ProvenFile.destroy(path)
        (owed, recordAgain) = (Owed(), nil)
        // It is about a file that is no more.
        if (try? settled?.restart([], settledMark)) == nil {
            SettledFile.remove(SettledFile.path(beside: path))
            settled = nil
        }
        file = try ProvenFile(making: path, as: SpoolSchema.format, options.proven(say))
        try readAbout()
        isRenewing = false
    }
}
