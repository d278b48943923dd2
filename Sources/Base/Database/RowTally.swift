// The SQL functions with which `RowGuard` computes and verifies the checksums of rows, and counts the rows that came and left. SQLite calls
// them for each row, from triggers and from conditions of statements.

internal import CSQLite
internal import Events
internal import Platform

/// The state of the SQL functions of a connection. SQLite calls these functions for each row.
final class RowTally {
    /// The arguments of a call.
    private typealias Values = UnsafeBufferPointer<OpaquePointer?>

    struct Change {
        var came: Int64 = 0
        var gone: Int64 = 0
    }

    private let application: Int64
    private let names: [StaticString]
    /// The key of the checksums. It is nil if they have none.
    var key: SipKey?
    /// The values of one row, of which a checksum under the key is computed.
    private var text = ByteBuffer()
    /// For each table, the numbers of rows that came and left in the current transaction.
    private(set) var changes: [Change] = []
    /// The change of the sum of all checksums in the current transaction.
    private(set) var digest: UInt64 = 0
    /// The sum of the checksums of all rows that were verified.
    private(set) var seen: UInt64 = 0
    /// For each index, the sum over its entries minus the sum over the rows of the table.
    private(set) var pairs: [UInt64] = []
    /// True if all entries of the index that were read so far are in order.
    private(set) var isOrdered = true
    private var last: Word?

    private enum Word {
        case number(Int64)
        case bytes([UInt8])
    }

    init(_ application: Int64, _ names: [StaticString], _ key: SipKey?) {
        self.application = application
        self.names = names
        self.key = key
        begin()
    }

    func begin() {
        changes = Array(repeating: Change(), count: names.count)
        digest = 0
    }

    func beginVerifying() { seen = 0 }

    func beginTable(indexes: Int) {
        pairs = Array(repeating: 0, count: indexes)
        beginIndex()
    }

    func beginIndex() {
        isOrdered = true
        last = nil
    }

    // MARK: - Functions

    func define(in database: Database) throws(StorageFault) {
        try define("row_came", in: database) { context, values in
            let tally = RowTally.of(context)
            guard let (table, sum) = tally.sum(values) else { return RowTally.misuse(context) }
            tally.changes[table].came += 1
            tally.digest &+= UInt64(bitPattern: sum)
            sqlite3_result_int64(context, sum)
        }
        try define("row_left", in: database) { context, values in
            let tally = RowTally.of(context)
            guard values.count > 3, let row = tally.row(values.behind(1)) else { return RowTally.misuse(context) }
            // 0: the row is deleted and must be whole. 1: it is deleted and may be damaged. 2: it is changed and must be whole. The trigger
            // then calls `row_came` too, so the decrement here keeps a change from being counted.
            let way = sqlite3_value_int64(values[0])
            guard row.isWhole || way == 1 else { return tally.fail(context, values.behind(1)) }
            if way == 2 { tally.changes[row.table].came -= 1 } else { tally.changes[row.table].gone += 1 }
            tally.digest &-= UInt64(bitPattern: row.stored)
            sqlite3_result_int64(context, 1)
        }
        try define("row_whole", in: database) { context, values in
            let tally = RowTally.of(context)
            guard let row = tally.row(values) else { return RowTally.misuse(context) }
            if row.isWhole { sqlite3_result_int64(context, 1) } else { tally.fail(context, values) }
        }
        try define("row_is_whole", in: database) { context, values in
            guard let row = RowTally.of(context).row(values) else { return RowTally.misuse(context) }
            sqlite3_result_int64(context, row.isWhole ? 1 : 0)
        }
        try define("row_seen", in: database) { context, values in
            let tally = RowTally.of(context)
            guard let row = tally.row(values) else { return RowTally.misuse(context) }
            guard row.isWhole, tally.follows(values[2]) else { return tally.fail(context, values) }
            tally.seen &+= UInt64(bitPattern: row.stored)
            sqlite3_result_int64(context, 1)
        }
        try define("row_pair", in: database) { context, values in
            let tally = RowTally.of(context)
            guard values.count > 3, let index = Int(exactly: sqlite3_value_int64(values[0])), tally.pairs.indices.contains(index) else {
                return RowTally.misuse(context)
            }
            var sum = RowChecksum(tally.application, table: "index", row: 0)
            for value in values.behind(2) { sum.add(value: value) }
            if sqlite3_value_int64(values[1]) == 0 {
                tally.pairs[index] &-= UInt64(bitPattern: sum.value)
            } else {
                tally.pairs[index] &+= UInt64(bitPattern: sum.value)
                if !tally.follows(values[2]) { tally.isOrdered = false }
            }
            sqlite3_result_int64(context, 1)
        }
    }

    private typealias Function = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

    private static func of(_ context: OpaquePointer?) -> RowTally {
        Unmanaged<Body>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue().tally
    }

    /// The closure behind an SQL function.
    private final class Body {
        let tally: RowTally
        let run: (OpaquePointer?, Values) -> Void
        init(_ tally: RowTally, _ run: @escaping (OpaquePointer?, Values) -> Void) {
            self.tally = tally
            self.run = run
        }
    }

    private func define(
        _ name: String, in database: Database, _ run: @escaping (OpaquePointer?, Values) -> Void
    ) throws(StorageFault) {
        let call: Function = { context, count, values in
            let body = Unmanaged<Body>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
            body.run(context, Values(start: values, count: Int(count)))
        }
        let body = Unmanaged.passRetained(Body(self, run)).toOpaque()
        // SQLite releases the body when the connection is closed, or at once if this call fails.
        let code = sqlite3_create_function_v2(database.connection, name, -1, SQLITE_UTF8, body, call, nil, nil) { body in
            Unmanaged<Body>.fromOpaque(body!).release()
        }
        guard code == SQLITE_OK else { throw database.fault("failed", code) }
    }

