// The tracking plan with the real executable: where the events go, what the account says, and what `check` and `explain` show.

import Foundation
import TestSupport
import Testing

@Suite("The tracking plan, end to end")
struct PlanTests {
    private static let tracking = #"""
        {"unplanned": "mark",
         "events": {
           "order": {"owner": "shop", "violation": "reject", "properties": {"required": ["total"], "properties": {"total": {"type": "number"}}}},
           "view": {"violation": "strip", "properties": {"properties": {"page": {"type": "string"}}, "additionalProperties": false}},
           "ping": {"properties": {"properties": {"n": {"maximum": 5}}}}}}
        """#
    private static let routes = #"""
        { "message_id": { "add": false }, "plan": "plan.json", "providers": { "out": { "plugin": "file", "path": "out.ndjson" } },
          "routes": [ { "name": "all", "transform": [ { "drop": ["secret"] } ], "to": ["out"] } ] }
        """#

    private func router() throws -> TestRouter {
        let router = try TestRouter(routes: PlanTests.routes)
        try router.write(PlanTests.tracking, to: "plan.json")
        return router
    }

    @Test("events pass, lose members, are marked, or go to the dead letters, and the account says so")
    func actions() throws {
        let router = try router()
        let events = [
            #"{"event":"order","properties":{"total":1}}"#, #"{"event":"order","secret":"s","properties":{"total":"one"}}"#,
            #"{"event":"view","properties":{"page":"/","mail":"a@b"}}"#, #"{"event":"ping","properties":{"n":6}}"#, #"{"event":"new"}"#,
        ]
        let run = try router.run(["run", "--stats", "json"], input: events.map { $0 + "\n" }.joined())
        #expect(run.code == 0, "\(run.errors)")
        #expect(
            router.lines("out.ndjson") == [
                events[0], #"{"event":"view","properties":{"page":"/"}}"#, events[3],
                #"{"context":{"switchyard":{"violation":"/event: unplanned"}},"event":"new"}"#,
            ])
        #expect(router.deadLetters.count == 1)
        #expect(router.deadLetters[0].contains(#"{"event":"order","properties":{"total":"one"}}"#), "\(router.deadLetters)")
        let account = run.errorLines.last ?? ""
        #expect(account.contains(#""violating":1"#), "\(account)")
        #expect(account.contains(#""violations":{"count":1,"mark":1,"strip":1,"reject":1}"#), "\(account)")
        #expect(run.errors.contains("out: an event rejected: violates the tracking plan (type); kept in"), "\(run.errors)")
        let letters = try router.run(["dead-letters", "--json"])
        #expect(letters.text.contains("violates the tracking plan: /properties/total: type"), "\(letters.text)\(letters.errors)")
    }

    @Test("a small request over HTTP is answered when the rejected event is a dead letter on disk")
    func overHTTP() throws {
        let routes = PlanTests.routes.replacingOccurrences(
            of: #""providers""#, with: #""sources": { "in": { "plugin": "http", "listen": "127.0.0.1:0" } }, "providers""#)
        let router = try TestRouter(routes: routes)
        try router.write(PlanTests.tracking, to: "plan.json")
        let post = try ListeningRouter(router, ["run", "--stats", "json"])
        for number in 1...3 {
            #expect(try post.send(#"{"event":"order","n":\#(number)}"#).status == 200)
            #expect(router.deadLetters.count == number, "the answer came before the letter")
        }
        #expect(try post.send(#"{"event":"view","properties":{"x":1}}"#).status == 200)
        let result = post.finish()
        #expect(result.code == 0, "\(result.errors)")
        #expect(router.lines("out.ndjson") == [#"{"event":"view","properties":{}}"#])
        #expect(result.errors.contains(#""violations":{"count":0,"mark":0,"strip":1,"reject":3}"#), "\(result.errors)")
    }

    @Test("a replayed letter is delivered")
    func replay() throws {
        let router = try router()
        _ = try router.run(["run"], input: #"{"event":"order"}"# + "\n")
        #expect(router.deadLetters.count == 1 && router.lines("out.ndjson") == [])
        let replay = try router.run(["replay"])
        #expect(replay.code == 0, "\(replay.errors)")
        #expect(router.lines("out.ndjson") == [#"{"event":"order"}"#])
    }

    @Test("check lists the plan, and explain says what it found")
    func shown() throws {
        let router = try router()
        let check = try router.run(["check"])
        #expect(check.text.contains("Tracking plan: 3 events"), "\(check.text)\(check.errors)")
        #expect(check.text.contains("order: violations go to the dead letters, of shop"), "\(check.text)")
        let explained = try router.run(["explain", "--json"], input: #"{"event":"order"}"#)
        #expect(explained.text.contains(#""verdict":"violating","stage":"plan""#), "\(explained.text)\(explained.errors)")
        #expect(explained.text.contains("violates the tracking plan, /properties/total: required: it goes to the dead letters"))
        let stripped = try router.run(["explain", "--json"], input: #"{"event":"view","properties":{"x":1}}"#)
        #expect(stripped.text.contains(#""event":{"event":"view","properties":{}}"#), "\(stripped.text)")
    }

    @Test("the example in Examples/plan does what its page says")
    func example() throws {
        let folder = Project.root + "/Examples/plan/"
        func text(_ name: String) throws -> String { try String(contentsOfFile: folder + name, encoding: .utf8) }
        let router = try TestRouter(routes: text("routes.json"))
        try router.write(text("plan.json"), to: "plan.json")
        try router.write("0123456789abcdef", to: "ids.key")
        let run = try router.run(["run", "--stats", "json"], input: text("events.ndjson"))
        #expect(run.code == 0, "\(run.errors)")
        #expect(run.errors.contains(#""violations":{"count":1,"mark":1,"strip":1,"reject":1}"#), "\(run.errors)")
        let lines = router.lines("warehouse.ndjson")
        #expect(lines.count == 5 && !lines.joined().contains("ann@example.org"))
        #expect(lines.contains { $0.contains(#""violation":"/traits/plan: enum""#) }, "\(lines)")
        #expect(router.deadLetters.count == 1)
    }

    @Test("a private member that would leave stops the start")
    func privateMember() throws {
        let router = try router()
        try router.write(
            #"{"events": {"order": {"properties": {"properties": {"email": {"private": true}}}}}}"#, to: "plan.json")
        let check = try router.run(["check"])
        #expect(check.code == 78)
        #expect(check.errors.contains("properties.email of 'order' is private by the plan and would leave as it came"), "\(check.errors)")
    }
}
