// Maintains the checksums of a file's rows and the sums over them. Its user writes plain SQL. Temporary triggers, which exist only on this
// connection, compute the checksum of each new or changed row. They also verify a row before it is changed or deleted, so that no write
// makes a damaged row look whole. And they count the rows that came and left; `settle` adds these counts to the proof of the same
// transaction (Proof.swift). A statement that reads rows must contain the condition `whole`.
//
// With a key, a checksum is SipHash-2-4 of the row under this key. Who changes a row by hand and does not have the key cannot make it look
// whole. Without a key it only reveals accidents.
//
// `verify` compares all rows with the proof and each index with its table. A lookup in a damaged index finds nothing, and this must not be
// mistaken for a row that does not exist.

public import Events
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
    public init(_ database: Database, application: Int64, _ tables: [GuardedTable], key: SipKey? = nil) throws(StorageFault) {
        self.database = database
        self.tables = tables
        self.application = application
        assert(Set(tables.map { "\($0.name)" }).count == tables.count, "two guarded tables have the same name")
        tally = RowTally(application, tables.map(\.name), key)
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

    /// Gives every row another checksum, under this key. The rows must have been verified under the key before. Must be called before
    /// `install`, and inside the transaction that writes the proof.
    public func renew(under key: SipKey, into proof: inout Proof) throws(StorageFault) {
        tally.key = key
        tally.begin()
        try fill()
        // The rows are the same, so that only the sum of their checksums changes.
        proof.digest = Int64(bitPattern: tally.digest)
        tally.begin()
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
