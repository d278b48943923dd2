import Foundation
import Glibc
import PluginKit
import TestSupport
import Testing

@testable import File

@Suite("file, rotating")
struct RotationTests {
    let folder = TemporaryFolder()
    let recorder = HostRecorder()
    private let time = Monitor<Int64>(1_767_323_045_678_000_000)  // 2026-01-02T03:04:05.678Z

    private func provider(_ rotate: String, name: String = "x", more: String = "") throws -> FileProvider {
        let time = self.time
        var system = FileSystem.system
        system.now = { time.withLock { $0 } }
        let settings = #"{"path":"\#(folder.path)/\#(name)","rotate":\#(rotate)\#(more)}"#
        return try FileProvider(settings: Settings(json: settings), host: recorder.host, system: system)
    }

    private func deliver(_ provider: FileProvider, _ events: [String], arrival: Int64 = 0) {
        #expect(Batch.with(events, arrivals: events.map { _ in arrival }) { provider.deliver($0) }.text == "delivered")
    }

    /// Every file with its text, by name.
    private var files: [String: String] { Dictionary(uniqueKeysWithValues: folder.names.map { ($0, folder.text($0)!) }) }

    private func unpacked(_ name: String) -> String {
        let path = folder.path + "/" + name
        guard let bytes = FileManager.default.contents(atPath: path).map(Array.init) else { return "missing" }
        let plain: [UInt8]? = name.hasSuffix(".gz") ? Compression.inflated(bytes).bytes : Compression.unzstd(bytes)
        return plain.map { String(decoding: $0, as: UTF8.self) } ?? "broken"
    }

    @Test("no file grows beyond its limit, batches are split between events, and a larger event gets its own file")
    func bySize() throws {
        let file = try provider(#"{"bytes":10}"#)
        deliver(file, ["{\"a\":1}", "{}", "{}", "{}", "{}"])
        deliver(file, ["{\"long\":12345}", "{}"])
        file.close()
        #expect(
            files == [
                "x.20260102T030405.678Z": "{\"a\":1}\n", "x.20260102T030405.679Z": "{}\n{}\n{}\n", "x.20260102T030405.680Z": "{}\n",
                "x.20260102T030405.681Z": "{\"long\":12345}\n", "x": "{}\n",
            ])
    }

