// Deletes old entries and verdicts. The hashes of the entries stay, so the rest of the trail stays provable, and every head that was ever signed
// can still be compared. An entry says first what is deleted, so that nothing can be missing that the trail does not account for.

internal import Glibc
internal import MerkleLog
public import Platform

extension AuditLog {
    /// Deletes whole bundles and files whose newest entry is older than the time.
    public func prune(before time: Int64) throws(StorageFault) {
        guard let reader = try TrailReader(files, keys: keys.all) else { return }
        let limit = exactTimestamp(time)
        var firstKept = 0
        // The last bundle stays, whatever its age.
        while (firstKept / Tiles.width + 1) * Tiles.width < reader.head.size {
            let last = firstKept + Tiles.width - 1
            if let bytes = try reader.entry(last) {
                guard let at = EntryReading(bytes)?.text("at"), at < limit else { break }
            }
            firstKept += Tiles.width
        }
        guard firstKept > 0 else { return }
        let bundles = (0..<firstKept / Tiles.width).filter { access(files.bundle($0), F_OK) == 0 }
        let names = verdictFiles(before: firstKept)
        guard !bundles.isEmpty || !names.isEmpty else { return }
        var entry = AuditEntry(.pruned, at: now)
        entry.add("entries", firstKept)
        entry.add("verdicts", firstKept)
        note(entry)
        try flush()
        for path in names.map(files.verdicts) + bundles.map(files.bundle) where unlink(path) != 0 && errno != ENOENT {
            throw StorageFault(.failed, "\(path): cannot be removed: \(SystemFault())")
        }
    }

    /// Returns the names of the files of verdicts that only entries before this one name: those before the last that begins there.
    private func verdictFiles(before entry: Int) -> [String] {
        let names = TrailFiles.names(in: files.folder + "/verdicts").filter { Int($0) != nil }
        let older = names.filter { Int($0)! < entry }
        // A file that begins before the entry may go on after it, unless another one begins before the entry too.
        return Array(older.dropLast())
    }
}
