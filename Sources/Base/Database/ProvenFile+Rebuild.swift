// Rebuilds a damaged file: makes a draft from what can be read, sets the damaged file aside, and puts the draft in its place. After a kill at
// any moment, the next opening finishes the rebuild or repeats it. A rebuild that fails leaves the damaged file as it was.

internal import Glibc
public import Platform

extension ProvenFile {
    /// Creates a new file from what can be read of the damaged one, sets the damaged file aside, and puts the new file in its place.
    ///
    /// `fill` runs inside a transaction of the new file. It gets the new file and, if it can be opened, the damaged file to read from. It
    /// sets `proof`. `tell` gets the name under which the damaged file is set aside, or nil if there is no such file. `tell` runs before
    /// the damaged file is set aside and after all steps that need disk space. So after a kill at any moment, either `tell` has run or the
    /// whole rebuild is repeated. If the rebuild fails, the damaged file is as it was, and nothing is left of the new file. `now` is in
    /// nanoseconds since 1970.
    public static func rebuild(
        _ path: String, as format: FileFormat, options: Options, damage: Damage, at now: Int64,
        fill: (ProvenFile, Database?) throws(StorageFault) -> Void, tell: (_ setAside: String?) -> Void
    ) throws(StorageFault) -> ProvenFile {
        let draft = draft(of: path)
        try removeDraft(of: path)
        let number = damage.witness?.database ?? damage.proof?.database ?? chance()
        let aside = nameAside(path, now)
        // If the file cannot be opened, there is nothing to copy.
        let old = damage.isThere ? try? Database.lookingAt(path, vfs: options.vfs, timeout: options.timeout) : nil
        defer { old?.closeKeepingLog() }
        let proof: Proof
        do throws(StorageFault) {
            let file = try ProvenFile(draft, format: format, options: options, proof: Proof(version: format.version, database: number))
            _ = try file.settled { () throws(StorageFault) in
                try file.database.transaction { () throws(StorageFault) in
                    try fill(file, old)
                    assert(file.proof.database == number, "a rebuilt file has lost the number of the file")
                    file.proof.sequence = max(damage.witness?.sequence ?? 1, damage.proof?.sequence ?? 1) + 1
                    try file.proof.write(file.database, format.application)
                }
                guard try file.database.number("PRAGMA wal_checkpoint(FULL)") == 0 else {
                    throw StorageFault(.taken, "\(draft): somebody is reading it")
                }
            }
            proof = file.proof
            // The log was copied into the main file. A draft that still has a log does not count as finished. So a kill before `tell` has
            // run leads to another rebuild.
            tell(exists(path) || exists(path + "-wal") ? aside : nil)
            file.database.close()
            for companion in ["-wal", "-shm"] where unlink(draft + companion) != 0 && errno != ENOENT {
                throw StorageFault(.failed, "\(draft)\(companion): cannot be removed: \(SystemFault())")
            }
        } catch {
            try? removeDraft(of: path)
            throw needing(2, of: path, error)
        }
        old?.closeKeepingLog()
        do throws(StorageFault) {
            try setAside(path, as: aside)
            try put(draft, at: path)
            let database = try Database(path, makes: false, vfs: options.vfs, timeout: options.timeout)
            let placed = ProvenFile(database, proof: proof, format: format, options: options)
            _ = try placed.settled { () throws(StorageFault) in
                try placed.begin()
                if case .found = Witness.look(Witness.path(beside: path)) { placed.witness = try Witness(Witness.path(beside: path)) }
                placed.updateWitness()
            }
            return placed
        } catch {
            takeBack(path, from: aside)
            throw error
        }
    }

    /// Puts a damaged file that was set aside back in its place. The main file is moved last. If a kill comes before that, the next opening
    /// puts the finished draft in its place, as the rebuild would have done.
    private static func takeBack(_ path: String, from aside: String) {
        let draft = draft(of: path)
        if !exists(draft) {
            guard rename(path, draft) == 0 else { return }
            for companion in ["-wal", "-shm"] { unlink(path + companion) }
        }
        for companion in ["-wal", ""] where exists(aside + companion) {
            guard rename(aside + companion, path + companion) == 0 else { return }
        }
        try? removeDraft(of: path)
    }

    /// Removes the draft of a rebuild. The main file is removed first, since a draft without a log could be taken for finished.
    static func removeDraft(of path: String) throws(StorageFault) {
        let draft = draft(of: path)
        guard unlink(draft) == 0 || errno == ENOENT else { throw StorageFault(.failed, "\(draft): cannot be removed: \(SystemFault())") }
        try remove(draft)
    }

    /// Returns a fault about a full disk with the number of bytes that are needed: the size of the file and its log, times `copies`.
    /// Returns any other fault unchanged.
    static func needing(_ copies: Int, of path: String, _ fault: StorageFault) -> StorageFault {
        guard fault.kind == .full else { return fault }
        let there = (FileSight.size(of: path) ?? 0) + (FileSight.size(of: path + "-wal") ?? 0)
        let bytes = grouped(max(65_536, copies * there))
        return StorageFault(
            .full, "\(fault); about \(bytes) bytes must be free on its disk to take over the contents of \(path), which were not changed")
    }

    /// Renames a file and its log. The main file is renamed first. If a kill comes in between, a finished draft takes its place.
    static func setAside(_ path: String, as name: String) throws(StorageFault) {
        for companion in ["", "-wal"] where rename(path + companion, name + companion) != 0 && errno != ENOENT {
            throw StorageFault(.failed, "\(path)\(companion): is damaged and cannot be set aside: \(SystemFault())")
        }
        unlink(path + "-shm")
    }

    /// Returns a name that contains the time and that no file has yet.
    static func nameAside(_ path: String, _ now: Int64) -> String {
        let base = "\(path).damaged-\(now / 1_000_000_000)"
        var (name, number) = (base, 1)
        while exists(name) || exists(name + "-wal") {
            number += 1
            name = "\(base)-\(number)"
        }
        return name
    }

    static func draft(of path: String) -> String { path + ".rebuilt" }
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private static func put(_ draft: String, at path: String) throws(StorageFault) {
        guard rename(draft, path) == 0 else { throw StorageFault(.failed, "\(draft): cannot take its place: \(SystemFault())") }
        syncFolder(of: path)
    }

    /// Handles a rebuild that a kill interrupted. If the draft is finished and the old file is set aside, puts the draft in its place.
    /// Otherwise removes the draft.
    static func finishRebuild(of path: String, as format: FileFormat, _ options: Options) throws(StorageFault) {
        let draft = draft(of: path)
        guard exists(draft) || exists(draft + "-wal") else { return }
        var isDone = false
        if exists(draft), !exists(path), !exists(draft + "-wal"), let database = try? Database.lookingAt(draft, vfs: options.vfs) {
            defer { database.closeKeepingLog() }
            if let proof = (try? Proof.read(database, format.application)).flatMap({ $0 }) {
                isDone = proof.sequence > 1
                if case .found(let known) = Witness.look(Witness.path(beside: path)) {
                    isDone = !known.isDestroyed && proof.database == known.database && proof.sequence > known.sequence
                }
            }
        }
        guard isDone else { return try removeDraft(of: path) }
        // SQLite must not combine a remaining log of the old file with the new file.
        if exists(path + "-wal") {
            var status = stat()
            let then = stat(draft, &status) == 0 ? Int64(status.st_mtim.tv_sec) : 0
            try setAside(path, as: nameAside(path, then * 1_000_000_000))
        }
        try put(draft, at: path)
        for companion in ["-wal", "-shm"] { unlink(draft + companion) }
    }
}
