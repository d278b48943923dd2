// A compiled statement of a database, its values and its columns.

internal import CSQLite
public import Platform

/// A compiled statement. Its values stay bound until they are bound anew; `reset` ends a run of it.
public final class Statement {
    private let handle: OpaquePointer
    private unowned let database: Database

    init(_ handle: OpaquePointer, _ database: Database) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Runs it on; whether there is a row to look at.
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

    /// Runs it to its end.
    public func run() throws(StorageFault) {
        defer { reset() }
        while try step() {}
    }

    @discardableResult public func bind(_ index: Int32, _ value: Int64) -> Statement {
        sqlite3_bind_int64(handle, index, value)
        return self
    }

    @discardableResult public func bind(_ index: Int32, _ value: Int) -> Statement { bind(index, Int64(value)) }

    @discardableResult public func bind(_ index: Int32, _ text: String) -> Statement {
        // With its length: a zero byte in it is not its end.
        sqlite3_bind_text(handle, index, text, Int32(text.utf8.count), copied)
        return self
    }

    /// Lent: the bytes must stay until the statement has run.
    @discardableResult public func bind(_ index: Int32, lending bytes: UnsafeRawBufferPointer) -> Statement {
        if let base = bytes.baseAddress {
            sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil)
        } else {
            sqlite3_bind_zeroblob(handle, index, 0)
        }
        return self
    }

    /// The value of a column of another statement's row, in the type that it has there.
    @discardableResult public func bind(_ index: Int32, column: Int32, of row: Statement) -> Statement {
        sqlite3_bind_value(handle, index, sqlite3_column_value(row.handle, column))
        return self
    }

    enum ColumnType {
        case null
        case integer
        case real
        case text
        case blob
    }

    /// The type of the value that is stored, whatever the column was declared as.
    func type(_ column: Int32) -> ColumnType {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    public func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
    public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    public func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        return String(decoding: UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column))), as: UTF8.self)
    }

    /// The bytes of a text as they are stored. Valid until the next step.
    func textBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_text(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }

    func realBits(_ column: Int32) -> UInt64 { sqlite3_column_double(handle, column).bitPattern }

    /// Valid until the next step.
    public func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_column_bytes(handle, column)))
    }
}

/// SQLite is to keep a copy of its own.
private let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
