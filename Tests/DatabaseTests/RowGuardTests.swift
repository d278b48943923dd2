import Foundation
import Platform
import Testing

@testable import Database

private let application: Int64 = 0x5445_5354
private let tables = [
    GuardedTable(
        "things", key: ["id"], ["name", "weight", "note"],
        indexes: [
            .init("sqlite_autoindex_things_1", ["name"]), .init("heavy", ["weight"], where: "weight IS NOT NULL"),
        ]),
    GuardedTable("parts", key: ["thing", "number"], ["body"], mayLoseDamaged: true),
]

/// A file with guarded rows. It is removed at the end of its test.
private final class Guarded {
    let path = NSTemporaryDirectory() + "switchyard-\(UUID().uuidString).sqlite"
    let database: Database
    let rows: RowGuard
    var proof = Proof(version: 1, database: 7)

    init() throws {
        database = try Database(path)
        try database.run(
            """
            CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, weight INTEGER, note BLOB, checksum INTEGER);
            CREATE INDEX heavy ON things (weight) WHERE weight IS NOT NULL;
            CREATE TABLE parts (thing INTEGER NOT NULL, number INTEGER NOT NULL, body BLOB, checksum INTEGER, PRIMARY KEY (thing, number))
              WITHOUT ROWID;
            \(Proof.table)
            """)
        rows = try RowGuard(database, application: application, tables)
        try rows.install()
        try write()
    }

    deinit {
        database.close()
        unlink(path)
    }

    /// Runs the SQL and updates the proof in one transaction.
    func write(_ sql: String = "") throws(StorageFault) {
        let before = proof
        rows.begin()
        do throws(StorageFault) {
            try database.transaction { () throws(StorageFault) in
                try database.run(sql)
                rows.settle(into: &proof)
                try proof.write(database, application)
            }
        } catch {
            proof = before
            throw error
        }
    }

    /// Runs the SQL on another connection, which has no triggers.
    func damage(_ sql: String) throws {
        let other = try Database(path)
        defer { other.close() }
        try other.run(sql)
    }

    var verdict: String? {
        do throws(StorageFault) {
            try rows.verify()
            return nil
        } catch {
            return "\(error.kind): " + error.description.replacingOccurrences(of: path + ": ", with: "")
        }
    }
}

private let filled = """
    INSERT INTO things (name, weight, note) VALUES ('a', 11, x'00'), ('b', NULL, x'01'), ('c', 13, NULL), ('d', 14, x'0203');
    INSERT INTO parts VALUES (1, 1, x'aa', NULL), (1, 2, 'text', NULL), (2, 1, NULL, NULL)
    """

@Suite("The row guard")
struct RowGuardTests {
    @Test("finds every row as it was written, however rows were inserted, changed and deleted")
    func whole() throws {
        let file = try Guarded()
        #expect(file.verdict == nil)
        try file.write(filled)
        #expect(file.verdict == nil)
        try file.write(
            "UPDATE things SET weight = weight + 1; UPDATE things SET id = 9, note = 'x' WHERE name = 'c'; DELETE FROM parts WHERE number = 1"
        )
        try file.write("UPDATE things SET name = name || '2', weight = NULL WHERE id < 3; DELETE FROM things WHERE name = 'd'")
        try file.write(
            "INSERT INTO things (name) VALUES ('e') ON CONFLICT DO NOTHING; INSERT INTO things (name) VALUES ('e') ON CONFLICT (name) DO UPDATE SET weight = 8"
        )
        #expect(file.verdict == nil)
        #expect(try file.database.number("SELECT count(*) FROM things WHERE \(tables.whole("things"))") == 4)
        #expect(file.proof[1].left == 4 && file.proof[2].left == 1)
    }

