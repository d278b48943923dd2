import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import Testing

@testable import Admission
@testable import Spool

@Suite("A spool")
struct SpoolFileTests {
    @Test("returns its rows in order, with everything that lanes know about each event")
    func roundTrip() throws {
        let folder = Folder()
        let first = try spool(folder)
        var work = SpoolWork()
        work.insert = [(5, batch(["one", "!two"], route: 1, subjects: 3)), (9, batch(["three"], subjects: 0))]
        work.tried = [(9, 4, 77)]
        try first.commit(work)
        first.close()

        let second = try spool(folder)
        let rows = try second.read(after: 0, most: 1000)
        try #require(rows.map(\.id) == [5, 9])
        #expect(texts(rows[0].batch) == ["one", "!two"])
        #expect(rows[0].batch.entries.map(\.route) == [1, 1])
        #expect(rows[0].batch.entries.map(\.isImmediate) == [false, true])
        #expect(rows[0].batch.entries.map(\.messageIDCount) == [2, 2])
        #expect(rows[0].batch.arrivals.map { $0 } == [3, 4])
        #expect(rows[0].batch.subjects.map(\.low) == [0, 1, 2, 0, 1, 2])
        #expect(rows[0].batch.subjects.map(\.high) == [3, 3, 3, 4, 4, 4])
        #expect(rows[1].batch.subjects.isEmpty)
        #expect(rows[0].attempts == 0 && rows[0].firstTried == nil)
        #expect(rows[1].attempts == 4 && rows[1].firstTried == 77)
    }

    @Test("summarises its contents: events by route, bytes, the oldest event, and the last number ever used")
    func contents() throws {
        let folder = Folder()
        let file = try spool(folder)
        var work = SpoolWork()
        work.insert = [(1, batch(["one"], route: 0)), (2, batch(["two", "three"], route: 1)), (7, batch(["four"], route: 1))]
        try file.commit(work)
        try file.commit(.remove(7))
        file.close()
        let contents = try spool(folder).contents
        #expect(contents.rows == 2)
        #expect(contents.events == 3)
        #expect(contents.bytes == 4 + 10)
        #expect(contents.routes == [0: 1, 1: 2])
        #expect(contents.oldest == 3)
        #expect(contents.lastRow == 7, "a number is never used again")
    }

