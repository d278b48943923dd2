import Admission
import Plans
import Platform
import Spool
import StateFiles
import StoreFixtures
import Testing

@testable import Startup

@Suite("What a state folder holds and a configuration does not use")
struct LeftoversTests {
    /// Returns a folder with a spool of this provider, in which one event waits.
    private func folder(of provider: String) throws -> Folder {
        let folder = Folder()
        let file = try SpoolFile(path: StateFolder.spool(of: provider, in: folder.path), names: RunNames(["r"])) { _ in }
        var work = SpoolWork()
        work.insert = [(1, batch(["event"]))]
        try file.commit(work)
        file.close()
        return folder
    }

    @Test("is listed with the commands that move or destroy it")
    func spool() throws {
        let folder = try folder(of: "gone")
        let left = Leftovers(Plan(), in: folder.path)
        #expect(left.spools.map(\.provider) == ["gone"])
        let line = try #require(left.lines.first)
        #expect(left.lines.count == 1 && line.contains("1 event waits for gone") && line.contains("no provider of this name"), "\(line)")
        #expect(line.contains("move gone NEW") && line.contains("destroy gone"), "\(line)")
    }

    @Test("names a provider so that a shell takes it as one word, and not as an option", arguments: ["a b", "-x", "it's"])
    func quoting(name: String) throws {
        let folder = try folder(of: name)
        let line = try #require(Leftovers(Plan(), in: folder.path).lines.first)
        #expect(line.contains("destroy \(name.hasPrefix("-") ? "-- " : "")\(shellWord(name))"), "\(line)")
    }

    @Test("does not name a spool that is in use")
    func used() throws {
        let folder = try folder(of: "out")
        #expect(Leftovers(Plan(), in: folder.path).lines.count == 1)
        #expect(Leftovers(Plan(), in: folder.path, except: ["out"]).lines.isEmpty)
    }

    @Test("is empty without a folder")
    func absent() {
        let left = Leftovers(Plan(), in: "/nowhere/at/all")
        #expect(!left.isThere && left.lines.isEmpty && left.letters.isEmpty)
    }
}
