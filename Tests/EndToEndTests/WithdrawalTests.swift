// A withdrawal destroys all events of the person in the state folder, wherever they wait, and makes a receipt.

import Foundation
import Glibc
import TestSupport
import Testing

/// A plan with one provider whose server cannot be reached, and with its queue on disk.
private func routes(_ delivery: String = "", provider: String = "") -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef" },
      "consent": { "ledger": "ids", "levels": { "none": [], "essential": ["operations"], "all": ["operations", "analytics"] } },
      "providers": { "far": { "plugin": "http", "url": "http://127.0.0.1:9",\(provider)
                     "delivery": { "queue": { "disk": "100MB" }\(delivery) } } },
      "routes": [ { "consent": "all", "to": ["far"] } ] }
    """
}

extension TestRouter {
    fileprivate func consent(_ words: String...) throws -> Result {
        try run(["consent"] + words + ["--state", path("state")])
    }

    fileprivate func receipts() throws -> [NSDictionary] {
        let json = try run(["consent", "receipts", "--json", "--state", path("state")]).output
        return try JSONSerialization.jsonObject(with: json) as! [NSDictionary]
    }

    /// Returns the files of the state folder that contain the text, plain, escaped or compressed.
    fileprivate func holding(_ text: String) -> [String] { Remains(folder: path("state")).holding(text) }

    fileprivate func startWaiting(_ events: [String]) throws -> Run {
        let run = try startRouter(["--drain", "0s"])
        for id in ["ann", "bob"] { #expect(try consent("set", id, "--level", "all").code == 0) }
        for event in events { run.send(event + "\n") }
        try waitUntil("all are stored") { try waiting() == events.count }
        return run
    }

    private func waiting() throws -> Int? { (try status()["lanes"] as? [NSDictionary])?.first?["events"] as? Int }
}

@Suite("A withdrawal")
struct WithdrawalTests {
    private let events = (0..<50).map {
        #"{"userId":"\#($0 % 2 == 0 ? "ann" : "bob")","note":"planted-\#($0 % 2 == 0 ? "ann" : "bob")-\#($0)"}"#
    }

    @Test("destroys only the person's events on disk while the router runs, and records the number in the receipt")
    func running() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startWaiting(events)
        #expect(!router.holding("planted-ann").isEmpty)
        #expect(
            try router.consent("withdraw", "ann").text == "it is on record; receipt 1 will show how many waiting events were destroyed\n")
        try waitUntil("the receipt is finished") { try router.receipts().first?["finished"] is String }
        #expect(router.holding("planted-ann") == [])
        #expect(!router.holding("planted-bob").isEmpty)
        let places = try router.receipts().first?["places"] as? [NSDictionary]
        #expect(places?.map { $0["place"] as? String } == ["queue of far"])
        #expect(places?.first?["events"] as? Int == 25)
        let result = run.finish()
        #expect(result.errors.contains("25 withdrawn") || result.code == 69)
        #expect(router.holding("planted-ann") == [])
    }

    @Test("if no router runs, a withdrawal is carried out at the next start")
    func killed() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startWaiting(events)
        run.end(by: SIGKILL)
        #expect(try router.consent("withdraw", "ann").code == 0)
        #expect(try router.receipts().first?["finished"] is NSNull)
        let again = try router.startRouter(["--drain", "0s"])
        try waitUntil("the receipt is finished") { try router.receipts().first?["finished"] is String }
        #expect(router.holding("planted-ann") == [] && !router.holding("planted-bob").isEmpty)
        _ = again.finish()
    }

    @Test("destroys dead letters")
    func deadLetters() throws {
        let router = try TestRouter(routes: routes(#", "retry": { "first": "1ms", "most": "2ms", "for": "10ms" }"#))
        let run = try router.startRouter(["--drain", "0s"])
        for id in ["ann", "bob"] { #expect(try router.consent("set", id, "--level", "all").code == 0) }
        for event in events { run.send(event + "\n") }
        try waitUntil("all are given up") {
            try router.run(["dead-letters", "--events", "--state", router.path("state")]).lines.count == 50
        }
        #expect(try router.consent("withdraw", "ann").code == 0)
        try waitUntil("the receipt is finished") { try router.receipts().first?["finished"] is String }
        #expect(router.holding("planted-ann") == [] && router.holding("planted-bob") == ["dead-letters.sqlite"])
        #expect(try (router.receipts().first?["places"] as? [NSDictionary])?.map { $0["place"] as? String } == ["dead letters"])
        _ = run.finish()
    }

    @Test("finds and destroys the person's events even if characters are escaped", arguments: ["none", "gzip", "zstd"])
    func escaped(compress: String) throws {
        let router = try TestRouter(routes: routes(provider: #" "compression": "\#(compress)","#))
        let events = events.enumerated().map { number, event in
            guard number % 3 > 0 else { return event }
            let all = "planted".unicodeScalars.map { "\\u00" + String($0.value, radix: 16) }.joined()
            return event.replacing("planted", with: number % 3 == 1 ? all : #"pl\u0061nte\u0064"#)
        }
        let run = try router.startWaiting(events)
        waitUntil("they are on disk") { [2, 4, 6].allSatisfy { !router.holding("planted-ann-\($0)").isEmpty } }
        #expect(try router.consent("withdraw", "ann").code == 0)
        try waitUntil("the receipt is finished") { try router.receipts().first?["finished"] is String }
        #expect(router.holding("planted-ann") == [] && !router.holding("planted-bob").isEmpty)
        run.end(by: SIGKILL)
        #expect(router.holding("planted-ann") == [])
    }

    @Test("the search of these tests finds a text in escapes and compressed data")
    func search() throws {
        let router = try TestRouter()
        let remains = Remains(folder: router.folder)
        let noise = Data((0..<1000).map { UInt8($0 % 251) })
        func write(_ data: Data, to name: String) throws { try (noise + data + noise).write(to: URL(fileURLWithPath: router.path(name))) }
        try write(Data(Compression.deflated(Array((String(repeating: "x", count: 500) + "planted").utf8))), to: "zipped")
        try write(Data(Compression.zstd(Array((String(repeating: "x", count: 500) + #"pl\u0061nted"#).utf8))), to: "packed")
        try router.write(#"{"note":"pl\u0061nt\u0065d"}"#, to: "escaped")
        try router.write("plain planted", to: "plain")
        try router.write("plant ed", to: "other")
        #expect(remains.holding("planted") == ["escaped", "packed", "plain", "zipped"])
    }
}
