// A withdrawal reaches events that were handed over and have not left, and the files of the state folder that no provider uses. No later
// consent revives an event that came in before it.

import Foundation
import Glibc
import HTTPSupport
import Platform
import TestSupport
import Testing

extension TestRouter {
    fileprivate func consent(_ words: String...) throws -> Result { try run(["consent"] + words + ["--state", path("state")]) }

    fileprivate func places(of receipt: Int = 0) throws -> [String: (events: Int, inHands: Int)] {
        let json = try run(["consent", "receipts", "--json", "--state", path("state")]).output
        let receipts = try JSONSerialization.jsonObject(with: json) as! [NSDictionary]
        var places: [String: (events: Int, inHands: Int)] = [:]
        for line in receipts[receipt]["places"] as? [NSDictionary] ?? [] {
            let known = places[line["place"] as! String] ?? (0, 0)
            places[line["place"] as! String] = (
                known.events + (line["events"] as? Int ?? 0), known.inHands + (line["in_hands"] as? Int ?? 0)
            )
        }
        return places
    }

    fileprivate func waitUntilFinished(_ receipt: Int = 0) throws {
        try waitUntil("the receipt is finished") {
            let json = try run(["consent", "receipts", "--json", "--state", path("state")]).output
            let receipts = try JSONSerialization.jsonObject(with: json) as! [NSDictionary]
            return receipts.count > receipt && receipts[receipt]["finished"] is String
        }
    }

    fileprivate func waiting(in lane: String) throws -> Int {
        let lanes = try status()["lanes"] as? [NSDictionary] ?? []
        return lanes.first { $0["provider"] as? String == lane }?["events"] as? Int ?? 0
    }

    fileprivate func holding(_ text: String) -> [String] { Remains(folder: path("state")).holding(text) }
}

/// A plan with a ledger and these providers. Each has its queue on disk and gets every event.
private func routes(_ providers: [String: String]) -> String {
    let list = providers.sorted { $0.key < $1.key }.map { name, settings in
        """
        "\(name)": { \(settings), "delivery": { "queue": { "disk": "100MB" }, "batch": { "events": 5, "wait": "1ms" } } }
        """
    }
    return """
        { "keys": { "ids": "0123456789abcdef0123456789abcdef" },
          "consent": { "ledger": "ids", "levels": { "none": [], "all": ["operations"] } },
          "providers": { \(list.joined(separator: ", ")) },
          "routes": [ { "consent": "all", "to": [\(providers.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", "))] } ] }
        """
}

