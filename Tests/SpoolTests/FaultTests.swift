import Foundation
import Platform
import StateFiles
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool

/// The rows that a caller may rely on: they were stored when a commit returned.
private struct Model {
    var rows: [Int64: [String]] = [:]

    mutating func apply(_ work: SpoolWork) {
        for id in work.remove { rows[id] = nil }
        for (id, batch) in work.rewrite { rows[id] = texts(batch) }
        for (id, batch) in work.insert { rows[id] = texts(batch) }
    }
    var all: [String] { rows.sorted { $0.key < $1.key }.map { "\($0.key): " + $0.value.joined(separator: " ") } }
}

/// The steps of a spool's life: rows are inserted, some are rewritten, and most are removed.
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

@Suite("A spool on a failing disk")
struct FaultTests {
    /// Does the steps until one fails. Returns the rows that are stored for certain, and the rows that are stored if the failed step was
    /// done.
    private func live(_ folder: Folder, _ disk: FaultyDisk, synced: Bool = false) -> (stored: Model, perhaps: Model, fault: StorageFault?) {
        var stored = Model()
        var perhaps = stored
        do throws(StorageFault) {
            let file = try spool(folder, vfs: disk.name, synced: synced)
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
        "loses nothing that it has stored, whichever call fails, once or permanently, and works again afterwards",
        arguments: FaultyDisk.Fault.allCases, [false, true])
    func everyCall(kind: FaultyDisk.Fault, stays: Bool) throws {
        let disk = FaultyDisk()
        #expect(live(Folder(inMemory: true), disk).fault == nil)
        let calls = disk.calls
        try #require(calls > 100)
        for call in places(below: calls) {
            let folder = Folder(inMemory: true)
            disk.fail(at: call, kind, stays: stays)
            let (stored, perhaps, fault) = live(folder, disk)
            disk.heal()
            #expect(disk.openFiles == 0, "call \(call): a file was left open")
            if let fault { #expect(!fault.description.isEmpty && fault.kind != .foreign, "call \(call): \(fault)") }
            let again = try spool(folder, vfs: disk.name)
            let found = try again.all()
            // The failed step may have been done, if the call failed after its work.
            #expect(found == stored.all || found == perhaps.all, "call \(call): \(fault?.description ?? "no fault")")
            #expect(
                again.contents.events == found.reduce(0) { $0 + $1.split(separator: " ").count - 1 }, "call \(call): the sums are wrong")
            try again.commit(.insert((1000, ["after"])))
            #expect(try again.all().last == "1000: after")
        }
    }

    @Test("lets a failed commit be tried again, and does it once")
    func again() throws {
        let disk = FaultyDisk()
        let folder = Folder(inMemory: true)
        let file = try spool(folder, vfs: disk.name)
        try file.commit(life[0])
        disk.heal()
        try file.commit(life[1])
        let calls = disk.calls
        for call in 0..<calls {
            disk.fail(at: call, .full)
            var work = SpoolWork()
            work.insert = [(Int64(1000 + call), batch(["x"]))]
            do throws(StorageFault) { try file.commit(work) } catch {
                disk.heal()
                try file.commit(work)
            }
        }
        disk.heal()
        #expect(try file.all().count == 4 + Int(calls))
        #expect(file.contents.events == 16 + Int(calls), "failed attempts are not in the sums")
    }

    @Test("with durability 'power' has everything stored after a loss of power, whatever the disk had not written yet")
    func powerCut() throws {
        let disk = FaultyDisk()
        for seed in 0..<rounds(120) as Range<UInt64> {
            let folder = Folder(inMemory: true)
            // The first commit creates the file. After it, power may fail at any call.
            disk.heal()
            let made = try spool(folder, vfs: disk.name, synced: true)
            try made.commit(.insert((500, ["first"])))
            made.close()
            disk.watchPower()
            disk.fail(at: Int64(seed * 7 % 160), .io, stays: true)
            let (stored, perhaps, _) = live(folder, disk, synced: true)
            disk.cutPower(seed)
            disk.heal()
            let again = try spool(folder, vfs: disk.name, synced: true)
            let found = try again.all()
            #expect(found == stored.all + ["500: first"] || found == perhaps.all + ["500: first"], "seed \(seed)")
            again.close()
        }
    }

    @Test("without that durability is whole after a loss of power, has an earlier state, and reports what is lost")
    func powerCutWithoutSync() throws {
        let disk = FaultyDisk()
        for seed in 0..<60 as Range<UInt64> {
            let folder = Folder(inMemory: true)
            disk.heal()
            let made = try spool(folder, vfs: disk.name)
            made.close()
            disk.watchPower()
            disk.fail(at: Int64(seed * 11 % 160), .io, stays: true)
            let (stored, perhaps, _) = live(folder, disk)
            disk.cutPower(seed)
            disk.heal()
            let said = Monitor<[String]>([])
            let again = try spool(folder, vfs: disk.name, said: said)
            var model = Model()
            var states = [model.all]
            for work in life {
                model.apply(work)
                states.append(model.all)
            }
            let found = try again.all()
            #expect(states.contains(found), "seed \(seed)")
            // A loss of acknowledged work is reported, as after any other damage.
            let isWhole = found == stored.all || found == perhaps.all
            #expect(said.withLock { $0.isEmpty } == isWhole, "seed \(seed)")
            if !isWhole { #expect(said.withLock { $0.contains { $0.contains("transactions are gone") } }, "seed \(seed)") }
        }
    }

    @Test("does not use the space that the configuration keeps free, and names the limit")
    func budget() throws {
        let folder = Folder()
        let free = Monitor(1_000_000)
        var options = SpoolFile.Options()
        let budget = DiskBudget(folder.path, most: 100, reserve: 1000, free: { _ in free.withLock { $0 } })
        options.budget = budget
        let file = try SpoolFile(path: folder.path + "/spool-x.sqlite", names: RunNames(["a"]), options: options) { _ in }
        try file.commit(.insert((1, [String(repeating: "x", count: 80)])))
        func fault(_ work: SpoolWork) -> StorageFault? {
            do throws(StorageFault) { try file.commit(work) } catch { return error }
            return nil
        }
        #expect(
            fault(.insert((2, [String(repeating: "x", count: 30)])))
                == StorageFault(.full, "\(folder.path): limits.disk allows no more than 100 bytes"))
        free.withLock { $0 = 1005 }
        #expect(
            fault(.insert((2, ["xxxxxxxxxx"])))?.description
                == "\(folder.path): 1,005 bytes are free on its disk, and limits.disk_free keeps 1,000 of them")
        #expect(fault(.remove(1)) == nil, "work that frees space is always done")
        free.withLock { $0 = 1_000_000 }
        #expect(fault(.insert((2, [String(repeating: "x", count: 90)]))) == nil)
    }
}
