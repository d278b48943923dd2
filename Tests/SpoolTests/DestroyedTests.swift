// What withdrawals have destroyed in a spool is recorded with the destruction.

import Database
import Platform
import StoreFixtures
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Spool

@Suite("The record of destroyed events in a spool")
struct DestroyedTests {
    private func destroyed(_ receipt: Int64, _ events: Int, _ bytes: Int) -> Destroyed {
        var destroyed = Destroyed()
        destroyed.add(receipt, events: events, bytes: bytes)
        return destroyed
    }

    private func work(removing rows: [Int64], _ destroyed: Destroyed) -> SpoolWork {
        var work = SpoolWork()
        work.remove = rows
        work.destroyed = destroyed
        return work
    }

    @Test("is there after a kill exactly if the events are gone")
    func kill() throws {
        let folder = Folder()
        var file = try spool(folder)
        var rows = SpoolWork()
        rows.insert = [(1, batch(["a", "b"])), (2, batch(["c"]))]
        try file.commit(rows)
        try file.commit(work(removing: [1], destroyed(7, 2, 4)))
        // What the file holds now is what a kill leaves.
        file.database.closeKeepingLog()
        file = try spool(folder)
        #expect(file.contents.destroyed == destroyed(7, 2, 4) && file.contents.rows == 1)
        try file.commit(work(removing: [2], destroyed(7, 1, 2)))
        file.close()
        file = try spool(folder)
        #expect(file.contents.destroyed == destroyed(7, 3, 6) && file.contents.rows == 0)
    }

    @Test("is taken over when the file is rebuilt")
    func rebuilt() throws {
        let folder = Folder()
        let file = try spool(folder)
        var rows = SpoolWork()
        rows.insert = [(1, batch(["a"])), (2, batch([String(repeating: "x", count: 40_000)]))]
        try file.commit(rows)
        try file.commit(work(removing: [1], destroyed(7, 1, 2)))
        try file.repair(StorageFault(.damaged, "planted"))
        #expect(file.contents.destroyed == destroyed(7, 1, 2))
        try file.commit(work(removing: [2], destroyed(8, 1, 40_001)))
        #expect(file.contents.destroyed[7].events == 1 && file.contents.destroyed[8].events == 1)
    }

    @Test("is not there if the commit failed")
    func failed() throws {
        let folder = Folder()
        let file = try spool(folder)
        var wrong = work(removing: [], destroyed(7, 1, 2))
        wrong.insert = [(1, batch(["a"]))]
        try file.commit(wrong)
        #expect(throws: StorageFault.self) { try file.commit(wrong) }
        #expect(file.contents.destroyed == destroyed(7, 1, 2))
    }
}
