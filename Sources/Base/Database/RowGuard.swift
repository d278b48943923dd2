// Maintains the checksums of a file's rows and the sums over them. Its user writes plain SQL. Temporary triggers, which exist only on this
// connection, compute the checksum of each new or changed row. They also verify a row before it is changed or deleted, so that no write
// makes a damaged row look whole. And they count the rows that came and left; `settle` adds these counts to the proof of the same
// transaction (Proof.swift). A statement that reads rows must contain the condition `whole`.
//
// `verify` compares all rows with the proof and each index with its table. A lookup in a damaged index finds nothing, and this must not be
// mistaken for a row that does not exist.

internal import CSQLite
public import Platform

/// A table whose rows have checksums, in a column `checksum`.
public struct GuardedTable: Sendable {
    public struct Index: Sendable {
        public var name: String
        public var columns: [String]
        /// The condition of a partial index. It is nil if the index contains all rows.
        public var condition: String?

        public init(_ name: String, _ columns: [String], where condition: String? = nil) {
            self.name = name
            self.columns = columns
            self.condition = condition
        }
    }

    public var name: StaticString
    /// The primary key, whose first column is a number or a text.
    public var key: [String]
    /// All other columns except `checksum`. Their order must not change.
    public var columns: [String]
    /// The indexes that statements use to find rows.
    public var indexes: [Index]
    /// True if a damaged row may be deleted.
    public var mayLoseDamaged: Bool

    public init(_ name: StaticString, key: [String], _ columns: [String], indexes: [Index] = [], mayLoseDamaged: Bool = false) {
        self.name = name
        self.key = key
        self.columns = columns
        self.indexes = indexes
        self.mayLoseDamaged = mayLoseDamaged
        assert(!key.isEmpty && !columns.contains("checksum"), "a row cannot be found, or its checksum covers itself")
    }

    fileprivate func list(_ prefix: String = "") -> String { (key + columns).map { prefix + $0 }.joined(separator: ", ") }
}

extension [GuardedTable] {
    /// Returns a condition for a statement on the table. It is true for a whole row. For a damaged row the statement fails with `damaged`.
    public func whole(_ table: String, as alias: String? = nil) -> String { "row_whole(\(arguments(table, alias)))" }

    /// Returns an expression for a statement on the table: 1 for a whole row, 0 for a damaged row.
    public func isWhole(_ table: String) -> String { "row_is_whole(\(arguments(table, nil)))" }

    private func arguments(_ table: String, _ alias: String?) -> String {
        let index = firstIndex { $0.name.description == table }!
        // In a statement that joins tables, another table may have a column of the same name.
        let prefix = (alias ?? table) + "."
        return "\(index), \(prefix)checksum, \(self[index].list(prefix))"
    }
}

/// Guards the rows of a database. Only the thread that uses the database may use it.
public final class RowGuard {
    private let database: Database
    private let tables: [GuardedTable]
    private let application: Int64
    private let tally: RowTally

    /// Registers the SQL functions on the connection and does not change the file.
    public init(_ database: Database, application: Int64, _ tables: [GuardedTable]) throws(StorageFault) {
        self.database = database
        self.tables = tables
        self.application = application
        assert(Set(tables.map { "\($0.name)" }).count == tables.count, "two guarded tables have the same name")
        tally = RowTally(application, tables.map(\.name))
        try tally.define(in: database)
    }

    // MARK: - Writing

    /// Creates the triggers. From now on each row that is inserted or changed gets its checksum.
    public func install() throws(StorageFault) {
        for (index, table) in tables.enumerated() {
            let old = "\(index), old.checksum, \(table.list("old."))"
            let set = "UPDATE \(table.name) SET checksum = row_came(\(index), \(table.list("new.")))"
            let same = table.key.map { "\($0) = new.\($0)" }.joined(separator: " AND ")
            try database.run(
                """
                CREATE TEMP TRIGGER row_came_\(index) AFTER INSERT ON main.\(table.name) BEGIN \(set) WHERE \(same); END;
                CREATE TEMP TRIGGER row_changed_\(index) AFTER UPDATE OF \(table.list()) ON main.\(table.name) BEGIN
                  SELECT row_left(2, \(old)); \(set) WHERE \(same);
                END;
                CREATE TEMP TRIGGER row_left_\(index) AFTER DELETE ON main.\(table.name) BEGIN
                  SELECT row_left(\(table.mayLoseDamaged ? 1 : 0), \(old));
                END
                """)
        }
    }

