// Sources of the plugin file in the real executable.

import Foundation
import Glibc
import Testing

@Suite("Files as a source")
struct FileSourceTests {
    private func routes(_ more: String = "") -> String {
        """
        { "sources": { "logs": { "plugin": "file", "paths": ["in/*.ndjson"]\(more) } },
          "providers": { "out": { "plugin": "console", "format": "ndjson" } },
          "routes": [ { "to": ["out"] } ] }
        """
    }

    private func router(_ more: String = "") throws -> TestRouter {
        let router = try TestRouter(routes: routes(more))
        try FileManager.default.createDirectory(atPath: router.path("in"), withIntermediateDirectories: false)
        return router
    }

    @Test("lines from other processes are routed as they arrive, and the next run continues after them")
    func follows() throws {
        let router = try router()
        try router.write("{\"n\":1}\n", to: "in/a.ndjson")
        let run = try router.start()
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        try router.write("{\"n\":2}\n", to: "in/b.ndjson")
        #expect(run.outputLines(1) == ["{\"n\":2}"])
        run.signal(SIGTERM)
        let result = run.finish()
        #expect(result.code == 0, "\(result.errors)")
        #expect(router.mode("state/files-logs.places") == 0o600)
        let file = try #require(FileHandle(forWritingAtPath: router.path("in/a.ndjson")))
        try file.seekToEnd()
        try file.write(contentsOf: Data("{\"n\":3}\n".utf8))
        try file.close()
        let second = try router.start()
        #expect(second.outputLines(1) == ["{\"n\":3}"])
        second.signal(SIGTERM)
        #expect(second.finish().text == "")
    }

    @Test("with drain, a file is removed once all of it was read, and a file with invalid lines stays")
    func drains() throws {
        let router = try router(#", "drain": true, "idle": "100ms""#)
        try router.write("{\"n\":1}\n", to: "in/a.ndjson")
        try router.write("{\"n\":2}\nno\n", to: "in/b.ndjson")
        let run = try router.start()
        #expect(run.outputLines(2).sorted() == ["{\"n\":1}", "{\"n\":2}"])
        #expect(run.waitForError("b.ndjson: stays").contains("logs: in/b.ndjson: stays, because it contains lines that are not events: 1"))
        waitUntil("the file is gone") { !FileManager.default.fileExists(atPath: router.path("in/a.ndjson")) }
        run.signal(SIGTERM)
        #expect(run.finish().code == 0)
        #expect(router.read("in/b.ndjson") == "{\"n\":2}\nno\n")
    }

    @Test("a file of places from a newer version is not changed, and the router does not start")
    func newerPlaces() throws {
        let router = try router()
        try router.write("{\"n\":1}\n", to: "in/a.ndjson")
        let first = try router.start()
        #expect(first.outputLines(1) == ["{\"n\":1}"])
        first.signal(SIGTERM)
        #expect(first.finish().code == 0)
        let title = "switchyard places 3"
        let hash = title.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        let digits = String(hash, radix: 16)
        let text = "\(title) \(String(repeating: "0", count: 16 - digits.count))\(digits)\n"
        try router.write(text, to: "state/files-logs.places")
        let result = try router.run([])
        #expect(result.code == 69 && result.text == "", "\(result.code): \(result.text)\(result.errors)")
        #expect(result.errors.contains("files-logs.places: is of version 3, this program knows 2; run the newer program"))
        #expect(router.read("state/files-logs.places") == text)
    }

    @Test("check reports which files are read")
    func checks() throws {
        let result = try router(#", "drain": true"#).run(["check"])
        #expect(result.text.contains("  logs: file in/*.ndjson, each removed when all of it was taken in\n"))
    }

    @Test("with a queue on disk, no line of the files is lost after a kill at any moment")
    func killed() throws {
        let router = try router()
        let durable = routes().replacingOccurrences(
            of: #""plugin": "console", "format": "ndjson" }"#,
            with: #""plugin": "file", "path": "out.ndjson", "delivery": { "queue": { "disk": "100MB" }, "batch": { "wait": "1ms" } } }"#)
        // Without added message ids, each event stays as it was written.
        try router.write(
            durable.replacingOccurrences(of: "{ \"sources\"", with: #"{ "message_id": { "add": false }, "sources""#), to: "routes.json")
        let events = (0..<20_000).map { "{\"n\":\($0)}" }
        for part in 0..<4 {
            try router.write(events[(part * 5000)..<((part + 1) * 5000)].map { $0 + "\n" }.joined(), to: "in/\(part).ndjson")
        }
        // The kills happen at once, after the first event and in the middle.
        for delivered in [0, 1, 7000] {
            let run = try router.start()
            waitUntil("\(delivered) events") { router.lines("out.ndjson").count >= delivered }
            run.end(by: SIGKILL)
        }
        // This run may have no work left. startRouter waits for the control socket, so that the signal does not come too early.
        let run = try router.startRouter()
        let all = Set(events)
        waitUntil("all events") { all.isSubset(of: router.lines("out.ndjson")) }
        run.signal(SIGTERM)
        #expect(run.finish().code == 0)
        #expect(Set(router.lines("out.ndjson")) == all)
    }
}
