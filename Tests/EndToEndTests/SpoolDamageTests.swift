// Damage to the files of a durable queue while no router runs: the messages, the counts and the exit code of the next run.

import CSQLite
import Foundation
import Glibc
import Testing

private func routes(_ provider: String) -> String {
    """
    { "providers": { "far": { \(provider), "delivery": { "queue": { "disk": "100MB" }, "batch": { "wait": "1ms" } } } },
      "routes": [ { "to": ["far"] } ] }
    """
}

@Suite("A damaged queue on disk, end to end")
struct SpoolDamageTests {
    /// A reader of a database. As long as it is there, nobody can copy what is in the log into the database and empty the log.
    private final class LogReader {
        private var database: OpaquePointer?

        init(_ path: String) throws {
            try #require(sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, nil) == SQLITE_OK)
            // The log stays as it is when this reader leaves as the last one.
            try #require(csqlite_keep_log(database, 1) == SQLITE_OK)
            try #require(sqlite3_exec(database, "BEGIN; SELECT count(*) FROM sqlite_schema", nil, nil, nil) == SQLITE_OK)
        }
        deinit { sqlite3_close(database) }
    }

    /// Returns a folder after a kill, in which 40 events wait, all of them in the SQLite log. A lane that has nothing to do empties its log
    /// after a second, which the reader prevents.
    private func killed() throws -> TestRouter {
        let router = try TestRouter(routes: routes(#""plugin": "http", "url": "http://127.0.0.1:9""#))
        let run = try router.startRouter()
        let reader = try LogReader(router.path("state/spool-far.sqlite"))
        defer { withExtendedLifetime(reader) {} }
        run.send((0..<40).map { "{\"event\":\"e\",\"n\":\($0)}\n" }.joined())
        try waitUntil("all are stored") { (try router.status()["lanes"] as? [NSDictionary])?.first?["events"] as? Int == 40 }
        run.end(by: SIGKILL)
        try router.write(routes(#""plugin": "file", "path": "out.ndjson""#), to: "routes.json")
        return router
    }

    @Test("with a flipped bit, an empty or a missing file, a run delivers the rest, counts the loss and ends with 69")
    func losses() throws {
        for (name, damage) in [
            ("spool-far.sqlite-wal", { (data: Data) -> Data? in data.prefix(40) + [data[data.startIndex + 40] ^ 1] + data.dropFirst(41) }),
            ("spool-far.sqlite-wal", { _ in nil }), ("spool-far.sqlite-wal", { _ in Data() }), ("spool-far.sqlite", { _ in nil }),
            ("spool-far.sqlite", { _ in Data() }),
        ] as [(String, (Data) -> Data?)] {
            let router = try killed()
            let file = router.path("state/" + name)
            if let data = damage(try #require(FileManager.default.contents(atPath: file))) {
                try data.write(to: URL(fileURLWithPath: file))
            } else {
                unlink(file)
            }
            let list = try router.run(["spool", "--state", router.path("state")])
            #expect(list.text.contains("40 events waited in it"), "\(list.text)")
            let result = try router.run(["--stats", "json"], input: "")
            let delivered = router.lines("out.ndjson")
            #expect(result.code == 69, "\(result.errors)")
            #expect(result.errors.contains("\(40 - delivered.count) of 40 events are lost"), "\(result.errors)")
            #expect(result.errors.contains("\"damaged\":\(40 - delivered.count)"), "\(result.errors)")
            #expect(delivered.count < 40 && Set(delivered).count == delivered.count)
            // The loss was reported once, and the next run starts normally.
            let next = try router.run(input: "{\"event\":\"next\"}\n")
            #expect(next.code == 0 && router.lines("out.ndjson").count == delivered.count + 1, "\(next.errors)")
        }
    }

    @Test("a destroyed queue is not reported as lost, and a queue can be destroyed if only its witness is left")
    func destroys() throws {
        for isGone in [false, true] {
            let router = try killed()
            if isGone { for end in ["", "-wal"] { unlink(router.path("state/spool-far.sqlite" + end)) } }
            let asked = try router.run(["spool", "destroy", "far", "--state", router.path("state")])
            #expect(asked.code == 64 && asked.errors.contains("standard input is not a terminal"), "\(asked.errors)")
            let destroyed = try router.run(["spool", "destroy", "far", "--yes", "--state", router.path("state")])
            #expect(destroyed.code == 0, "\(destroyed.errors)")
            let words =
                isGone
                ? "what is left of the queue of far (\(router.path("state/spool-far.sqlite")): the file is not there; 40 events waited in it) was destroyed"
                : "40 events for far were destroyed"
            #expect(destroyed.text == words + "\n")
            let result = try router.run(input: "{\"event\":\"next\"}\n")
            #expect(result.code == 0 && !result.errors.contains("lost"), "\(result.errors)")
        }
    }

    @Test("a move to another provider transfers the sound events, reports the damaged ones, and ends with 69")
    func moves() throws {
        let router = try killed()
        try FileManager.default.removeItem(atPath: router.path("state/spool-far.sqlite-wal"))
        let moved = try router.run(["spool", "move", "far", "near", "--state", router.path("state")])
        let events = try #require(moved.text.split(separator: " ").first.flatMap { Int($0) })
        #expect(moved.code == 69 && moved.text.hasSuffix("events wait for near now\n") && events < 40, "\(moved.errors)")
        #expect(moved.errors.contains("\(40 - events) events are damaged; they may be found in"), "\(moved.errors)")
    }

    @Test("if a reload fails because of another file, the queue is closed again and its losses still count")
    func reloads() throws {
        let router = try killed()
        try FileManager.default.removeItem(atPath: router.path("state/spool-far.sqlite-wal"))
        let out = #""out": { "plugin": "file", "path": "other.ndjson" }"#
        func queue(_ name: String) -> String {
            #""\#(name)": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "100MB" } } }"#
        }
        func plan(_ providers: String...) -> String {
            "{ \"providers\": { \(providers.joined(separator: ", ")) }, \"routes\": [ { \"to\": [\"out\"] } ] }"
        }
        try router.write(plan(out), to: "routes.json")
        // A folder has the name of the second queue's file, so the queue cannot be opened.
        try FileManager.default.createDirectory(atPath: router.path("state/spool-late.sqlite"), withIntermediateDirectories: false)
        let run = try router.startRouter(["--stats", "json"])
        try router.replace("routes.json", with: plan(out, queue("far"), queue("late")))
        let refused = try router.command("reload")
        #expect(refused.code != 0 && refused.errors.contains("spool-late.sqlite"), "\(refused.errors)")
        let folder = "/proc/\(run.process.processIdentifier)/fd"
        let open = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
        }
        #expect(!open.contains { $0.contains("spool-far") }, "\(open)")
        run.send("{\"event\":\"next\"}\n")
        let result = run.finish()
        #expect(result.code == 69, "\(result.errors)")
        let lost = try #require(result.errors.firstMatch(of: /([0-9]+) of 40 events are lost/)?.1)
        #expect(result.errors.contains("far: ") && result.errors.contains("\"damaged\":\(lost)"), "\(result.errors)")
        #expect(router.lines("other.ndjson").count == 1)
    }
}
