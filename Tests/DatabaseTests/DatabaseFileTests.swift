// Tests a database that several connections use, that is moved away, or whose disk is full.

import Foundation
import Platform
import TestSupport
import Testing

@testable import Database

@Suite("A database")
struct DatabaseFileTests {
    private func made(_ folder: TestFolder, _ more: String = "", vfs: String? = nil) throws -> Database {
        let database = try Database(folder.file, vfs: vfs)
        try database.run("PRAGMA journal_mode = WAL; CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT); \(more)")
        return database
    }

    @Test("that another connection writes to is taken, and is free again when that transaction ends")
    func taken() throws {
        let folder = TestFolder()
        let first = try made(folder)
        let second = try Database(folder.file)
        try first.transaction { () throws(StorageFault) in
            try first.run("INSERT INTO rows VALUES (1, 'a')")
            let fault = fault { () throws(StorageFault) in
                try second.transaction { () throws(StorageFault) in Issue.record("it was begun") }
            }
            #expect(fault?.kind == .taken && fault?.description.hasPrefix(folder.file + ": failed: database is locked") == true)
            #expect(try second.number("SELECT count(*) FROM rows") == 0, "a reader sees what is committed")
        }
        try second.transaction { () throws(StorageFault) in try second.run("INSERT INTO rows VALUES (2, 'b')") }
        #expect(try first.number("SELECT count(*) FROM rows") == 2)
    }

    @Test("has nothing of a transaction whose body fails, and can be used again at once")
    func rollsBack() throws {
        let folder = TestFolder()
        let database = try made(folder, "INSERT INTO rows VALUES (1, 'a'), (2, 'b')")
        let select = try database.statement("SELECT id FROM rows")
        let wanted = StorageFault(.failed, "no more")
        let seen = fault { () throws(StorageFault) in
            try database.transaction { () throws(StorageFault) in
                try database.run("DELETE FROM rows; INSERT INTO rows VALUES (9, 'z')")
                // A statement that is not finished would keep the transaction open.
                _ = try select.step()
                throw wanted
            }
        }
        #expect(seen == wanted)
        #expect(try database.number("SELECT sum(id) FROM rows") == 3)
        let sum = try database.transaction { () throws(StorageFault) in
            try database.run("UPDATE rows SET id = id + 10")
            #expect(database.changes == 2)
            return try database.number("SELECT sum(id) FROM rows")
        }
        #expect(sum == 23)
    }

    @Test("whose table or column is gone is damaged, since the statements are correct")
    func missing() throws {
        let folder = TestFolder()
        let database = try made(folder)
        for sql in ["SELECT * FROM nothing", "SELECT nothing FROM rows"] {
            #expect(fault { () throws(StorageFault) in try database.statement(sql) }?.kind == .damaged)
        }
        try Data(repeating: 0x41, count: 4096).write(to: URL(fileURLWithPath: folder.path + "/text.sqlite"))
        let text = try Database(folder.path + "/text.sqlite", makes: false)
        #expect(fault { () throws(StorageFault) in try text.number("SELECT count(*) FROM sqlite_schema") }?.kind == .damaged)
    }

