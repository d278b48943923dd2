import Foundation
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool

@Suite("The rebuild of a damaged spool on a full disk")
struct RebuildTests {
    private func drafts(_ folder: Folder) -> [String] { folder.files.filter { $0.contains(".rebuilt") } }
    private func aside(_ folder: Folder) -> [String] { folder.files.filter { $0.contains(".damaged-") } }

    @Test("says how much space it needs, leaves nothing behind, reports no loss, and is done when there is space")
    func start() throws {
        let sound = try killed()
        try sound.write(Data(), log)
        let disk = FaultyDisk()
        _ = try spool(sound.killed(), vfs: disk.name)
        let calls = disk.calls
        try #require(calls > 50)
        var refused = 0
        for call in 0..<calls {
            let folder = try sound.killed()
            let said = Monitor<[String]>([])
            disk.fail(at: call, .full, stays: true)
            do throws(StorageFault) { _ = try spool(folder, vfs: disk.name, said: said) } catch {
                #expect(error.kind == .full || !error.description.contains("must be free"), "call \(call): \(error)")
                #expect(drafts(folder) == [], "call \(call): \(error)")
                if error.description.contains("must be free") {
                    refused += 1
                    #expect(said.withLock { $0 } == [] && aside(folder) == [], "call \(call): \(error)")
                    #expect(folder.bytes(main) == sound.bytes(main) && folder.bytes(log).isEmpty, "call \(call): \(error)")
                }
            }
            disk.heal()
            #expect(disk.openFiles == 0, "call \(call): a file was left open")
            let again = try spool(folder, vfs: disk.name, said: said)
            #expect(try again.all().count == 20, "call \(call)")
            #expect(said.withLock { $0.contains { $0.contains("20 of 40 events are lost") } }, "call \(call)")
            #expect(aside(folder).filter { !$0.hasSuffix("-wal") } == ["spool-x.sqlite.damaged-3600"], "call \(call)")
            again.close()
        }
        #expect(refused > 20)
    }

    @Test("is tried again while the spool is in use, and counts and reports the loss once")
    func inUse() throws {
        let disk = FaultyDisk()
        var refused = 0
        for call in 0..<400 as Range<Int64> {
            let folder = try killed()
            let said = Monitor<[String]>([])
            let file = try spool(folder, vfs: disk.name, said: said)
            try folder.shell("DELETE FROM batches WHERE id = 7")
            disk.fail(at: call, .full, stays: true)
            var isDone = false
            for _ in 0..<3 where !isDone {
                let before = said.withLock { $0 }
                do throws(StorageFault) {
                    isDone = try file.all().count == 39
                } catch {
                    #expect(drafts(folder) == [], "call \(call): \(error)")
                    if error.description.contains("must be free") {
                        refused += 1
                        #expect(said.withLock { $0 } == before && aside(folder) == [], "call \(call): \(error)")
                    }
                }
            }
            disk.heal()
            #expect(try file.all().count == 39, "call \(call): \(said.withLock { $0 }) \(isDone)")
            #expect(file.takeLoss()?.routes == [0: 1], "call \(call)")
            #expect(said.withLock { $0.contains { $0.contains("39 events were read from it, 1 of 40 events are lost") } }, "call \(call)")
            #expect(aside(folder).filter { !$0.hasSuffix("-wal") } == ["spool-x.sqlite.damaged-3600"], "call \(call)")
            file.close()
            if isDone { break }
        }
        #expect(refused > 20)
    }
}
