import FaultyFiles
import Foundation
import Platform
import TestSupport
import Testing

@testable import Policy
@testable import Spool

/// What a caller may rely on: what was stored when a commit returned.
private struct Model {
    var rows: [Int64: [String]] = [:]

    mutating func apply(_ work: SpoolWork) {
        for id in work.remove { rows[id] = nil }
        for (id, batch) in work.rewrite { rows[id] = texts(batch) }
        for (id, batch) in work.insert { rows[id] = texts(batch) }
    }
    var all: [String] { rows.sorted { $0.key < $1.key }.map { "\($0.key): " + $0.value.joined(separator: " ") } }
}

/// A short life of a spool: rows come, some are rewritten, most go.
private let life: [SpoolWork] = {
    var works: [SpoolWork] = []
    for step in 0..<6 {
        var work = SpoolWork()
        let first = Int64(step * 3 + 1)
        work.insert = (first..<first + 3).map { row in
            (row, batch((0..<4).map { "event-\(row)-\($0)-" + String(repeating: "x", count: 3000) }))
        }
        if step > 0 { work.remove = [first - 2, first - 1] }
        if step > 1 { work.rewrite = [(first - 3, batch(["left-\(first)"]))] }
        work.tried = [(first, step, 1)]
        works.append(work)
    }
    return works
}()

@Suite("A spool on a bad disk", .serialized)
struct FaultTests {
    /// Lives the life until something fails; what was stored for certain, and what the step that failed would have left.
    private func live(_ folder: Folder, synced: Bool = false) -> (stored: Model, perhaps: Model, fault: SpoolFault?) {
        var stored = Model()
        var perhaps = stored
        do throws(SpoolFault) {
            let file = try spool(folder, vfs: FAULTY_FILES, synced: synced)
            for work in life {
                perhaps.apply(work)
                try file.commit(work)
                stored = perhaps
            }
            try file.tidy()
            return (stored, perhaps, nil)
        } catch {
            return (stored, perhaps, error)
        }
    }

    @Test(
        "loses nothing that it has stored, whichever call fails and however, once or for good, and works again afterwards",
        arguments: [FAULTY_IO, FAULTY_FULL, FAULTY_SHORT], [false, true])
    func everyCall(kind: faulty_kind, stays: Bool) async throws {
        await takeFaultyFiles()
        defer { faulty_give() }
        faulty_arm(-1, FAULTY_IO, 0)
        #expect(live(Folder()).fault == nil)
        let calls = faulty_calls()
        try #require(calls > 100)
        for call in 0..<calls {
            let folder = Folder()
            faulty_arm(call, kind, stays ? 1 : 0)
            let (stored, perhaps, fault) = live(folder)
            faulty_arm(-1, FAULTY_IO, 0)
            #expect(faulty_open_files() == 0, "call \(call): a file was left open")
            if let fault { #expect(!fault.description.isEmpty && fault.kind != .foreign, "call \(call): \(fault)") }
            let again = try spool(folder, vfs: FAULTY_FILES)
            let found = try again.all()
            // The step that failed may have been done when only the answer to it was lost.
            #expect(found == stored.all || found == perhaps.all, "call \(call): \(fault?.description ?? "no fault")")
            #expect(
                again.contents.events == found.reduce(0) { $0 + $1.split(separator: " ").count - 1 }, "call \(call): the sums are wrong")
            try again.commit(.insert((1000, ["after"])))
            #expect(try again.all().last == "1000: after")
        }
    }

