// What is found at the place of a file that has a proof and a witness, before anything is written there. It promises to change nothing of
// evidence: SQLite writes only the shared memory beside the file, and the log stays as it is.

internal import Glibc
public import Platform

/// What is wrong with a file.
public struct Damage: Sendable {
    /// Names the file.
    public var words: String
    /// What the witness knows, where it can be told.
    public var witness: WitnessRecord?
    /// What the file itself says, where that can be told.
    public var proof: Proof?
    /// The file is whole, but it is not the one that the witness knows: of that one nothing is left.
    public var isOther = false
    /// There is a file that something may be read from.
    public var isThere = true

    /// Something that turned out while the file was open.
    public init(_ words: String) { self.words = words }

    init(_ words: String, _ witness: WitnessRecord?, _ proof: Proof? = nil) {
        self.words = words
        self.witness = witness
        self.proof = proof
    }

    /// What is missing of one key.
    public struct Loss: Sendable, Equatable {
        public var key: UInt64
        /// How many were there.
        public var expected: Int64
        public var lost: Int64
        /// How many of those that are there had left the file already, and come once more.
        public var again: Int64
        /// It may be that more are lost: as many as had left the file already and come once more, which cannot be told.
        public var isLeast = false
    }

    /// What is missing when so much could be kept, by key; nil: it cannot be told, since neither the witness nor the file says what there
    /// was. What came last is lost first, since things leave a file in the order in which they came.
    public func losses(kept: [UInt64: Int64]) -> [Loss]? {
        var expected: [UInt64: (left: Int64, gone: Int64)] = [:]
        if let witness {
            for count in witness.counts { expected[count.key] = (max(0, count.came &- count.gone), count.gone) }
        } else if let proof {
            for count in proof.counts { expected[count.key] = (max(0, count.left), count.gone) }
        } else {
            return nil
        }
        var (found, gone): ([UInt64: Int64], [UInt64: Int64]) = ([:], [:])
        // The witness has what it has no room for under the key 0.
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

/// What was found.
public struct FileSight {
    public enum State {
        /// Nothing is there, and nothing was or it was destroyed on purpose.
        case absent
        /// A form before there were proofs, open to look at.
        case old(Database, version: Int64)
        /// Open to look at.
        case whole(Database, Proof)
        case damaged(Damage)
    }

    public var state: State
    public var witness: WitnessSight
    /// The witness does not know yet of all that was done: a kill fell between the two.
    var isAhead: Bool {
        guard case .whole(_, let proof) = state, case .found(let known) = witness else { return false }
        return proof.sequence > known.sequence
    }
    /// What a person should know of a file that is whole.
    public var warning: String?

    /// A file of another program or of a newer version is thrown as `foreign`. `format` is one with `provenSince`.
    public static func look(
        at path: String, as format: FileFormat, vfs: String? = nil, patience: Int32 = 5000
    ) throws(StorageFault) -> FileSight {
        let place = Witness.path(beside: path)
        let witness = Witness.look(place)
        var known: WitnessRecord?
        // A witness tells that there was a file, also where nothing more can be read of it.
        var unreadable: String?
        switch witness {
        case .missing: break
        case .damaged(let words): unreadable = words
        case .found(let record):
            if record.isDestroyed { return FileSight(state: .absent, witness: witness) }
            known = record
        }
        if let words = try emptiness(of: path) {
            // Without its main file a log cannot be read, and SQLite would delete it.
            guard witness != .missing || size(of: path + "-wal") ?? 0 > 0 else { return FileSight(state: .absent, witness: witness) }
            var damage = Damage(unreadable.map { "\(words), and \($0)" } ?? words, known)
            damage.isThere = false
            return FileSight(state: .damaged(damage), witness: witness)
        }
        let database = try Database(path, makes: false, vfs: vfs, patience: patience)
        do throws(StorageFault) {
            try database.keepLog(true)
            var sight = FileSight(state: try judge(database, format, known, unreadable), witness: witness)
            if case .damaged = sight.state { database.closeKeepingLog() }
            // A kill leaves a new file without its witness, and never with a damaged one.
            if case .whole(_, let proof) = sight.state, known == nil, unreadable != nil || proof.sequence > 1 {
                sight.warning =
                    "\(unreadable ?? "\(place): is not there"), so nobody can tell whether the newest that \(path) held has vanished"
            }
            return sight
        } catch {
            database.closeKeepingLog()
            guard error.kind == .damaged else { throw error }
            return FileSight(state: .damaged(Damage(error.description, known)), witness: witness)
        }
    }

    /// `known`: what the witness says; `unreadable`: why it says nothing, though it is there.
    private static func judge(
        _ database: Database, _ format: FileFormat, _ known: WitnessRecord?, _ unreadable: String?
    ) throws(StorageFault) -> State {
        let path = database.path
        let hasWitness = known != nil || unreadable != nil
        let more = unreadable.map { ", and \($0)" } ?? ""
        guard try database.number("SELECT count(*) FROM sqlite_schema") != 0 else {
            if hasWitness { return .damaged(Damage("\(path): has no tables any more\(more)", known)) }
            database.closeKeepingLog()
            return .absent
        }
        let application = try database.number("PRAGMA application_id") ?? 0
        let version = try database.number("PRAGMA user_version") ?? 0
        let proof = try Proof.read(database, format.application)
        // A proof is one of this kind of file, whatever its mark says: its checksum is made with the mark.
        let isOurs = proof != nil || known?.application == format.application
        guard application == format.application else {
            if isOurs { return .damaged(Damage("\(path): the mark of its kind is damaged", known, proof)) }
            throw StorageFault(.foreign, "\(path): is a database of another program; it is left as it is")
        }
        if version > format.version, version == proof?.version ?? known?.version ?? version {
            throw database.newer(version, than: format)
        }
        guard let proof else {
            if hasWitness { return .damaged(Damage("\(path): has no table 'proof' any more\(more)", known)) }
            if version < format.provenSince ?? .max { return .old(database, version: version) }
            return .damaged(Damage("\(path): has no table 'proof'", nil))
        }
        guard version == proof.version else {
            return .damaged(Damage("\(path): the version of its form is damaged", known, proof))
        }
        guard let known else { return .whole(database, proof) }
        guard known.database == proof.database else {
            var damage = Damage("\(path): is another file than the one that was there", known, proof)
            damage.isOther = true
            return .damaged(damage)
        }
        guard proof.sequence >= known.sequence else {
            let gone = grouped(Int(clamping: known.sequence &- proof.sequence))
            let words = "\(path): its last \(gone) transactions are gone, since its log was damaged, emptied or removed"
            return .damaged(Damage(words, known, proof))
        }
        return .whole(database, proof)
    }

    /// nil: there is something that may be a database.
    private static func emptiness(of path: String) throws(StorageFault) -> String? {
        guard let size = size(of: path) else {
            if errno == ENOENT { return "\(path): the file is not there" }
            throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())")
        }
        // As long as the head of every database.
        return size >= 100 ? nil : "\(path): the file holds \(size) bytes only"
    }

    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
