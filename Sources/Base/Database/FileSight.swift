// Examines a file that has a proof and a witness before anything is written to it: the file is absent, old, whole or damaged. It promises
// to preserve the evidence of damage. SQLite writes only the shared memory, and an empty log if there is none. An existing log stays as it
// is.

internal import Glibc
public import Platform

/// A description of a damaged file.
public struct Damage: Sendable {
    /// The message for the user. It names the file.
    public var words: String
    /// The record of the witness. It is nil if there is none that can be read.
    public var witness: WitnessRecord?
    /// The proof in the file. It is nil if it cannot be read.
    public var proof: Proof?
    /// True if the file is whole but is not the file that the witness describes. Nothing is left of that file.
    public var isOther = false
    /// True if there is a file that may be readable.
    public var isThere = true

    /// Describes damage that was found while the file was open.
    public init(_ words: String) { self.words = words }

    init(_ words: String, witness: WitnessRecord?, proof: Proof? = nil) {
        self.words = words
        self.witness = witness
        self.proof = proof
    }

    /// The entries that are missing under one key of the proof.
    public struct Loss: Sendable, Equatable {
        public var key: UInt64
        /// The number of entries that should be in the file.
        public var expected: Int64
        public var lost: Int64
        /// The number of recovered entries that had already left the file and appear again.
        public var again: Int64
        /// True if `lost` is only a lower bound. An unknown number of the recovered entries may have left the file before.
        public var isLeast = false
    }

    /// Returns the losses of all keys if the numbers of entries in `kept` could be recovered. Returns nil if neither the witness nor the
    /// file says what was there. Assumes that the newest entries are lost first, since entries leave a file in the order in which they
    /// came.
    public func losses(kept: [UInt64: Int64]) -> [Loss]? {
        assert(kept.values.allSatisfy { $0 >= 0 }, "a negative number of entries was recovered")
        var expected: [UInt64: (left: Int64, gone: Int64)] = [:]
        if let witness {
            for count in witness.counts { expected[count.key] = (max(0, count.came &- count.gone), count.gone) }
        } else if let proof {
            for count in proof.counts { expected[count.key] = (max(0, count.left), count.gone) }
        } else {
            return nil
        }
        var (found, gone): ([UInt64: Int64], [UInt64: Int64]) = ([:], [:])
        // The witness sums up the counts that do not fit into it under the key 0.
        let known: (UInt64) -> UInt64 = { expected[$0] != nil || expected[0] == nil ? $0 : 0 }
        if !isOther {
            for (key, count) in kept { found[known(key), default: 0] += count }
            for count in proof?.counts ?? [] { gone[known(count.key), default: 0] += count.gone }
        }
        for key in found.keys where expected[key] == nil { expected[key] = (0, 0) }
        return expected.sorted { $0.key < $1.key }.map { key, there in
            let kept = found[key] ?? 0
            let late = proof == nil ? 0 : min(max(0, there.gone &- (gone[key] ?? 0)), kept)
            let again = max(late, kept - there.left)
            var loss = Loss(key: key, expected: there.left, lost: max(0, there.left - (kept - again)), again: again)
            loss.isLeast = proof == nil && there.gone > 0 && kept > again
            return loss
        }
    }
}

/// The result of the examination of a file.
public struct FileSight {
    public enum State {
        /// There is no file: there never was one, or it was destroyed on purpose.
        case absent
        /// A file with a format from before there were proofs, open without changes to it.
        case old(Database, version: Int64)
        /// A whole file, open without changes to it.
        case whole(Database, Proof)
        case damaged(Damage)
    }

    public var state: State
    public var witness: WitnessSight
    /// True if the file has commits that its witness does not record, because a kill came between the two writes.
    var isAhead: Bool {
        guard case .whole(_, let proof) = state, case .found(let known) = witness else { return false }
        return proof.sequence > known.sequence
    }
    /// A warning for the user about a file that is whole. It is nil if there is nothing to warn about.
    public var warning: String?

