// A database of the state folder with a proof in it and a witness beside it. It promises that the next opening notices if acknowledged
// transactions have vanished through damage to the file, its log or both. Until then it changes no evidence.
//
// The user needs a `FileFormat` whose `provenSince` is the first version with a proof. Its `tables` must not contain the table `proof`,
// which is added here. Every row that the user relies on needs a column for its `RowChecksum`, which the user writes and verifies.
//
//     switch try ProvenFile.open(path, as: format, options, admit: …, upgrade: …) {
//     case .absent:             // nothing there: ProvenFile(making: path, as: format, options)
//     case .open(let file):     // file.database is ready; write only in file.transaction { … }
//     case .damaged(let damage):  // nothing was changed. damage.words, damage.losses(kept:). Refuse, or ProvenFile.rebuild(…)
//     }
//
// `admit` may refuse a file (for example, a file under another key) before anything is written. `upgrade` converts an old format inside the
// transaction that also writes the proof. Inside `file.transaction` the user changes `file.proof` (counts, last, digest) together with its
// rows. Either all of it is committed or nothing. The order is: commit, then write the witness, then `transaction` returns. Only then may
// the user acknowledge the work.
//
// Call `file.close()` at the end. If the file turns out to be damaged, call `file.database.closeKeepingLog()` and then `open` again, which
// describes the damage. Use `FileSight.look` to examine a file without changing it, and `ProvenFile.destroy` to destroy it on purpose.

internal import Glibc
public import Platform

public final class ProvenFile {
    public struct Options: Sendable {
        /// True if a transaction returns only after the disk has stored it.
        public var isSynced = false
        public var pageSize = 4096
        /// The name of a file system that replaces SQLite's own in tests.
        public var vfs: String?
        /// The number of milliseconds to wait for another process that has locked the file.
        public var timeout: Int32 = 5000
        /// True if other processes may write to the file too.
        public var isShared = false
        /// Called in each transaction after its proof was written, so that the user can store something that depends on the proof.
        public var sealed: @Sendable (Proof, Database) throws(StorageFault) -> Void = { (_, _) throws(StorageFault) in }
        /// Called with a message about a problem that the program cannot fix.
        public var warn: @Sendable (String) -> Void = { _ in }
        public init() {}
    }

    public enum Opening {
        case absent
        case open(ProvenFile)
        case damaged(Damage)
    }

    public let path: String
    public let database: Database
    /// The proof of the file. It may change only inside a transaction.
    public var proof: Proof
    private let application: Int64
    let options: Options
    var witness: Witness?
    private var hasWarned = false

    init(_ database: Database, proof: Proof, format: FileFormat, options: Options) {
        path = database.path
        self.database = database
        self.proof = proof
        application = format.application
        self.options = options
    }

    // MARK: - Opening

    public static func open(
        _ path: String, as format: FileFormat, _ options: Options,
        admit: (Database) throws(StorageFault) -> Void = { _ in },
        upgrade: (ProvenFile, _ version: Int64) throws(StorageFault) -> Void
    ) throws(StorageFault) -> Opening {
        try finishRebuild(of: path, as: format, options)
        let sight = try FileSight.look(at: path, as: format, vfs: options.vfs, timeout: options.timeout)
        switch sight.state {
        case .absent: return .absent
        case .damaged(let damage): return .damaged(damage)
        case .whole(let database, let proof):
            let file = ProvenFile(database, proof: proof, format: format, options: options)
            var known: WitnessRecord?
            if case .found(let record) = sight.witness { known = record }
            do throws(StorageFault) {
                return try file.settled { () throws(StorageFault) in
                    try admit(database)
                    try file.begin()
                    if known != nil { file.witness = try Witness(Witness.path(beside: path)) }
                    if known == nil || sight.isAhead { file.updateWitness() }
                    if let warning = sight.warning { options.warn(warning) }
                }
            } catch {
                guard error.kind == .damaged else { throw error }
                return .damaged(Damage(error.description, witness: known, proof: proof))
            }
        case .old(let database, let version):
            let file = ProvenFile(database, proof: Proof(version: format.version, database: chance()), format: format, options: options)
            return try file.settled { () throws(StorageFault) in
                try admit(database)
                try file.begin()
                do throws(StorageFault) {
                    try database.transaction { () throws(StorageFault) in
                        try database.run(Proof.table)
                        try upgrade(file, version)
                        try database.run("PRAGMA user_version = \(format.version)")
                        try file.proof.write(database, format.application)
                        try options.sealed(file.proof, database)
                    }
                } catch {
                    // Closing the file removes what the failed upgrade has written, so that the disk is only as full as before.
                    if error.kind == .full { database.close() }
                    throw needing(1, of: path, error)
                }
                try file.makeWitness()
            }
        }
    }

    /// Creates a new file. There must be no file, or only leftovers of one that was destroyed on purpose.
    public convenience init(making path: String, as format: FileFormat, _ options: Options) throws(StorageFault) {
        if case .found(let record) = Witness.look(Witness.path(beside: path)), record.isDestroyed { try ProvenFile.remove(path) }
        try self.init(path, format: format, options: options, proof: Proof(version: format.version, database: ProvenFile.chance()))
        _ = try settled { () throws(StorageFault) in try makeWitness() }
    }

