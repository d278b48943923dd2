// A file of the state folder whose rows have checksums (RowGuard.swift), with a proof in it and a witness beside it (ProvenFile.swift):
// held events or dead letters. Other processes may have the file open too. An opening reads all rows, unless the caller turns this off. It
// promises:
//
// - No row with a wrong checksum is taken for whole.
// - The next opening notices rows that have vanished.
// - A damaged file is set aside as it was found, and the loss is reported with numbers, before a new file replaces it.

public import Database
internal import Glibc
public import Platform

/// The loss that was found when a damaged file was opened.
public struct FileLoss: Sendable, Equatable {
    /// The number of lost events. It is 1 if the number is unknown, and 0 if all events could be read.
    public var events: Int
    /// A message that names the file.
    public var message: String
}

/// The description of a kind of guarded file.
public struct GuardedKind: Sendable {
    public var format: FileFormat
    var tables: [GuardedTable]
    /// The index of the table that has one row for each event.
    var events: Int
    /// The indexes of the tables whose rows are computed from the other tables.
    var derived: Set<Int>
    /// The plural name of its events in messages.
    var noun: String
    /// Adds to a file of an older format everything that it lacks, except the checksums.
    var upgrade: @Sendable (Database, _ version: Int64) throws(StorageFault) -> Void
    /// Completes the rows that were copied out of a damaged file. Removes rows that make no sense without the lost ones.
    var complete: @Sendable (Database) throws(StorageFault) -> Void

    public init(
        format: FileFormat, tables: [GuardedTable], events: Int, derived: Set<Int> = [], noun: String,
        upgrade: @escaping @Sendable (Database, _ version: Int64) throws(StorageFault) -> Void = { _, _ in },
        complete: @escaping @Sendable (Database) throws(StorageFault) -> Void = { _ in }
    ) {
        assert(tables.indices.contains(events) && !derived.contains(events), "the events have no table of their own")
        self.format = format
        self.tables = tables
        self.events = events
        self.derived = derived
        self.noun = noun
        self.upgrade = upgrade
        self.complete = complete
    }

    var application: Int64 { format.application }
    var table: String { "\(tables[events].name)" }

    /// Reads all rows. Throws `damaged` if a row is not as it was written, is missing, or cannot be found through an index.
    public func verify(_ database: Database) throws(StorageFault) { try RowGuard(database, application: application, tables).verify() }
}

public final class GuardedFile {
    public enum Use {
        /// Creates a file if there is none, and rebuilds a damaged one.
        case make
        /// Rebuilds a damaged file, and a missing file that was not destroyed on purpose.
        case mend
        /// Throws if the file is damaged, and leaves it as it is.
        case open
    }

    public let database: Database
    /// The loss that was found when the file was opened. It is nil if the file was not damaged.
    public let loss: FileLoss?
    /// The file for writing. It is nil if the file was opened only to look at it.
    private let file: ProvenFile?
    private let rows: RowGuard

    /// The greatest number that a row was ever given. It may change only inside a transaction.
    public var last: Int64 {
        get { file?.proof.last ?? 0 }
        set {
            assert(file != nil && newValue >= last, "a number would be used twice")
            file?.proof.last = newValue
        }
    }

    private init(_ file: ProvenFile, kind: GuardedKind, loss: FileLoss? = nil) throws(StorageFault) {
        database = file.database
        self.file = file
        self.loss = loss
        do throws(StorageFault) {
            rows = try RowGuard(file.database, application: kind.application, kind.tables)
            try rows.install()
        } catch {
            file.database.closeKeepingLog()
            throw error
        }
    }

    // MARK: - Opening