    @Test("keeps the remaining events of a row under the same number")
    func rewrites() throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["a1", "a2", "a3"]), (2, ["b"])))
        var work = SpoolWork()
        work.rewrite = [(1, batch(["a2"]))]
        try file.commit(work)
        #expect(try file.all() == ["1: a2", "2: b"])
        #expect(file.contents.events == 2 && file.contents.bytes == 5)
    }

    @Test("reads as many rows as fit, but at least one")
    func pages() throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["aaaa"]), (2, ["bbbb"]), (3, ["cccc"])))
        #expect(try file.read(after: 0, most: 10).map(\.id) == [1, 2])
        #expect(try file.read(after: 1, most: 1).map(\.id) == [2])
        #expect(try file.read(after: 3, most: 1).isEmpty)
    }

    @Test("identifies routes by name: a later run may number them differently or no longer have them")
    func routeNames() throws {
        let folder = Folder()
        let first = try spool(folder, names: RunNames(["old", "both"]))
        var work = SpoolWork()
        work.insert = [(1, batch(["x"], route: 0)), (2, batch(["y"], route: 1))]
        try first.commit(work)
        first.close()
        let names = RunNames(["new", "both"])
        let second = try spool(folder, names: names)
        #expect(try second.read(after: 0, most: 100).map { names[$0.batch.entries[0].route] } == ["old", "both"])
        #expect(second.contents.routes == [2: 1, 1: 1])
    }

    @Test("leaves nothing of removed events in any of its files after a tidy, and frees the space")
    func overwrites() throws {
        let folder = Folder()
        let file = try spool(folder)
        for row in 1...40 {
            try file.commit(.insert((Int64(row), (0..<100).map { "planted-\(row)-\($0)-" + String(repeating: "x", count: 500) })))
        }
        #expect(folder.holds("planted-7-"))
        var work = SpoolWork()
        work.remove = Array(1...40)
        try file.commit(work)
        try file.tidy()
        #expect(!folder.holds("planted"))
        let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        #expect(size! < 1_000_000)
        #expect(file.contents.events == 0)
    }

    @Test("is private to its owner, with all files beside it, whatever the umask is")
    func isPrivate() throws {
        let old = umask(0)
        defer { umask(old) }
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["x"])))
        #expect(folder.files.count == 5)
        for name in folder.files { #expect(folder.mode(name) == 0o600, "\(name)") }
    }

    @Test("can be read with the sqlite3 shell while the router runs")
    func isOpenToReaders() throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["{\"a\":1}"])))
        let shell = try Database(file.path, makes: false)
        let select = try shell.statement("SELECT payload, events, routes FROM batches")
        #expect(try select.step())
        #expect(select.text(0) == "{\"a\":1}\n" && select.int(1) == 1 && select.text(2) == "0:1:8")
    }

    @Test("stores the level of an event by name, whatever the number of the level is in a run")
    func levels() throws {
        let folder = Folder()
        let first = try spool(folder, levels: RunNames(["none", "standard"]))
        var work = SpoolWork()
        work.insert = [
            (1, batch(["a"], level: EntryLevel.entry(of: 1))), (2, batch(["b"])), (3, batch(["!c"], level: EntryLevel.highest)),
        ]
        try first.commit(work)
        first.close()
        let levels = RunNames(["other", "none"])
        let again = try spool(folder, levels: levels)
        let rows = try again.read(after: 0, most: 1 << 20).map(\.batch.entries[0])
        #expect(rows.map(\.level) == [EntryLevel.entry(of: 2), EntryLevel.none, EntryLevel.highest])
        #expect(levels.all == ["other", "none", "standard"] && rows.map(\.isImmediate) == [false, false, true])
    }

    @Test(
        "can be searched for the events of some subjects while it is in use, and nothing in it changes",
        arguments: [nil, "0123456789abcdef"])
    func look(key: String?) throws {
        let folder = Folder()
        let file = try spool(folder, key: key)
        try file.commit(.insert((1, ["aa", "bbb", "cc"]), (2, ["bbb"]), (3, ["dd"])))
        let wanted: Set = [SubjectKey(high: 2, low: 0)]
        let look = try #require(try SpoolSearch(file.path, cipher: key.map { Cipher(secret($0)) }))
        let first = try look.events(of: wanted, after: 0, most: 1)
        #expect(first.found.flatMap { texts($0.batch) } == ["aa", "cc"] && first.next == 1)
        #expect(first.found.flatMap(\.routes) == ["a", "a"])
        let rest = try look.events(of: wanted, after: 1, most: 1000)
        #expect(rest.found.flatMap { texts($0.batch) } == ["dd"] && rest.next == nil && rest.unreadable == 0)
        if key != nil {
            let blind = try #require(try SpoolSearch(file.path, cipher: nil))
            #expect(throws: StorageFault.self) { try blind.events(of: wanted, after: 0, most: 1) }
            let other = try #require(try SpoolSearch(file.path, cipher: Cipher(secret("another key 1234"))))
            #expect(try other.events(of: wanted, after: 0, most: 1).unreadable == 3)
        }
        #expect(try file.all() == ["1: aa bbb cc", "2: bbb", "3: dd"])
        #expect(try SpoolSearch(folder.path + "/none.sqlite", cipher: nil) == nil)
    }

    @Test("refuses a file of a newer version and a database of another program, and leaves both as they are")
    func foreign() throws {
        let folder = Folder()
        let path = folder.path + "/spool-x.sqlite"
        for (sql, words) in [
            (
                "PRAGMA application_id = \(SpoolSchema.format.application); PRAGMA user_version = 4",
                "was written by a newer version (format 4, not 3)"
            ),
            ("PRAGMA application_id = 7", "is a database of another program"),
        ] {
            let other = try Database(path)
            try other.run("CREATE TABLE theirs (x); INSERT INTO theirs VALUES ('precious'); " + sql)
            other.close()
            let before = FileManager.default.contents(atPath: path)
            do {
                _ = try spool(folder)
                Issue.record("the file was accepted")
            } catch {
                #expect(error.kind == .foreign)
                #expect(error.description == "\(path): \(words); it is left as it is")
            }
            #expect(FileManager.default.contents(atPath: path) == before)
            #expect(folder.files.first == "spool-x.sqlite")
            try FileManager.default.removeItem(atPath: path)
        }
    }
}

@Suite("An encrypted spool")
struct EncryptionTests {
    private let key = "0123456789abcdef"

    @Test("holds no event in plain text, and returns its events under the same key")
    func seals() throws {
        let folder = Folder()
        let file = try spool(folder, key: key)
        try file.commit(.insert((1, ["planted-value"])))
        #expect(!folder.holds("planted"))
        file.close()
        #expect(!folder.holds("planted"))
        #expect(try spool(folder, key: key).all() == ["1: planted-value"])
    }

    @Test("refuses another key and a missing key, and is left as it is")
    func otherKeys() throws {
        let folder = Folder()
        let file = try spool(folder, key: key)
        try file.commit(.insert((1, ["x"])))
        file.close()
        for (wrong, words) in [
            ("fedcba9876543210", "was encrypted under another key"), (nil, "its events are encrypted; name the key in state.encrypt"),
        ] {
            do {
                _ = try spool(folder, key: wrong)
                Issue.record("the file was opened")
            } catch {
                #expect(error.kind == .foreign && error.description.contains(words), "\(error)")
            }
        }
        #expect(try spool(folder, key: key).all() == ["1: x"])
    }

    @Test("still returns the unencrypted rows from before it had a key")
    func mixes() throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["clear"])))
        file.close()
        let sealed = try spool(folder, key: key)
        try sealed.commit(.insert((2, ["hidden"])))
        #expect(try sealed.all() == ["1: clear", "2: hidden"])
        #expect(!folder.holds("hidden"))
    }

    @Test("recognizes a row that was changed or moved, and sets it aside")
    func tampering() throws {
        let folder = Folder()
        let file = try spool(folder, key: key)
        try file.commit(.insert((1, ["one"]), (2, ["two"]), (3, ["three"])))
        file.close()
        let shell = try Database(folder.path + "/spool-x.sqlite", makes: false)
        try shell.run("UPDATE batches SET id = 9 WHERE id = 1; UPDATE batches SET payload = x'00' || substr(payload, 2) WHERE id = 2")
        shell.close()
        let again = try spool(folder, key: key)
        #expect(try again.all() == ["3: three"])
        #expect(again.takeLoss()?.routes == [0: 2])
    }
}
