// Creates, recognises and upgrades a database file of the state folder: its access mode, its mark, its version, its tables and its
// settings. It never writes to a file of another program or of a newer version.

internal import Glibc
public import Platform

/// The tables of a kind of file, and the numbers by which it is recognised.
public struct FileFormat: Sendable {
    /// The mark of the kind of file: four letters, as `file` and `PRAGMA application_id` show them.
    public var application: Int64
    public var version: Int64
    /// The statements that create its tables. Their comments explain each column to a person who uses the sqlite3 shell.
    public var tables: String
    /// The statements that upgrade a file to the next version. The first entry upgrades version 1.
    public var upgrades: [String]
    /// The first version that has a proof and a witness. It is nil if no version has them.
    public var provenSince: Int64?

    public init(application: Int64, version: Int64, tables: String, upgrades: [String] = [], provenSince: Int64? = nil) {
        self.provenSince = provenSince
        self.application = application
        self.version = version
        self.tables = tables
        self.upgrades = upgrades
        assert(provenSince.map { (1...version).contains($0) } ?? true, "a file has proofs since a version that it does not have")
    }
}

extension Database {
    /// Returns true if the file has the mark of the format.
    public func isMarked(as format: FileFormat) throws(StorageFault) -> Bool {
        try number("PRAGMA application_id") == format.application
    }

    /// Creates the tables of a new file, or checks that an existing file has the format and upgrades it. Sets up the file so that deleted
    /// data is overwritten and free space can be returned. If `isSynced` is true, a committed transaction survives a loss of power.
    public func settle(as format: FileFormat, isSynced: Bool, pageSize: Int = 4096) throws(StorageFault) {
        let isNew = try number("SELECT count(*) FROM sqlite_schema") == 0
        if isNew {
            try run("PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        } else {
            try check(format)
        }
        try configure(isSynced: isSynced, pageSize: pageSize)
        guard isNew else { return try upgrade(to: format) }
        try transaction { () throws(StorageFault) in
            try run(format.tables)
            try run("PRAGMA application_id = \(format.application); PRAGMA user_version = \(format.version)")
        }
    }

    /// Applies the settings of a connection that writes.
    func configure(isSynced: Bool, pageSize: Int) throws(StorageFault) {
        try run(
            """
            PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON; PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL");
            PRAGMA wal_autocheckpoint = \((8 << 20) / pageSize); PRAGMA journal_size_limit = \(16 << 20);
            PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY
            """)
    }

    private func upgrade(to format: FileFormat) throws(StorageFault) {
        let written = try number("PRAGMA user_version") ?? 0
        guard written < format.version else { return }
        try transaction { () throws(StorageFault) in
            for statements in format.upgrades.dropFirst(max(0, Int(written) - 1)) { try run(statements) }
            try run("PRAGMA user_version = \(format.version)")
        }
    }

    /// Throws if the file is not of the format or has a newer version.
    public func check(_ format: FileFormat) throws(StorageFault) {
        guard try isMarked(as: format) else {
            throw StorageFault(.foreign, "\(path): is a database of another program; it is left as it is")
        }
        let written = try number("PRAGMA user_version") ?? 0
        guard written <= format.version else { throw newer(written, than: format) }
    }

    func newer(_ version: Int64, than format: FileFormat) -> StorageFault {
        StorageFault(.foreign, "\(path): was written by a newer version (format \(version), not \(format.version)); it is left as it is")
    }
}

/// Creates the file with access for its owner only, or restricts an existing file. This happens before SQLite opens the file, since SQLite
/// gives the log and the shared memory the same mode.
public func makePrivate(_ path: String) throws(StorageFault) {
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be opened: \(SystemFault())") }
    let descriptor = Descriptor(owning: number)
    var status = stat()
    guard fstat(descriptor.number, &status) == 0, status.st_uid == geteuid() else {
        throw StorageFault(.failed, "\(path): belongs to another user; give the router a state folder of its own (--state)")
    }
    if status.st_mode & 0o177 != 0, fchmod(descriptor.number, 0o600) != 0 {
        throw StorageFault(.failed, "\(path): cannot be made private to its owner: \(SystemFault())")
    }
}