    /// Creates a new file without a witness.
    convenience init(_ path: String, format: FileFormat, options: Options, proof: Proof) throws(StorageFault) {
        try makePrivate(path)
        let database = try Database(path, vfs: options.vfs, timeout: options.timeout)
        self.init(database, proof: proof, format: format, options: options)
        _ = try settled { () throws(StorageFault) in
            try database.run("PRAGMA page_size = \(options.pageSize); PRAGMA auto_vacuum = INCREMENTAL")
            try database.configure(isSynced: options.isSynced, pageSize: options.pageSize)
            try database.transaction { () throws(StorageFault) in
                try database.run(format.tables)
                try database.run(Proof.table)
                try database.run("PRAGMA application_id = \(format.application); PRAGMA user_version = \(format.version)")
                try self.proof.write(database, format.application)
                try options.sealed(self.proof, database)
            }
        }
    }

    func settled(_ body: () throws(StorageFault) -> Void) throws(StorageFault) -> Opening {
        do throws(StorageFault) {
            try body()
            return .open(self)
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    /// Prepares a file for writing after its examination.
    func begin() throws(StorageFault) {
        try makePrivate(path)
        try database.keepLog(false)
        try database.configure(isSynced: options.isSynced, pageSize: options.pageSize)
    }

    static func chance() -> Int64 {
        var system = SystemRandomNumberGenerator()
        return Int64(bitPattern: UInt64.random(in: 1 ... .max, using: &system))
    }

    // MARK: - Writing

    /// Runs the body in a transaction, then writes the witness. If the body throws, rolls back all of it.
    public func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        let before = proof
        let result: R
        do throws(StorageFault) {
            result = try database.transaction { () throws(StorageFault) in
                if options.isShared { proof = try current() }
                let started = proof
                let result = try body()
                assert(
                    proof.sequence == started.sequence && proof.database == started.database && proof.version == started.version,
                    "a transaction has replaced the proof of the file")
                proof.sequence += 1
                assert(proof.last >= started.last, "a row number that was given is free again")
                try proof.write(database, application)
                try options.sealed(proof, database)
                return result
            }
        } catch {
            proof = before
            throw error
        }
        updateWitness()
        return result
    }

    /// Converts a file of an older version that has a proof, in one transaction.
    public func upgrade(to version: Int64, _ body: () throws(StorageFault) -> Void) throws(StorageFault) {
        precondition(version > proof.version, "a file is converted to a version that is not newer")
        let earlier = proof
        do throws(StorageFault) {
            try database.transaction { () throws(StorageFault) in
                try body()
                proof.version = version
                proof.sequence += 1
                try database.run("PRAGMA user_version = \(version)")
                try proof.write(database, application)
                try options.sealed(proof, database)
            }
        } catch {
            proof = earlier
            throw error
        }
        updateWitness()
    }

    private func current() throws(StorageFault) -> Proof {
        guard let proof = try Proof.read(database, application) else {
            throw StorageFault(.damaged, "\(path): has no table 'proof' any more")
        }
        return proof
    }

    public func close() { database.close() }

    // MARK: - The witness

    /// Creates or replaces the witness. If this fails for a new or upgraded file, the file is not used.
    private func makeWitness() throws(StorageFault) {
        assert(witness == nil, "a second witness replaces the one in use")
        witness = try Witness(Witness.path(beside: path), making: proof.record(application))
        ProvenFile.syncFolder(of: path)
    }

    /// Writes the proof to the witness. A failure cannot undo the commit, so it only causes a warning, and only the first of several.
    func updateWitness() {
        do throws(StorageFault) {
            if let witness { try witness.write(proof.record(application), isShared: options.isShared) } else { try makeWitness() }
            hasWarned = false
        } catch {
            if !hasWarned { options.warn("\(error); damage to \(path) might not be noticed") }
            hasWarned = true
        }
    }

    // MARK: - Destroying

    /// Destroys the file on purpose. After a kill at any moment, either the file is still whole or the next opening finds it destroyed.
    public static func destroy(_ path: String) throws(StorageFault) {
        let place = Witness.path(beside: path)
        var record = WitnessRecord(application: 0, version: 0, database: 0, sequence: 1)
        var witness: Witness?
        if case .found(let known) = Witness.look(place) {
            record = known
            witness = try Witness(place)
        }
        record.sequence &+= 1
        record.isDestroyed = true
        if let witness {
            // The existing witness is overwritten. On a full disk there is no space for a new one, and destroying the file frees space.
            try witness.write(record)
            try witness.sync()
        } else {
            _ = try Witness(place, making: record)
            syncFolder(of: path)
        }
        // The next opening would put a finished draft of an interrupted rebuild in the place of the file.
        try removeDraft(of: path)
        try remove(path)
        // With this sync a loss of power cannot bring back the file without its witness.
        syncFolder(of: path)
        guard unlink(place) == 0 || errno == ENOENT else { throw StorageFault(.failed, "\(place): cannot be removed: \(SystemFault())") }
    }

    /// Returns true if anything of the file exists: the file, its log, its witness or the draft of an interrupted rebuild.
    public static func isAnywhere(_ path: String) -> Bool {
        [path, path + "-wal", Witness.path(beside: path), draft(of: path)].contains(where: exists)
    }

    static func remove(_ path: String) throws(StorageFault) {
        for file in [path + "-wal", path, path + "-shm", path + "-journal"] where unlink(file) != 0 && errno != ENOENT {
            throw StorageFault(.failed, "\(file): cannot be removed: \(SystemFault())")
        }
    }

    static func syncFolder(of path: String) {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        let number = Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { return }
        fsync(number)
        Glibc.close(number)
    }
}
