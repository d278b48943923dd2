import Foundation
import Glibc
import PluginKit
import Seeded
import TestSupport
import Testing

@testable import File

@Suite("file, erasing while the system refuses or others write")
struct FileErasureFaultTests {
    let folder = TemporaryFolder()
    let recorder = HostRecorder()
    private var path: String { folder.path + "/x" }

    private func provider(_ system: FileSystem, _ more: String = "") throws -> FileProvider {
        try FileProvider(settings: Settings(json: #"{"path":"\#(path)"\#(more)}"#), host: recorder.host, system: system)
    }

    private func erase(_ provider: FileProvider, _ ids: [String] = ["u1"]) -> String {
        provider.erase(Erasure(ids.map { .init(member: "userId", id: $0) })).outcome.text
    }

    private static let u1 = #"{"userId":"u1"}"#
    private static let u2 = #"{"userId":"u2"}"#

    /// Calls `seen` before each call that changes a file.
    private func watched(_ seen: @escaping @Sendable (String) -> Void) -> FileSystem {
        var system = FileSystem.system
        let real = FileSystem.system
        system.open = { path, flags, mode in
            if flags & O_CREAT != 0 { seen("open") }
            return real.open(path, flags, mode)
        }
        system.write = { descriptor, bytes in
            seen("write")
            return real.write(descriptor, bytes)
        }
        system.synchronize = { descriptor in
            seen("sync")
            return real.synchronize(descriptor)
        }
        system.rename = { from, to in
            seen("rename")
            return real.rename(from, to)
        }
        system.synchronizeFolder = { path in
            seen("folder")
            return real.synchronizeFolder(path)
        }
        return system
    }

    /// Calls `body` once while a file is rewritten: at the sync of its beginning, when no lock is held, so another program can do anything.
    private func meanwhile(_ body: @escaping @Sendable () -> Void) -> FileSystem {
        let isFirst = Monitor(true)
        return watched { step in
            let isNow = step == "sync" && isFirst.withLock { $0 }
            if isNow {
                isFirst.withLock { $0 = false }
                body()
            }
        }
    }

    @Test("a kill between any two steps leaves the old file or the new one, and the new one is on the disk before it has the name")
    func kills() throws {
        let (old, new) = (Self.u2 + "\n" + Self.u1 + "\n", Self.u2 + "\n")
        folder.write("x", old)
        let folder = self.folder
        let steps = Monitor<[(step: String, text: String?)]>([])
        let file = try provider(watched { step in steps.withLock { $0.append((step, folder.text("x"))) } })
        #expect(erase(file) == "delivered")
        file.close()
        let seen = steps.withLock { $0 }
        #expect(seen.map(\.step) == ["open", "write", "sync", "sync", "rename", "folder"])
        #expect(seen.map(\.text) == [old, old, old, old, old, new])
    }

    @Test(
        "if a step fails, the old file stays, nothing else is left, and the answer is to ask again",
        arguments: [
            ("write", ENOSPC, "cannot write to 'x.erasing'"), ("sync", EIO, "cannot sync 'x.erasing'"),
            ("rename", EACCES, "cannot rename 'x.erasing'"), ("open", EROFS, "cannot open 'x.erasing'"),
        ])
    func refused(step: String, code: Int32, words: String) throws {
        let old = Self.u2 + "\n" + Self.u1 + "\n"
        folder.write("x", old)
        var system = FileSystem.system
        let isFaulty = Monitor(true)
        @Sendable func fails(_ name: String) -> Bool { name == step && isFaulty.withLock { $0 } }
        let real = FileSystem.system
        system.open = { path, flags, mode in flags & O_CREAT != 0 && fails("open") ? -code : real.open(path, flags, mode) }
        system.write = { fails("write") ? -Int(code) : real.write($0, $1) }
        system.synchronize = { fails("sync") ? -code : real.synchronize($0) }
        system.rename = { fails("rename") ? -code : real.rename($0, $1) }
        let file = try provider(system)
        defer { file.close() }
        let place = words.replacing("'x", with: "'\(path)")
        #expect(erase(file) == "retry \(code): \(place): \(systemWords(code))")
        #expect(folder.names == ["x"] && folder.text("x") == old)
        isFaulty.withLock { $0 = false }
        #expect(erase(file) == "delivered")
        #expect(folder.text("x") == Self.u2 + "\n")
    }

    @Test("if the new name cannot be made durable, the erasure is not confirmed")
    func notDurable() throws {
        folder.write("x", Self.u1 + "\n")
        var system = FileSystem.system
        system.synchronizeFolder = { _ in -EIO }
        let file = try provider(system)
        defer { file.close() }
        #expect(erase(file) == "retry 5: cannot sync the folder of '\(path)': Input/output error")
    }

    @Test("an event that is written while the file is rewritten is in the new file")
    func concurrent() throws {
        folder.write("x", Self.u1 + "\n" + Self.u2 + "\n")
        let (path, u2) = (self.path, Self.u2)
        let system = meanwhile {
            let other = open(path, O_WRONLY | O_APPEND)
            defer { close(other) }
            #expect(flock(other, LOCK_EX | LOCK_NB) == 0, "the writers wait while the whole file is rewritten")
            let line = Array(#"{"userId":"u3"}"#.utf8) + [10] + Array(#"{"userId":"u1","late":1}"#.utf8) + [10]
            #expect(write(other, line, line.count) == line.count)
        }
        let file = try provider(system)
        #expect(erase(file) == "delivered")
        #expect(Batch.with([u2]) { file.deliver($0) }.text == "delivered")
        file.close()
        #expect(folder.text("x") == u2 + "\n" + #"{"userId":"u3"}"# + "\n" + u2 + "\n")
    }

    @Test("a file that is rotated while it is rewritten is found under its new name")
    func rotated() throws {
        folder.write("x", Self.u1 + "\n" + Self.u2 + "\n")
        let path = self.path
        let system = meanwhile {
            #expect(rename(path, path + ".20260101T000000.000Z") == 0)
        }
        let file = try provider(system)
        #expect(erase(file) == "delivered")
        file.close()
        #expect(folder.names == ["x.20260101T000000.000Z"])
        #expect(folder.text("x.20260101T000000.000Z") == Self.u2 + "\n")
    }

    @Test("a torn line that a writer cuts off meanwhile does not come back, and nothing after it is lost")
    func mended() throws {
        folder.write("x", Self.u1 + "\n" + #"{"userId":"u2","torn"#)
        let path = self.path
        let system = meanwhile {
            truncate(path, Self.u1.utf8.count + 1)
            let other = open(path, O_WRONLY | O_APPEND)
            defer { close(other) }
            let line = Array(#"{"userId":"u3","whole":"and longer than before"}"#.utf8) + [10]
            _ = write(other, line, line.count)
        }
        let file = try provider(system)
        #expect(erase(file) == "delivered")
        file.close()
        #expect(folder.text("x") == #"{"userId":"u3","whole":"and longer than before"}"# + "\n")
    }

    @Test("a file that another program truncates and fills again meanwhile loses nothing of what is new")
    func filledAgain() throws {
        folder.write("x", Self.u1 + "\n" + Self.u2 + "\n")
        let (path, new) = (self.path, (0..<20).map { #"{"userId":"u3","n":\#($0)}"# + "\n" }.joined())
        let system = meanwhile {
            truncate(path, 0)
            let other = open(path, O_WRONLY | O_APPEND)
            defer { close(other) }
            _ = write(other, new, new.utf8.count)
        }
        let file = try provider(system)
        #expect(erase(file) == "delivered")
        file.close()
        #expect(folder.text("x") == new)
    }

    @Test("what stays is what a naive filter leaves, for lines of any length around the size of a chunk", arguments: 0..<12)
    func property(seed: Int) throws {
        var chance = Seeded(state: UInt64(seed))
        let ids = ["u1", "7", "\u{1F9C0}", "a\"b", "u11"]
        let gone = Set(ids.filter { _ in chance.below(2) == 0 }.prefix(4)).union(["7"])
        var lines: [(id: String?, text: String)] = []
        for _ in 0..<chance.below(300) {
            let id = chance.pick(ids)
            let padding = String(
                repeating: "p", count: chance.pick([0, 1, 63, 64, 4000, 131_071, 140_000].filter { $0 < 5000 || lines.count % 60 == 0 }))
            let quoted = id == "7" && chance.below(2) == 0 ? "7" : String(decoding: try JSONEncoder().encode(id), as: UTF8.self)
            switch chance.below(4) {
            case 0: lines.append((nil, ["", "plain text", "{}", "[1]"][chance.below(4)]))
            case 1: lines.append((id, #"{"pad":"\#(padding)","userId":\#(quoted)}"#))
            default: lines.append((id, #"{"userId":\#(quoted),"pad":"\#(padding)"}"#))
            }
        }
        let text = lines.map { $0.text + "\n" }.joined()
        let name = ["x", "x.20260101T000000.000Z.gz", "x.20260101T000000.000Z.zst"][seed % 3]
        if seed % 3 == 0 {
            folder.write("x", text)
        } else {
            let bytes = Array(text.utf8)
            let packed = name.hasSuffix("gz") ? Compression.deflated(bytes) : Compression.zstd(bytes)
            try Data(packed).write(to: URL(fileURLWithPath: folder.path + "/" + name))
        }
        let file = try provider(.system)
        #expect(erase(file, Array(gone)) == "delivered")
        file.close()
        let bytes = FileManager.default.contents(atPath: folder.path + "/" + name).map(Array.init) ?? []
        let found = name.hasSuffix("gz") ? Compression.inflated(bytes).bytes : name.hasSuffix("zst") ? Compression.unzstd(bytes) : bytes
        let expected = lines.filter { line in line.id.map { !gone.contains($0) } ?? true }.map { $0.text + "\n" }.joined()
        #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
    }
}
