// A thin cover over SQLite: its calls, with the faults as values that name the file and say what to do. It knows nothing of
// events. A database and its statements belong to one thread at a time.

internal import CSQLite
internal import Platform

final class Database {
    let path: String
    private var handle: OpaquePointer?
    private var prepared: [String: Statement] = [:]

    /// Opens the file, or makes it when `makes`. `vfs` names another file system than SQLite's own, for tests.
    init(_ path: String, makes: Bool = true, vfs: String? = nil, patience milliseconds: Int32 = 0) throws(SpoolFault) {
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
    }

    deinit { close() }

    func close() {
        prepared.removeAll()
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Runs statements that give nothing back.
    func run(_ sql: String) throws(SpoolFault) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw fault("failed", code) }
    }

    /// The statement, ready to be bound; compiled once.
    func statement(_ sql: String) throws(SpoolFault) -> Statement {
        if let known = prepared[sql] { return known }
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard code == SQLITE_OK, let compiled else { throw fault("failed", code) }
        let statement = Statement(compiled, self)
        prepared[sql] = statement
        return statement
    }

    /// Does all of the body or, when it throws, nothing of it.
    func transaction<R>(_ body: () throws(SpoolFault) -> R) throws(SpoolFault) -> R {
        try run("BEGIN IMMEDIATE")
        do throws(SpoolFault) {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            for statement in prepared.values { statement.reset() }
            // After some faults SQLite has rolled back by itself, and says so by refusing.
            sqlite3_exec(handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    /// The one number that a statement gives; nil: it gave no row.
    func number(_ sql: String) throws(SpoolFault) -> Int64? {
        let statement = try statement(sql)
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : nil
    }

    func fault(_ what: String, _ code: Int32) -> SpoolFault {
        // An open that failed for want of memory has no handle to ask.
        let words = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "out of memory"
        let system = handle.map { sqlite3_system_errno($0) } ?? 0
        let kind: SpoolFault.Kind =
            switch code & 0xff {
            case SQLITE_FULL: .full
            case SQLITE_IOERR where system == 28 || system == 122: .full
            case SQLITE_CORRUPT, SQLITE_NOTADB: .damaged
            case SQLITE_BUSY, SQLITE_LOCKED: .taken
            default: .failed
            }
        let detail = system == 0 ? "" : " (\(SystemFault(code: system)))"
        return SpoolFault(kind, "\(path): \(what): \(words)\(detail)")
    }
}

/// A compiled statement. Its values stay bound until they are bound anew; `reset` ends a run of it.
final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    fileprivate init(_ handle: OpaquePointer, _ database: Database) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs it on; whether there is a row to look at.
    func step() throws(SpoolFault) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let fault = database.fault("failed", code)
            sqlite3_reset(handle)
            throw fault
        }
    }

    func reset() { sqlite3_reset(handle) }

    /// Runs it to its end.
    func run() throws(SpoolFault) {
        defer { reset() }
        while try step() {}
    }

    @discardableResult func bind(_ index: Int32, _ value: Int64) -> Statement {
        sqlite3_bind_int64(handle, index, value)
        return self
    }

    @discardableResult func bind(_ index: Int32, _ value: Int) -> Statement { bind(index, Int64(value)) }

    @discardableResult func bind(_ index: Int32, _ text: String) -> Statement {
        sqlite3_bind_text(handle, index, text, -1, copied)
        return self
    }

    /// Lent: the bytes must stay until the statement has run.
    @discardableResult func bind(_ index: Int32, lending bytes: UnsafeRawBufferPointer) -> Statement {
        if let base = bytes.baseAddress {
            sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil)
        } else {
            sqlite3_bind_zeroblob(handle, index, 0)
        }
        return self
    }

    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    /// Valid until the next step.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }
}

/// SQLite is to keep a copy of its own.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
