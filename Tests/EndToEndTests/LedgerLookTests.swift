// Commands that read the ledger of a state folder: explain, which changes nothing, and replay, which checks dead letters against it.

import Foundation
import Glibc
import Testing

private let keys = #""keys": { "ids": "0123456789abcdef0123456789abcdef", "hide": "fedcba9876543210fedcba9876543210" }"#

/// The provider fails every delivery, or it writes to a file.
private func routes(fails: Bool, route: String = "product", consent: String = #""all""#) -> String {
    let retry = #""delivery": { "retry": { "first": "1ms", "most": "2ms", "for": "5ms" } }"#
    let far = #"{ "plugin": "http", "url": "http://127.0.0.1:9", \#(retry) }"#
    let file = #"{ "plugin": "file", "path": "out.ndjson" }"#
    return """
        { \(keys),
          "consent": { "ledger": "ids", "levels": { "none": [], "essential": ["operations"], "all": ["operations", "analytics"] },
                       "events": { "raised": "all" }, "default": "essential" },
          "providers": { "far": \(fails ? far : file) },
          "routes": [ { "name": "\(route)", "consent": \(consent), "to": ["far"],
                        "transform": [ { "hash": { "fields": ["userId"], "key": "hide" } } ] } ] }
        """
}

extension TestRouter {
    fileprivate func consent(_ words: String...) throws -> Result { try run(["consent"] + words + ["--state", path("state")]) }

    fileprivate func reason(_ event: String) throws -> String {
        let result = try run(["explain", "--json", "--state", path("state")], input: event)
        let object = try JSONSerialization.jsonObject(with: result.output) as! NSDictionary
        let route = (object["routes"] as! [NSDictionary])[0]
        return "\(route["verdict"]!): \(route["reason"]!)"
    }

    fileprivate func replay(_ words: String...) throws -> NSDictionary {
        let result = try run(["replay", "--json", "--state", path("state")] + words)
        return ((try JSONSerialization.jsonObject(with: result.output) as! NSDictionary)["providers"] as! [NSDictionary])[0]
    }

    fileprivate var letters: [String] {
        get throws { try run(["dead-letters", "--events", "--state", path("state")]).lines }
    }

    /// Makes one dead letter for each of these subjects.
    fileprivate func bury(_ ids: [String], name: String = "e") throws {
        try write(routes(fails: true, consent: #""essential""#), to: "routes.json")
        for id in ids { #expect(try consent("set", id, "--level", "all").code == 0) }
        _ = try run(
            ["--state", path("state")], input: ids.map { #"{"event":"\#(name)","userId":"\#($0)","n":"\#($0)"}"# + "\n" }.joined())
        #expect(try letters.count == ids.count)
    }
}

@Suite("Commands that read the ledger")
struct LedgerLookTests {
    @Test("explain reports what is on record, with and without a running router", arguments: [false, true])
    func explains(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes(fails: false))
        let event = #"{"event":"e","userId":"ann"}"#
        #expect(
            try router.reason(event) == "denied: the event carries no consent, nothing is on record, and unknown subjects are denied",
            "there is no ledger yet")
        let run = isRunning ? try router.startRouter() : nil
        if isRunning { try waitUntil("it answers") { try router.command("status", "--json").text.contains(#""running":true"#) } }
        #expect(try router.consent("set", "ann", "--level", "all").code == 0)
        #expect(try router.reason(event).contains("level all (on record), all is demanded"))
        #expect(try router.consent("set", "ann", "--level", "essential").code == 0)
        #expect(try router.reason(event).hasPrefix("denied: level essential is below all, by what is on record"))
        #expect(try router.reason(#"{"event":"e","userId":"bob"}"#).hasPrefix("denied: the event carries no consent, nothing is on record"))
        #expect(run?.finish().code ?? 0 == 0)
        // explain does not lock the folder, so the next command can use it.
        #expect(try router.consent("stats").text.contains("ids"))
    }

    @Test("a replay judges a dead letter by the present record of the person, even though the letter's id is hashed")
    func replays() throws {
        let router = try TestRouter(routes: routes(fails: true))
        try router.bury(["ann", "bob", "eve"])
        #expect(try router.consent("set", "bob", "--level", "none").code == 0)
        #expect(try router.consent("withdraw", "eve", "--purposes", "operations").code == 0)
        try router.write(routes(fails: false, consent: #""essential""#), to: "routes.json")
        let account = try router.replay()
        #expect(account["delivered"] as? Int == 1 && account["denied"] as? Int == 2, "\(account)")
        let out = router.read("out.ndjson")
        #expect(out.contains(#""n":"ann""#) && !out.contains(#""n":"bob""#) && !out.contains(#""n":"eve""#))
        #expect(!out.contains(#""userId":"ann""#))
        #expect(try router.letters == [])
    }

    @Test("a dead letter keeps the level that it was admitted under, in a replay and in a withdrawal")
    func levels() throws {
        let router = try TestRouter(routes: routes(fails: true))
        try router.bury(["ann", "bob", "eve"], name: "raised")
        #expect(try router.consent("set", "bob", "--level", "essential").code == 0)
        let plain = routes(fails: false, consent: #""none""#).replacing(#""events": { "raised": "all" }, "#, with: "")
        try router.write(plain, to: "routes.json")
        #expect(try router.replay("--dry-run")["denied"] as? Int == 1)
        #expect(try router.consent("withdraw", "eve", "--purposes", "analytics").code == 0)
        let run = try router.startRouter()
        try waitUntil("it is destroyed") { try router.letters.count == 1 }
        #expect(try router.letters.first?.contains(#""n":"ann""#) == true)
        #expect(run.finish().code == 0)
    }

    @Test("with an unreadable ledger a replay sends nothing and removes nothing")
    func unreadable() throws {
        let router = try TestRouter(routes: routes(fails: true))
        try router.bury(["ann"])
        try Data(repeating: 0x5a, count: 8192).write(to: URL(fileURLWithPath: router.path("state/ledger.sqlite")))
        try router.write(routes(fails: false), to: "routes.json")
        let result = try router.run(["replay", "--state", router.path("state")])
        #expect(result.code == 69 && result.errors.contains("ledger.sqlite"))
        #expect(try router.letters.count == 1)
        #expect(try router.run(["explain", "--state", router.path("state")], input: "{}").code == 69)
    }
}