    /// Returns the checksum of a row. The values are the table's number and the columns of the row.
    private func sum(_ values: Values) -> (table: Int, sum: Int64)? { sum(values, columns: values.behind(1)) }

    private func sum(_ values: Values, columns: Values) -> (table: Int, sum: Int64)? {
        guard let first = values.first, let table = Int(exactly: sqlite3_value_int64(first)), names.indices.contains(table),
            let first = columns.first
        else { return nil }
        if let key { return (table, keyedSum(columns, table: table, key: key)) }
        var sum: RowChecksum
        if sqlite3_value_type(first) == SQLITE_INTEGER {
            sum = RowChecksum(application, table: names[table], row: sqlite3_value_int64(first))
        } else {
            sum = RowChecksum(application, table: names[table], row: 0)
            sum.add(value: first)
        }
        for value in columns.behind(1) { sum.add(value: value) }
        return (table, sum.value)
    }

    /// Returns the checksum of a row under a key. It covers the kind of file, the table, and each value with its type and length.
    private func keyedSum(_ columns: Values, table: Int, key: SipKey) -> Int64 {
        // The buffer is moved out, so that Swift need not check each access to it.
        var text = ByteBuffer()
        swap(&text, &self.text)
        defer { swap(&text, &self.text) }
        text.removeAll()
        text.append(word: UInt64(bitPattern: application))
        text.append(word: UInt64(names[table].utf8CodeUnitCount))
        text.append(names[table].utf8Start, names[table].utf8CodeUnitCount)
        for value in columns {
            let type = sqlite3_value_type(value)
            text.append(UInt8(truncatingIfNeeded: type))
            switch type {
            case SQLITE_INTEGER: text.append(word: UInt64(bitPattern: sqlite3_value_int64(value)))
            case SQLITE_FLOAT: text.append(word: sqlite3_value_double(value).bitPattern)
            case SQLITE_NULL: break
            default:
                // The address comes before the length, because SQLite may convert the value to give it.
                let base = type == SQLITE_TEXT ? UnsafeRawPointer(sqlite3_value_text(value)) : sqlite3_value_blob(value)
                let count = base == nil ? 0 : Int(sqlite3_value_bytes(value))
                text.append(word: UInt64(count))
                if let base, count > 0 { text.append(base.assumingMemoryBound(to: UInt8.self), count) }
            }
        }
        return Int64(bitPattern: key.hash(ByteRun(base: text.base, count: text.count)))
    }

    /// Verifies a row. The values are the table's number, the stored checksum and the columns of the row. Returns nil if they are invalid.
    private func row(_ values: Values) -> (table: Int, stored: Int64, isWhole: Bool)? {
        guard values.count > 2, let (table, sum) = sum(values, columns: values.behind(2)) else { return nil }
        let stored = values[1]
        let isWhole = sqlite3_value_type(stored) == SQLITE_INTEGER && sqlite3_value_int64(stored) == sum
        return (table, sqlite3_value_int64(stored), isWhole)
    }

    private func follows(_ value: OpaquePointer?) -> Bool {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER:
            let number = sqlite3_value_int64(value)
            defer { last = .number(number) }
            return if case .number(let last) = last { last <= number } else { true }
        case SQLITE_TEXT, SQLITE_BLOB:
            let base = sqlite3_value_blob(value)
            let bytes = [UInt8](UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_value_bytes(value))))
            defer { last = .bytes(bytes) }
            return if case .bytes(let last) = last { !bytes.lexicographicallyPrecedes(last) } else { true }
        default: return true
        }
    }

    private func fail(_ context: OpaquePointer?, _ values: Values) {
        assert(values.count > 2, "the fault of a row does not have the row's key")
        let key = values[2]
        let row = sqlite3_value_type(key) == SQLITE_INTEGER ? "row \(sqlite3_value_int64(key))" : "a row"
        let table = names[Int(sqlite3_value_int64(values[0]))]
        sqlite3_result_error(context, "\(row) of table \(table) is damaged", -1)
        sqlite3_result_error_code(context, SQLITE_CORRUPT)
    }

    private static func misuse(_ context: OpaquePointer?) { sqlite3_result_error_code(context, SQLITE_MISUSE) }
}

extension ByteBuffer {
    fileprivate mutating func append(word: UInt64) {
        withUnsafeBytes(of: word.littleEndian) { append($0.baseAddress!.assumingMemoryBound(to: UInt8.self), $0.count) }
    }
}

extension UnsafeBufferPointer<OpaquePointer?> {
    /// The values behind so many of the first ones.
    fileprivate func behind(_ count: Int) -> UnsafeBufferPointer { UnsafeBufferPointer(rebasing: dropFirst(count)) }
}

extension RowChecksum {
    fileprivate mutating func add(value: OpaquePointer?) {
        switch sqlite3_value_type(value) {
        case SQLITE_INTEGER: add(sqlite3_value_int64(value))
        case SQLITE_TEXT:
            let base = sqlite3_value_text(value)
            add(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_value_bytes(value))), type: 2)
        case SQLITE_BLOB:
            let base = sqlite3_value_blob(value)
            add(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : Int(sqlite3_value_bytes(value))), type: 3)
        case SQLITE_FLOAT:
            // No guarded column stores such a number. The checksum covers its bits, so that this damage is found too.
            add(Int64(bitPattern: sqlite3_value_double(value).bitPattern))
            addNull()
        default: addNull()
        }
    }
}
