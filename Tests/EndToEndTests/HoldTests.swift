// The real executable holds events of unknown subjects: across a kill, a grant, a refusal, a reload and the end of their time.

import Foundation
import Glibc
import Testing

private func routes(hold bounds: String = "{}", extra: String = "", more: String = "") -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef", "disk": "fedcba9876543210fedcba9876543210" },
      "consent": { "ledger": "ids", "unknown": "hold", "hold": \(bounds),
                   "levels": { "none": [], "essential": ["operations"], "all": ["operations", "analytics"] } },
      "providers": { "out": { "plugin": "console", "format": "ndjson" } }\(extra),
      "routes": [ { "name": "all", "consent": "all", "to": ["out"] }\(more) ] }
    """
}

extension TestRouter {
    @discardableResult fileprivate func consent(_ words: String...) throws -> Result {
        try run(["consent"] + words + ["--state", path("state")])
    }

    fileprivate func startAnswering(_ arguments: [String] = []) throws -> Run {
        let run = try start(arguments)
        try waitUntil("it answers") { try command("status", "--json").text.contains(#""running":true"#) }
        return run
    }

    fileprivate var held: Int {
        get throws { (try status()["held"] as? NSDictionary)?["events"] as? Int ?? -1 }
    }

    fileprivate func waitUntilHeld(_ count: Int) throws { try waitUntil("\(count) are held") { try held == count } }

    /// Returns the files of the state folder that contain the text.
    fileprivate func holding(_ text: String) -> [String] {
        let folder = path("state")
        return (try! FileManager.default.contentsOfDirectory(atPath: folder)).filter {
            FileManager.default.contents(atPath: folder + "/" + $0)?.range(of: Data(text.utf8)) != nil
        }
    }
}

private func event(_ id: String, _ number: Int) -> String { #"{"userId":"\#(id)","note":"planted-\#(id)-\#(number)"}"# }

@Suite("Events of unknown subjects")
struct HoldTests {
    @Test("survive a kill, and leave once and in order when their subject consents", arguments: ["", #", "state": { "encrypt": "disk" }"#])
    func killed(extra: String) throws {
        let router = try TestRouter(routes: routes(extra: extra))
        let run = try router.startAnswering()
        for number in 0..<20 { run.send(event(number % 2 == 0 ? "ann" : "bob", number) + "\n") }
        try router.waitUntilHeld(20)
        run.end(by: SIGKILL)
        #expect(try router.held == 20 && router.holding("planted").isEmpty == !extra.isEmpty)

        let again = try router.startAnswering()
        #expect(try router.held == 20)
        try router.consent("set", "ann", "--level", "all")
        #expect(again.outputLines(10) == (0..<10).map { event("ann", $0 * 2) })
        try router.waitUntilHeld(10)
        again.send(event("ann", 99) + "\n")
        #expect(again.outputLines(1) == [event("ann", 99)])
        let result = again.finish()
        #expect(result.code == 0 && result.lines == [], "each leaves once")
        #expect(result.errors.contains("10 events are held for consent"))

        try router.consent("set", "bob", "--level", "all")
        let last = try router.run(["--stats", "json"])
        #expect(last.lines == (0..<10).map { event("bob", $0 * 2 + 1) }, "a decision made while no router ran counts at the next start")
        let account = try JSONSerialization.jsonObject(with: Data(last.errors.utf8)) as! NSDictionary
        #expect(account["held"] as? Int == 0 && account["held_resumed"] as? Int == 10)
        #expect((account["routes"] as? [NSDictionary])?.first?["admitted"] as? Int == 10)
    }

    @Test("are destroyed in all files when their subject refuses or withdraws")
    func refused() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startAnswering(["--stats", "json"])
        for number in 0..<30 { run.send(event(["ann", "bob", "cay"][number % 3], number) + "\n") }
        try router.waitUntilHeld(30)
        #expect(!router.holding("planted-ann").isEmpty)
        #expect(try router.consent("withdraw", "ann").code == 0)
        func receipts() throws -> [NSDictionary] {
            try JSONSerialization.jsonObject(with: router.consent("receipts", "--json").output) as! [NSDictionary]
        }
        try waitUntil("the receipt is finished") { try receipts().first?["finished"] is String }
        #expect(router.holding("planted-ann") == [] && !router.holding("planted-bob").isEmpty)
        let places = try receipts().first?["places"] as? [NSDictionary]
        #expect(places?.map { $0["place"] as? String } == ["held events"] && places?.first?["events"] as? Int == 10)

        try router.consent("set", "bob", "--level", "none")
        try router.waitUntilHeld(10)
        waitUntil("nothing of it is left") { router.holding("planted-bob") == [] }
        let result = run.finish()
        let account = try JSONSerialization.jsonObject(with: Data(try #require(result.errorLines.last).utf8)) as! NSDictionary
        let route = try #require((account["routes"] as? [NSDictionary])?.first)
        #expect(route["withdrawn"] as? Int == 10 && route["denied_level"] as? Int == 10 && route["held"] as? Int == 10)
        #expect(result.lines == [] && result.code == 0)
    }

    @Test("are destroyed at the next start if no router ran during the withdrawal")
    func withdrawnAtRest() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startAnswering()
        for number in 0..<10 { run.send(event("ann", number) + "\n") }
        try router.waitUntilHeld(10)
        run.end(by: SIGKILL)
        try router.consent("withdraw", "ann")
        let again = try router.startAnswering()
        waitUntil("nothing of it is left") { router.holding("planted-ann") == [] }
        try waitUntil("the receipt reports it") {
            try router.consent("receipts").text.contains("held events: 10 events destroyed")
        }
        #expect(again.finish().lines == [])
    }

    @Test("are destroyed at the end of their time, even if no router runs then")
    func expired() throws {
        let router = try TestRouter(routes: routes(hold: #"{ "for": "1ms" }"#))
        let result = try router.run(["--stats", "json"], input: event("ann", 1) + "\n")
        #expect(result.code == 0 && result.lines == [])
        let again = try router.startAnswering()
        try router.waitUntilHeld(0)
        waitUntil("nothing of it is left") { router.holding("planted-ann") == [] }
        #expect(again.finish().code == 0)
    }

    @Test("leave in the same run when an event in the input grants consent")
    func stream() throws {
        let source = #", "sources": { "in": { "plugin": "stdin", "consent": "write" } }"#
        let router = try TestRouter(routes: routes(extra: source))
        let grant = #"{"type":"consent","userId":"ann","consent":{"level":"all"}}"#
        let input = [event("ann", 1), event("bob", 1), event("ann", 2), grant].map { $0 + "\n" }.joined()
        let result = try router.run(input: input)
        // No route takes events of type consent.
        #expect(result.code == 0 && result.lines == [event("ann", 1), event("ann", 2)], "\(result.text)")
        #expect(try router.held == 1)
    }

    @Test("are denied beyond the bounds, which is counted and reported once")
    func bounds() throws {
        let router = try TestRouter(routes: routes(hold: #"{ "events": 5, "subject": { "events": 3 } }"#))
        let input = (0..<10).map { event($0 < 5 ? "ann" : "bob", $0) + "\n" }.joined()
        let result = try router.run(["--stats", "text"], input: input)
        #expect(result.errors.contains("route all: 5 denied (full), 5 held\n"))
        #expect(result.errors.contains("held for consent: 5 events, "))
        #expect(result.errorLines.filter { $0.contains("no more events can be held") }.count == 1)
    }

    @Test("stay held across a reload, and leave by the new plan")
    func reload() throws {
        let router = try TestRouter(routes: routes(more: #", { "name": "gone", "consent": "all", "to": ["out"] }"#))
        let run = try router.startAnswering(["--stats", "json"])
        for number in 0..<3 { run.send(event("ann", number) + "\n") }
        try router.waitUntilHeld(3)
        try router.write(routes(more: #", { "name": "new", "consent": "all", "to": ["out"] }"#), to: "routes.json")
        #expect(try router.command("reload").code == 0)
        #expect(try router.held == 3)
        try router.consent("set", "ann", "--level", "all")
        #expect(run.outputLines(3) == (0..<3).map { event("ann", $0) }, "by the route that is left, and not by one they never waited for")
        let result = run.finish()
        #expect(result.lines == [])
        let account = try JSONSerialization.jsonObject(with: Data(try #require(result.errorLines.last).utf8)) as! NSDictionary
        let found = Dictionary(uniqueKeysWithValues: (account["routes"] as! [NSDictionary]).map { ($0["name"] as! String, $0) })
        #expect(found["all"]?["admitted"] as? Int == 3 && found["gone"]?["outdated"] as? Int == 3)
        #expect(found["new"]?["admitted"] as? Int == 0)
    }

    @Test("are held even if the file of an earlier run is damaged: that file is set aside and reported, and the run ends with 69")
    func broken() throws {
        let router = try TestRouter(routes: routes())
        try FileManager.default.createDirectory(atPath: router.path("state"), withIntermediateDirectories: false)
        try router.write("this is no database, and long enough to be one of them", to: "state/held.sqlite")
        let input = event("ann", 1) + "\n" + event("ann", 2) + "\n"
        var result = try router.run(["--stats", "text"], input: input)
        #expect(result.code == 69 && result.errors.contains("route all: 2 held\n"), "\(result.errors)")
        #expect(result.errors.contains("held for consent: held.sqlite was damaged, 1 events are lost\n"), "\(result.errors)")
        let aside = try FileManager.default.contentsOfDirectory(atPath: router.path("state")).filter { $0.contains("held.sqlite.damaged-") }
        #expect(aside.count == 1 && router.read("state/" + aside[0]) == "this is no database, and long enough to be one of them")
        try router.write("", to: "state/held.sqlite")
        result = try router.run(["--stats", "json"], input: input)
        #expect(result.code == 69 && result.errors.contains(", 2 of 2 held events are lost\n"), "\(result.errors)")
        #expect(result.errors.contains("\"held_damaged\":2"), "\(result.errors)")
        #expect(try router.run().code == 0)
    }

    @Test("are shown by explain, check, status and consent subject")
    func shown() throws {
        let router = try TestRouter(routes: routes(hold: #"{ "for": "2h", "bytes": "5MB" }"#))
        let told = try router.run(["explain", "--json"], input: event("ann", 1)).text
        #expect(told.contains(#""verdict":"held""#) && told.contains("is held until its subjects are known"), "\(told)")
        let idless = try router.run(["explain", "--json"], input: #"{"note":"x"}"#).text
        #expect(idless.contains(#""verdict":"denied""#) && idless.contains("it has no id for which it could be held"), "\(idless)")
        let check = try router.run(["check"]).text
        #expect(check.contains("unknown subjects are held until they consent\n"))
        #expect(check.contains("  an event is held for 2h at most; up to 100,000 events and 5,000,000 bytes, of one subject 1,000 and"))
        let run = try router.startAnswering()
        run.send(event("ann", 1) + "\n")
        try router.waitUntilHeld(1)
        #expect(try router.command("status").text.contains("Held for consent: 1 events, "))
        #expect(try (router.status()["held"] as? NSDictionary)?["bytes"] as? Int == event("ann", 1).utf8.count)
        func gathered() throws -> [String] {
            try router.consent("subject", "ann", "--config", router.path("routes.json")).lines.filter { $0.contains("held events") }
        }
        let whole = try gathered()
        #expect(whole.count == 1 && whole[0].contains(#""routes":["all"]"#) && whole[0].contains(#""event":"# + event("ann", 1)))
        run.end(by: SIGKILL)
        #expect(try gathered() == whole, "also if no router runs")
        #expect(try router.command("status").text.contains("Held for consent: 1 events, "), "status reads the folder if no router runs")
    }
}
