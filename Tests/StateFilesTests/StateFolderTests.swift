import Foundation
import Platform
import StoreFixtures
import Testing

@testable import StateFiles

@Suite("A state folder")
struct StateFolderTests {
    @Test("belongs to one router at a time, and tells another router the process ID of that one")
    func claims() throws {
        let folder = Folder()
        let path = folder.path + "/state"
        let first = try StateFolder.claim(path)
        #expect(folder.mode("state") == 0o700)
        #expect(StateFolder.owner(of: path) == getpid())
        do {
            _ = try StateFolder.claim(path)
            Issue.record("two routers have the folder")
        } catch let taken as StateFolder.Taken {
            #expect(taken.pid == getpid())
        }
        withExtendedLifetime(first) {}
    }

    @Test("is free again when its router has ended, even if it was killed")
    func frees() throws {
        let folder = Folder()
        try Data("99999\n".utf8).write(to: URL(fileURLWithPath: folder.path + "/router.pid"))
        #expect(StateFolder.owner(of: folder.path) == nil)
        _ = try StateFolder.claim(folder.path)
        #expect(StateFolder.owner(of: folder.path) == nil)
    }

    @Test("names the file of a spool after its provider, whatever its name", arguments: ["out", "a b/c", "ärger", "%41", "..", "A_b-9"])
    func names(name: String) {
        let file = StateFolder.spool(of: name, in: "/x")
        #expect(file.dropFirst(3).allSatisfy { $0 != "/" })
        #expect(StateFolder.provider(of: String(file.dropFirst(3))) == name)
    }

    @Test("creates its key once, and throws if the key file is damaged")
    func key() throws {
        let folder = Folder()
        let state = try StateFolder.claim(folder.path)
        let key = try state.key()
        #expect(key.count == 16)
        #expect(try state.key() == key)
        #expect(folder.mode("subject.key") == 0o600)
        try Data([1, 2]).write(to: URL(fileURLWithPath: folder.path + "/subject.key"))
        #expect(throws: StorageFault.self) { try state.key() }
    }

    @Test("notices that it was moved away, even if another folder is in its place")
    func folder() throws {
        let folder = Folder()
        let path = folder.path + "/state"
        let state = try StateFolder.claim(path)
        try state.checkPlace()
        try FileManager.default.moveItem(atPath: path, toPath: path + "-moved")
        #expect(throws: StorageFault.removed(path)) { try state.checkPlace() }
        let other = try StateFolder.claim(path)
        #expect(throws: StorageFault.removed(path + "/router.pid")) { try state.checkPlace() }
        try other.checkPlace()
    }
}
