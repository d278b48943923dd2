import Database
import Foundation
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool

@Suite("A damaged spool")
struct DamageTests {
    /// Creates and closes a spool of 200 rows of 3 kB. Returns its path.
    private func filled(_ folder: Folder) throws -> String {
        let file = try spool(folder)
        for row in 1...200 as ClosedRange<Int64> { try file.commit(.insert((row, ["row-\(row)-" + String(repeating: "x", count: 3000)]))) }
        file.close()
        return folder.path + "/spool-x.sqlite"
    }

    private func overwrite(_ path: String, at offset: UInt64, _ count: Int) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data(repeating: 0xa5, count: count))
        try handle.close()
    }

    @Test("does not stop the start: it is set aside as it is, and a new one replaces it")
    func noDatabase() throws {
        let folder = Folder()
        let path = folder.path + "/spool-x.sqlite"
        try Data("this was a spool once".utf8 + [UInt8](repeating: 7, count: 5000)).write(to: URL(fileURLWithPath: path))
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        // The number of lost events is unknown. It counts as 1, so that the run does not end as if nothing was lost.
        #expect(file.contents.events == 1)
        let loss = try #require(file.takeLoss())
        #expect(loss.routes.values.reduce(0, +) == 1 && loss.words.contains("an unknown number of events"))
        #expect(file.contents.events == 0)
        try file.commit(.insert((1, ["works"])))
        #expect(folder.files.contains("spool-x.sqlite.damaged-3600"))
        let words = said.withLock { $0 }
        #expect(
            words.count == 1 && words[0].contains("set aside as \(path).damaged-3600, 0 events were read from it, an unknown number"),
            "\(words)")
    }

    @Test("returns the rows that can be read, counts the others as lost, and works on")
    func inTheMiddle() throws {
        let folder = Folder()
        let path = try filled(folder)
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as! UInt64
        for offset in stride(from: size / 2 / 8192 * 8192, to: size / 2 + 50_000, by: 8192) { try overwrite(path, at: offset, 8000) }
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        let rows = try file.all()
        #expect(rows.count > 100 && rows.count < 200, "\(rows.count)")
        #expect(rows.first?.hasPrefix("1: row-1-") == true && rows.last?.hasPrefix("200: row-200-") == true)
        let loss = file.takeLoss()
        #expect((loss?.routes[0] ?? 0) + rows.count == 200)
        #expect(file.contents.events == rows.count)
        try file.commit(.insert((1000, ["after"])))
        #expect(try file.all().count == rows.count + 1)
        #expect(said.withLock { $0.contains { $0.contains("set aside as") && $0.contains("of 200 events are lost") } })
    }

    @Test(
        "moves a row that makes no sense into a separate table, and returns the others",
        arguments: [
            "UPDATE batches SET payload = 'no newline' WHERE id = 2", "UPDATE batches SET entries = x'00' WHERE id = 2",
            "UPDATE batches SET events = 9 WHERE id = 2", "UPDATE batches SET events = -1 WHERE id = 2",
            "UPDATE batches SET entries = substr(entries, 1, 4) || x'ff7f' || substr(entries, 7) WHERE id = 2",
            "UPDATE batches SET sealed = 1 WHERE id = 2",
        ])
    func senseless(sql: String) throws {
        let folder = Folder()
        let file = try spool(folder)
        try file.commit(.insert((1, ["one"]), (2, ["two"]), (3, ["three"])))
        file.close()
        let shell = try Database(folder.path + "/spool-x.sqlite", makes: false)
        try shell.run(sql)
        shell.close()
        let again = try spool(folder)
        #expect(try again.all() == ["1: one", "3: three"])
        let loss = try #require(again.takeLoss())
        #expect(loss.routes == [0: 1] && loss.words.contains("1 events are damaged; they are kept in its table 'damaged'"))
        #expect(again.takeLoss() == nil)
        #expect(again.contents.events == 2)
    }

    @Test("with random bytes in it never crashes the process", arguments: 0..<rounds(40) as Range<UInt64>)
    func fuzz(seed: UInt64) throws {
        let folder = Folder()
        let path = try filled(folder)
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func chance() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as! UInt64
        for _ in 0..<(1 + chance() % 20) { try overwrite(path, at: chance() % size, Int(1 + chance() % 200)) }
        guard let fault = use(folder) else { return }
        #expect(fault.kind == .foreign, "only a damaged mark or version may make the file foreign: \(fault)")
    }

    private func use(_ folder: Folder) -> StorageFault? {
        do throws(StorageFault) {
            let file = try spool(folder)
            let rows = try file.all()
            #expect(rows.count <= 200)
            do throws(StorageFault) {
                try file.commit(.insert((5000, ["after"])))
            } catch {
                // Damage that a commit finds is repaired. Then the commit can be tried again, as a lane does.
                guard error.kind == .damaged else { throw error }
                try file.commit(.insert((5000, ["after"])))
            }
            let last = try file.all().last
            #expect(last == "5000: after")
            return nil
        } catch {
            return error
        }
    }
}
