// Recognises a database file of the state folder by its mark and its version, and applies its access mode and its settings.

internal import Glibc
public import Platform

/// The tables of a kind of file, and the numbers by which it is recognized.
public struct FileFormat: Sendable {
    /// The mark of the kind of file: four letters, as `file` and `PRAGMA application_id` show them.
    public var application: Int64
    public var version: Int64
    /// The statements that create its tables. Their comments explain each column to a person who uses the sqlite3 shell.
    public var tables: String
    /// The first version that has a proof and a witness. It is nil if no version has them.
    public var provenSince: Int64?

    public init(application: Int64, version: Int64, tables: String, provenSince: Int64? = nil) {
        self.provenSince = provenSince
        self.application = application
        self.version = version
        self.tables = tables
        assert(provenSince.map { (1...version).contains($0) } ?? true, "a file has proofs since a version that it does not have")
    }
}

extension Database {
    /// Returns true if the file has the mark of the format.
    public func isMarked(as format: FileFormat) throws(StorageFault) -> Bool {
        try number("PRAGMA application_id") == format.application
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
