// A thin cover over SQLite: its calls, with the faults as values that name the file and say what to do. It knows nothing of
// what its users keep. A database and its statements belong to one thread at a time.

internal import CSQLite
public import Platform

public final class Database {
    public let path: String
    private var handle: OpaquePointer?
    private var prepared: [String: Statement] = [:]
    /// Where the file lies, and its log, when one has been seen.
    private var place: FilePlace?
    private var logPlace: FilePlace?

    /// Opens the file, or makes it when `makes`. `vfs` names another file system than SQLite's own, for tests.
    public init(_ path: String, makes: Bool = true, vfs: String? = nil, patience milliseconds: Int32 = 0) throws(StorageFault) {
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

    /// From now on the log is left as it is: closing brings nothing of it into the main file and does not delete it, and neither does
    /// a write. So nothing of evidence changes as long as nothing is written.
    func keepLog(_ keeps: Bool) throws(StorageFault) {
        csqlite_keep_log(handle, keeps ? 1 : 0)
        if keeps { try run("PRAGMA wal_autocheckpoint = 0") }
    }

    /// Opens a file that must not change: to look at it, whoever has it, or at what is left of a damaged one.
    public static func lookingAt(_ path: String, vfs: String? = nil, patience milliseconds: Int32 = 0) throws(StorageFault) -> Database {
        let database = try Database(path, makes: false, vfs: vfs, patience: milliseconds)
        do throws(StorageFault) {
            try database.keepLog(true)
            try database.run("PRAGMA query_only = ON")
        } catch {
            database.close()
            throw error
        }
        return database
    }

    /// Closes it and leaves the log, damaged or not, for who looks into it.
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

    /// Runs statements that give nothing back.
    public func run(_ sql: String) throws(StorageFault) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault("failed", code) }
    }

    /// The statement, ready to be bound; compiled once.
    public func statement(_ sql: String) throws(StorageFault) -> Statement {
        if let known = prepared[sql] { return known }
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else {
            var fault = fault("failed", code)
            // The statements are right: a table or a column that is not there was there once.
            if code & 0xff == SQLITE_ERROR { fault.kind = .damaged }
            throw fault
        }
        let statement = Statement(compiled, self)
        prepared[sql] = statement
        return statement
    }

    /// Does all of the body or, when it throws, nothing of it.
    public func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        try run("BEGIN IMMEDIATE")
        do throws(StorageFault) {
            let result = try body()
            // Nobody is told that something was done which nobody would find.
            try checkPlace()
            try run("COMMIT")
            return result
        } catch {
            for statement in prepared.values { statement.reset() }
            // After some faults SQLite has rolled back by itself, and says so by refusing.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    /// Fails when the file or its log was removed, moved away or replaced since it was opened.
    public func checkPlace() throws(StorageFault) {
        guard let place else { return }
        guard FilePlace(path) == place else { throw .removed(path) }
        let log = FilePlace(path + "-wal")
        if let logPlace, log != logPlace { throw .removed(path + "-wal") }
        logPlace = log
    }

    /// The file may be anywhere from now on: what it holds is still to be read and removed.
    public func letGo() { place = nil }

    /// The one number that a statement gives; nil: it gave no row.
    public func number(_ sql: String) throws(StorageFault) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    /// How many rows the last statement that changes some has changed.
    public var changes: Int { Int(sqlite3_changes64(handle)) }

    /// The main file, as SQLite has it open.
    var file: UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK ? file : nil
    }

    /// For what SQLite calls of itself.
    var connection: OpaquePointer? { handle }

    /// Lets go of all pages that are in memory.
    func releaseMemory() { sqlite3_db_release_memory(handle) }

    func fault(_ what: String, _ code: Int32) -> StorageFault {
        // An open that failed for want of memory has no handle to ask.
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
