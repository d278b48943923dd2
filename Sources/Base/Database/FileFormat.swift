// How a file of the state folder begins: for its owner alone, marked as one of ours, and with the settings that all of them share.
// A file of another program or of a newer version is left untouched.

internal import Glibc
public import Platform

/// What a kind of file holds, and how it is recognised.
public struct FileFormat: Sendable {
    /// Four letters, as `file` and `PRAGMA application_id` show them.
    public var application: Int64
    public var version: Int64
    /// The statements that make its tables, with what each column means, so that anyone can look inside with the sqlite3 shell.
    public var tables: String
    /// The statements that turn a file of each version, from 1 on, into one of the next.
    public var upgrades: [String]
    /// The first version that has a proof and a witness; nil: none has.
    public var provenSince: Int64?

    public init(application: Int64, version: Int64, tables: String, upgrades: [String] = [], provenSince: Int64? = nil) {
        self.provenSince = provenSince
        self.application = application
        self.version = version
        self.tables = tables
        self.upgrades = upgrades
    }
}

extension Database {
    /// Whether the file has the mark of the format.
    public func isMarked(as format: FileFormat) throws(StorageFault) -> Bool {
        try number("PRAGMA application_id") == format.application
    }

    /// Makes the tables of a new file, or checks that it is one of the format. What is deleted is overwritten, and space is given
    /// back. `isSynced`: a transaction that was done outlives a loss of power.
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

    /// The settings of a connection that writes.
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

    /// That it is one of the format, and of no newer version.
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

/// Makes the file for its owner alone before SQLite does, which gives its companions the same mode.
public func makePrivate(_ path: String) throws(StorageFault) {
    let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be opened: \(SystemFault())") }
    let descriptor = Descriptor(owning: number)
    var status = stat()
    guard fstat(descriptor.number, &status) == 0, status.st_uid == geteuid() else {
        throw StorageFault(.failed, "\(path): belongs to another user; give the router a state folder of its own (--state)")
    }
    if status.st_mode & 0o177 != 0, fchmod(descriptor.number, 0o600) != 0 {
        throw StorageFault(.failed, "\(path): cannot be closed to others: \(SystemFault())")
    }
}
