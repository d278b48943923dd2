// Frees space on a full disk: if all rows of a spool file are settled and there is no space to record this, an empty file replaces it.
// Without this, no space would become free. The log cannot grow, and it cannot be copied into the main file, since that file would have to
// grow too. A file with damaged batches that are kept for a person is never replaced.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform

extension SpoolFile {
    /// Replaces the file if all of its rows are settled. Called after this was noted because there was no space to record it.
    func renewIfSettled() {
        guard unrecorded.rewritten.isEmpty,
            (try? database.number("SELECT (SELECT count(*) FROM batches) + (SELECT count(*) FROM damaged)")) == unrecorded.gone.count
        else { return }
        database.closeKeepingLog()
        isRenewing = true
        do throws(StorageFault) {
            try renew()
            say("\(path): everything in it is settled; it was replaced by an empty file to free space")
            hasReportedUnrecorded = false
        } catch {
            // The next use of the spool tries this again before any other work.
            updateBudget()
        }
    }

    /// Returns true if there is no file, because all of it was settled and there is no space for a new one. Then there is nothing to read
    /// and nothing to record. If there is space now, creates the new file.
    func isWithoutFile() throws(StorageFault) -> Bool {
        guard isRenewing else { return false }
        if isLetGo { return true }
        do throws(StorageFault) {
            try renew()
            return false
        } catch {
            guard error.kind == .full else { throw error }
            return true
        }
    }

    /// Replaces the file with an empty one. A kill at any moment leaves one of three: the old file with all rows noted as settled, a file
    /// that was destroyed on purpose, or the new file.
    func renew() throws(StorageFault) {
        assert(isRenewing && damage == nil, "the file has rows that wait")
        database.closeKeepingLog()
        try ProvenFile.destroy(path)
        (unrecorded, recordAgain) = (Unrecorded(), nil)
        // The facts describe a file that no longer exists.
        if (try? settled?.restart([], settledMark)) == nil {
            SettledFile.remove(SettledFile.path(beside: path))
            settled = nil
        }
        file = try ProvenFile(making: path, as: SpoolSchema.format, options.proven(say))
        try readAbout()
        isRenewing = false
        // The new file needs the counts of the old one. If there is no space yet, the next transaction writes them.
        if !unrecordedDestroyed.isEmpty { try? transaction { () throws(StorageFault) in } }
    }
}
