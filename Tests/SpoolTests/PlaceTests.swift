// Tests of files that are removed, moved or replaced while they are open, and of sealed texts that are moved to another row.

import Database
import Foundation
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool

@Suite("A file that is removed, moved or replaced while it is open")
struct PlaceTests {
    enum Way: CaseIterable { case file, log, folder, moved, replaced }

    private func take(away path: String, by way: Way, _ folder: Folder) throws {
        let files = FileManager.default
        switch way {
        case .file: try files.removeItem(atPath: path)
        case .log: try files.removeItem(atPath: path + "-wal")
        case .folder: try files.removeItem(atPath: folder.path)
        case .moved: try files.moveItem(atPath: folder.path, toPath: folder.path + "-elsewhere")
        case .replaced:
            try files.removeItem(atPath: path)
            #expect(files.createFile(atPath: path, contents: Data()))
        }
    }

    @Test("stores nothing more, and the fault names the file", arguments: Way.allCases)
    func refuses(way: Way) throws {
        let folder = Folder()
        defer { try? FileManager.default.removeItem(atPath: folder.path + "-elsewhere") }
        let file = try spool(folder)
        try file.commit(.insert((1, ["one"]), (2, ["two"])))
        try file.checkPlace()
        try take(away: file.path, by: way, folder)
        do throws(StorageFault) {
            try file.commit(.insert((3, ["three"])))
            Issue.record("it was stored where nobody finds it")
        } catch {
            #expect(error.kind == .removed)
            let name = file.path + (way == .log ? "-wal" : "")
            #expect(error.description == "\(name): was removed, moved away or replaced while the router has it")
        }
        #expect(throws: StorageFault.self) { try file.checkPlace() }
        #expect(try file.all() == ["1: one", "2: two"], "its rows can still be read")
        file.letGo()
        try file.commit(.remove(1))
        #expect(try file.all() == ["2: two"], "and they can be removed, so that a file that was only moved does not send them again")
        file.close()
    }
}

@Suite("A sealed row")
struct SealedRowTests {
    @Test("that was swapped with that of another row is refused, and never given out")
    func swapped() throws {
        let folder = Folder()
        let file = try spool(folder, key: "0123456789abcdef")
        try file.commit(.insert((1, ["aaa"]), (2, ["bbb"]), (3, ["ccc"])))
        try file.database.run(
            """
            CREATE TEMP TABLE old AS SELECT id, payload FROM batches;
            UPDATE batches SET payload = (SELECT payload FROM old WHERE old.id = 3 - batches.id) WHERE id < 3;
            """)
        #expect(try file.all() == ["3: ccc"])
        #expect(file.takeLoss()?.routes.values.reduce(0, +) == 2)
        file.close()
    }
}
