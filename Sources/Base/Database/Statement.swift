// A compiled SQL statement: binds values, runs the statement and reads the columns of its rows. One thread at a time may use it.

internal import CSQLite
public import Platform

/// A compiled statement. Its values stay bound until they are bound again. `reset` ends a run.
public final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    init(_ handle: OpaquePointer, _ database: Database) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// True if the statement is at a row that has this column.
    private func hasColumn(_ column: Int32) -> Bool { (0..<sqlite3_data_count(handle)).contains(column) }

    /// Runs the statement to its next row. Returns true if there is a row.
    public func step() throws(StorageFault) -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let fault = database.fault("failed", code)
            sqlite3_reset(handle)
            throw fault
        }
    }

    public func reset() { sqlite3_reset(handle) }

    /// Runs the statement to its end and resets it.
    public func run() throws(StorageFault) {
        defer { reset() }
        while try step() {}
    }

    @discardableResult public func bind(_ index: Int32, _ value: Int64) -> Statement {
        check(sqlite3_bind_int64(handle, index, value))
        return self
    }

    @discardableResult public func bind(_ index: Int32, _ value: Int) -> Statement { bind(index, Int64(value)) }

    @discardableResult public func bind(_ index: Int32, _ text: String) -> Statement {
        // The length is passed because the text may contain a zero byte.
        check(sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), copied))
        return self
    }

    /// Binds bytes without copying them. The bytes must stay valid until the statement has run.
    @discardableResult public func bind(_ index: Int32, lending bytes: UnsafeRawBufferPointer) -> Statement {
        if let base = bytes.baseAddress {
            check(sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil))
        } else {
            check(sqlite3_bind_zeroblob(handle, index, 0))
        }
        return self
    }

    /// Binds the value of a column of another statement's row, with its stored type.
    @discardableResult public func bind(_ index: Int32, column: Int32, of row: Statement) -> Statement {
        check(sqlite3_bind_value(handle, index, sqlite3_column_value(row.handle, column)))
        return self
    }

    /// Other results than these two depend on the value or on memory.
    private func check(_ code: Int32) {
        assert(code != SQLITE_RANGE, "a value is bound to a parameter that the statement lacks")
        assert(code != SQLITE_MISUSE, "a value is bound while the statement runs")
    }

    enum ColumnType {
        case null
        case integer
        case real
        case text
        case blob
    }

    /// Returns the type of the stored value, which can differ from the declared type of the column.
    func type(_ column: Int32) -> ColumnType {
        assert(hasColumn(column), "a column is read outside a row")
        return switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    public func int(_ column: Int32) -> Int64 {
        assert(hasColumn(column), "a number is read outside a row")
        return sqlite3_column_int64(handle, column)
    }
    public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    public func text(_ column: Int32) -> String {
        assert(hasColumn(column), "a text is read outside a row")
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    /// Returns the stored bytes of a text. They are valid until the next step.
    func textBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_text(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    func realBits(_ column: Int32) -> UInt64 { sqlite3_column_double(handle, column).bitPattern }

    /// Returns the bytes of a blob. They are valid until the next step.
    public func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        assert(hasColumn(column), "a blob is read outside a row")
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }
}

/// SQLITE_TRANSIENT: SQLite makes its own copy of the bound bytes.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
