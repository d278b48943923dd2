// Tests how a database file is created, recognised, upgraded and kept private.

import Foundation
import Glibc
import Platform
import TestSupport
import Testing

@testable import Database

private func format(_ version: Int64, upgrades: [String] = []) -> FileFormat {
    FileFormat(application: 0x5357_5901, version: version, tables: "CREATE TABLE t (x, v\(version))", upgrades: upgrades)
}

@Suite("The format of a file")
struct FileFormatTests {
    private func settle(_ folder: TestFolder, _ format: FileFormat, isSynced: Bool = false) throws(StorageFault) -> Database {
        let database = try Database(folder.file)
        try database.settle(as: format, isSynced: isSynced)
        return database
    }

    @Test("is that of a new file, whose settings overwrite what is deleted and survive a loss of power if that is wanted")
    func new() throws {
        for isSynced in [false, true] {
            let folder = TestFolder()
            let database = try settle(folder, format(3), isSynced: isSynced)
            #expect(try database.isMarked(as: format(3)))
            for (pragma, value) in [
                ("user_version", 3), ("secure_delete", 1), ("auto_vacuum", 2), ("page_size", 4096), ("synchronous", isSynced ? 2 : 1),
            ] as [(String, Int64)] {
                #expect(try database.number("PRAGMA \(pragma)") == value, "\(pragma)")
            }
            #expect(try database.number("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1)
            try database.run("INSERT INTO t VALUES (1, 2)")
            database.close()
            // A second start finds the file as it is.
            #expect(try settle(folder, format(3)).number("SELECT count(*) FROM t") == 1)
        }
    }

    @Test("of another program or of a newer version is refused, and the file is left byte for byte")
    func foreign() throws {
        let folder = TestFolder()
        let other = try Database(folder.file)
        try other.run("CREATE TABLE theirs (x); PRAGMA application_id = 7; PRAGMA user_version = 1")
        other.close()
        let before = folder.contents
        let stranger = fault { () throws(StorageFault) in try settle(folder, format(3)) }
        #expect(stranger == StorageFault(.foreign, "\(folder.file): is a database of another program; it is left as it is"))
        #expect(folder.contents == before)
        folder.remove("x.sqlite")
        try settle(folder, format(4)).close()
        let newer = folder.contents
        let late = fault { () throws(StorageFault) in try settle(folder, format(3)) }
        #expect(late == StorageFault(.foreign, "\(folder.file): was written by a newer version (format 4, not 3); it is left as it is"))
        #expect(folder.contents == newer)
    }

    @Test("is reached from any earlier version by the steps in between, each of them once")
    func upgrades() throws {
        let steps = ["INSERT INTO t (x) VALUES ('1 to 2')", "INSERT INTO t (x) VALUES ('2 to 3')", "INSERT INTO t (x) VALUES ('3 to 4')"]
        for (version, expected) in [(1, 3), (2, 2), (3, 1), (4, 0)] as [(Int64, Int64)] {
            let folder = TestFolder()
            try settle(folder, format(version)).close()
            for _ in 0..<2 {
                let database = try settle(folder, format(4, upgrades: steps))
                #expect(try database.number("SELECT count(*) FROM t") == expected && database.number("PRAGMA user_version") == 4)
                database.close()
            }
        }
    }

    @Test("stays the old one, with nothing of the new, if a step of the upgrade fails")
    func failedUpgrade() throws {
        let folder = TestFolder()
        try settle(folder, format(1)).close()
        let steps = ["INSERT INTO t (x) VALUES (1); ALTER TABLE t ADD COLUMN y", "INSERT INTO nowhere VALUES (1)"]
        #expect(fault { () throws(StorageFault) in try settle(folder, format(3, upgrades: steps)) } != nil)
        let database = try Database(folder.file)
        #expect(try database.number("PRAGMA user_version") == 1 && database.number("SELECT count(*) FROM t") == 0)
        #expect(try database.number("SELECT count(*) FROM pragma_table_info('t')") == 2)
    }

    @Test("gives its file to its owner alone, also an existing one that others could read")
    func isPrivate() throws {
        let folder = TestFolder()
        try makePrivate(folder.file)
        #expect(folder.mode("x.sqlite") == 0o600)
        chmod(folder.file, 0o664)
        try makePrivate(folder.file)
        #expect(folder.mode("x.sqlite") == 0o600)
        try settle(folder, format(1)).run("INSERT INTO t VALUES (1, 2)")
        for name in folder.names { #expect(folder.mode(name) == 0o600, "\(name)") }
        symlink(folder.file, folder.path + "/link")
        #expect(fault { () throws(StorageFault) in try makePrivate(folder.path + "/link") }?.kind == .failed)
    }

    @Test("is not used if its file belongs to another user", .enabled(if: geteuid() == 0))
    func others() throws {
        let folder = TestFolder()
        try makePrivate(folder.file)
        chown(folder.file, 12345, 12345)
        chmod(folder.file, 0o666)
        let fault = fault { () throws(StorageFault) in try makePrivate(folder.file) }
        #expect(fault?.description == "\(folder.file): belongs to another user; give the router a state folder of its own (--state)")
        #expect(folder.mode("x.sqlite") == 0o666, "it is left as it is")
    }
}
