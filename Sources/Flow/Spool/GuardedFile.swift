// A file of the state folder whose rows have checksums (RowGuard.swift), with a proof in it and a witness beside it (ProvenFile.swift): held
// events, dead letters. It promises that no row whose checksum is wrong is taken for sound, that what has vanished is noticed at the next
// opening, and that a damaged file is set aside whole, with what is lost told in numbers, before a new one takes its place. Each opening reads
// all of it. Other processes may have the file open too.

internal import Database
internal import Glibc
internal import Platform

/// What was found damaged, when a file was opened.
public struct FileLoss: Sendable, Equatable {
    /// How many events are lost; 1 where nobody can tell, 0 where all could be read.
    public var events: Int
    /// Names the file.
    public var words: String
}

/// What such a file holds.
struct GuardedKind: Sendable {
    var format: FileFormat
    var tables: [GuardedTable]
    /// Which of the tables has a row for each event.
    var events: Int
    /// Those that are made of the others.
    var derived: Set<Int> = []
    /// What a few of its events are called.
    var noun: String
    /// Gives a file of an older form all that it lacks but for the checksums.
    var upgrade: @Sendable (Database, _ version: Int64) throws(StorageFault) -> Void = { _, _ in }
    /// Puts in order what was copied out of a damaged file: what makes no sense without what is lost is removed.
    var complete: @Sendable (Database) throws(StorageFault) -> Void = { _ in }

    var application: Int64 { format.application }
    var table: String { "\(tables[events].name)" }

    /// Reads all rows, and throws `damaged` where one is not as it was written, is missing, or cannot be found by an index.
    func verify(_ database: Database) throws(StorageFault) { try RowGuard(database, application: application, tables).verify() }
}

final class GuardedFile {
    enum Use {
        /// One is made where there is none, and a damaged one is mended.
        case make
        /// A damaged one is mended; so is one that is missing and was not destroyed on purpose.
        case mend
        /// A damaged one is a fault, and stays as it is.
        case open
    }

    let database: Database
    let loss: FileLoss?
    /// nil: it was opened to look at it only.
    private let file: ProvenFile?
    private let rows: RowGuard

    /// The greatest number that a row was ever given; changed only inside of a transaction.
    var last: Int64 {
        get { file?.proof.last ?? 0 }
        set { file?.proof.last = newValue }
    }

    private init(_ file: ProvenFile, _ kind: GuardedKind, _ loss: FileLoss? = nil) throws(StorageFault) {
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

    /// nil: there is none. `admit` may refuse the file, under another key, say. `verifies`: reads all rows. `now`: nanoseconds since 1970.
    static func open(
        _ path: String, _ kind: GuardedKind, _ use: Use, verifies: Bool = true, _ options: ProvenFile.Options, at now: Int64,
        admit: (Database) throws(StorageFault) -> Void = { _ in }
    ) throws(StorageFault) -> GuardedFile? {
        var options = options
        // How far the file has come is read anew each time: of a commit that failed nobody knows whether it was done.
        options.isShared = true
        // Nobody else opens it meanwhile, who would take a file that is being rebuilt for one that a kill left.
        let lock = FolderLock(of: path)
        defer { withExtendedLifetime(lock) {} }
        // A link, a folder, a file of somebody else: nothing is made or mended there.
        if use != .open, Salvage.exists(path) { try makePrivate(path) }
        var damage: Damage
        do throws(StorageFault) {
            switch try opening(path, kind, verifies, options, admit) {
            case .absent:
                guard case .make = use else { return nil }
                return try GuardedFile(ProvenFile(making: path, as: kind.format, options), kind)
            case .open(let file): return try GuardedFile(file, kind)
            case .damaged(let found): damage = found
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = Damage(error.description)
        }
        if case .open = use { throw advised(damage) }
        var rebuild = GuardedRebuild(kind, damage)
        let file = try rebuild.run(path, options, at: now, admit)
        return try GuardedFile(file, kind, rebuild.loss)
    }

    private static func opening(
        _ path: String, _ kind: GuardedKind, _ verifies: Bool, _ options: ProvenFile.Options,
        _ admit: (Database) throws(StorageFault) -> Void
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
            options.warn("\(path): is of form \(version), without checksums; it was taken over as it is")
        }
    }

    static func greatest(in database: Database, _ kind: GuardedKind) throws(StorageFault) -> Int64 {
        try database.number(
            """
            SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = '\(kind.table)'), 0),
              coalesce((SELECT max(id) FROM \(kind.table)), 0))
            """) ?? 0
    }

    /// Opens it to look at it, whoever has it, and changes nothing; nil: there is none.
    static func look(
        at path: String, _ kind: GuardedKind, verifies: Bool = true, vfs: String? = nil, patience: Int32 = 5000,
        admit: (Database) throws(StorageFault) -> Void = { _ in }
    ) throws(StorageFault) -> GuardedFile? {
        switch try FileSight.look(at: path, as: kind.format, vfs: vfs, patience: patience).state {
        case .absent: return nil
        case .damaged(let damage): throw advised(damage)
        case .old(let database, _):
            defer { database.closeKeepingLog() }
            try admit(database)
            throw StorageFault(.failed, "\(path): has an older form; the next router that starts takes it over")
        case .whole(let database, _):
            return try GuardedFile(lookingAt: database, kind, verifies, admit)
        }
    }

    private init(
        lookingAt database: Database, _ kind: GuardedKind, _ verifies: Bool, _ admit: (Database) throws(StorageFault) -> Void
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

    private static func advised(_ damage: Damage) -> StorageFault {
        StorageFault(.damaged, damage.words + "; the next router that starts there sets it aside and takes over what can be read of it")
    }

    /// Somebody who may do so has moved the file away that is open: what its log holds goes into it, wherever it is, and it is closed.
    func followRemoved() {
        if !Salvage.exists(database.path) { _ = try? database.number("PRAGMA wal_checkpoint(TRUNCATE)") }
        database.closeKeepingLog()
    }

    /// Where nothing of the file is left but its witness, and that is no loss, nothing tells of it any more.
    static func forgetRemoved(_ path: String) throws(StorageFault) {
        let lock = FolderLock(of: path)
        defer { withExtendedLifetime(lock) {} }
        var log = stat()
        guard !Salvage.exists(path), stat(path + "-wal", &log) != 0 || log.st_size == 0 else { return }
        if case .missing = Witness.look(Witness.path(beside: path)) { return }
        try ProvenFile.destroy(path)
    }

    // MARK: - Using it

    /// Does all of the body or, when it throws, nothing of it.
    func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        guard let file else { throw StorageFault(.failed, "\(database.path): was opened to look at it only") }
        rows.begin()
        return try file.transaction { () throws(StorageFault) in
            let result = try body()
            rows.settle(into: &file.proof)
            return result
        }
    }

    /// Gives back the space of what was removed, and leaves nothing of it in the log.
    func tidy() throws(StorageFault) {
        try database.run("PRAGMA incremental_vacuum")
        if try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 1 {
            throw StorageFault(.taken, "\(database.path): somebody is reading it, so its log cannot be emptied")
        }
    }

    var isLook: Bool { file == nil }

    func close() {
        if isLook { database.closeKeepingLog() } else { database.close() }
    }

    /// It turned out to be damaged: nothing of it changes any more.
    func closeKeepingLog() { database.closeKeepingLog() }
}

/// One process at a time opens files of a folder.
private final class FolderLock {
    private let descriptor: Descriptor

    init(of path: String) {
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        descriptor = Descriptor(owning: Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        while descriptor.number >= 0, flock(descriptor.number, LOCK_EX) != 0, errno == EINTR {}
    }
}
