// A search of every byte of the state folder after each kind of withdrawal: the person's events are in no queue, dead letter, held event,
// file that was set aside, log of a database or page that it freed. The events of another person are still there.

import Foundation
import Glibc
import TestSupport
import Testing

/// Two providers that cannot be reached. One keeps its events, and the other gives them up. Events of unknown subjects are held.
private let routes = """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef" },
      "consent": { "ledger": "ids", "unknown": "hold", "levels": { "none": [], "all": ["operations", "analytics"] } },
      "sources": { "in": { "plugin": "stdin", "consent": "write" } },
      "providers": {
        "far": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "100MB" } } },
        "lost": { "plugin": "http", "url": "http://127.0.0.1:9",
                  "delivery": { "queue": { "disk": "100MB" }, "retry": { "first": "1ms", "most": "2ms", "for": "10ms" } } } },
      "routes": [ { "consent": "all", "to": ["far", "lost"] } ] }
    """

/// How a person withdraws. `ids` are two names of the person: of the first everything was granted, and of the second nothing is known.
enum WithdrawalKind: String, CaseIterable, CustomTestStringConvertible {
    case command, file, purposes, erasure, erasingCommand, importing, event, erasingEvent, beforeTheStart

    var testDescription: String { rawValue }
}

@Suite("The bytes of the state folder after a withdrawal")
struct WithdrawalKindsTests {
    private let router: TestRouter
    private let ids = ["ann", "ann-of-the-phone"]

    init() throws { router = try TestRouter(routes: routes) }

    @discardableResult
    private func consent(_ words: [String]) throws -> Result {
        let result = try router.run(["consent"] + words + ["--state", router.path("state")])
        #expect(result.code == 0, "consent \(words): \(result.errors)")
        return result
    }

    private func holding(_ text: String) -> [String] { Remains(folder: router.path("state")).holding(text) }

    /// Fills the queue, the dead letters and the held events of the person and of another one.
    private func fill() throws -> Run {
        let run = try router.startRouter(["--drain", "0s"])
        for id in ["ann", "bob"] { try consent(["set", id, "--level", "all"]) }
        for number in 0..<20 {
            for id in ids + ["bob", "bob-of-the-phone"] { run.send(#"{"userId":"\#(id)","note":"planted-\#(id)-\#(number)"}"# + "\n") }
        }
        try waitUntil("all events are where they wait") {
            let status = try router.status()
            return try (status["held"] as? NSDictionary)?["events"] as? Int == 40
                && (status["lanes"] as? [NSDictionary])?.first { $0["provider"] as? String == "far" }?["events"] as? Int == 40
                && router.run(["dead-letters", "--events", "--state", router.path("state")]).lines.count == 40
        }
        return run
    }

    private func withdraw(by kind: WithdrawalKind, _ run: borrowing Run) throws {
        switch kind {
        case .command, .beforeTheStart: try consent(["withdraw"] + ids)
        case .file:
            try router.write(ids.joined(separator: "\n") + "\n", to: "ids")
            try consent(["withdraw", "--from", router.path("ids")])
        case .purposes: try consent(["withdraw"] + ids + ["--purposes", "analytics"])
        case .erasure: try consent(["withdraw"] + ids + ["--erase"])
        case .erasingCommand: try consent(["erase"] + ids)
        case .importing:
            try router.write(ids.map { #"{"id":"\#($0)","withdrawn":true}"# + "\n" }.joined(), to: "import")
            try consent(["import", router.path("import"), "--at", Date.ISO8601FormatStyle(includingFractionalSeconds: true).format(.now)])
        case .event, .erasingEvent:
            let erase = kind == .erasingEvent ? #","erase":true"# : ""
            for id in ids { run.send(#"{"type":"consent","userId":"\#(id)","consent":{"withdrawn":true\#(erase)}}"# + "\n") }
        }
    }

    private func waitUntilFinished() throws {
        try waitUntil("both receipts are finished") {
            let json = try router.run(["consent", "receipts", "--json", "--state", router.path("state")]).output
            let receipts = try JSONSerialization.jsonObject(with: json) as! [NSDictionary]
            return receipts.count == 2 && receipts.allSatisfy { $0["finished"] is String }
        }
    }

    @Test("hold none of the person's events, and all those of another person", arguments: WithdrawalKind.allCases)
    func bytes(kind: WithdrawalKind) throws {
        var run = try fill()
        // Files as a start sets them aside: a copy of each store and of its log.
        let state = router.path("state")
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.contains(".sqlite") && !name.hasSuffix("-shm") {
            let companion = name.hasSuffix("-wal") ? "-wal" : ""
            let store = name.dropLast(companion.count)
            guard !store.contains("ledger"), !store.contains("erasures") else { continue }
            try FileManager.default.copyItem(atPath: "\(state)/\(name)", toPath: "\(state)/\(store).damaged-17\(companion)")
        }
        // In the queue of `lost` are only pages that were freed and the log.
        let places = Set(holding("planted-ann").map { String($0.prefix { $0 != "." }) })
        #expect(places.isSuperset(of: ["dead-letters", "held", "spool-far"]), "\(places)")
        if kind == .beforeTheStart {
            run.end(by: SIGKILL)
            try withdraw(by: kind, run)
            run = try router.startRouter(["--drain", "0s"])
        } else {
            try withdraw(by: kind, run)
        }
        try waitUntilFinished()
        #expect(holding("planted-ann") == [])
        let others = Set(holding("planted-bob").map { String($0.prefix { $0 != "." }) })
        #expect(others.isSuperset(of: ["dead-letters", "held", "spool-far"]), "\(others)")
        run.end(by: SIGKILL)
        #expect(holding("planted-ann") == [])
    }
}