    @Test("a failed commit can be tried again, and is done once")
    func again() async throws {
        await takeFaultyFiles()
        defer { faulty_give() }
        let folder = Folder()
        faulty_arm(-1, FAULTY_IO, 0)
        let file = try spool(folder, vfs: FAULTY_FILES)
        try file.commit(life[0])
        faulty_arm(-1, FAULTY_IO, 0)
        try file.commit(life[1])
        let calls = faulty_calls()
        for call in 0..<calls {
            faulty_arm(call, FAULTY_FULL, 0)
            var work = SpoolWork()
            work.insert = [(Int64(1000 + call), batch(["x"]))]
            do throws(SpoolFault) { try file.commit(work) } catch {
                faulty_arm(-1, FAULTY_IO, 0)
                try file.commit(work)
            }
        }
        faulty_arm(-1, FAULTY_IO, 0)
        #expect(try file.all().count == 4 + Int(calls))
    }

    @Test("with durability 'power' everything stored is there after the power failed, whatever the disk had not written yet")
    func powerCut() async throws {
        await takeFaultyFiles()
        defer { faulty_give() }
        for seed in 0..<120 as Range<UInt64> {
            let folder = Folder()
            // The first commit makes the file; from then on power may fail at any call.
            faulty_arm(-1, FAULTY_IO, 0)
            let made = try spool(folder, vfs: FAULTY_FILES, synced: true)
            try made.commit(.insert((500, ["first"])))
            made.close()
            faulty_watch_power()
            faulty_arm(Int64(seed * 7 % 160), FAULTY_IO, 1)
            let (stored, perhaps, _) = live(folder, synced: true)
            faulty_cut_power(seed)
            faulty_arm(-1, FAULTY_IO, 0)
            let again = try spool(folder, vfs: FAULTY_FILES, synced: true)
            let found = try again.all()
            #expect(found == stored.all + ["500: first"] || found == perhaps.all + ["500: first"], "seed \(seed)")
            again.close()
        }
    }

    @Test("without it the file is whole all the same, with what it had at some moment before")
    func powerCutWithoutSync() async throws {
        await takeFaultyFiles()
        defer { faulty_give() }
        for seed in 0..<60 as Range<UInt64> {
            let folder = Folder()
            faulty_arm(-1, FAULTY_IO, 0)
            let made = try spool(folder, vfs: FAULTY_FILES)
            made.close()
            faulty_watch_power()
            faulty_arm(Int64(seed * 11 % 160), FAULTY_IO, 1)
            _ = live(folder)
            faulty_cut_power(seed)
            faulty_arm(-1, FAULTY_IO, 0)
            let said = Monitor<[String]>([])
            let again = try spool(folder, vfs: FAULTY_FILES, said: said)
            var model = Model()
            var states = [model.all]
            for work in life {
                model.apply(work)
                states.append(model.all)
            }
            #expect(states.contains(try again.all()), "seed \(seed)")
            #expect(said.withLock { $0 } == [], "seed \(seed)")
        }
    }

    @Test("does not take the place that the configuration keeps free, and says whose limit it is")
    func budget() throws {
        let folder = Folder()
        let free = Monitor(1_000_000)
        var options = SpoolFile.Options()
        let budget = DiskBudget(folder.path, most: 100, reserve: 1000, free: { _ in free.withLock { $0 } })
        options.budget = budget
        let file = try SpoolFile(path: folder.path + "/spool-x.sqlite", names: RunNames(["a"]), options: options) { _ in }
        try file.commit(.insert((1, [String(repeating: "x", count: 80)])))
        func fault(_ work: SpoolWork) -> SpoolFault? {
            do throws(SpoolFault) { try file.commit(work) } catch { return error }
            return nil
        }
        #expect(
            fault(.insert((2, [String(repeating: "x", count: 30)])))
                == SpoolFault(.full, "\(folder.path): limits.disk allows no more than 100 bytes"))
        free.withLock { $0 = 1005 }
        #expect(
            fault(.insert((2, ["xxxxxxxxxx"])))?.description
                == "\(folder.path): 1,005 bytes are free on its disk, and limits.disk_free keeps 1,000 of them")
        #expect(fault(.remove(1)) == nil, "what makes room is always done")
        free.withLock { $0 = 1_000_000 }
        #expect(fault(.insert((2, [String(repeating: "x", count: 90)]))) == nil)
    }
}