    @Test(
        "finds a changed column, a row that was inserted, deleted or moved, and a row without a checksum",
        arguments: [
            ("UPDATE things SET id = 8 WHERE id = 4", "row 8 of table things is damaged"),
            ("UPDATE things SET name = 'bb' WHERE id = 2", "row 2 of table things is damaged"),
            ("UPDATE things SET weight = 2 WHERE id = 1", "row 1 of table things is damaged"),
            ("UPDATE things SET weight = 0 WHERE id = 2", "row 2 of table things is damaged"),
            ("UPDATE things SET note = x'04' WHERE id = 1", "row 1 of table things is damaged"),
            ("UPDATE things SET note = NULL WHERE id = 1", "row 1 of table things is damaged"),
            ("UPDATE things SET checksum = checksum + 1 WHERE id = 3", "row 3 of table things is damaged"),
            ("UPDATE things SET checksum = NULL WHERE id = 3", "row 3 of table things is damaged"),
            ("UPDATE parts SET body = x'74657874' WHERE number = 2", "row 1 of table parts is damaged"),
            ("DELETE FROM things WHERE id = 2", "table things: 1 of its 4 rows are gone"),
            ("DELETE FROM parts", "table parts: 3 of its 3 rows are gone"),
            ("INSERT INTO parts VALUES (7, 7, NULL, NULL)", "row 7 of table parts is damaged"),
        ])
    func damaged(sql: String, words: String) throws {
        let file = try Guarded()
        try file.write(filled)
        try file.damage(sql)
        #expect(file.verdict?.hasPrefix("damaged: ") == true && file.verdict?.hasSuffix(words) == true, "\(file.verdict ?? "")")
    }

    @Test("finds rows from an earlier time, although each of them is whole")
    func stale() throws {
        let file = try Guarded()
        try file.write(filled)
        let old = try #require(try file.database.number("SELECT checksum FROM things WHERE id = 1"))
        try file.write("UPDATE things SET weight = 5 WHERE id = 1")
        try file.damage("UPDATE things SET weight = 11, checksum = \(old) WHERE id = 1")
        #expect(file.verdict == "damaged: holds rows from an earlier time")
    }

    @Test("finds an index that has lost an entry or has wrong entries")
    func index() throws {
        for sql in [
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'weight IS NOT NULL', 'weight IS NOT NULL AND weight <> 13') WHERE name = 'heavy'",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '(weight)', '(id)') WHERE name = 'heavy'",
        ] {
            let file = try Guarded()
            try file.write(filled)
            try file.damage(sql)
            // The index is built again with the changed definition. Then the old definition is restored.
            let other = try Database(file.path)
            try other.run("REINDEX heavy")
            try other.run(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = 'CREATE INDEX heavy ON things (weight) WHERE weight IS NOT NULL' WHERE name = 'heavy'
                """)
            other.close()
            let again = try Database(file.path)
            let rows = try RowGuard(again, application: application, tables)
            do throws(StorageFault) {
                try rows.verify()
                Issue.record("the file was taken for whole")
            } catch {
                #expect(error.kind == .damaged && error.description.hasSuffix("index heavy does not match its table"), "\(error)")
            }
            again.close()
        }
    }

    @Test("lets no write make a damaged row look whole: a change fails, and so does a deletion if damaged rows must stay")
    func noLaundering() throws {
        let file = try Guarded()
        try file.write(filled)
        try file.damage("UPDATE things SET note = x'05' WHERE id = 4; UPDATE parts SET body = x'06' WHERE thing = 2")
        for sql in ["UPDATE things SET weight = 1", "DELETE FROM things WHERE id = 4", "UPDATE parts SET number = 9 WHERE thing = 2"] {
            do throws(StorageFault) {
                try file.write(sql)
                Issue.record("\(sql) was done")
            } catch {
                #expect(error.kind == .damaged && error.description.contains("is damaged"), "\(error)")
            }
        }
        #expect(try file.database.number("SELECT count(*) FROM things WHERE weight = 1") == 0, "nothing of a failed write is done")
        #expect(try file.database.number("SELECT sum(\(tables.isWhole("things"))) FROM things") == 3)
        try file.write("DELETE FROM parts WHERE thing = 2")
        try file.damage("DELETE FROM things WHERE id = 4")
        #expect(file.verdict == "damaged: table things: 1 of its 4 rows are gone")
    }

    @Test("gives the rows of an older format their checksums, and counts them")
    func fill() throws {
        let file = try Guarded()
        try file.damage("INSERT INTO things (name) SELECT value FROM json_each('[\"x\",\"y\",\"z\"]')")
        let again = try Database(file.path)
        defer { again.close() }
        let rows = try RowGuard(again, application: application, tables)
        var proof = Proof(version: 1, database: 7)
        rows.begin()
        try again.transaction { () throws(StorageFault) in
            try rows.fill()
            rows.settle(into: &proof)
            try proof.write(again, application)
        }
        try rows.verify()
        #expect(proof[1].left == 3 && proof[2].left == 0)
    }
}