    /// Discards all counted changes, because a transaction begins or is tried again.
    public func begin() { tally.begin() }

    /// Adds the changes of the current transaction to the proof.
    public func settle(into proof: inout Proof) {
        assert(tally.changes.count == tables.count, "the changes of a table are missing")
        for (index, change) in tally.changes.enumerated() where change.came != 0 || change.gone != 0 {
            assert(change.came >= 0 && change.gone >= 0, "an update counts as a row that came or left")
            proof[RowGuard.key(index)].came += change.came
            proof[RowGuard.key(index)].gone += change.gone
            assert(proof[RowGuard.key(index)].left >= 0, "more rows left a table than ever came")
        }
        proof.digest &+= Int64(bitPattern: tally.digest)
        tally.begin()
    }

    /// Gives every row of a file with an older format its checksum, without judging its contents. Must be called before `install`.
    public func fill() throws(StorageFault) {
        for (index, table) in tables.enumerated() {
            try database.run("UPDATE \(table.name) SET checksum = row_came(\(index), \(table.list()))")
        }
    }

    // MARK: - Verifying

    /// Returns the key of a table in the counts of the proof.
    public static func key(_ index: Int) -> UInt64 { UInt64(index + 1) }

    /// Reads all rows. Throws `damaged` if a row is not as it was written, is missing, or cannot be found through an index.
    public func verify() throws(StorageFault) {
        try database.run("BEGIN")
        do throws(StorageFault) {
            try compare()
        } catch {
            try? database.run("ROLLBACK")
            throw error
        }
        try database.run("COMMIT")
    }

    private func compare() throws(StorageFault) {
        guard let proof = try Proof.read(database, application) else {
            throw StorageFault(.damaged, "\(database.path): has no table 'proof'")
        }
        tally.beginVerifying()
        for (index, table) in tables.enumerated() {
            try verify(table, index: index, expected: proof[RowGuard.key(index)].left)
        }
        guard tally.seen == UInt64(bitPattern: proof.digest) else {
            throw StorageFault(.damaged, "\(database.path): holds rows from an earlier time")
        }
    }

    private func verify(_ table: GuardedTable, index: Int, expected: Int64) throws(StorageFault) {
        var conditions = ["row_seen(\(index), checksum, \(table.list()))"]
        for (number, index) in table.indexes.enumerated() {
            let pair = "row_pair(\(number), 0, \((index.columns + table.key).joined(separator: ", ")))"
            conditions.append(index.condition.map { "CASE WHEN \($0) THEN \(pair) ELSE 1 END" } ?? pair)
        }
        tally.beginTable(indexes: table.indexes.count)
        let rows = try database.number("SELECT count(*) FROM \(table.name) NOT INDEXED WHERE \(conditions.joined(separator: " AND "))") ?? 0
        guard rows == expected else {
            let words = rows < expected ? "\(expected - rows) of its \(expected) rows are gone" : "has \(rows - expected) rows too many"
            throw StorageFault(.damaged, "\(database.path): table \(table.name): \(words)")
        }
        for (number, index) in table.indexes.enumerated() {
            let pair = "row_pair(\(number), 1, \((index.columns + table.key).joined(separator: ", ")))"
            let condition = [index.condition, pair].compactMap(\.self).joined(separator: " AND ")
            tally.beginIndex()
            _ = try database.number("SELECT count(*) FROM \(table.name) INDEXED BY \(index.name) WHERE \(condition)")
            guard tally.pairs[number] == 0, tally.isOrdered else {
                throw StorageFault(.damaged, "\(database.path): index \(index.name) does not match its table")
            }
        }
    }
}

/// The state of the SQL functions of a connection. SQLite calls these functions for each row.
private final class RowTally {
    struct Change {
        var came: Int64 = 0
        var gone: Int64 = 0
    }

    private let application: Int64
    private let names: [StaticString]
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