    /// Examines the file and its witness. Throws `foreign` if the file is of another program or a newer version. `format` must have
    /// `provenSince`.
    public static func look(
        at path: String, as format: FileFormat, vfs: String? = nil, timeout: Int32 = 5000
    ) throws(StorageFault) -> FileSight {
        assert(format.provenSince != nil, "a format without proofs has nothing to compare")
        let place = Witness.path(beside: path)
        let witness = Witness.look(place)
        var known: WitnessRecord?
        // Even a damaged witness shows that there was a file.
        var unreadable: String?
        switch witness {
        case .missing: break
        case .damaged(let words): unreadable = words
        case .found(let record):
            if record.isDestroyed { return FileSight(state: .absent, witness: witness) }
            known = record
        }
        if let words = try emptiness(of: path) {
            // A log cannot be read without its main file. The file is not opened, since SQLite would then delete the log.
            guard witness != .missing || size(of: path + "-wal") ?? 0 > 0 else { return FileSight(state: .absent, witness: witness) }
            var damage = Damage(unreadable.map { "\(words), and \($0)" } ?? words, witness: known)
            damage.isThere = false
            return FileSight(state: .damaged(damage), witness: witness)
        }
        let database = try Database(path, makes: false, vfs: vfs, timeout: timeout)
        do throws(StorageFault) {
            try database.keepLog(true)
            var sight = FileSight(state: try judge(database, format: format, known: known, unreadable: unreadable), witness: witness)
            if case .damaged = sight.state { database.closeKeepingLog() }
            // A kill can leave a new file without a witness, so this causes no warning. It never leaves a new file with a damaged witness.
            if case .whole(_, let proof) = sight.state, known == nil, unreadable != nil || proof.sequence > 1 {
                sight.warning =
                    "\(unreadable ?? "\(place): is not there"), so nobody can tell whether the newest data of \(path) is lost"
            }
            return sight
        } catch {
            database.closeKeepingLog()
            guard error.kind == .damaged else { throw error }
            return FileSight(state: .damaged(Damage(error.description, witness: known)), witness: witness)
        }
    }

    /// Returns the state of an open file. `known` is the record of the witness. `unreadable` says why a witness that exists has no record.
    private static func judge(
        _ database: Database, format: FileFormat, known: WitnessRecord?, unreadable: String?
    ) throws(StorageFault) -> State {
        let path = database.path
        let hasWitness = known != nil || unreadable != nil
        let more = unreadable.map { ", and \($0)" } ?? ""
        guard try database.number("SELECT count(*) FROM sqlite_schema") != 0 else {
            if hasWitness { return .damaged(Damage("\(path): has no tables any more\(more)", witness: known)) }
            database.closeKeepingLog()
            return .absent
        }
        let application = try database.number("PRAGMA application_id") ?? 0
        let version = try database.number("PRAGMA user_version") ?? 0
        let proof = try Proof.read(database, format.application)
        // A valid proof shows that the file is of this kind even if its mark is damaged, since the proof's checksum covers the mark.
        let isOurs = proof != nil || known?.application == format.application
        guard application == format.application else {
            if isOurs { return .damaged(Damage("\(path): the mark of its kind is damaged", witness: known, proof: proof)) }
            throw StorageFault(.foreign, "\(path): is a database of another program; it is left as it is")
        }
        if version > format.version, version == proof?.version ?? known?.version ?? version {
            throw database.newer(version, than: format)
        }
        guard let proof else {
            if hasWitness { return .damaged(Damage("\(path): has no table 'proof' any more\(more)", witness: known)) }
            if version < format.provenSince ?? .max { return .old(database, version: version) }
            return .damaged(Damage("\(path): has no table 'proof'", witness: nil))
        }
        guard version == proof.version else {
            return .damaged(Damage("\(path): the version of its form is damaged", witness: known, proof: proof))
        }
        guard let known else { return .whole(database, proof) }
        guard known.database == proof.database else {
            var damage = Damage("\(path): is another file, not the one that was there", witness: known, proof: proof)
            damage.isOther = true
            return .damaged(damage)
        }
        guard proof.sequence >= known.sequence else {
            let gone = grouped(Int(clamping: known.sequence &- proof.sequence))
            let words = "\(path): its last \(gone) transactions are gone, since its log was damaged, emptied or removed"
            return .damaged(Damage(words, witness: known, proof: proof))
        }
        return .whole(database, proof)
    }

    /// Returns why there can be no database at the path. Returns nil if the file may be a database.
    private static func emptiness(of path: String) throws(StorageFault) -> String? {
        guard let size = size(of: path) else {
            if errno == ENOENT { return "\(path): the file is not there" }
            throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())")
        }
        // The header of every database has 100 bytes.
        return size >= 100 ? nil : "\(path): the file holds \(size) bytes only"
    }

    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
