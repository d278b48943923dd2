// A thin wrapper around SQLite. It turns SQLite's errors into faults that name the file. It does not know what its users store. Only one
// thread at a time may use a database and its statements.

internal import CSQLite
public import Platform

public final class Database {
    public let path: String
    private var handle: OpaquePointer?
    private var prepared: [String: Statement] = [:]
    /// The identity of the file when it was opened. It is nil if the place of the file is not checked.
    private var place: FilePlace?
    /// The identity of the write-ahead log. It is nil until `checkPlace` has found a log.
    private var logPlace: FilePlace?

    /// Opens the file. If `makes` is true, creates the file if it does not exist. Tests use `vfs` to replace SQLite's file system.
    public init(_ path: String, makes: Bool = true, vfs: String? = nil, timeout milliseconds: Int32 = 0) throws(StorageFault) {
        self.path = path
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | (makes ? SQLITE_OPEN_CREATE : 0)
        let code = sqlite3_open_v2(path, &handle, flags, vfs)
        guard code == SQLITE_OK else {
            let fault = fault("cannot be opened", code)
            sqlite3_close_v2(handle)
            throw fault
        }
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, milliseconds)
        place = FilePlace(path)
    }

    deinit { close() }

    /// If `keeps` is true, leaves the log alone from now on: neither a close nor a write copies it into the main file or deletes it. So
    /// evidence of damage does not change as long as nothing is written.
    func keepLog(_ keeps: Bool) throws(StorageFault) {
        csqlite_keep_log(handle, keeps ? 1 : 0)
        if keeps { try run("PRAGMA wal_autocheckpoint = 0") }
    }

    /// Opens a file without changing it, even if another process uses the file or the file is damaged.
    public static func lookingAt(_ path: String, vfs: String? = nil, timeout milliseconds: Int32 = 0) throws(StorageFault) -> Database {
        let database = try Database(path, makes: false, vfs: vfs, timeout: milliseconds)
        do throws(StorageFault) {
            try database.keepLog(true)
            try database.run("PRAGMA query_only = ON")
        } catch {
            database.close()
            throw error
        }
        return database
    }

    /// Closes the database and leaves the log, damaged or not, for a later inspection.
    public func closeKeepingLog() {
        guard handle != nil else { return }
        csqlite_keep_log(handle, 1)
        close()
    }

    public func close() {
        prepared.removeAll()
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Runs statements and ignores the rows that they return.
    public func run(_ sql: String) throws(StorageFault) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault("failed", code) }
    }

    /// Returns the compiled statement, ready to be bound. Each SQL text is compiled once.
    public func statement(_ sql: String) throws(StorageFault) -> Statement {
        if let known = prepared[sql] { return known }
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else {
            assert(code != SQLITE_OK, "an SQL text has no statement")
            var fault = fault("failed", code)
            // The statements are correct, so a table or a column that is missing was lost.
            if code & 0xff == SQLITE_ERROR { fault.kind = .damaged }
            throw fault
        }
        let statement = Statement(compiled, self)
        prepared[sql] = statement
        return statement
    }

    /// Runs the body in a transaction. If the body throws, rolls back all of it.
    public func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        assert(!isInTransaction, "a transaction begins inside another one")
        try run("BEGIN IMMEDIATE")
        do throws(StorageFault) {
            let result = try body()
            // A commit to a file that was moved away or replaced must not be reported as done, since nobody would find it.
            try checkPlace()
            try run("COMMIT")
            return result
        } catch {
            for statement in prepared.values { statement.reset() }
            // After some errors SQLite has already rolled back. Then this statement fails, which does no harm.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            assert(!isInTransaction, "a rollback left the transaction open")
            throw error
        }
    }

    private var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }

    /// Throws if the file or its log was removed, moved away or replaced since the file was opened.
    public func checkPlace() throws(StorageFault) {
        guard let place else { return }
        guard FilePlace(path) == place else { throw .removed(path) }
        let log = FilePlace(path + "-wal")
        if let logPlace, log != logPlace { throw .removed(path + "-wal") }
        logPlace = log
    }

    /// Stops checking the place of the file, so that rows can still be read and removed after the file was moved away or replaced.
    public func letGo() { place = nil }

    /// Returns the number in the first column of the first row. Returns nil if the statement returns no row.
    public func number(_ sql: String) throws(StorageFault) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    /// The number of rows that the last INSERT, UPDATE or DELETE changed.
    public var changes: Int { Int(sqlite3_changes64(handle)) }

    /// SQLite's handle of the main file. It is nil if SQLite does not give it.
    var file: UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK ? file : nil
    }

    /// The connection on which `RowGuard` registers its SQL functions.
    var connection: OpaquePointer? { handle }

    /// Frees the pages in SQLite's cache that are not in use.
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    func fault(_ what: String, _ code: Int32) -> StorageFault {
        // If an open failed because memory ran out, there is no handle.
        let words = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "out of memory"
        let system = handle.map { sqlite3_system_errno($0) } ?? 0
        let kind: StorageFault.Kind =
            switch code & 0xff {
            case SQLITE_FULL: .full
            case SQLITE_IOERR where system == 28 || system == 122: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
            case SQLITE_BUSY, SQLITE_LOCKED: .taken
            default: .failed
            }
        let detail = system == 0 ? "" : " (\(SystemFault(code: system)))"
        return StorageFault(kind, "\(path): \(what): \(words)\(detail)")
    }
}