    /// Opens the file. Returns nil if there is none and `use` does not create one. `admit` may refuse the file, for example because it is
    /// under another key. If `verifies` is true, reads all rows first. `now` is in nanoseconds since 1970.
    public static func open(
        _ path: String, kind: GuardedKind, use: Use, verifies: Bool = true, options: ProvenFile.Options, at now: Int64,
        admit: (Database) throws(StorageFault) -> Void = { _ in }
    ) throws(StorageFault) -> GuardedFile? {
        var options = options
        // Each transaction reads the proof again, since nobody knows whether a failed commit was done.
        options.isShared = true
        // The lock keeps other processes from opening the file meanwhile. They would take a rebuild that still runs for one that was
        // killed.
        let lock = FolderLock(of: path)
        defer { withExtendedLifetime(lock) {} }
        // This throws for a link, a folder or a file of another user, where nothing may be created or rebuilt.
        if use != .open, GuardedFile.exists(path) { try makePrivate(path) }
        var damage: Damage
        do throws(StorageFault) {
            switch try opening(path, kind: kind, verifies: verifies, options: options, admit: admit) {
            case .absent:
                guard case .make = use else { return nil }
                return try GuardedFile(ProvenFile(making: path, as: kind.format, options), kind: kind)
            case .open(let file): return try GuardedFile(file, kind: kind)
            case .damaged(let found): damage = found
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = Damage(error.description)
        }
        if case .open = use { throw advised(damage) }
        var rebuild = GuardedRebuild(kind, damage)
        let file = try rebuild.run(path, options: options, at: now, admit: admit)
        return try GuardedFile(file, kind: kind, loss: rebuild.loss)
    }

    private static func opening(
        _ path: String, kind: GuardedKind, verifies: Bool, options: ProvenFile.Options,
        admit: (Database) throws(StorageFault) -> Void
    ) throws(StorageFault) -> ProvenFile.Opening {
        try ProvenFile.open(path, as: kind.format, options) { (database) throws(StorageFault) in
            let isOld = try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'proof'") == 0
            if verifies, !isOld { try kind.verify(database) }
            try admit(database)
        } upgrade: { (file, version) throws(StorageFault) in
            try kind.upgrade(file.database, version)
            for table in kind.tables { try file.database.run("ALTER TABLE \(table.name) ADD COLUMN checksum INTEGER") }
            let rows = try RowGuard(file.database, application: kind.application, kind.tables)
            try rows.fill()
            rows.settle(into: &file.proof)
            file.proof.last = try greatest(in: file.database, kind)
            options.warn("\(path): was in format \(version), without checksums; it was taken over as it is")
        }
    }

    static func greatest(in database: Database, _ kind: GuardedKind) throws(StorageFault) -> Int64 {
        try database.number(
            """
            SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '\(kind.table)'), 0),
              coalesce((SELECT max(id) FROM \(kind.table)), 0))
            """) ?? 0
    }

    /// Opens the file to look at it, even while another process uses it, and changes nothing. Returns nil if there is none.
    public static func look(
        at path: String, _ kind: GuardedKind, verifies: Bool = true, vfs: String? = nil, timeout: Int32 = 5000,
        admit: (Database) throws(StorageFault) -> Void = { _ in }
    ) throws(StorageFault) -> GuardedFile? {
        switch try FileSight.look(at: path, as: kind.format, vfs: vfs, timeout: timeout).state {
        case .absent: return nil
        case .damaged(let damage): throw advised(damage)
        case .old(let database, _):
            defer { database.closeKeepingLog() }
            try admit(database)
            throw StorageFault(.failed, "\(path): has an older format; the next router that starts takes it over")
        case .whole(let database, _):
            return try GuardedFile(lookingAt: database, kind, verifies: verifies, admit: admit)
        }
    }

    private init(
        lookingAt database: Database, _ kind: GuardedKind, verifies: Bool, admit: (Database) throws(StorageFault) -> Void
    ) throws(StorageFault) {
        self.database = database
        file = nil
        loss = nil
        do throws(StorageFault) {
            try database.run("PRAGMA query_only = ON")
            rows = try RowGuard(database, application: kind.application, kind.tables)
            if verifies { try rows.verify() }
            try admit(database)
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private static func advised(_ damage: Damage) -> StorageFault {
        StorageFault(.damaged, damage.words + "; the next router that starts there sets it aside and takes over what can be read of it")
    }

    /// Closes the file after a person has moved it away on purpose. If no other file is at the path, copies the log into the moved file
    /// first.
    public func followRemoved() {
        if !GuardedFile.exists(database.path) { _ = try? database.number("PRAGMA wal_checkpoint(TRUNCATE)") }
        database.closeKeepingLog()
    }

    /// Removes the witness of a file that a person has removed on purpose, so that no loss is reported. Does nothing if the file still
    /// exists or its log has contents.
    public static func forgetRemoved(_ path: String) throws(StorageFault) {
        let lock = FolderLock(of: path)
        defer { withExtendedLifetime(lock) {} }
        var log = stat()
        guard !GuardedFile.exists(path), stat(path + "-wal", &log) != 0 || log.st_size == 0 else { return }
        if case .missing = Witness.look(Witness.path(beside: path)) { return }
        try ProvenFile.destroy(path)
    }

    // MARK: - Using it

    /// Runs the body in a transaction. If the body throws, rolls back all of it.
    public func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        guard let file else { throw StorageFault(.failed, "\(database.path): was opened to look at it only") }
        rows.begin()
        return try file.transaction { () throws(StorageFault) in
            let result = try body()
            rows.settle(into: &file.proof)
            return result
        }
    }

    /// Frees the space of removed rows, and leaves nothing of them in the log.
    public func tidy() throws(StorageFault) {
        try database.run("PRAGMA incremental_vacuum")
        if try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 1 {
            throw StorageFault(.taken, "\(database.path): somebody is reading it, so its log cannot be emptied")
        }
    }

    public var isLook: Bool { file == nil }

    public func close() {
        if isLook { database.closeKeepingLog() } else { database.close() }
    }

    /// Closes a file that turned out to be damaged. Nothing of it changes any more.
    public func closeKeepingLog() { database.closeKeepingLog() }
}

/// A lock that lets only one process at a time open the guarded files of a folder.
private final class FolderLock {
    private let descriptor: Descriptor

    init(of path: String) {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        descriptor = Descriptor(owning: Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        while descriptor.number >= 0, flock(descriptor.number, LOCK_EX) != 0, errno == EINTR {}
    }
}
