import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import TestSupport
import Testing

@testable import ConsentGate
@testable import Spool

private let noted = "spool-x.settled"

/// A spool on a separate disk, with 40 rows of two events. The disk has no space to record the removal of a row.
private final class Full {
    let folder = Folder(inMemory: true)
    let disk = FaultyDisk()
    let said = Monitor<[String]>([])
    let file: SpoolFile

    init(rows: Int64 = 40, synced: Bool = false, key: String? = nil) throws {
        file = try spool(folder, vfs: disk.name, synced: synced, key: key, said: said)
        var work = SpoolWork()
        work.insert = (1...rows).map { ($0, batch(["a\($0)", "b\($0)"])) }
        try file.commit(work)
        disk.leave(.none)
    }

    var words: String { said.withLock { $0.joined(separator: "\n") } }
    static func rows(_ rows: ClosedRange<Int64>) -> [String] { rows.map { "\($0): a\($0) b\($0)" } }
}

extension SpoolWork {
    /// Returns work that joins what is left of `rows` into one of them. `left` has the row, the index and the text of each remaining event.
    static func keep(_ row: Int64, of rows: [Int64], _ left: [(Int64, Int, String)]) -> SpoolWork {
        var work = SpoolWork()
        work.rewrite = [(row, batch(left.map(\.2)))]
        work.left[row] = left.map { SpoolPlace(row: $0.0, index: $0.1) }
        work.remove = rows.filter { $0 != row }
        return work
    }
}

private func events(_ rows: [String]) -> [String] { rows.flatMap { $0.split(separator: " ").dropFirst().map(String.init) } }

@Suite("An event that was confirmed on a full disk")
struct SettledTests {
    @Test("does not come again after a kill, while the disk is full and afterwards", arguments: [false, true])
    func survives(synced: Bool) throws {
        let full = try Full(synced: synced)
        for row in 1...20 as ClosedRange<Int64> { try full.file.commit(.remove(row)) }
        #expect(full.said.withLock { $0.count } == 1 && full.words.contains("are noted in \(full.folder.path)/\(noted)"), "\(full.words)")
        #expect(try full.file.all() == Full.rows(21...40))
        let kill = try full.folder.killed()
        #expect(SpoolSummary(of: "x", in: kill.path).events == 40, "\(SpoolSummary(of: "x", in: kill.path))")

        let disk = FaultyDisk()
        disk.leave(.none)
        let next = try spool(kill, vfs: disk.name)
        #expect(next.contents.events == 40 && next.contents.rows == 20 && next.contents.routes == [0: 40])
        #expect(try next.all() == Full.rows(21...40))
        try next.commit(.remove(22, 21))
        let third = try spool(kill.killed())
        #expect(third.contents.events == 36)
        #expect(try third.all() == Full.rows(23...40))

        disk.leave(.enough)
        try next.commit(.insert((41, ["a41", "b41"])))
        #expect(try next.all() == Full.rows(23...41))
        // The spool itself has recorded the removals now, and the notes no longer count.
        let after = try kill.killed()
        unlink(after.path + "/" + noted)
        #expect(try spool(after).all() == Full.rows(23...41))
        #expect(try spool(kill.killed()).all() == Full.rows(23...41))
    }

    @Test("does not come again after the spool is closed")
    func closes() throws {
        let full = try Full()
        try full.file.commit(.remove(1, 2, 3))
        full.file.close()
        #expect(try spool(full.folder.killed()).all() == Full.rows(4...40))
        #expect(full.said.withLock { $0.count } == 1)
    }

