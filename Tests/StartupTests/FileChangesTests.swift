import Foundation
import Platform
import Startup
import Testing

@Suite("A watch of files") struct FileChangesTests {
    @Test("sees a file that is written, replaced, removed or made, and no other file")
    func files() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (a, b, other) = (folder + "/a.json", folder + "/b.json", folder + "/other.json")
        try Data("1".utf8).write(to: URL(fileURLWithPath: a))
        let stop = try WakeUp()
        let changes = try FileChanges(.any, stop: stop, quiet: 0)
        func expect(_ paths: [String]?, _ change: () throws -> Void) throws {
            changes.begin()
            changes.note(a)
            changes.note(b)
            changes.note(a)
            #expect(changes.count == 2)
            try change()
            #expect(try changes.next() == paths)
        }
        try expect([a]) {
            try Data("2".utf8).write(to: URL(fileURLWithPath: other))
            try Data("12".utf8).write(to: URL(fileURLWithPath: a))
        }
        try expect([a]) { #expect(rename(other, a) == 0) }
        try expect([a, b]) {
            try Data("1".utf8).write(to: URL(fileURLWithPath: b))
            try Data("123".utf8).write(to: URL(fileURLWithPath: a))
        }
        try expect([a]) { #expect(unlink(a) == 0) }
        try expect(nil) {
            try Data("3".utf8).write(to: URL(fileURLWithPath: other))
            stop.raise()
        }
    }

    @Test("for a reload sees a file that is there only: one that is missing between two steps of a replacement is no change")
    func replaced() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("watch-\(UUID())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (file, target, link) = (folder + "/a.json", folder + "/b.json", folder + "/link.json")
        try Data("1".utf8).write(to: URL(fileURLWithPath: file))
        try Data("12".utf8).write(to: URL(fileURLWithPath: target))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let stop = try WakeUp()
        let changes = try FileChanges(.present, stop: stop, quiet: 0)
        #expect(changes.note(link) == nil)
        // Another target of the link is a change, and is told once.
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(try changes.next() == [link])
        #expect(unlink(link) == 0)
        stop.raise()
        #expect(try changes.next() == nil)
        // It comes back as it was.
        stop.lower()
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        stop.raise()
        #expect(try changes.next() == nil)
        stop.lower()
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try changes.next() == [link])
    }

    @Test("says why a folder cannot be watched")
    func missing() throws {
        let changes = try FileChanges(.present, stop: nil)
        #expect(changes.note("/nonexistent-\(UUID())/a.json")?.code == ENOENT)
    }
}
