import Database
import Foundation
import Platform
import StoreFixtures
import Testing

@testable import ConsentGate
@testable import Spool

@Suite("A sweep of a spool")
struct SweepRowsTests {
    @Test("continues where it stopped, until it has seen every row")
    func allRows() throws {
        let folder = Folder()
        let file = try spool(folder)
        var work = SpoolWork()
        // The arrival of each event is its length.
        work.insert = (1...600).map { (Int64($0), batch(["aa", "bbbbbb"])) }
        try file.commit(work)
        let sweep = RetentionSweep(nil, Retention(all: 10), now: 12)
        var row: Int64? = 0
        var aged = 0
        while let after = row {
            let swept = try file.sweep(after: after, sweep)
            aged += swept.aged.values.reduce(0, +)
            row = swept.next
        }
        #expect(aged == 600)
        let left = try file.all()
        #expect(left.count == 600 && left.allSatisfy { $0.hasSuffix(": bbbbbb") })
    }

    @Test("rebuilds the file once if its commit finds damage, and then works")
    func damaged() throws {
        let folder = Folder(inMemory: true)
        var file = try spool(folder)
        var work = SpoolWork()
        work.insert = (1...8).map { (Int64($0), batch([String(repeating: "x", count: 40_000)])) }
        try file.commit(work)
        try file.commit(.remove(1, 2))
        file.close()
        // The list of free pages claims more entries than fit into it. Only a write notices this.
        var bytes = folder.bytes(main)
        let trunk = bytes[32..<36].reduce(0) { $0 << 8 | Int($1) }
        try #require(trunk > 0)
        bytes.replaceSubrange((trunk - 1) * 16384 + 4..<(trunk - 1) * 16384 + 8, with: [0x7f, 0xff, 0xff, 0xff])
        try folder.write(bytes, main)
        let said = Monitor<[String]>([])
        file = try spool(folder, said: said)
        let sweep = RetentionSweep(nil, Retention(all: 10), now: 50_000)
        do throws(StorageFault) {
            _ = try file.sweep(after: 0, sweep)
            Issue.record("the damage was not noticed")
        } catch {
            #expect(error.kind == .damaged, "\(error)")
        }
        #expect(folder.files.filter { $0.contains("damaged-") && !$0.hasSuffix("-wal") } == ["spool-x.sqlite.damaged-3600"])
        #expect(said.withLock { $0.count == 1 && $0[0].contains("6 events were read from it, 0 of 6 events are lost") })
        #expect(try file.sweep(after: 0, sweep).aged == [0: 6] && file.takeLoss() == nil)
        #expect(try file.all() == [])
    }
}