    @Test("leaves the rest of its row, even of joined rows and of an encrypted row", arguments: [nil, "key"])
    func parts(key: String?) throws {
        let full = try Full(key: key)
        try full.file.commit(.keep(1, of: [1], [(1, 1, "b1")]))
        try full.file.commit(.keep(2, of: [2, 3, 4], [(2, 0, "a2"), (4, 0, "a4"), (4, 1, "b4")]))
        // The indexes are those of the row as it was rewritten.
        try full.file.commit(.keep(2, of: [2], [(2, 0, "a2"), (2, 2, "b4")]))
        func open(_ room: FaultyDisk.Space) throws -> (SpoolFile, FaultyDisk, Folder) {
            let (disk, folder) = (FaultyDisk(), try full.folder.killed())
            disk.leave(room)
            return (try spool(folder, vfs: disk.name, key: key), disk, folder)
        }
        let rest = ["b1", "a2", "b4"] + events(Full.rows(5...40))
        let (stuck, stuckDisk, stuckFolder) = try open(.none)
        #expect(try events(stuck.all()) == rest)
        #expect(stuck.contents.events == rest.count && stuck.contents.bytes == rest.reduce(0) { $0 + $1.utf8.count + 1 })
        #expect(SpoolSummary(of: "x", in: stuckFolder.path).events == rest.count)
        try stuck.commit(.keep(4, of: [2, 4], [(2, 0, "a2")]))
        let (free, _, _) = try open(.enough)
        #expect(try events(free.all()) == rest)
        stuckDisk.leave(.enough)
        try stuck.commit(.insert((41, ["last"])))
        #expect(try stuck.all().prefix(3) == ["1: b1", "4: a2", "5: a5 b5"])
        #expect(try spool(stuckFolder.killed(), key: key).all().prefix(3) == ["1: b1", "4: a2", "5: a5 b5"])
        // The lane knows the row under one number, wherever its events are in the file.
        try full.file.commit(.remove(2))
        #expect(try events(spool(full.folder.killed(), key: key).all()) == ["b1"] + events(Full.rows(5...40)))
        full.disk.leave(.enough)
        try full.file.commit(.insert((41, ["last"])))
        #expect(try full.file.all().prefix(2) == ["1: b1", "5: a5 b5"])
        #expect(full.words.contains("confirmed events are recorded again"))
    }

    @Test("leaves the spool as the lane knows it, after a kill between any two steps", arguments: 0..<rounds(30) as Range<UInt64>)
    func model(seed: UInt64) throws {
        var chance = RandomDamage(seed)
        let full = try Full(rows: 30)
        var rows: [Int64: [String]] = [:]
        for row in 1...30 as ClosedRange<Int64> { rows[row] = ["a\(row)", "b\(row)"] }
        var last: Int64 = 30
        for step in 0..<40 {
            full.disk.leave(chance.chance(8) == 0 ? .enough : .none)
            var work = SpoolWork()
            var wanted = rows
            let there = rows.keys.sorted()
            switch chance.chance(5) {
            case 0:
                last += 1
                work = .insert((last, ["a\(last)", "b\(last)"]))
                wanted[last] = ["a\(last)", "b\(last)"]
            case 1 where there.count > 2:
                // Some consecutive rows become one.
                let some = Array(there.dropFirst(chance.chance(there.count - 2)).prefix(1 + chance.chance(3)))
                var left: [(Int64, Int, String)] = []
                for row in some {
                    for (index, event) in rows[row]!.enumerated() where chance.chance(2) == 0 { left.append((row, index, event)) }
                }
                guard !left.isEmpty else { continue }
                work = .keep(some[0], of: some, left)
                work.tried = [(some[0], step, 1)]
                for row in some { wanted[row] = nil }
                wanted[some[0]] = left.map(\.2)
            case 2 where !there.isEmpty:
                work.tried = [(there[chance.chance(there.count)], step, 1)]
            default:
                for _ in 0...chance.chance(3) where !there.isEmpty {
                    let row = there[chance.chance(there.count)]
                    if !work.remove.contains(row) { work.remove.append(row) }
                    wanted[row] = nil
                }
            }
            do throws(StorageFault) {
                try full.file.commit(work)
                rows = wanted
            } catch {
                #expect(error.kind == .full && !work.insert.isEmpty, "seed \(seed), step \(step): \(error)")
            }
            let left = rows.values.flatMap(\.self).sorted()
            #expect(try events(full.file.all()).sorted() == left, "seed \(seed), step \(step)")
            let kill = try full.folder.killed()
            let disk = FaultyDisk()
            // A file that does not exist cannot be created without space.
            disk.leave(chance.chance(2) == 0 && kill.bytes(main).count > 0 ? .none : .enough)
            let said = Monitor<[String]>([])
            let next = try spool(kill, vfs: disk.name, said: said)
            #expect(try events(next.all()).sorted() == left, "seed \(seed), step \(step)")
            #expect(next.contents.events == left.count && next.takeLoss() == nil, "seed \(seed), step \(step)")
            #expect(!said.withLock { $0.contains { $0.contains("damaged") || $0.contains("another file") } }, "seed \(seed), step \(step)")
        }
    }

