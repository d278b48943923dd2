import Glibc
import PluginKit
import Testing

@testable import File

private func provider(_ settings: String, _ recorder: HostRecorder = HostRecorder(), _ system: FileSystem = .system) throws -> FileProvider
{
    try FileProvider(settings: Settings(json: settings), host: recorder.host, system: system)
}

private func deliver(_ provider: FileProvider, _ events: [String], arrivals: [Int64]? = nil) -> String {
    Batch.with(events, arrivals: arrivals) { provider.deliver($0) }.text
}

/// Delivers the events, and returns those that must be sent again.
private func undelivered(_ events: [String], by provider: FileProvider) -> [String] {
    switch Batch.with(events, { provider.deliver($0) }) {
    case .delivered: return []
    case .mixed(_, let done): return events.indices.filter { index in !done.contains { $0.index == index } }.map { events[$0] }
    default: return events
    }
}

@Suite("file")
struct FileTests {
    let folder = TemporaryFolder()
    private func path(_ name: String) -> String { folder.path + "/" + name }

    @Test("events are appended to a file, and the file and its folders are accessible only to the owner")
    func appends() throws {
        let file = try provider(#"{"path":"\#(path("a/b/x.ndjson"))"}"#)
        #expect(folder.names.isEmpty)
        #expect(deliver(file, ["{}", "{\"a\":1}"]) == "delivered")
        #expect(deliver(file, ["{\"b\":1}"]) == "delivered")
        file.close()
        #expect(folder.text("a/b/x.ndjson") == "{}\n{\"a\":1}\n{\"b\":1}\n")
        #expect(folder.mode("a/b/x.ndjson") == 0o600)
        #expect(folder.mode("a/b") == 0o700)
    }

    @Test("a new file gets the exact mode, and an old file keeps its mode")
    func mode() throws {
        folder.write("old", "")
        chmod(path("old"), 0o640)
        for name in ["new", "old"] {
            let file = try provider(#"{"path":"\#(path(name))","mode":"0666"}"#)
            #expect(deliver(file, ["{}"]) == "delivered")
            file.close()
        }
        #expect(folder.mode("new") == 0o666)
        #expect(folder.mode("old") == 0o640)
    }

    @Test("a file that was moved, deleted or replaced is opened again with the next batch")
    func reopens() throws {
        let file = try provider(#"{"path":"\#(path("x"))"}"#)
        #expect(deliver(file, ["1"]) == "delivered")
        rename(path("x"), path("y"))
        #expect(deliver(file, ["2"]) == "delivered")
        unlink(path("x"))
        #expect(deliver(file, ["3"]) == "delivered")
        #expect(deliver(file, ["4"]) == "delivered")
        file.reopen()
        #expect(deliver(file, ["5"]) == "delivered")
        file.close()
        #expect(folder.text("y") == "1\n")
        #expect(folder.text("x") == "3\n4\n5\n")
    }

    @Test("after another process truncates the file, writing continues at its beginning")
    func copyTruncate() throws {
        let file = try provider(#"{"path":"\#(path("x"))"}"#)
        #expect(deliver(file, ["1"]) == "delivered")
        truncate(path("x"), 0)
        #expect(deliver(file, ["2"]) == "delivered")
        file.close()
        #expect(folder.text("x") == "2\n")
    }

    @Test("time fields of the path use the arrival times, and a batch across a boundary goes to both files")
    func fields() throws {
        let file = try provider(#"{"path":"\#(path("%Y/%m-%d_%H%%.x"))"}"#)
        let hour: Int64 = 3_600_000_000_000
        let night = 1_767_225_599_999_999_999  // 2025-12-31T23:59:59.999999999Z
        #expect(
            deliver(file, ["1", "2", "3", "4"], arrivals: [Int64(night) - 5, Int64(night), Int64(night) + 1, Int64(night) + hour + 1])
                == "delivered")
        file.close()
        #expect(folder.text("2025/12-31_23%.x") == "1\n2\n")
        #expect(folder.text("2026/01-01_00%.x") == "3\n")
        #expect(folder.text("2026/01-01_01%.x") == "4\n")
    }

    @Test(
        "invalid settings are refused with a message that says what to do",
        arguments: [
            (#"{"path":"x-%Q"}"#, "path holds '%Q', which is not one of %Y"),
            (#"{"path":"x-%"}"#, "write %% for a percent sign"),
            (#"{"path":"x/"}"#, "must name a file, not a folder"),
            (#"{"path":""}"#, "path is empty"),
            (#"{"path":"a\u0000b"}"#, "path holds a zero byte"),
            (#"{}"#, "'path' is missing"),
            (#"{"path":"x","mode":"rw"}"#, "mode is not like 0600"),
            (#"{"path":"x","rotate":{"keep":3}}"#, "rotate needs 'bytes' or 'age'"),
            (#"{"path":"x","rotate":{"bytes":0}}"#, "rotate.bytes must be at least 1"),
        ])
    func refuses(settings: String, words: String) {
        let error = #expect(throws: SettingsFault.self) { try provider(settings) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }

    // MARK: - Torn lines

    @Test(
        "a last line without its newline is repaired",
        arguments: [
            ("{}\n{\"a\":\"x\\\"}", "{}\n", "cut off a torn line of 10 bytes"),
            ("{\"a\":{\"b\":1}", "", "cut off a torn line of 12 bytes"),
            ("{}\n{\"a\":[]}", "{}\n{\"a\":[]}\n", ""),
            ("{}\n\0\0\0", "{}\n", "cut off a torn line of 3 bytes"),
            ("notes of mine", "notes of mine\n", ""),
        ])
    func mends(before: String, after: String, log: String) throws {
        folder.write("x", before)
        let recorder = HostRecorder()
        let file = try provider(#"{"path":"\#(path("x"))"}"#, recorder)
        #expect(deliver(file, ["{\"new\":1}"]) == "delivered")
        file.close()
        #expect(folder.text("x") == after + "{\"new\":1}\n")
        #expect(recorder.logs.count == (log.isEmpty ? 0 : 1))
        #expect(log.isEmpty || recorder.logs[0].hasPrefix(log))
    }

    @Test("the beginning of a torn line longer than a chunk is found")
    func mendsLong() throws {
        folder.write("x", "{}\n{\"a\":\"" + String(repeating: "x", count: 200_000))
        let file = try provider(#"{"path":"\#(path("x"))"}"#)
        #expect(deliver(file, ["{\"new\":1}"]) == "delivered")
        file.close()
        #expect(folder.text("x") == "{}\n{\"new\":1}\n")
    }

    @Test("a torn line of another writer is repaired too")
    func mendsOthers() throws {
        let file = try provider(#"{"path":"\#(path("x"))"}"#)
        #expect(deliver(file, ["1"]) == "delivered")
        folder.write("y", "")
        let other = open(path("x"), O_WRONLY | O_APPEND)
        _ = write(other, "{\"torn", 6)
        close(other)
        #expect(deliver(file, ["2"]) == "delivered")
        file.close()
        #expect(folder.text("x") == "1\n2\n")
    }

    @Test("two providers may share a file, and no event is lost, duplicated or torn")
    func shared() throws {
        let path = path("x")
        let write: @Sendable (String) -> Void = { name in
            guard let file = try? provider(#"{"path":"\#(path)","rotate":{"bytes":20000}}"#) else { return }
            for batch in 0..<50 {
                // Like a lane, send again what waits, for example because the other provider renamed the file while it was opened.
                var rest = (0..<20).map { "{\"w\":\"\(name)\",\"b\":\(batch),\"n\":\($0)}" }
                while !rest.isEmpty { rest = undelivered(rest, by: file) }
            }
            file.close()
        }
        let other = Thread.start("writer") { write("a") }
        write("b")
        other.join()
        let lines = folder.names.flatMap { folder.text($0)!.split(separator: "\n") }
        #expect(lines.count == 2000)
        #expect(Set(lines).count == 2000)
        #expect(folder.names.allSatisfy { folder.text($0)!.utf8.count <= 20_000 })
    }
}