private func events(of id: String, _ count: Int) -> String {
    (0..<count).map { #"{"userId":"\#(id)","note":"planted-\#(id)-\#($0)"}"# + "\n" }.joined()
}

/// An address at which no server listens.
private let nowhere = #""plugin": "http", "url": "http://127.0.0.1:9""#

@Suite("The reach of a withdrawal", .timeLimit(.minutes(20)))
struct WithdrawalReachTests {
    @Test(
        "after its acknowledgement no request begins that has the person's events, although a hanging vendor has many batches in hands",
        arguments: [(1, false), (8, false), (8, true)])
    func hanging(inFlight: Int, isIsolated: Bool) throws {
        let gate = Monitor(false)
        let server = Server.answering { _, connection in
            gate.wait(while: { !$0 })
            connection.answer("200 OK")
        }
        defer { server.close() }
        let settings = #""plugin": "http", "url": "\#(server.url)", "in_flight": \#(inFlight), "isolate": \#(isIsolated)"#
        let router = try TestRouter(routes: routes(["far": settings]))
        let run = try router.startRouter()
        for id in ["ann", "bob"] { #expect(try router.consent("set", id, "--level", "all").code == 0) }
        run.send(events(of: "ann", 300) + events(of: "bob", 20))
        server.wait(requests: inFlight)
        try waitUntil("all have come in") { try router.waiting(in: "far") == 320 }
        #expect(try router.consent("withdraw", "ann").code == 0)
        // The vendor still hangs. What it has got is in its hands, and all other events are destroyed now.
        try router.waitUntilFinished()
        gate.withLock { $0 = true }
        gate.wake()
        _ = run.finish()
        let bodies = server.requests.map(\.text).joined()
        #expect(bodies.components(separatedBy: "planted-ann").count - 1 == inFlight * 5)
        #expect(bodies.components(separatedBy: "planted-bob").count - 1 == 20)
        let far = try router.places()["queue of far"]
        #expect(far?.inHands == inFlight * 5 && far?.events == 300 - inFlight * 5)
        #expect(router.holding("planted-ann") == [])
    }

    @Test("a queue without a provider is searched too, and a new consent does not revive its events")
    func withoutProvider() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(routes: routes(["a": nowhere, "b": nowhere]))
        var run = try router.startRouter()
        for id in ["ann", "bob"] { #expect(try router.consent("set", id, "--level", "all").code == 0) }
        run.send(events(of: "ann", 30) + events(of: "bob", 3))
        try waitUntil("all are stored") { try router.waiting(in: "a") == 33 && router.waiting(in: "b") == 33 }
        run.end(by: SIGKILL)
        try router.write(routes(["a": nowhere]), to: "routes.json")
        run = try router.startRouter(["--drain", "0s"])
        #expect(try router.consent("withdraw", "ann").code == 0)
        try router.waitUntilFinished()
        #expect(router.holding("planted-ann") == [])
        let places = try router.places()
        #expect(places["queue of a"]?.events == 30 && places["queue of b"]?.events == 30)
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        _ = run.finish()
        try router.write(routes(["b": #""plugin": "http", "url": "\#(server.url)""#]), to: "routes.json")
        run = try router.startRouter()
        #expect(run.finish().code == 0)
        #expect(server.requests.map(\.text).joined().components(separatedBy: "planted-").count - 1 == 3)
    }

    @Test(
        "events that were moved away before it, and come back after it, are destroyed and counted in its receipt", arguments: [true, false])
    func movedIn(hasProvider: Bool) throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(routes: routes(["a": nowhere, "b": nowhere]))
        var run = try router.startRouter()
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        run.send(events(of: "ann", 10))
        try waitUntil("all are stored") { try router.waiting(in: "b") == 10 && router.waiting(in: "a") == 10 }
        run.end(by: SIGKILL)
        let files = try FileManager.default.contentsOfDirectory(atPath: router.path("state")).filter { $0.hasPrefix("spool-b") }
        for file in files { try FileManager.default.moveItem(atPath: router.path("state/" + file), toPath: router.path(file)) }
        try router.write(routes(["a": nowhere]), to: "routes.json")
        run = try router.startRouter(["--drain", "0s"])
        #expect(try router.consent("withdraw", "ann").code == 0)
        try router.waitUntilFinished()
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        _ = run.finish()
        for file in files { try FileManager.default.moveItem(atPath: router.path(file), toPath: router.path("state/" + file)) }
        let b = [#"b"#: #""plugin": "http", "url": "\#(server.url)""#]
        try router.write(routes(hasProvider ? b : ["a": nowhere]), to: "routes.json")
        run = try router.startRouter(["--drain", "0s"])
        waitUntil("they are destroyed") { router.holding("planted-ann") == [] }
        // The receipt follows the destruction, and a router that ends in between leaves it to its next start.
        if !hasProvider { try waitUntil("they are counted") { try router.places()["queue of b"]?.events == 10 } }
        _ = run.finish()
        #expect(server.requests.isEmpty)
    }

    @Test("files that were set aside as damaged are destroyed, with their logs")
    func setAside() throws {
        let router = try TestRouter(routes: routes(["a": nowhere]))
        var run = try router.startRouter()
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        run.send(events(of: "ann", 40))
        try waitUntil("all are stored") { try router.waiting(in: "a") == 40 }
        run.end(by: SIGKILL)
        let state = router.path("state")
        for name in ["spool-a.sqlite", "held.sqlite", "dead-letters.sqlite"] {
            let copy = FileManager.default.contents(atPath: state + "/spool-a.sqlite") ?? Data()
            for companion in ["", "-wal"] {
                let path = URL(fileURLWithPath: "\(state)/\(name).damaged-17\(companion)")
                try (copy + Data("planted-ann".utf8)).write(to: path)
            }
        }
        #expect(router.holding("planted-ann").count >= 6)
        run = try router.startRouter(["--drain", "0s"])
        #expect(router.holding("planted-ann").count >= 6, "only a withdrawal destroys them")
        #expect(try router.consent("withdraw", "ann").code == 0)
        try router.waitUntilFinished()
        #expect(router.holding("planted-ann") == [])
        let result = run.finish()
        #expect(result.errors.contains("spool-a.sqlite.damaged-17: was destroyed"))
    }

    @Test("withdrawn, killed at once, consented again and started: nothing from before the withdrawal leaves")
    func race() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(routes: routes(["a": nowhere]))
        let run = try router.startRouter()
        for id in ["ann", "bob"] { #expect(try router.consent("set", id, "--level", "all").code == 0) }
        run.send(events(of: "ann", 200) + events(of: "bob", 5))
        try waitUntil("all are stored") { try router.waiting(in: "a") == 205 }
        #expect(try router.consent("withdraw", "ann").code == 0)
        run.end(by: SIGKILL)
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        try router.write(routes(["a": #""plugin": "http", "url": "\#(server.url)""#]), to: "routes.json")
        let again = try router.startRouter()
        try router.waitUntilFinished()
        _ = again.finish()
        let bodies = server.requests.map(\.text).joined()
        #expect(!bodies.contains("planted-ann") && bodies.components(separatedBy: "planted-bob").count - 1 == 5)
        #expect(try router.places()["queue of a"]?.events == 200)
    }
}