    @Test("comes again at worst if its note is damaged, and nothing else is lost", arguments: 0..<rounds(230) as Range<UInt64>)
    func damage(seed: UInt64) throws {
        let full = try Full()
        // Only every second row is removed, so that the facts are in many slots.
        for row in stride(from: 1 as Int64, through: 31, by: 2) { try full.file.commit(.remove(row)) }
        try full.file.commit(.keep(40, of: [40], [(40, 1, "b40")]))
        let kill = try full.folder.killed()
        var (data, random) = (kill.bytes(noted), RandomDamage(seed))
        #expect(data.count == 65536)
        // Only these slots are in use.
        var beginning = Data(data.prefix(64 * 20))
        let done = random.damage(&beginning, page: 64)
        data = seed % 3 == 0 ? beginning : beginning.prefix(64 * 20) + data.dropFirst(64 * 20)
        try kill.write(data, noted)
        let disk = FaultyDisk()
        disk.leave(seed % 2 == 0 ? .none : .enough)
        let said = Monitor<[String]>([])
        let file = try spool(kill, vfs: disk.name, said: said)
        let found = try Set(events(file.all()))
        let left = Set(events(Full.rows(2...39).enumerated().filter { $0.offset % 2 == 0 || $0.offset > 29 }.map(\.element)) + ["b40"])
        #expect(found.isSuperset(of: left) && found.isSubset(of: events(Full.rows(1...40))), "seed \(seed), \(done)")
        let words = said.withLock { $0.joined(separator: "\n") }
        if found.count > left.count, !done.hasPrefix("zero") {
            #expect(words.contains("\(noted): is damaged") && words.contains("may be sent again"), "seed \(seed), \(done): \(words)")
        }
        #expect(file.takeLoss() == nil)
        // From now on the file is in order again.
        try file.commit(.remove(36))
        let later = Monitor<[String]>([])
        #expect(try Set(events(spool(kill.killed(), said: later).all())) == found.subtracting(["a36", "b36"]), "seed \(seed), \(done)")
        #expect(!later.withLock { $0.contains { $0.contains("damaged") } }, "seed \(seed), \(done)")
    }

    @Test("of another spool is ignored with a message, even if that spool had the same name")
    func other() throws {
        let full = try Full()
        try full.file.commit(.remove(1, 2))
        let other = try Full()
        let kill = try other.folder.killed()
        try kill.write(full.folder.bytes(noted), noted)
        let said = Monitor<[String]>([])
        #expect(try spool(kill, said: said).all() == Full.rows(1...40))
        #expect(said.withLock { $0.count == 1 && $0[0].contains("belongs to another file") })
        let later = Monitor<[String]>([])
        #expect(try spool(kill, said: later).all().count == 40 && later.withLock { $0 } == [])
    }

    @Test("stays settled if the spool itself turns out to be damaged")
    func rebuilt() throws {
        let sound = try killed()
        let disk = FaultyDisk()
        disk.leave(.none)
        let file = try spool(sound, vfs: disk.name)
        try file.commit(.remove(1, 2, 21))
        let kill = try sound.killed()
        var bytes = kill.bytes(log)
        bytes[bytes.count - 20000] ^= 1
        try kill.write(bytes, log)
        let said = Monitor<[String]>([])
        let again = try spool(kill, said: said)
        let rows = try again.all()
        #expect(rows.count > 20 && rows.count < 38 && rows[0].hasPrefix("3:") && !rows.contains { $0.hasPrefix("21:") })
        #expect(again.contents.events == rows.count + again.takeLoss()!.routes.values.reduce(0, +))
        again.close()
        #expect(try spool(kill).all() == rows)
    }

    @Test("cannot be recorded any more when the file of notes is full too, and the fault says so")
    func noteFull() throws {
        let full = try Full(rows: 2200)
        var rows = 0
        var fault: StorageFault?
        for row in stride(from: 1 as Int64, through: 2199, by: 2) where fault == nil {
            do throws(StorageFault) {
                try full.file.commit(.remove(row))
                rows += 1
            } catch { fault = error }
        }
        #expect(rows == SettledFile.slots && fault?.kind == .full)
        #expect(fault?.description.hasSuffix("\(noted): is full too") == true, "\(fault?.description ?? "")")
        #expect(try spool(full.folder.killed()).contents.events == 2 * (2200 - rows))
        // A fact that joins two others needs no further slot.
        try full.file.commit(.remove(2))
        full.disk.leave(.enough)
        try full.file.commit(.insert((3000, ["x"])))
        #expect(full.file.contents.events == 2 * (2200 - rows - 1) + 1)
    }

