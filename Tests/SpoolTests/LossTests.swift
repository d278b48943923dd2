import Database
import Foundation
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool
@testable import StateFiles

extension Folder {
    func shell(_ sql: String) throws {
        let shell = try Database(path + "/spool-x.sqlite", makes: false)
        defer { shell.close() }
        try shell.run(sql)
    }
}

let (main, log, witness) = ("spool-x.sqlite", "spool-x.sqlite-wal", "spool-x.witness")

/// Returns a spool after a kill: 20 rows are in the main file and 20 in the log. All of them were acknowledged.
func killed(synced: Bool = false, removing: ClosedRange<Int64>? = nil) throws -> Folder {
    let folder = Folder(inMemory: true)
    var file = try spool(folder, synced: synced)
    for row in 1...20 as ClosedRange<Int64> { try file.commit(.insert((row, ["row-\(row)-" + String(repeating: "x", count: 900)]))) }
    file.close()
    file = try spool(folder, synced: synced)
    for row in 21...40 as ClosedRange<Int64> { try file.commit(.insert((row, ["row-\(row)-" + String(repeating: "y", count: 900)]))) }
    if let removing {
        var work = SpoolWork()
        work.remove = Array(removing)
        try file.commit(work)
    }
    return try folder.killed()
}

@Suite("Events that vanished from a spool")
struct LossTests {
    private let originals = Set((1...40).map { "\($0): row-\($0)-" + String(repeating: $0 > 20 ? "y" : "x", count: 900) })