    @Test("is not made unless that is wanted, and not opened through a link or in a folder that is not there")
    func opens() throws {
        let folder = TestFolder()
        #expect(fault { () throws(StorageFault) in try Database(folder.file, makes: false) }?.kind == .failed)
        #expect(folder.names == [])
        try made(folder).close()
        let link = folder.path + "/link.sqlite"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file)
        #expect(fault { () throws(StorageFault) in try Database(link) } != nil)
        let nowhere = folder.path + "/no/x.sqlite"
        #expect(fault { () throws(StorageFault) in try Database(nowhere) }?.description.hasPrefix("\(nowhere): cannot be opened:") == true)
    }

    @Test(
        "does not commit after its file or its log was moved away, removed or replaced",
        arguments: [("x.sqlite", true), ("x.sqlite", false), ("x.sqlite-wal", true), ("x.sqlite-wal", false)])
    func moved(name: String, isReplaced: Bool) throws {
        let folder = TestFolder()
        let database = try made(folder)
        func insert() throws(StorageFault) {
            try database.transaction { () throws(StorageFault) in try database.run("INSERT INTO rows (body) VALUES ('a')") }
        }
        try insert()
        let copy = folder.bytes(name)
        try folder.move(name, to: "aside")
        if isReplaced { try copy.write(to: URL(fileURLWithPath: folder.path + "/" + name)) }
        let words = "\(folder.path)/\(name): was removed, moved away or replaced while the router has it"
        #expect(fault { () throws(StorageFault) in try insert() } == StorageFault(.removed, words))
        #expect(fault { () throws(StorageFault) in try database.checkPlace() }?.kind == .removed)
        #expect(try database.number("SELECT count(*) FROM rows") == 1)
        // A caller that knows it may still empty the file.
        database.letGo()
        try database.transaction { () throws(StorageFault) in try database.run("DELETE FROM rows") }
        #expect(try database.number("SELECT count(*) FROM rows") == 0)
    }

    @Test("that is only looked at keeps its file and its log byte for byte, and refuses to write")
    func looks() throws {
        let folder = TestFolder()
        let database = try made(folder, "INSERT INTO rows VALUES (1, 'a')")
        database.closeKeepingLog()
        let before = folder.contents
        #expect(before.keys.sorted() == ["x.sqlite", "x.sqlite-wal"] && before["x.sqlite-wal"]?.isEmpty == false)
        for _ in 0..<2 {
            let look = try Database.lookingAt(folder.file)
            #expect(try look.number("SELECT count(*) FROM rows") == 1)
            #expect(fault { () throws(StorageFault) in try look.run("DELETE FROM rows") } != nil)
            look.close()
            #expect(folder.contents == before)
        }
        let again = try Database(folder.file)
        #expect(try again.number("SELECT count(*) FROM rows") == 1)
        again.close()
        #expect(folder.names == ["x.sqlite"], "a usual close takes the log over")
    }

    @Test("on a full disk says so, has nothing of the transaction, and takes it when there is room")
    func full() throws {
        let folder = TestFolder()
        let disk = FaultyDisk()
        let database = try made(folder, vfs: disk.name)
        defer { database.close() }
        func insert() throws(StorageFault) {
            try database.transaction { () throws(StorageFault) in
                for _ in 0..<100 { try database.run("INSERT INTO rows (body) VALUES (hex(zeroblob(500)))") }
            }
        }
        try insert()
        disk.leave(.none)
        for _ in 0..<2 { #expect(fault { () throws(StorageFault) in try insert() }?.kind == .full) }
        #expect(try database.number("SELECT count(*) FROM rows") == 100)
        disk.leave(.enough)
        try insert()
        #expect(try database.number("SELECT count(*) FROM rows") == 200)
        disk.fail(at: 0, .io)
        #expect(fault { () throws(StorageFault) in try insert() }?.kind == .failed)
        #expect(try database.number("SELECT count(*) FROM rows") == 200)
    }

    @Test("does not clear its gaps while its log holds pages that somebody has written")
    func gaps() throws {
        let folder = TestFolder()
        let database = try made(folder, "INSERT INTO rows VALUES (1, 'a')")
        let fault = fault { () throws(StorageFault) in try database.clearGaps() }
        #expect(fault?.kind == .taken && fault?.description.contains("its gaps cannot be cleared") == true)
        _ = try database.number("PRAGMA wal_checkpoint(TRUNCATE)")
        try database.clearGaps()
        #expect(try database.number("SELECT count(*) FROM rows") == 1)
    }

    @Test("gives back texts with zero bytes, blobs, great numbers and NULL as they were bound")
    func values() throws {
        let database = try Database(":memory:")
        try database.run("CREATE TABLE v (a, b, c, d, e)")
        let bytes: [UInt8] = [0, 1, 0xff, 0]
        let insert = try database.statement("INSERT INTO v VALUES (?1, ?2, ?3, ?4, ?5)")
        try bytes.withUnsafeBytes { raw throws in
            try insert.bind(1, "a\0b\u{e9}").bind(2, lending: raw).bind(3, Int64.min).bind(
                4, lending: UnsafeRawBufferPointer(start: nil, count: 0)
            ).run()
        }
        let row = try database.statement("SELECT a, b, c, d, e FROM v")
        #expect(try row.step())
        #expect(row.text(0) == "a\0b\u{e9}" && Array(row.bytes(1)) == bytes && row.int(2) == .min)
        #expect(row.bytes(3).isEmpty && !row.isNull(3) && row.isNull(4) && row.text(4) == "")
        #expect([0, 1, 2, 3, 4].map { row.type($0) } == [.text, .blob, .integer, .blob, .null])
        // A value keeps its stored type when it is copied to another statement.
        let copy = try database.statement("INSERT INTO v (a, c) VALUES (?1, ?2)")
        try copy.bind(1, column: 1, of: row).bind(2, column: 0, of: row).run()
        row.reset()
        #expect(try database.number("SELECT count(*) FROM v WHERE typeof(a) = 'blob' AND typeof(c) = 'text'") == 1)
        #expect(try database.number("SELECT a FROM v WHERE a = 7") == nil)
    }
}