    init(_ application: Int64, _ names: [StaticString]) {
        self.application = application
        self.names = names
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
            guard values.count > 3, let row = tally.row(values.dropFirst()) else { return RowTally.misuse(context) }
            // 0: the row is deleted and must be whole. 1: it is deleted and may be damaged. 2: it is changed and must be whole. The trigger
            // then calls `row_came` too, so the decrement here keeps a change from being counted.
            let way = sqlite3_value_int64(values[0])
            guard row.isWhole || way == 1 else { return tally.fail(context, values.dropFirst()) }
            if way == 2 { tally.changes[row.table].came -= 1 } else { tally.changes[row.table].gone += 1 }
            tally.digest &-= UInt64(bitPattern: row.stored)
            sqlite3_result_int64(context, 1)
        }
        try define("row_whole", in: database) { context, values in
            let tally = RowTally.of(context)
            guard let row = tally.row(values[...]) else { return RowTally.misuse(context) }
            if row.isWhole { sqlite3_result_int64(context, 1) } else { tally.fail(context, values[...]) }
        }
        try define("row_is_whole", in: database) { context, values in
            guard let row = RowTally.of(context).row(values[...]) else { return RowTally.misuse(context) }
            sqlite3_result_int64(context, row.isWhole ? 1 : 0)
        }
        try define("row_seen", in: database) { context, values in
            let tally = RowTally.of(context)
            guard let row = tally.row(values[...]) else { return RowTally.misuse(context) }
            guard row.isWhole, tally.follows(values[2]) else { return tally.fail(context, values[...]) }
            tally.seen &+= UInt64(bitPattern: row.stored)
            sqlite3_result_int64(context, 1)
        }
        try define("row_pair", in: database) { context, values in
            let tally = RowTally.of(context)
            guard values.count > 3, let index = Int(exactly: sqlite3_value_int64(values[0])), tally.pairs.indices.contains(index) else {
                return RowTally.misuse(context)
            }
            var sum = RowChecksum(tally.application, table: "index", row: 0)
            for value in values[2...] { sum.add(value: value) }
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
        let run: (OpaquePointer?, [OpaquePointer?]) -> Void
        init(_ tally: RowTally, _ run: @escaping (OpaquePointer?, [OpaquePointer?]) -> Void) {
            self.tally = tally
            self.run = run
        }
    }

    private func define(
        _ name: String, in database: Database, _ run: @escaping (OpaquePointer?, [OpaquePointer?]) -> Void
    ) throws(StorageFault) {
        let call: Function = { context, count, values in
            let body = Unmanaged<Body>.fromOpaque(sqlite3_user_data(context)).takeUnretainedValue()
            body.run(context, Array(UnsafeBufferPointer(start: values, count: Int(count))))
        }
        let body = Unmanaged.passRetained(Body(self, run)).toOpaque()
        // SQLite releases the body when the connection is closed, or at once if this call fails.
        let code = sqlite3_create_function_v2(database.connection, name, -1, SQLITE_UTF8, body, call, nil, nil) { body in
            Unmanaged<Body>.fromOpaque(body!).release()
        }
        guard code == SQLITE_OK else { throw database.fault("failed", code) }
    }

    /// Returns the checksum of a row. The values are the table's number and the columns of the row.
    private func sum(_ values: [OpaquePointer?]) -> (table: Int, sum: Int64)? { sum(values[...], columns: values.dropFirst()) }

    private func sum(_ values: ArraySlice<OpaquePointer?>, columns: ArraySlice<OpaquePointer?>) -> (table: Int, sum: Int64)? {
        guard let first = values.first, let table = Int(exactly: sqlite3_value_int64(first)), names.indices.contains(table),
            let key = columns.first
        else { return nil }
        var sum: RowChecksum
        if sqlite3_value_type(key) == SQLITE_INTEGER {
            sum = RowChecksum(application, table: names[table], row: sqlite3_value_int64(key))
        } else {
            sum = RowChecksum(application, table: names[table], row: 0)
            sum.add(value: key)
        }
        for value in columns.dropFirst() { sum.add(value: value) }
        return (table, sum.value)
    }

    /// Verifies a row. The values are the table's number, the stored checksum and the columns of the row. Returns nil if they are invalid.
    private func row(_ values: ArraySlice<OpaquePointer?>) -> (table: Int, stored: Int64, isWhole: Bool)? {
        guard values.count > 2, let (table, sum) = sum(values, columns: values.dropFirst(2)) else { return nil }
        let stored = values[values.startIndex + 1]
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

    private func fail(_ context: OpaquePointer?, _ values: ArraySlice<OpaquePointer?>) {
        assert(values.count > 2, "the fault of a row does not have the row's key")
        let key = values[values.startIndex + 2]
        let row = sqlite3_value_type(key) == SQLITE_INTEGER ? "row \(sqlite3_value_int64(key))" : "a row"
        let table = names[Int(sqlite3_value_int64(values.first!))]
        sqlite3_result_error(context, "\(row) of table \(table) is damaged", -1)
        sqlite3_result_error_code(context, SQLITE_CORRUPT)
    }

    private static func misuse(_ context: OpaquePointer?) { sqlite3_result_error_code(context, SQLITE_MISUSE) }
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