    @Test(
        "are counted and reported if a bit was flipped anywhere in the log, which is set aside, and the spool works on",
        arguments: [false, true])
    func flips(synced: Bool) throws {
        let sound = try killed(synced: synced)
        let size = sound.bytes(log).count
        #expect(size > 20 * 16384)
        for offset in [0, 13, 31, 40, 16384 + 60, size - 1] + Array(stride(from: 100, to: size, by: size / 12)) {
            let folder = try sound.killed()
            var bytes = folder.bytes(log)
            bytes[offset] ^= 1 << UInt8(offset % 8)
            try folder.write(bytes, log)
            let said = Monitor<[String]>([])
            let file = try spool(folder, synced: synced, said: said)
            #expect(file.contents.events == 40, "what is lost belongs to the account too")
            let rows = try file.all()
            let loss = try #require(file.takeLoss(), "a flip at \(offset) was not noticed")
            #expect(rows.count >= 20 && rows.count < 40 && Set(rows).isSubset(of: originals))
            #expect(loss.routes == [0: 40 - rows.count] && file.contents.events == rows.count)
            #expect(
                said.withLock {
                    $0.count == 1 && $0[0].contains("\(rows.count) events were read from it, \(40 - rows.count) of 40 events are lost")
                })
            #expect(folder.bytes("spool-x.sqlite.damaged-3600-wal") == bytes)
            #expect(folder.bytes("spool-x.sqlite.damaged-3600") == sound.bytes(main))
            // The spool works on, and the loss is not reported again.
            try file.commit(.insert((100, ["after"])))
            file.close()
            let later = Monitor<[String]>([])
            let again = try spool(folder, said: later)
            #expect(try again.all() == rows + ["100: after"])
            #expect(again.takeLoss() == nil && later.withLock { $0 } == [])
        }
    }

    @Test("are counted and reported if the log was emptied, cut or removed, or the main file is missing or has 0 or 1 byte")
    func gone() throws {
        let sound = try killed()
        let size = sound.bytes(log).count
        for (name, data, least) in [
            (log, Data(), 20), (log, nil, 20), (log, sound.bytes(log)[..<(size / 2)], 20), (log, sound.bytes(log)[..<20], 20),
            (main, nil, 0), (main, Data(), 0), (main, Data([83]), 0),
        ] as [(String, Data?, Int)] {
            let folder = try sound.killed()
            if let data { try folder.write(data, name) } else { unlink(folder.path + "/" + name) }
            let said = Monitor<[String]>([])
            let file = try spool(folder, said: said)
            let rows = try file.all()
            #expect(rows.count >= least && rows.count < 40 && Set(rows).isSubset(of: originals))
            #expect(file.takeLoss()?.routes == [0: 40 - rows.count], "\(name) \(data?.count ?? -1)")
            #expect(
                said.withLock { $0.count == 1 && $0[0].contains("\(40 - rows.count) of 40 events are lost") }, "\(said.withLock { $0 })")
            try file.commit(.insert((100, ["after"])))
            #expect(try file.all() == rows + ["100: after"])
        }
    }

    @Test("may take removals with them: the removed events come again, and this is reported")
    func again() throws {
        let folder = try killed(removing: 1...5)
        unlink(folder.path + "/" + log)
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        #expect(try file.all().count == 20 && file.takeLoss()?.routes == [0: 20])
        #expect(said.withLock { $0.contains { $0.contains("20 of 35 events are lost, and up to 5 that had left it may be sent again") } })
    }

    @Test("are reported under the names of their routes, even if nothing is left of the file")
    func names() throws {
        let folder = Folder(inMemory: true)
        var work = SpoolWork()
        work.insert = [(1, batch(["x", "y"], route: 1)), (2, batch(["z"], route: 0))]
        try spool(folder, names: RunNames(["a", "b"])).commit(work)
        unlink(folder.path + "/" + main)
        for (names, all) in [(["b", "a"], ["b", "a"]), (["b"], ["b", FileNumbers.unknown])] {
            let known = RunNames(names)
            let file = try spool(folder.killed(), names: known)
            #expect(file.takeLoss()?.routes == [0: 2, 1: 1])
            #expect(known.all == all)
        }
    }

    @Test("count as one if the witness is damaged too, and are listed and reported once")
    func unreadableWitness() throws {
        let sound = try killed()
        try spool(sound).close()
        for data in [nil, Data()] {
            let folder = try sound.killed()
            if let data { try folder.write(data, main) } else { unlink(folder.path + "/" + main) }
            unlink(folder.path + "/" + log)
            try folder.write(Data(), witness)
            #expect(StateFolder.spools(in: folder.path) == ["x"])
            #expect(SpoolSummary(of: "x", in: folder.path).fault?.hasSuffix("an unknown number of events waited in it") == true)
            let said = Monitor<[String]>([])
            let names = RunNames(["a", "b"])
            let file = try spool(folder, names: names, said: said)
            let loss = try #require(file.takeLoss())
            #expect(loss.routes.values.reduce(0, +) == 1 && loss.words.contains("an unknown number of events"))
            #expect(said.withLock { $0.count == 1 && $0[0].contains("spool-x.witness: is damaged") }, "\(said.withLock { $0 })")
            try file.commit(.insert((1, ["after"])))
            file.close()
            #expect(try spool(folder).takeLoss() == nil)
        }
    }

    @Test("are no loss if the spool was destroyed on purpose")
    func destroyed() throws {
        let folder = Folder()
        let path = folder.path + "/state"
        let state = try StateFolder.claim(path)
        let place = StateFolder.spool(of: "x", in: path)
        try SpoolFile(path: place, names: RunNames(["a"]), say: { _ in }).commit(.insert((1, ["x"])))
        try state.destroySpool(of: "x")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["router.pid"])
        let said = Monitor<[String]>([])
        let file = try SpoolFile(path: place, names: RunNames(["a"])) { line in said.withLock { $0.append(line) } }
        #expect(file.contents.events == 0 && file.takeLoss() == nil && said.withLock { $0 } == [])
    }

    @Test("are reported by the summary of a spool, which changes nothing")
    func summary() throws {
        let folder = try killed()
        var whole = SpoolSummary(of: "x", in: folder.path)
        #expect(whole.events == 40 && whole.fault == nil)
        try folder.write(folder.bytes(log)[..<50], log)
        let before = folder.bytes(main)
        whole = SpoolSummary(of: "x", in: folder.path)
        #expect(whole.fault?.contains("transactions are gone") == true && whole.fault?.hasSuffix("40 events waited in it") == true)
        #expect(throws: StorageFault.self) { try SpoolSearch(folder.path + "/" + main, cipher: nil) }
        #expect(folder.bytes(main) == before && folder.bytes(log).count == 50)
    }

    @Test("cannot be noticed without a witness, and a message says so")
    func noWitness() throws {
        let folder = try killed()
        unlink(folder.path + "/" + witness)
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        #expect(try file.all().count == 40)
        #expect(said.withLock { $0.count == 1 && $0[0].contains("nobody can tell whether the newest") })
    }
}

