// `switchyard test`: what a test file expects, how a failure is shown, and what --update, --junit and --coverage do.

import Foundation
import Testing

@Suite("switchyard test") struct RouteTestTests {
    static let routes = """
        { "keys": { "ids": "${env:IDS}", "ledger": "0123456789abcdef" },
          "sources": { "app": { "plugin": "http", "listen": "127.0.0.1:0" }, "web": { "plugin": "stdin", "consent": "write" } },
          "consent": { "levels": { "none": [], "ads": ["ads"] }, "subject": ["userId"], "default": "ads", "ledger": { "key": "ledger" } },
          "providers": { "out": { "plugin": "console" },
                         "crm": { "plugin": "http", "url": "http://localhost:1/", "filter": { "events": ["buy_*"] },
                                  "transform": [ { "drop": ["extra"] } ] } },
          "routes": [ { "name": "buys", "events": ["buy_*", "look"], "transform": [ { "hash": { "fields": ["userId"], "key": "ids" } } ],
                        "to": ["out", "crm"] },
                      { "name": "web", "where": "source == 'web'", "consent": "none", "to": ["out"] } ] }
        """

    /// A file with a test of one event and what it expects.
    private func file(_ event: String, _ expect: String, more: String = "") -> String {
        """
        { "environment": { "IDS": "another-key-of-ids" },
          "consent": [ { "type": "consent", "userId": "u-1", "consent": { "level": "ads" } } ],
          "tests": [ { "name": "one"\(more), "event": \(event)\(expect.isEmpty ? "" : ",\n \"expect\": " + expect) } ] }

        """
    }

    private func run(_ test: String, _ arguments: [String] = []) throws -> (TestRouter, Result) {
        let router = try TestRouter(routes: Self.routes)
        try router.write(test, to: "routes.test.json")
        return (router, try router.run(["test"] + arguments))
    }

    private static let buy = #"{"event":"buy_hat","userId":"u-1","messageId":"m","extra":1.50}"#
    private static let bought =
        #"{"routes":{"buys":{"to":["crm","out"],"event":{"messageId":"m","event":"buy_hat","userId":"(hashed)","extra":1.50},"#
        + #""providers":{"crm":{"event":{"event":"buy_hat","userId":"(hashed)","messageId":"m"}}}}}}"#

    @Test("passes if the routes, the copies and the hand-overs are as the file says, in any order of members")
    func passes() throws {
        let (router, result) = try run(file(Self.buy, Self.bought))
        #expect(result.code == 0 && result.errors.isEmpty, "\(result)")
        #expect(result.lines.first == "routes.test.json: 1 of 1 tests passed")
        #expect(result.lines.dropFirst().first == "routes.json: the tests take 1 of 2 routes, and 1 of 2 branches of expressions")
        #expect(result.lines.contains("    no test takes route web"))
        #expect(result.lines.contains("    no test shows that route buys refuses without consent"))
        #expect(result.lines.contains("    no test stops at the filter of provider crm, behind route buys"))
        #expect(try router.run(["test", "--coverage"]).code == 1)
        // The ledger of the test is gone.
        #expect(router.read("state/ledger.sqlite").isEmpty)
    }

