// What the audit trail has about events that were held for consent: the verdict of each route that settled them, whatever ended their wait.

import Foundation
import Testing

private func routes(hold: String = "{}", verdicts: String = "denied", retention: String = "") -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef", "audit": "a literal audit secret of enough bytes" },
      "audit": { "key": "audit", "origin": "example.com/log", "verdicts": "\(verdicts)" },
      "consent": { "ledger": "ids", "unknown": "hold", "hold": \(hold),
                   "levels": { "none": [], "some": ["operations"], "all": ["operations", "analytics"] }, "default": "all" },
      "providers": { "out": { "plugin": "file", "path": "out.jsonl" } },
      "routes": [ { "name": "first", "consent": "some", "to": ["out"] }, { "name": "second", \(retention)"to": ["out"] },
                  { "name": "free", "consent": "none", "to": ["out"] } ] }
    """
}

private func events(_ people: String...) -> String {
    people.map { #"{"messageId":"message-of-\#($0)","userId":"\#($0)","event":"a"}"# + "\n" }.joined()
}

extension TestRouter {
    fileprivate func waitUntilHeld(_ count: Int) throws {
        try waitUntil("\(count) are held") { try (status()["held"] as? NSDictionary)?["events"] as? Int == count }
    }
}

extension AuditTrailTests {
    /// Returns what the trail proves about the event of a person: for each of its entries the routes with their verdicts. Both verifiers must
    /// accept the proofs.
    private func proved(_ router: TestRouter, _ person: String) throws -> [String] {
        let key = try key(router)
        let hashing = try audit(router, "key", "--hashing").text.trimmingCharacters(in: .whitespacesAndNewlines)
        let proofs = try audit(router, "prove", "--json", "message-of-\(person)")
        #expect(proofs.code == 0)
        return try proofs.lines.map { proof in
            try router.write(proof + "\n", to: "proof")
            let script = try script(router, "--key", key, "--proof", "proof", "--id", "message-of-\(person)", "--hashing", hashing)
            #expect(script.code == 0, "\(script.text)")
            return script.text.split(separator: "\n").map { $0.split(separator: ":").suffix(2).joined(separator: ":") }.joined(
                separator: ",")
        }
    }

    @Test("has what became of held events: released, refused and withdrawn", arguments: ["denied", "all"])
    func held(verdicts: String) throws {
        let router = try TestRouter(routes: routes(verdicts: verdicts))
        let run = try router.startRouter()
        run.send(events("ann", "bob", "cay", "dan"))
        try router.waitUntilHeld(4)
        #expect(try router.run(["consent", "set", "ann", "--level", "some"]).code == 0)
        try router.waitUntilHeld(3)
        #expect(try router.run(["consent", "set", "bob", "--level", "none"]).code == 0)
        try router.waitUntilHeld(2)
        #expect(try router.run(["consent", "withdraw", "cay"]).code == 0)
        try router.waitUntilHeld(1)
        #expect(run.finish().code == 0)

        let first = " route first: held, route second: held, route free: admitted"
        #expect(try proved(router, "ann") == [first, " route first: was held, admitted, route second: was held, denied_level"])
        #expect(try proved(router, "bob") == [first, " route first: was held, denied_level, route second: was held, denied_level"])
        #expect(try proved(router, "cay") == [first, " route first: was held, withdrawn, route second: was held, withdrawn"])
        #expect(try proved(router, "dan") == [first])
        let text = try audit(router, "prove", "message-of-ann").text
        #expect(
            text.contains("was held until then") && text.contains("route second  denied_level") && text.contains("route first   admitted"))
        #expect(try audit(router, "verify").code == 0)
        #expect(try script(router, "--key", try key(router), "state/audit").code == 0)
        let lines = router.read("out.jsonl").split(separator: "\n").filter { $0.contains("message-of-ann") }
        #expect(lines.count == 2, "the free route has it at once, and the first one later")
    }

    @Test("has held events whose time is over, by consent.hold and by the retention of one route")
    func heldTooLong() throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.run(input: events("ann")).code == 0)
        try router.write(routes(retention: #""retention": "1ms", "#), to: "routes.json")
        // What is too old by now is destroyed before the router ends.
        #expect(try router.run(input: "").code == 0)
        try router.write(routes(hold: #"{ "for": "1ms" }"#), to: "routes.json")
        #expect(try router.run(input: "").code == 0)
        #expect(
            try proved(router, "ann") == [
                " route first: held, route second: held, route free: admitted", " route second: was held, expired",
                " route first: was held, expired",
            ])
        #expect(try audit(router, "verify").code == 0)
        #expect(try script(router, "--key", try key(router), "state/audit").code == 0)
    }

    @Test("has the reason in the row of an event that could not be held")
    func notHeld() throws {
        let router = try TestRouter(routes: routes(hold: #"{ "events": 1 }"#))
        #expect(try router.run(input: events("ann", "bob")).code == 0)
        #expect(try proved(router, "ann") == [" route first: held, route second: held, route free: admitted"])
        #expect(try proved(router, "bob") == [" route first: denied_full, route second: denied_full, route free: admitted"])
        #expect(try script(router, "--key", try key(router), "state/audit").code == 0)
    }

    @Test("has the release of an event by the next start, once, and the event has left the file of held events when the router ends")
    func heldOverARestart() throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.run(input: events("ann")).code == 0)
        #expect(try router.run(["consent", "set", "ann", "--level", "all"]).code == 0)
        #expect(try router.run(input: "").code == 0)
        #expect(try router.run(input: "").code == 0)
        #expect(
            try proved(router, "ann") == [
                " route first: held, route second: held, route free: admitted",
                " route first: was held, admitted, route second: was held, admitted",
            ])
        #expect(router.read("out.jsonl").split(separator: "\n").count == 3)
    }
}