@Suite("Damage to a row of a spool")
struct RowDamageTests {
    @Test(
        "is found in every column: the row is set aside, counted and never given out, and the other rows are given out",
        arguments: [
            "payload = replace(payload, '1500', '1510')", "payload = x'7b7d0a7b7d0a'",
            "payload = substr(payload, 1, 5) || x'0a' || substr(payload, 7)",
            "entries = substr(entries, 1, 6) || x'02' || substr(entries, 8)",
            "entries = substr(entries, 1, 16) || x'ff' || substr(entries, 18)",
            "entries = substr(entries, 1, 30) || x'ff' || substr(entries, 32)", "events = events + 1", "bytes = bytes + 1", "bytes = -1",
            "bytes = 1 << 62",
            "arrival = arrival + 1", "routes = '1:1:12'", "routes = '0:9999999999999999999:1'", "routes = '0:9223372036854775807:12'",
            "routes = ''",
            "sealed = 1", "checksum = checksum + 1", "checksum = NULL", "id = 9", "events = 'one'",
        ])
    func columns(change: String) throws {
        let folder = Folder(inMemory: true)
        let file = try spool(folder)
        try file.commit(.insert((1, ["{\"seq\":1}"]), (2, ["{\"seq\":1500}"]), (3, ["{\"seq\":3}"])))
        file.close()
        try folder.shell("UPDATE batches SET \(change) WHERE id = 2")
        let again = try spool(folder)
        #expect(try again.all() == ["1: {\"seq\":1}", "3: {\"seq\":3}"])
        let loss = try #require(again.takeLoss())
        // A row with another sum makes the whole file doubtful, so the file is set aside together with the row.
        let place = change.hasPrefix("routes") ? "they may be found in " : "they are kept in its table 'damaged'"
        #expect(loss.routes == [0: 1] && loss.words.contains("1 events are damaged; \(place)"), "\(loss)")
        #expect(again.contents.events == 2 && again.contents.oldest != nil)
        #expect(try again.database.number("SELECT count(*) FROM damaged") == 1)
    }

    @Test("that swaps the contents of two rows is found in both")
    func swapped() throws {
        let folder = Folder(inMemory: true)
        let file = try spool(folder)
        try file.commit(.insert((1, ["aaa"]), (2, ["bbb"]), (3, ["ccc"])))
        file.close()
        try folder.shell(
            """
            CREATE TEMP TABLE t AS SELECT * FROM batches; UPDATE batches SET (events, bytes, arrival, routes, sealed, entries, payload, checksum) =
            (SELECT events, bytes, arrival, routes, sealed, entries, payload, checksum FROM t WHERE t.id = 3 - batches.id) WHERE id < 3
            """)
        let again = try spool(folder)
        #expect(try again.all() == ["3: ccc"] && again.takeLoss()?.routes == [0: 2])
    }

