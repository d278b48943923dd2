// A dry run: what it says about a real stream, and that it leaves nothing behind.

import Foundation
import Glibc
import TestSupport
import Testing

private let routes = #"""
    { "keys": { "ids": "0123456789abcdef0123456789abcdef" },
      "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] } },
      "message_id": { "deduplicate": { "for": "1h" } },
      "providers": { "out": { "plugin": "file", "path": "out.jsonl", "delivery": { "queue": { "disk": "1MB" } } },
                     "run": { "plugin": "exec", "command": ["sh", "-c", "touch started; cat"] } },
      "routes": [ { "name": "strict", "consent": "all", "to": ["out", "run"] },
                  { "name": "buys", "consent": "none", "events": ["buy"], "to": ["out"] } ] }
    """#

private let events = """
    {"event":"buy","userId":"ann","messageId":"1"}
    {"event":"buy","userId":"ann","messageId":"1"}
    {"event":"look","userId":"bob-planted","messageId":"2"}
    broken

    """

@Suite("A dry run")
struct DryRunTests {
    /// The files in the folder, with those of its state folder. SQLite makes two files beside a ledger that is read.
    private func files(_ router: TestRouter) -> [String] {
        (FileManager.default.enumerator(atPath: router.folder)?.allObjects as? [String] ?? [])
            .filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted()
    }

    @Test("counts what would happen by route and reason, and delivers and writes nothing")
    func counts() throws {
        let router = try TestRouter(routes: routes)
        let result = try router.run(["run", "--dry"], input: events)
        #expect(result.code == 0)
        #expect(
            result.lines.dropFirst() == [
                "read 4: 3 valid, 1 rejected, 1 duplicates", "route strict: 2 denied (unknown)",
                "route buys: 1 admitted, 1 filtered (events)",
                "provider out: would get 1, 47 B", "provider run: would get 0, 0 B",
            ])
        #expect(files(router) == ["routes.json"])
        #expect(try router.run(["run", "--dry", "--strict"], input: events).code == 65)
    }

    @Test("judges by the consent on record, and does not change it")
    func ledger() throws {
        let router = try TestRouter(routes: routes)
        #expect(try router.run(["consent", "set", "ann", "--level", "all"]).code == 0)
        let (before, ledger) = (files(router), FileManager.default.contents(atPath: router.path("state/ledger.sqlite")))
        let result = try router.run(["run", "--dry"], input: events + #"{"type":"consent","userId":"bob-planted","level":"all"}"# + "\n")
        #expect(result.lines.contains("route strict: 1 admitted, 1 filtered (match), 1 denied (unknown)"), "\(result.text)")
        #expect(files(router) == before && FileManager.default.contents(atPath: router.path("state/ledger.sqlite")) == ledger)
        #expect(try router.run(["consent", "get", "bob-planted"]).text.contains("nothing"))
    }

    @Test("shows each event with its verdicts and without values, and then standard output has nothing else")
    func shown() throws {
        let router = try TestRouter(routes: routes)
        let result = try router.run(["run", "--dry", "--events"], input: events)
        try #require(result.lines.count == 2)
        #expect(result.errors.contains("route buys: 1 admitted"))
        let last = try #require(JSONSerialization.jsonObject(with: Data(result.lines[1].utf8)) as? [String: Any])
        #expect(last["members"] as? [String] == ["event", "userId", "messageId"])
        #expect((last["routes"] as? [NSDictionary])?.map { $0["verdict"] as? String } == ["denied", "filtered"])
        #expect(!result.text.contains("bob-planted"))
    }

    @Test("ends with its counts when it is told to")
    func signal() throws {
        let router = try TestRouter(routes: routes)
        let run = try router.start(["run", "--dry", "--events"])
        run.send(events)
        #expect(run.outputLines(2).count == 2)
        run.signal(SIGINT)
        run.process.waitUntilExit()
        #expect(run.process.terminationReason == .exit && run.process.terminationStatus == 0)
    }

    @Test("refuses what only a real run can do", arguments: ["--http", "--rejects=x", "--watch", "--stats=json"])
    func refused(option: String) throws {
        let router = try TestRouter(routes: routes)
        let result = try router.run(["run", "--dry", option])
        #expect(result.code == 64 && result.errors.contains("--dry reads standard input"))
        #expect(try router.run(["run", "--events"]).code == 64)
    }
}
