import Foundation
import Glibc
import PluginKit
import Seeded
import TestSupport
import Testing

@testable import File

@Suite("file, erasing")
struct FileErasureTests {
    let folder = TemporaryFolder()
    let recorder = HostRecorder()
    private var path: String { folder.path + "/x" }

    private func provider(_ more: String = "", name: String = "x", _ system: FileSystem = .system) throws -> FileProvider {
        let settings = try Settings(json: #"{"path":"\#(folder.path)/\#(name)"\#(more)}"#)
        return try FileProvider(settings: settings, host: recorder.host, system: system)
    }

    private func deliver(_ provider: FileProvider, _ events: [String]) {
        #expect(Batch.with(events) { provider.deliver($0) }.text == "delivered")
    }

    private func subjects(_ ids: [String], _ member: String = "userId") -> [Erasure.Subject] { ids.map { .init(member: member, id: $0) } }

    private func erase(_ provider: FileProvider, _ subjects: [Erasure.Subject]) -> String {
        provider.erase(Erasure(subjects)).outcome.text
    }

    /// Erases in files that nobody writes, and returns the answer.
    private func erase(_ subjects: [Erasure.Subject], _ system: FileSystem = .system) throws -> String {
        let file = try provider("", system)
        defer { file.close() }
        return erase(file, subjects)
    }

    private func unpacked(_ name: String) -> String {
        guard let bytes = FileManager.default.contents(atPath: folder.path + "/" + name).map(Array.init) else { return "missing" }
        let plain: [UInt8]? =
            name.hasSuffix(".gz") ? Compression.inflated(bytes).bytes : name.hasSuffix(".zst") ? Compression.unzstd(bytes) : bytes
        return plain.map { String(decoding: $0, as: UTF8.self) } ?? "broken"
    }

    private static let u1 = #"{"userId":"u1","n":1}"#
    private static let u2 = #"{"userId":"u2","n":2}"#

    @Test(
        "the events of the subjects are gone from the current, the rotated and the compressed files", arguments: ["none", "gzip", "zstd"])
    func everywhere(method: String) throws {
        let time = Monitor<Int64>(1_767_323_045_678_000_000)
        var system = FileSystem.system
        system.now = { time.withLock { $0 } }
        let file = try provider(#","rotate":{"bytes":80,"compression":"\#(method)"}"#, system)
        let events = (0..<40).map { #"{"userId":"u\#($0 % 4)","n":\#($0)}"# }
        deliver(file, events)
        #expect(erase(file, subjects(["u1", "u3"])) == "delivered")
        deliver(file, [Self.u2])
        file.close()
        let stays = events.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) + [Self.u2]
        let names = folder.names.filter { $0 != "x" } + ["x"]
        #expect(names.map(unpacked).joined() == stays.joined(separator: "\n") + "\n")
        #expect(names.count > 5)
    }

    @Test("a member holds the id as a string or as a number, however it is written, and also if its key is there twice")
    func forms() throws {
        let theirs = [
            #"{"userId":"42"}"#, #"{"userId":42}"#, #"{"userId":42.0}"#, #"{ "userId" : "4\u0032" }"#, #"{"user\u0049d":"42"}"#,
            #"{"userId":"7","userId":"42"}"#,
        ]
        let others = [
            #"{"userId":"420"}"#, #"{"userId":"7","note":"42"}"#, #"{"user":{"userId":"42"}}"#, #"{"userId":["42"]}"#, #"{"userId":true}"#,
            #"{"userId":"42 "}"#, "", #"{"userId":"4\\u0032"}"#,
        ]
        folder.write("x", (theirs + others).joined(separator: "\n") + "\n")
        #expect(try erase(subjects(["42"])) == "delivered")
        #expect(folder.text("x") == others.joined(separator: "\n") + "\n")
    }

    @Test("a path leads into objects, and ids that look alike are not the same")
    func paths() throws {
        let composed = #"{"traits":{"email":"\#u{e9}@x"}}"#
        let decomposed = #"{"traits":{"email":"e\#u{301}@x"}}"#
        folder.write("x", composed + "\n" + decomposed + "\n" + #"{"traits.email":"\#u{e9}@x"}"# + "\n")
        #expect(try erase(subjects(["\u{e9}@x"], "traits.email")) == "delivered")
        #expect(folder.text("x") == decomposed + "\n" + #"{"traits.email":"\#u{e9}@x"}"# + "\n")
    }

    @Test("a line that is not an event stays; if it may hold an id, the answer says where a person must look")
    func unreadable() throws {
        let lines = ["u1 was here", #"{"userId":"u1""#, "# harmless", Self.u1, #"{"userId":"u1"} x"#]
        folder.write("x", lines.joined(separator: "\n") + "\n")
        let kept = [lines[0], lines[1], lines[2], lines[4]]
        let words = "3 lines of '\(path)' are not events and may hold an id; they stay. Remove the events of the subjects there by hand."
        #expect(try erase(subjects(["u9", "u1"])) == "1 rejected 0: \(words); delivered")
        #expect(folder.text("x") == kept.joined(separator: "\n") + "\n")
    }

    @Test("the beginning of an event that a killed writer left is removed if it may hold an id, and stays otherwise")
    func torn() throws {
        folder.write("x", Self.u2 + "\n" + #"{"userId":"u1","#)
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.text("x") == Self.u2 + "\n")
        folder.write("x", Self.u1 + "\n" + #"{"userId":"u2","#)
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.text("x") == #"{"userId":"u2","#)
        folder.write("x", Self.u2 + "\n" + Self.u1)
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.text("x") == Self.u2 + "\n")
    }

    @Test("a damaged archive stays, and the answer names it; the other files are rewritten")
    func damaged() throws {
        folder.write("x.20260101T000000.000Z.gz", "\u{1f}\u{8b}")
        var bytes = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
        bytes.append(contentsOf: [1, 2, 3])
        try bytes.write(to: URL(fileURLWithPath: folder.path + "/x.20260101T000000.000Z.gz"))
        folder.write("x", Self.u1 + "\n" + Self.u2 + "\n")
        let words = "'\(path).20260101T000000.000Z.gz' is damaged and stays as it is. Remove the events of the subjects there by hand."
        #expect(try erase(subjects(["u1"])) == "rejected 0: \(words)")
        #expect(folder.text("x") == Self.u2 + "\n")
        #expect(FileManager.default.contents(atPath: folder.path + "/x.20260101T000000.000Z.gz") == bytes)
    }

    @Test("a file that another program moved away is named, because it is out of reach")
    func movedAway() throws {
        folder.write("x.1", Self.u1 + "\n")
        folder.write("x-20260101.gz", "")
        folder.write("x.mine", Self.u1 + "\n")
        let answer = try erase(subjects(["u1"]))
        #expect(
            answer
                == "rejected 0: '\(path)-20260101.gz' was moved there by another program; '\(path).1' was moved there by another program."
                + " Remove the events of the subjects there by hand.")
        #expect(folder.text("x.1") == Self.u1 + "\n" && folder.text("x.mine") == Self.u1 + "\n")
    }

    @Test("what was written to a stream is with its reader")
    func stream() throws {
        mkfifo(path, 0o600)
        let words = "'\(path)' is not a regular file: what was written to it is with its reader."
        #expect(try erase(subjects(["u1"])) == "rejected 0: \(words) Remove the events of the subjects there by hand.")
    }

    @Test(
        "a symbolic link stays one, and its file is rewritten; a file with another name is named at each ask until the other name is gone")
    func links() throws {
        folder.write("real", Self.u1 + "\n" + Self.u2 + "\n")
        symlink("real", path)
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.text("real") == Self.u2 + "\n")
        #expect(FileStatus(path: path, followingLinks: false)?.kind == .link)
        Glibc.link(folder.path + "/real", folder.path + "/other")
        let words = "'\(folder.path)/real' has another name (hard link), so it stays as it is."
        for _ in 0..<2 { #expect(try erase(subjects(["u2"])) == "rejected 0: \(words) Remove the events of the subjects there by hand.") }
        #expect(folder.text("real") == Self.u2 + "\n")
        #expect(try erase(subjects(["u1"])) == "delivered", "a file without events of the subjects may have any names")
        unlink(folder.path + "/other")
        #expect(try erase(subjects(["u2"])) == "delivered")
        #expect(folder.text("real") == "")
    }

    @Test("the new file has the permissions and the time of the old one, and a file without events of the subjects is left alone")
    func dressed() throws {
        folder.write("x", Self.u1 + "\n")
        folder.write("x.20260101T000000.000Z", Self.u2 + "\n")
        chmod(path, 0o640)
        var times = [timeval(tv_sec: 1000, tv_usec: 0), timeval(tv_sec: 1000, tv_usec: 0)]
        utimes(path, &times)
        let before = try #require(FileStatus(path: path + ".20260101T000000.000Z"))
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.mode("x") == 0o640)
        #expect(FileStatus(path: path)?.modified.tv_sec == 1000)
        #expect(FileStatus(path: path + ".20260101T000000.000Z")?.identity == before.identity)
    }

    @Test("what a kill left of an earlier step is removed: it may hold events of the subjects")
    func leftovers() throws {
        folder.write("x.20260101T000000.000Z.gz.partial", "half")
        folder.write("x.erasing", Self.u1)
        #expect(try erase(subjects(["u1"])) == "delivered")
        #expect(folder.names == [])
    }

    @Test("an answer that comes between two calls of a job is that of the next call, and another job does its own work")
    func fetched() throws {
        let (begun, works) = (Monitor(0), Monitor(0))
        let work = ErasureWork { _, _ in
            begun.withLock { $0 += 1 }
            begun.wake()
            works.wait(while: { $0 == 0 })
            return .confirmed
        }
        defer { work.end() }
        func call(_ begun: Int64, within milliseconds: Int) -> String {
            work.answer(Erasure(subjects(["u1"]), begun: begun, deadlineMilliseconds: milliseconds)).outcome.text
        }
        #expect(call(1, within: 0) == "retry 0: the files are being rewritten")
        works.withLock { $0 = 1 }
        works.wake()
        // The work ends between the calls.
        work.collect(waiting: true)
        #expect(call(1, within: 60_000) == "delivered")
        #expect(begun.withLock { $0 } == 1)
        #expect(call(2, within: 60_000) == "delivered")
        #expect(begun.withLock { $0 } == 2)
    }

    @Test("if a folder of the path cannot be read, the erasure is not confirmed, and the answer has the system's reason")
    func unreadableFolder() throws {
        symlink("loop", folder.path + "/loop")
        let file = try provider(name: "loop/x")
        defer { file.close() }
        let answer = erase(file, subjects(["u1"]))
        #expect(answer.hasPrefix("retry \(ELOOP): cannot read a folder of '\(folder.path)/loop/x"))
        #expect(answer.hasSuffix(systemWords(ELOOP)))
    }

    @Test("the new file of another process that is at work stays, and the answer is to ask again")
    func busy() throws {
        folder.write("x", Self.u1 + "\n")
        folder.write("x.erasing", "theirs")
        let theirs = open(path + ".erasing", O_RDONLY)
        defer { close(theirs) }
        #expect(flock(theirs, LOCK_EX | LOCK_NB) == 0)
        #expect(try erase(subjects(["u1"])) == "retry 17: cannot open '\(path).erasing': File exists")
        #expect(folder.text("x.erasing") == "theirs" && folder.text("x") == Self.u1 + "\n")
    }

    @Test("a call whose time is over asks to be called again, and the work ends meanwhile")
    func slow() throws {
        folder.write("x", Self.u1 + "\n" + Self.u2 + "\n")
        let gate = Monitor(false)
        var system = FileSystem.system
        system.rename = { from, to in
            gate.wait(while: { !$0 })
            return rename(from, to) == 0 ? 0 : -errno
        }
        let file = try provider("", system)
        defer { file.close() }
        #expect(file.erase(Erasure(subjects(["u1"]), deadlineMilliseconds: 0)).outcome.text == "retry 0: the files are being rewritten")
        #expect(
            file.erase(Erasure(subjects(["u2"]), deadlineMilliseconds: 0)).outcome.text
                == "retry 0: the files are being rewritten for another erasure")
        gate.withLock { $0 = true }
        gate.wake()
        #expect(erase(file, subjects(["u1"])) == "delivered")
        #expect(folder.text("x") == Self.u2 + "\n")
    }
}