    @Test("a file that is too old is rotated when the next events come, also after a restart")
    func byAge() throws {
        time.withLock { $0 = Clock.system.wall() }
        var file = try provider(#"{"age":60000}"#)
        deliver(file, ["1"])
        time.withLock { $0 += 59_000_000_000 }
        deliver(file, ["2"])
        file.close()
        file = try provider(#"{"age":60000}"#)
        deliver(file, ["3"])
        time.withLock { $0 += 2_000_000_000 }
        deliver(file, ["4"])
        deliver(file, ["5"])
        file.close()
        #expect(files.values.sorted() == ["1\n2\n3\n", "4\n5\n"])
        #expect(files["x"] == "4\n5\n")
    }

    @Test("only the newest finished files are kept")
    func keeps() throws {
        let file = try provider(#"{"bytes":2,"keep":2}"#)
        for event in 1...5 {
            deliver(file, ["\(event)"])
            time.withLock { $0 += 1_000_000_000 }
        }
        file.close()
        #expect(files.values.sorted() == ["3\n", "4\n", "5\n"])
    }

    @Test("a finished file is removed when its last write is as old as `retention`, and the current file never is")
    func retains() throws {
        let now = time.withLock { $0 } / 1_000_000_000
        for (name, age) in [("x", 7200), ("x.20260101T000000.000Z", 3600), ("x.20260102T000000.000Z.gz", 3599), ("x.mine", 7200)] {
            folder.write(name, "{}\n")
            let modified = timespec(tv_sec: Int(now) - age, tv_nsec: 678_000_000)
            #expect(utimensat(AT_FDCWD, folder.path + "/" + name, [modified, modified], 0) == 0)
        }
        let file = try provider(#"{"bytes":100,"retention":3600000}"#)
        deliver(file, ["{}"])
        file.close()
        #expect(folder.names == ["x", "x.20260102T000000.000Z.gz", "x.mine"])
        #expect(folder.text("x") == "{}\n{}\n")
    }

    @Test("finished files are compressed, with the mode of the plain file", arguments: ["gzip", "zstd"])
    func compresses(method: String) throws {
        let file = try provider(#"{"bytes":150000,"compression":"\#(method)"}"#, more: #","mode":"0640""#)
        let events = (0..<20_000).map { "{\"n\":\($0)}" }
        deliver(file, events)
        file.close()
        let suffix = method == "gzip" ? ".gz" : ".zst"
        let name = "x.20260102T030405.678Z" + suffix
        #expect(folder.names == ["x", name])
        #expect(folder.mode(name) == 0o640)
        #expect(unpacked(name) + folder.text("x")! == events.joined(separator: "\n") + "\n")
    }

    @Test("with time fields in the path, files of earlier times are finished, and late events are not lost")
    func byPath() throws {
        let day: Int64 = 86_400_000_000_000
        let file = try provider(#"{"compression":"gzip"}"#, name: "e-%F.x")
        folder.write("e-keep.x", "not ours")
        for number in 0..<4 { deliver(file, ["\(number)"], arrival: Int64(number) * day) }
        // Late events find the plain file, or create it again next to the compressed one.
        deliver(file, ["late"], arrival: 2 * day)
        deliver(file, ["last"], arrival: 3 * day)
        file.close()
        let plain = folder.names.filter { !$0.hasSuffix(".gz") }
        let packed = folder.names.filter { $0.hasSuffix(".gz") }
        #expect(plain == ["e-1970-01-04.x", "e-keep.x"])
        #expect(folder.text("e-keep.x") == "not ours")
        let lines = (packed.map(unpacked) + [folder.text("e-1970-01-04.x")!]).joined().split(separator: "\n").sorted()
        #expect(lines == ["0", "1", "2", "3", "last", "late"])
        #expect(packed.filter { $0.hasPrefix("e-1970-01-03.x") }.map(unpacked).joined().contains("late"))
    }

    @Test("files of earlier times in the path count for `keep`")
    func keepsByPath() throws {
        let file = try provider(#"{"keep":0}"#, name: "%F/e.x")
        for number in 0..<4 { deliver(file, ["\(number)"], arrival: Int64(number) * 86_400_000_000_000) }
        file.close()
        #expect((1...4).map { folder.text("1970-01-0\($0)/e.x") } == [nil, nil, nil, "3\n"])
    }

    @Test("the next start finishes files that a crash left plain or half compressed")
    func leftovers() throws {
        folder.write("x.20250101T000000.000Z", "old\n")
        folder.write("x.20250101T000000.000Z.gz.partial", "half")
        folder.write("x.mine", "not ours")
        let file = try provider(#"{"bytes":100,"compression":"gzip"}"#)
        deliver(file, ["{}"])
        file.close()
        #expect(folder.names == ["x", "x.20250101T000000.000Z.gz", "x.mine"])
        #expect(unpacked("x.20250101T000000.000Z.gz") == "old\n")
    }

    @Test("a symbolic link is followed but never rotated")
    func link() throws {
        folder.write("real", "")
        symlink("real", folder.path + "/x")
        let file = try provider(#"{"bytes":2}"#)
        deliver(file, ["1", "2"])
        file.close()
        #expect(files == ["real": "1\n2\n", "x": "1\n2\n"])
        #expect(recorder.logs == ["'\(folder.path)/x' is a symbolic link, which is followed but not rotated"])
    }

    @Test("if a file cannot be renamed, writing continues, and the reason is logged once")
    func cannotRename() throws {
        var system = FileSystem.system
        system.rename = { _, _ in -EACCES }
        let settings = try Settings(json: #"{"path":"\#(folder.path)/x","rotate":{"bytes":2}}"#)
        let file = try FileProvider(settings: settings, host: recorder.host, system: system)
        deliver(file, ["1", "2", "3"])
        deliver(file, ["4"])
        file.close()
        #expect(files == ["x": "1\n2\n3\n4\n"])
        #expect(recorder.logs == ["cannot rotate '\(folder.path)/x': Permission denied"])
    }
}