    @Test("is noted even if the file of notes is removed meanwhile")
    func removed() throws {
        let full = try Full()
        try full.file.commit(.remove(1))
        unlink(full.folder.path + "/" + noted)
        try full.file.commit(.remove(2))
        #expect(try spool(full.folder.killed()).all() == Full.rows(3...40))
    }

    @Test("frees space if it was the last one: an empty file replaces the full one")
    func renews() throws {
        let full = try Full()
        full.disk.leave(.forNewFiles)
        try full.file.commit(.remove(1))
        #expect(throws: StorageFault.self) { try full.file.commit(.insert((41, ["x"]))) }
        for row in 2...40 as ClosedRange<Int64> { try full.file.commit(.remove(row)) }
        #expect(full.words.contains("was replaced by an empty file"), "\(full.words)")
        #expect(full.file.contents.events == 0)
        try full.file.checkPlace()
        #expect(try spool(full.folder.killed()).all() == [])
        try full.file.commit(.insert((41, ["x"]), (42, ["y"])))
        try full.file.commit(.remove(41))
        let said = Monitor<[String]>([])
        #expect(try spool(full.folder.killed(), said: said).all() == ["42: y"])
        #expect(said.withLock { $0 } == [])
        full.file.close()
        #expect(try spool(full.folder, said: said).all() == ["42: y"] && said.withLock { $0 } == [])
    }

    @Test("leaves no file if it was the last one and there is no space for an empty file, which is created when there is space")
    func renewsLater() throws {
        let full = try Full()
        for row in 1...40 as ClosedRange<Int64> { try full.file.commit(.remove(row)) }
        #expect(full.file.contents.events == 0)
        #expect(try full.file.all() == [])
        try full.file.commit(.remove(40))
        try full.file.checkPlace()
        let said = Monitor<[String]>([])
        #expect(try spool(full.folder.killed(), said: said).all() == [])
        #expect(said.withLock { $0 } == [])
        #expect(throws: StorageFault.self) { try full.file.commit(.insert((41, ["x"]))) }
        full.disk.leave(.enough)
        try full.file.commit(.insert((41, ["x"])))
        #expect(try full.file.all() == ["41: x"] && full.file.contents.events == 1)
        #expect(try spool(full.folder.killed()).all() == ["41: x"])
    }

    @Test("frees space after the next start too, if it was the last one")
    func renewsAtStart() throws {
        let full = try Full()
        var work = SpoolWork()
        work.remove = Array(1...39)
        try full.file.commit(work)
        try full.file.commit(.keep(40, of: [40], [(40, 0, "a40")]))
        let disk = FaultyDisk()
        disk.leave(.forNewFiles)
        let kill = try full.folder.killed()
        let next = try spool(kill, vfs: disk.name)
        #expect(try next.all() == ["40: a40"])
        try next.commit(.remove(40))
        #expect(try next.all() == [])
        try next.commit(.insert((41, ["x"])))
        #expect(try spool(kill.killed()).all() == ["41: x"])
    }

    @Test("leaves no note when its spool is destroyed, even on a full disk")
    func destroyed() throws {
        let full = try Full()
        try full.file.commit(.remove(1))
        let kill = try full.folder.killed()
        let folder = try StateFolder.claim(kill.path)
        try folder.destroySpool(of: "x")
        #expect(kill.files == ["router.pid"])
    }

    @Test("does not count as destroyed for a sweep until the file is rid of it")
    func sweeps() throws {
        let full = try Full()
        try full.file.commit(.remove(1))
        try full.file.commit(.keep(2, of: [2], [(2, 1, "b2")]))
        #expect(throws: StorageFault.self, "the removal is only noted, and the events are still in the file") { try full.file.tidy() }
        // The arrival of each event is its length.
        let sweep = RetentionSweep(nil, Retention(all: 10), now: 12)
        #expect(throws: StorageFault.self) { _ = try full.file.sweep(after: 0, sweep) }
        #expect(try full.file.all().count == 39)
        full.disk.leave(.enough)
        // Settled events are not destroyed a second time.
        let swept = try full.file.sweep(after: 0, sweep)
        #expect(swept.aged == [0: 77 - 2 * 31] && swept.agedBytes == 3 * (77 - 2 * 31))
        try full.file.tidy()
        #expect(!full.folder.holds("a1\n") && !full.folder.holds("b2\n"))
    }
}