    @Test(
        "shows what differs, with the path of each member",
        arguments: [
            (#""event":"buy_hat","userId"#, #""event":"buy_cap","userId"#, #"route buys, event: event: expected "buy_cap", is "buy_hat""#),
            (#"["crm","out"]"#, #"["out"]"#, "route buys, to: expected out, is out and crm"),
            (#","extra":1.50"#, "", "route buys, event: extra: expected no such member, is 1.50"),
            (#"{"crm":{"#, #"{"crm":{"verdict":"filtered","#, "route buys, provider crm: expected filtered, is admitted: "),
            (#""messageId":"m"}}}"#, #""messageId":"m","extra":2}}}"#, "route buys, provider crm, event: extra: expected 2, is missing"),
            (#""to""#, #""verdict":"denied","to""#, "route buys: expected denied, is admitted: event is 'buy_hat', one of buy_*, look"),
            (#""to""#, #""reason":"because","to""#, "route buys, reason: expected 'because', is 'event is 'buy_hat'"),
            (#"{"routes":"#, #"{"fault":"event:1:1: no","routes":"#, "the line: expected no event: event:1:1: no, is one"),
            (#"{"routes":"#, #"{"emits":["x"],"routes":"#, "emits: expected x, is none"),
        ])
    func differences(find: String, put: String, words: String) throws {
        let expected = Self.bought.replacingOccurrences(of: find, with: put)
        #expect(expected != Self.bought)
        let (_, result) = try run(file(Self.buy, expected))
        #expect(result.code == 1)
        #expect(result.text.hasPrefix("FAILED routes.test.json: one\n    " + words), "\(words) in \(result.text)")
    }

    @Test("fails if a route takes an event that the test does not give it")
    func unnamed() throws {
        let (_, result) = try run(file(Self.buy, #"{"routes":{}}"#))
        #expect(result.code == 1 && result.text.contains("route buys: expected not to take the event, is admitted: "))
    }

    @Test("takes consent, time and source from the file")
    func given() throws {
        let denied = #"{"routes":{"buys":{"verdict":"denied"}}}"#
        #expect(try run(file(#"{"event":"look","userId":"u-2"}"#, denied)).1.code == 0)
        #expect(try run(file(#"{"event":"look","userId":"u-1"}"#, denied)).1.code == 1)
        let web = #"{"routes":{"web":{"to":["out"]}}}"#
        #expect(try run(file(#"{"event":"x"}"#, web, more: #", "source": "web""#)).1.code == 0)
        #expect(try run(file(#"{"event":"x"}"#, web, more: #", "source": "app""#)).1.code == 1)
        let router = try TestRouter(
            routes: Self.routes.replacingOccurrences(of: "source == 'web'", with: "now < timestamp('2020-01-01T00:00:00Z')"))
        for (now, code) in [(#", "now": "2019-12-31T23:59:59Z""#, 0), (#", "now": "2020-01-01T00:00:00Z""#, 1), ("", 1)] {
            try router.write(file(#"{"event":"x"}"#, web, more: now), to: "routes.test.json")
            #expect(Int(try router.run(["test"]).code) == code, "\(now)")
        }
    }

    @Test("writes what it saw with --update, keeps all else byte for byte, and then passes")
    func update() throws {
        for expect in ["", #"{"routes":{}}"#] {
            let text = file(Self.buy, expect)
            let (router, result) = try run(text, ["--update"])
            #expect(result.code == 0 && result.text.hasPrefix("routes.test.json: 1 of 1 tests written\n"), "\(result)")
            let written = router.read("routes.test.json")
            let start = try #require(text.range(of: expect.isEmpty ? "1.50}" : "\"expect\": ")).upperBound
            #expect(written.hasPrefix(text[..<start]) && written.hasSuffix(" } ] }\n"))
            #expect(written.contains(#""crm": {"event": {"event": "buy_hat", "userId": "(hashed)", "messageId": "m"}}"#), "\(written)")
            #expect(try router.run(["test"]).code == 0)
            #expect(try router.run(["test", "--update"]).code == 0 && router.read("routes.test.json") == written)
        }
    }

    @Test("asks a module what it would send if the test has the key wire")
    func wire() throws {
        let expect = #"{"routes":{"buys":{"providers":{"crm":{"wire":{}},"out":{"wire":{}}}}}}"#
        let (router, result) = try run(file(Self.buy, expect))
        #expect(
            result.code == 1 && result.text.contains(#"provider out, wire: unknown: expected no such member, is "the module console"#),
            "\(result)")
        #expect(try router.run(["test", "--update"]).code == 0)
        let written = router.read("routes.test.json")
        #expect(written.contains(#""url": "http://localhost:1/""#) && written.contains(#""unknown": "the module console cannot show what"#))
        #expect(!written.contains("extra\\\""), "the transform of the provider comes before the wire")
        #expect(try router.run(["test"]).code == 0)
    }

    @Test("writes no value from the environment, also not in a reason")
    func secrets() throws {
        let router = try TestRouter(
            routes: #"{"consent":{"levels":["none","${env:LEVEL}"],"default":"${env:LEVEL}"},"providers":{"out":{"plugin":"noop"}},"#
                + #""routes":[{"name":"r","to":["out"]}]}"#)
        let event = #"{"event":"x","context":{"consent":{"level":"none"}}}"#
        try router.write(
            #"{"environment":{"LEVEL":"very-secret-level"},"tests":[{"name":"one","event":\#(event)}]}"#, to: "routes.test.json")
        #expect(try router.run(["test", "--update"]).code == 0)
        let written = router.read("routes.test.json")
        #expect(written.contains("denied") && written.contains("(secret)"), "\(written)")
        #expect(written.components(separatedBy: "very-secret-level").count == 2, "\(written)")
    }

    @Test("judges each event as if it were the first")
    func alone() throws {
        let router = try TestRouter(
            routes:
                #"{"providers":{"out":{"plugin":"noop"}},"routes":[{"name":"r","sample":{"limit":{"rate":"1/d","burst":1}},"to":["out"]}]}"#
        )
        let test = #""event":{"event":"x"},"expect":{"routes":{"r":{"to":["out"]}}}"#
        try router.write(#"{"tests":[{"name":"one",\#(test)},{"name":"two",\#(test)}]}"#, to: "routes.test.json")
        let result = try router.run(["test"])
        #expect(result.code == 0, "\(result)")
    }

    @Test("writes JUnit XML")
    func junit() throws {
        let (router, result) = try run(file(Self.buy, #"{"routes":{}}"#), ["--junit", "out.xml"])
        #expect(result.code == 1)
        #expect(router.read("out.xml").contains(#"<testsuite name="routes.test.json" tests="1" failures="1""#))
    }

    @Test(
        "refuses a wrong file with its place",
        arguments: [
            (
                #"{"tests":[{"name":"a"}]}"#,
                "routes.test.json:1:11: tests[0]: lacks 'event': the event: an object, or a string with the line as it came"
            ),
            (#"{"tests":[],"now":"noon"}"#, #"routes.test.json:1:19: now must be a time such as "2026-03-14T09:26:53Z", is "noon""#),
            (
                #"{"environment":{"IDS":"0123456789abcdef"},"tests":[{"name":"a","event":{},"expect":{"routes":{"buy":{}}}}]}"#,
                "routes.test.json:1:52: a: unknown route 'buy', did you mean 'buys'?"
            ),
            (
                #"{"environment":{"IDS":"0123456789abcdef"},"consent":[{"type":"track"}],"tests":[{"name":"a","event":{}}]}"#,
                "routes.test.json: consent[0]: it states no consent"
            ),
            (#"{"tests":[{"name":"a","event":{}}]}"#, "routes.json:1:21: ${env:IDS}: the environment variable 'IDS' is not set"),
        ])
    func broken(text: String, words: String) throws {
        let (_, result) = try run(text)
        #expect(result.code == 78 && result.errors.contains(words), "\(result.errors)")
    }
}