    @Test("that removes or changes rows, sums, names or attempts is noticed, and gives no event to another route")
    func beside() throws {
        let sound = Folder(inMemory: true)
        let first = try spool(sound)
        var work = SpoolWork()
        work.insert = [
            (1, batch(["one"], route: 0, level: EntryLevel.none)), (2, batch(["two"], route: 1)), (3, batch(["three"], route: 0)),
        ]
        work.tried = [(3, 4, 77)]
        try first.commit(work)
        first.close()
        for (change, left, lost) in [
            ("DELETE FROM batches WHERE id = 2", ["1: one", "3: three"], [1: 1]),
            ("DELETE FROM batches", [], [0: 2, 1: 1]),
            ("UPDATE proof SET counts = '[]'", ["1: one", "2: two", "3: three"], [:]),
            ("UPDATE proof SET sequence = 1", ["1: one", "2: two", "3: three"], [:]),
            ("UPDATE proof SET last = 9223372036854775807", ["1: one", "2: two", "3: three"], [:]),
            ("DELETE FROM proof", ["1: one", "2: two", "3: three"], [:]),
            ("UPDATE sqlite_sequence SET seq = 9223372036854775807", ["1: one", "2: two", "3: three"], [:]),
            ("UPDATE routes SET name = 'c' WHERE name = 'b'", ["1: one", "3: three"], [1: 1]),
            ("DELETE FROM routes WHERE name = 'b'", ["1: one", "3: three"], [1: 1]),
            ("UPDATE tries SET attempts = 9223372036854775807", ["1: one", "2: two", "3: three"], [:]),
        ] as [(String, [String], [UInt16: Int])] {
            let folder = try sound.killed()
            try folder.shell(change)
            let said = Monitor<[String]>([])
            let file = try spool(folder, said: said)
            #expect(file.contents.events == 3 && file.contents.lastRow == 3, "\(change)")
            #expect(try file.all() == left, "\(change)")
            #expect(file.takeLoss()?.routes ?? [:] == lost, "\(change)")
            if lost.isEmpty, !change.contains("sqlite_sequence") { #expect(said.withLock { $0.count } == 1, "\(change)") }
            if let third = try file.read(after: 2, most: 100).first { #expect(third.attempts == (change.contains("tries") ? 0 : 4)) }
            try file.commit(.insert((100, ["after"])))
            #expect(try file.all() == left + ["100: after"], "\(change)")
        }
    }

    @Test("that hits the record of the key is not mistaken for another key")
    func key() throws {
        let folder = Folder(inMemory: true)
        let file = try spool(folder, key: "0123456789abcdef")
        try file.commit(.insert((1, ["one"])))
        file.close()
        try folder.shell("UPDATE about SET value = x'00' || substr(value, 2)")
        let again = try spool(folder, key: "0123456789abcdef")
        #expect(try again.all() == ["1: one"] && again.takeLoss() == nil)
    }
}

@Suite("A spool of an older format")
struct SpoolUpgradeTests {
    /// Creates a spool as version 1 or 2 wrote it, as far as the tests need it.
    private func old(_ version: Int, key: String? = nil) throws -> Folder {
        let folder = Folder(inMemory: true)
        let file = try spool(folder, key: key)
        var work = SpoolWork()
        work.insert = (1...6).map { (Int64($0), batch(["event-\($0)", "b\($0)"], route: UInt16($0 % 2))) }
        work.tried = [(3, 4, 77)]
        try file.commit(work)
        file.close()
        try folder.shell(
            """
            CREATE TEMP TABLE sums AS SELECT * FROM waiting; DROP VIEW waiting;
            CREATE TABLE waiting (route INTEGER PRIMARY KEY, events INTEGER NOT NULL, bytes INTEGER NOT NULL);
            INSERT INTO waiting SELECT * FROM sums; DROP TABLE proof;
            ALTER TABLE levels DROP COLUMN checksum; ALTER TABLE about DROP COLUMN checksum; ALTER TABLE routes DROP COLUMN checksum;
            ALTER TABLE tries DROP COLUMN checksum;
            CREATE TEMP TABLE t AS SELECT id, events, bytes, arrival, routes, sealed, entries, payload FROM batches; DROP TABLE batches;
            CREATE TABLE batches (  -- what waits for the provider, in order
              id INTEGER PRIMARY KEY AUTOINCREMENT,
              events INTEGER NOT NULL,
              bytes INTEGER NOT NULL,  -- of payload before it was sealed
              arrival INTEGER NOT NULL,  -- of the first event, in nanoseconds since 1970
              routes TEXT NOT NULL,  -- route:events:bytes, and the same for each further route
              sealed INTEGER NOT NULL,  -- 1: entries and payload are encrypted
              entries BLOB NOT NULL,
              payload BLOB NOT NULL  -- the events, one a line
            );
            INSERT INTO batches SELECT * FROM t; PRAGMA user_version = \(version);
            \(version == 1 ? "DROP TABLE levels" : "")
            """)
        unlink(folder.path + "/" + witness)
        return folder
    }
    private let rows = (1...6).map { "\($0): event-\($0) b\($0)" }

    @Test("is taken over as it is, with one message", arguments: [(1, nil), (2, nil), (2, "0123456789abcdef")] as [(Int, String?)])
    func upgrades(version: Int, key: String?) throws {
        let folder = try old(version, key: key)
        let said = Monitor<[String]>([])
        for count in [1, 1] {
            let file = try spool(folder, key: key, said: said)
            #expect(try file.all() == rows && file.contents.routes == [0: 6, 1: 6] && file.contents.lastRow == 6)
            #expect(try file.read(after: 2, most: 1).first?.attempts == 4)
            #expect(file.takeLoss() == nil)
            #expect(said.withLock { $0.count == count && $0[0].contains("it was taken over as it is") })
            file.close()
        }
        #expect(SpoolSummary(of: "x", in: folder.path).events == 12)
        try folder.shell("UPDATE batches SET checksum = NULL WHERE id = 2")
        let file = try spool(folder, key: key)
        #expect(try file.all().count == 5 && file.takeLoss()?.routes == [0: 2])
    }

    @Test("under another key is refused before anything in it changes")
    func otherKey() throws {
        let folder = try old(2, key: "0123456789abcdef")
        let before = folder.bytes(main)
        #expect(throws: StorageFault.self) { try spool(folder, key: "fedcba9876543210") }
        #expect(folder.bytes(main) == before && !folder.files.contains(witness))
    }

    @Test("has the old or the new format wherever a failing disk interrupts the upgrade, and holds everything")
    func torn() throws {
        let sound = try old(2)
        let disk = FaultyDisk()
        _ = try spool(sound.killed(), vfs: disk.name)
        let calls = disk.calls
        try #require(calls > 20)
        for call in 0..<calls {
            let folder = try sound.killed()
            let said = Monitor<[String]>([])
            disk.fail(at: call, .io, stays: true)
            do throws(StorageFault) { _ = try spool(folder, vfs: disk.name, said: said) } catch {
                #expect(error.kind == .failed, "\(error)")
            }
            disk.heal()
            let file = try spool(folder, vfs: disk.name, said: said)
            #expect(
                said.withLock { $0.count == 1 && $0[0].contains("it was taken over as it is") }, "call \(call): \(said.withLock { $0 })")
            #expect(try file.all() == rows && file.takeLoss() == nil, "call \(call)")
        }
    }

    @Test("is not recognized by a changed version alone: such a file is damaged, and its rows must have their checksums")
    func versions() throws {
        for version in 0...7 where version != 3 {
            for keeps in [true, false] {
                let folder = try killed()
                try folder.shell("PRAGMA user_version = \(version); UPDATE batches SET payload = 'wrong' || char(10) WHERE id = 7")
                if !keeps { unlink(folder.path + "/" + witness) }
                let said = Monitor<[String]>([])
                let file = try spool(folder, said: said)
                #expect(try file.all().count == 39 && file.takeLoss()?.routes == [0: 1], "\(version)")
                #expect(said.withLock { $0.contains { $0.contains("the version of its form is damaged") } })
            }
        }
    }
}
