import Database
import Foundation
import Platform
import StateFiles
import StoreFixtures
import Testing

@testable import Admission
@testable import Spool

@Suite("Moving a spool to another provider")
struct MoveTests {
    private struct Fixture {
        let folder = Folder(inMemory: true)
        let state: StateFolder
        let said = Monitor<[String]>([])

        init() throws { state = try StateFolder.claim(folder.path) }

        func path(_ provider: String) -> String { StateFolder.spool(of: provider, in: folder.path) }

        func open(_ provider: String) throws -> SpoolFile {
            try SpoolFile(path: path(provider), names: RunNames(["a"]), say: { _ in })
        }

        func fill(_ provider: String, _ rows: [String]) throws {
            let file = try open(provider)
            var work = SpoolWork()
            for (index, row) in rows.enumerated() { work.insert.append((Int64(index + 1), batch([row]))) }
            try file.commit(work)
            file.close()
        }

        func damage(_ provider: String, row: Int) throws {
            let shell = try Database(path(provider), makes: false)
            try shell.run("UPDATE batches SET payload = 'wrong' || char(10) WHERE id = \(row)")
            shell.close()
        }

        func move() throws -> SpoolMove {
            var options = SpoolFile.Options()
            options.clock = hour
            return try state.moveSpool(of: "old", to: "new", options: options) { line in said.withLock { $0.append(line) } }
        }

        func waiting(_ provider: String) throws -> [String] {
            let file = try open(provider)
            defer { file.close() }
            return try file.all()
        }
    }

    @Test("appends its events to those of the other provider and removes it")
    func whole() throws {
        let fixture = try Fixture()
        try fixture.fill("old", ["one", "two"])
        try fixture.fill("new", ["first"])
        let move = try fixture.move()
        #expect(move.events == 2 && move.losses == [] && move.left == nil)
        #expect(try fixture.waiting("new") == ["1: first", "2: one", "3: two"])
        #expect(StateFolder.spools(in: fixture.folder.path) == ["new"])
    }

    @Test("reports damage in either spool, and never removes batches that are kept for a person")
    func damaged() throws {
        let fixture = try Fixture()
        try fixture.fill("old", ["one", "two", "three"])
        try fixture.fill("new", ["first"])
        try fixture.damage("old", row: 2)
        let move = try fixture.move()
        let kept = "is not removed, since 1 batches that are damaged are kept in its table 'damaged'"
        #expect(move.events == 2 && move.left == "\(fixture.path("old")): \(kept)")
        #expect(move.losses == ["\(fixture.path("old")): 1 events are damaged; they are kept in its table 'damaged'"])
        #expect(try fixture.waiting("new") == ["1: first", "2: one", "3: three"])
        // The next move reports no loss, and it keeps the batch too.
        let again = try fixture.move()
        #expect(again.events == 0 && again.losses == [] && again.left == move.left)
        let old = try fixture.open("old")
        #expect(try old.database.number("SELECT count(*) FROM damaged") == 1)
        old.close()
    }

    @Test("reports what has vanished from either spool, and keeps the damaged files")
    func vanished() throws {
        let fixture = try Fixture()
        try fixture.fill("old", ["one", "two", "three"])
        try fixture.fill("new", ["first"])
        unlink(fixture.path("new"))
        try Data([1]).write(to: URL(fileURLWithPath: fixture.path("old")))
        let move = try fixture.move()
        #expect(move.events == 0 && move.left == nil)
        #expect(
            move.losses == [
                "\(fixture.path("old")): 3 events are damaged; they may be found in \(fixture.path("old")).damaged-3600",
                "\(fixture.path("new")): 1 events are damaged; nothing is left of its file",
            ], "\(move.losses)")
        #expect(StateFolder.spools(in: fixture.folder.path) == ["new"])
        #expect(fixture.folder.files.contains("spool-old.sqlite.damaged-3600"))
    }
}
