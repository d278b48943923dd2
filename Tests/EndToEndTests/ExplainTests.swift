import Foundation
import Testing

@Suite("explain")
struct ExplainTests {
    /// A plan with most features of a route, and one file for each route.
    static let rich = """
        { "keys": { "ids": "${env:IDS}" },
          "consent": {
            "levels": { "none": [], "essential": ["operations"], "standard": ["operations", "analytics"] },
            "unknown": { "assume": "essential" }, "default": "standard",
            "fields": { "traits.role": "standard" }, "events": { "item_bought": "standard" } },
          "providers": {
            "a": { "plugin": "file", "path": "a.ndjson" }, "b": { "plugin": "file", "path": "b.ndjson" },
            "c": { "plugin": "file", "path": "c.ndjson" }, "d": { "plugin": "noop" } },
          "routes": [
            { "name": "errors", "events": ["error_*", "*_failed"], "consent": "none", "transform": [ { "drop": ["userId"] } ], "to": ["a", "d"] },
            { "name": "product", "events": "item_*", "match": { "type": "track", "properties.source": ["app", "web"] },
              "transform": [ { "drop": ["context.ip", "gone"] }, { "hash": { "fields": ["userId"], "key": "ids" } },
                             { "set": { "context.by": "${env:BY}", "context.n": 1 } } ], "to": ["b"] },
            { "name": "some", "consent": { "level": "essential", "purposes": ["operations"] },
              "sample": { "rate": 0.25, "by": "userId", "keep": ["error_*"] }, "to": ["c"] } ] }
        """
    static let environment = ["IDS": "0123456789abcdef-ids", "BY": "the-hidden-tag"]

    private static let event =
        #"{"type":"track","event":"item_viewed","userId":"u-1","properties":{"source":"web"},"traits":{"role":"x"},"context":{"ip":"10.0.0.1","consent":{"level":"standard"}}}"#

    private struct Route: Decodable, Equatable {
        var name: String
        var verdict: String
        var stage: String?
        var reason: String
        var to: [String]
    }
    private struct Answer: Decodable { var routes: [Route] }

    private func explain(_ router: TestRouter, _ event: String) throws -> [Route] {
        let result = try router.run(["explain", "--json"], environment: Self.environment, input: event)
        return try JSONDecoder().decode(Answer.self, from: result.output).routes
    }

    func object(_ result: Result) throws -> [[String: Any]] {
        let object = try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
        #expect(object.keys.sorted() == ["routes"])
        return try #require(object["routes"] as? [[String: Any]])
    }

    @Test("the rule for unknown subjects by member or place is reported, and check lists it")
    func unknown() throws {
        let router = try TestRouter(
            routes: """
                { "consent": { "levels": { "none": [], "all": ["analytics"] }, "default": "all",
                    "unknown": { "for": "${env:PLACE}", "else": "deny", "is": { "production":
                      { "by": "context.region", "is": { "DE": "deny", "US": { "assume": "all" } }, "else": { "assume": "none" } } } } },
                  "providers": { "a": { "plugin": "noop" } }, "routes": [ { "to": ["a"] } ] }
                """)
        func reason(_ event: String, _ place: String = "production") throws -> String {
            let result = try router.run(["explain", "--json"], environment: ["PLACE": place], input: event)
            let route = try JSONDecoder().decode(Answer.self, from: result.output).routes[0]
            return "\(route.verdict): \(route.reason)"
        }
        let us = #"{"context":{"region":"US"}}"#
        #expect(
            try reason(us).hasSuffix(
                #"level all (assumed where context.region is 'US', the event carries no consent), all is demanded"#))
        #expect(
            try reason(#"{"context":{"region":"DE"}}"#)
                == #"denied: the event carries no consent, and unknown subjects are denied where context.region is 'DE'"#)
        #expect(
            try reason("{}")
                == "denied: level none is below all; the event carries no consent, none is assumed where there is no context.region")
        #expect(try reason(us, "staging") == "denied: the event carries no consent, and unknown subjects are denied")
        let checked = try router.run(["check"], environment: ["PLACE": "production"]).text
        #expect(checked.contains("by context.region unknown subjects are denied where it is DE, assumed to have all where it is US"))
    }

    @Test("the reason names what excluded an event, or the route that took it")
    func notAndElse() throws {
        let router = try TestRouter(
            routes: """
                { "providers": { "a": { "plugin": "noop" } },
                  "routes": [
                    { "name": "named", "events": ["item_*"], "not": { "events": ["*_test"], "match": { "type": ["page", "screen"] } }, "to": ["a"] },
                    { "name": "rest", "else": true, "to": ["a"] } ] }
                """)
        func reasons(_ event: String) throws -> [String] { try explain(router, event).map { "\($0.verdict): \($0.reason)" } }
        #expect(
            try reasons(#"{"event":"item_viewed"}"#) == [
                "admitted: event is 'item_viewed', as item_*; no consent section, the gate is off", "filtered: taken before, by named",
            ])
        #expect(
            try reasons(#"{"event":"item_test"}"#) == [
                "filtered: event is 'item_test', excluded by *_test",
                "admitted: no route took it before; no consent section, the gate is off",
            ])
        #expect(try reasons(#"{"event":"item_x","type":"page"}"#)[0] == "filtered: type is 'page', excluded by 'page', 'screen'")
    }

    @Test("the reason names the origin of a rate and the limit")
    func samples() throws {
        let router = try TestRouter(
            routes: """
                { "providers": { "a": { "plugin": "noop" } },
                  "routes": [
                    { "sample": { "rate": 1, "rates": { "item_*": 0.25 }, "by": "userId", "annotate": true }, "to": ["a"] },
                    { "sample": { "target": "60/m", "limit": "30/m", "annotate": "context.rate" }, "to": ["a"] } ] }
                """)
        func reasons(_ event: String) throws -> [String] { try explain(router, event).map { "\($0.verdict): \($0.reason)" } }
        let before = "admitted: takes every event; no consent section, the gate is off; the sample takes every event"
        #expect(
            try reasons(#"{"event":"item_1","userId":"c"}"#) == [
                "sampled_out: userId hashes to 0.69, the sample takes hashes below 0.25 of item_*",
                before + ", for 1/s; within the limit of 30/m; adds context.rate",
            ])
        #expect(try reasons(#"{"event":"other"}"#)[0] == before + "; adds sampleRate")
    }

    @Test("the names of emitted events are reported, and their routes are not mixed with those of the event")
    func emits() throws {
        let router = try TestRouter(
            routes: """
                { "providers": { "a": { "plugin": "noop" } },
                  "emit": [ { "where": "ms > 5", "event": { "event": "slow", "of": { "cel": "event" } } } ],
                  "routes": [ { "name": "slow", "events": "slow", "to": ["a"] }, { "name": "all", "to": ["a"] } ] }
                """)
        let result = try router.run(["explain", "--json"], input: #"{"event":"get","ms":7}"#)
        #expect(result.text.hasSuffix(#"],"emits":["slow"],"emit_errors":[]}"# + "\n"), "\(result.text)")
        #expect(try explain(router, #"{"event":"get","ms":7}"#).map(\.verdict) == ["filtered", "admitted"])
        #expect(try router.run(["explain"], input: #"{"event":"get","ms":7}"#).text.hasSuffix("\n\nemits slow\n"))
        let lacking = #"["emit[0]: ms: the event has no such member"]"#
        #expect(try router.run(["explain", "--json"], input: "{}").text.hasSuffix(#","emits":[],"emit_errors":\#(lacking)}"# + "\n"))
        let person = try router.run(["explain"], input: #"{"ms":7}"#).text
        #expect(person.hasSuffix("\n\nmakes no event, since emit[0]: event: the event has no such member\n"))
        let run = try router.run(["--stats", "text"], input: #"{"event":"get","ms":7}"# + "\n{}\n")
        #expect(run.errors.contains("received 2: 2 valid, 0 rejected; 1 emitted\n"), "\(run.errors)")
        #expect(run.errors.contains("route slow: 1 admitted, 2 filtered (events)\n") && run.errors.contains("emit errors: 1\n"))
    }

    @Test("--json has exactly the documented keys for every verdict")
    func keys() throws {
        let router = try TestRouter(routes: Self.rich)
        for event in [Self.event, "{}", #"{"event":"error_1"}"#, "nonsense"] {
            for route in try object(router.run(["explain", "--json"], environment: Self.environment, input: event)) {
                #expect(route.keys.sorted() == ["errors", "event", "found", "name", "reason", "stage", "to", "verdict"])
                #expect((route["event"] is [String: Any]) == (route["verdict"] as? String == "admitted"))
                #expect((route["to"] as? [String])?.isEmpty == (route["verdict"] as? String != "admitted"))
                #expect((route["stage"] is NSNull) == (route["verdict"] as? String == "admitted"))
            }
        }
    }

    @Test("the reason names the deciding member")
    func reasons() throws {
        let router = try TestRouter(routes: Self.rich)
        func reason(_ event: String, _ route: Int) throws -> String {
            let route = try explain(router, event)[route]
            return "\(route.verdict) at \(route.stage ?? "the end"): \(route.reason)"
        }
        func item(_ context: String, name: String = "item_viewed") -> String {
            #"{"type":"track","event":"\#(name)","properties":{"source":"web"},"context":{\#(context)}}"#
        }
        #expect(try reason(#"{"event":"page_view"}"#, 0) == "filtered at filter: event is 'page_view', none of error_*, *_failed")
        #expect(try reason("{}", 1) == "filtered at filter: event is absent, not item_*")
        #expect(try reason(#"{"event":"item_x","type":"page"}"#, 1) == "filtered at filter: type is 'page', not 'track'")
        #expect(
            try reason(#"{"event":"item_x","type":"track","properties":{"source":7}}"#, 1)
                == "filtered at filter: properties.source is 7, none of 'app', 'web'")
        #expect(
            try reason(item(#""consent":{"level":"essential"}"#), 1)
                == "denied at consent: level essential is below standard, by context.consent.level")
        #expect(
            try reason(item(""), 1)
                == "denied at consent: level essential is below standard; the event carries no consent, essential is assumed")
        #expect(
            try reason(item(#""gpc":true"#), 1)
                == "denied at consent: level none is below standard, by context.gpc; the event grants nothing, essential is assumed")
        #expect(
            try reason(item(#""consent":{"level":"lots"},"gpc":1"#), 1)
                == "denied at consent: context.consent.level must be the name of a level, or a list of such names, is 'lots'; context.gpc must be true or false, is 1"
        )
        #expect(
            try reason(item(#""consentManagement":{"allowedConsentIds":["analytics"],"deniedConsentIds":["operations"]}"#), 2)
                == "denied at consent: level none is below essential, by context.consentManagement.allowedConsentIds, context.consentManagement.deniedConsentIds"
        )
        #expect(
            try reason(item(#""consent":{"level":"essential"}"#, name: "item_bought"), 2)
                == "denied at consent: level essential is below standard, as events item_bought demand, by context.consent.level")
        #expect(
            try reason(#"{"userId":"c","messageId":"m","context":{"consent":{"level":"standard"}}}"#, 2)
                == "sampled_out at sample: userId hashes to 0.69, the sample takes hashes below 0.25")
        let absent = try reason(#"{"messageId":"m","context":{"consent":{"level":"standard"}}}"#, 2)
        #expect(absent.contains("userId is absent, messageId hashes to "), "\(absent)")
        let unfit = try reason(#"{"userId":null,"context":{"consent":{"level":"standard"}}}"#, 2)
        #expect(unfit.contains("userId cannot be hashed, messageId is absent, the event's bytes hash to "), "\(unfit)")
        #expect(
            try reason(#"{"event":"error_1","context":{"consent":{"level":"standard"}}}"#, 2)
                == "admitted at the end: takes every event; level standard (context.consent.level), essential is demanded; "
                + "purpose operations granted; event is 'error_1', always in the sample")
    }

    @Test("the reason names the deciding member of a mapped consent signal")
    func mappedConsent() throws {
        let router = try TestRouter(
            routes: """
                { "consent": { "levels": { "none": [], "all": ["analytics"] }, "default": { "purposes": ["analytics"] },
                               "unknown": { "assume": "all" },
                               "map": { "tcf": { "analytics": { "purposes": [8] } }, "gpp": { "analytics": ["sale"] },
                                        "google": { "analytics": ["analytics_storage"] } } },
                  "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }
                """)
        func reason(_ member: String) throws -> String? { try explain(router, #"{"context":{"consent":{\#(member)}}}"#).first?.reason }
        let nothing = "CQSbk4AQSbk4ANwAAAENAwCgAAAAAAAAAAYgACPAAAAA"
        #expect(try reason(#""tcf":"\#(nothing)""#) == "purpose analytics not granted by context.consent.tcf")
        #expect(try reason(#""gpp":"DBABT~1YYN""#) == "purpose analytics refused by context.consent.gpp")
        #expect(try reason(#""google":{"analytics_storage":"denied"}"#) == "purpose analytics not granted by context.consent.google")
        #expect(try reason(#""tcf":"x""#) == "context.consent.tcf must be a TC string of version 2, is 'x'")
        #expect(try reason(#""gpp":"x""#) == "context.consent.gpp must be a GPP string of version 1, is 'x'")
        #expect(
            try reason(#""google":{"analytics_storage":1}"#)
                == #"context.consent.google must be an object of signals that are "granted" or "denied", is an object"#)
    }

    @Test("the reason names the member that refused a purpose")
    func purposes() throws {
        let router = try TestRouter(
            routes: """
                { "consent": { "levels": { "none": [], "all": ["analytics", "ads"] }, "default": { "purposes": ["analytics"] } },
                  "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }
                """)
        let refused = #"{"context":{"consent":{"level":"all"},"consentManagement":{"deniedConsentIds":["analytics"]}}}"#
        #expect(try explain(router, refused)[0].reason == "purpose analytics refused by context.consentManagement.deniedConsentIds")
        let silent = #"{"context":{"consent":{"purposes":["ads"]}}}"#
        #expect(try explain(router, silent)[0].reason == "purpose analytics not granted by context.consent.purposes")
        #expect(try explain(router, "{}")[0].reason == "the event carries no consent, and unknown subjects are denied")
        #expect(
            try explain(router, #"{"context":{"gpc":true}}"#)[0].reason
                == "the event grants nothing (context.gpc), and unknown subjects are denied")
        let granted = #"{"context":{"consent":{"level":"all"}}}"#
        #expect(
            try explain(router, granted)[0].reason
                == "takes every event; level all (context.consent.level), none is demanded; purpose analytics granted")
    }

    @Test("an admitted event is shown as its providers get it, with hashes and secrets masked")
    func masks() throws {
        let router = try TestRouter(routes: Self.rich)
        for arguments in [["explain"], ["explain", "--json"]] {
            let result = try router.run(arguments, environment: Self.environment, input: Self.event)
            #expect(result.code == 0)
            #expect(result.errors == "")
            #expect(!result.text.contains("hidden-tag"))
            #expect(!result.text.contains("0123456789abcdef"))
            #expect(result.text.contains("(hashed)"))
            #expect(result.text.contains("(secret)"))
        }
        let product = try object(router.run(["explain", "--json"], environment: Self.environment, input: Self.event))[1]
        let event = try #require(product["event"] as? [String: Any])
        #expect(event["userId"] as? String == "(hashed)")
        let context = try #require(event["context"] as? [String: Any])
        #expect(context["by"] as? String == "(secret)")
        #expect(context["n"] as? Int == 1)
        #expect(context["ip"] == nil)
        let reason = try #require(product["reason"] as? String)
        #expect(reason.hasSuffix("drops context.ip; finds no gone; hashes userId; adds context.by, context.n"))
    }

    @Test("the value of a member that some route hashes is in no reason, and the value of a placeholder is never shown")
    func maskedReasons() throws {
        let router = try TestRouter(
            routes: """
                { "keys": { "ids": "0123456789abcdef" }, "providers": { "out": { "plugin": "noop" } },
                  "routes": [ { "match": { "userId": "someone" }, "to": ["out"] },
                              { "match": { "tag": "${env:TAG}" }, "events": ["${env:NAME}"], "to": ["out"] },
                              { "events": "x", "match": { "tag": ["${env:TAG}", "b"] }, "to": ["out"] },
                              { "transform": [ { "hash": { "fields": ["userId"], "key": "ids" } } ], "to": ["out"] } ] }
                """)
        let secrets = ["TAG": "tag-secret", "NAME": "name-secret"]
        let result = try router.run(["explain", "--json"], environment: secrets, input: #"{"event":"x","userId":"u-77","tag":"c"}"#)
        let routes = try JSONDecoder().decode(Answer.self, from: result.output).routes
        #expect(routes[0].reason == "userId is (hashed), not 'someone'")
        #expect(routes[1].reason == "event is 'x', not (secret)")
        #expect(routes[2].reason == "tag is 'c', none of (secret), 'b'")
        #expect(!result.text.contains("-secret"))
        #expect(!result.text.contains("u-77"))
    }

    @Test("a line that is not an event is rejected by every route, with its place, and the exit code is 65")
    func rejected() throws {
        let router = try TestRouter(routes: Self.rich)
        let result = try router.run(["explain", "--json"], environment: Self.environment, input: "\n{\"a\":tru}\n")
        #expect(result.code == 65)
        let routes = try JSONDecoder().decode(Answer.self, from: result.output).routes
        #expect(routes.map(\.verdict) == ["rejected", "rejected", "rejected"])
        for route in routes {
            #expect(route.stage == "input")
            #expect(route.reason == "stdin:2:9: expected true, false or null, found 0x7d '}'")
        }
        let run = try router.run(environment: Self.environment, input: "\n{\"a\":tru}\n")
        #expect(run.errors.contains(routes[0].reason), "run reports the same: \(run.errors)")
        let person = try router.run(["explain"], environment: Self.environment, input: "\n{\"a\":tru}\n")
        #expect(person.code == 65)
        #expect(
            person.lines == [
                "rejected  stdin:2:9: expected true, false or null, found 0x7d '}'", "No route sees it: errors, product, some",
            ])
    }

    @Test("a line over the limit, and an event that is too deep, are rejected as in a run")
    func limits() throws {
        let router = try TestRouter(
            routes:
                #"{ "limits": { "line": "20B", "depth": 2 }, "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }"#
        )
        #expect(try explain(router, #"{"a":"0123456789012345"}"#)[0].reason.contains("more than limits.line allows (20)"))
        #expect(try explain(router, #"{"a":{"b":{}}}"#)[0].reason.contains("nests deeper than 2 levels"))
    }

    @Test(
        "explain takes exactly one event, and says how to get one",
        arguments: [
            ("", "explain takes one event, was given none"), ("\n \n", "explain takes one event, was given none"),
            ("{}\n{}\n", "explain takes one event on one line, was given 2 lines"),
            (
                "{\n  \"a\": 1\n}\n",
                "explain takes one event on one line, was given 3 lines; pick one with head -n 1, or put an event of several lines on one with jq -c ."
            ),
        ])
    func oneEvent(input: String, message: String) throws {
        let result = try TestRouter(routes: passThrough).run(["explain"], input: input)
        #expect(result.errors.hasPrefix("switchyard: " + message))
        #expect(result.errorLines.count == 1)
        #expect(result.text == "")
        #expect(result.code == 64)
    }

    @Test("the event can be in a file, with any line end, and a missing file is reported")
    func files() throws {
        let router = try TestRouter(routes: passThrough)
        try router.write("{\"a\":1}\r\n", to: "event.json")
        let fromFile = try router.run(["explain", "--json", "event.json"])
        #expect(
            fromFile.text
                == #"{"routes":[{"name":"routes[0]","verdict":"admitted","stage":null,"reason":"takes every event; no consent section, the gate is off","event":{"a":1},"to":["out"],"found":{},"errors":[]}]}"#
                + "\n")
        #expect(try router.run(["explain", "--json", "-"], input: "{\"a\":1}").text == fromFile.text)
        let gone = try router.run(["explain", "gone.json"])
        #expect(gone.code == 69)
        #expect(gone.errors == "switchyard: gone.json: No such file or directory\n")
        #expect(try router.run(["explain", "-c", "-"], input: "{}").code == 64)
        #expect(try router.run(["explain", "-c", "gone.json"], input: "{}").code == 78)
    }

    @Test("the output for people stays within 80 columns and has no colour in a pipe and no control characters")
    func person() throws {
        let router = try TestRouter(routes: Self.rich)
        let event =
            #"{"type":"track","event":"item_viewed","userId":"u","properties":{"source":"web","list":[1,2,{"long":"\#(String(repeating: "x", count: 30))"}],"words":["\#((0..<30).map { "w\($0)" }.joined(separator: "\",\""))"],"bidi":"a\#u{202e}b\#u{9b}31m"},"context":{"consent":{"level":"standard"}}}"#
        let result = try router.run(["explain"], environment: Self.environment.merging(["TERM": "xterm"]) { $1 }, input: event)
        #expect(result.code == 0)
        #expect(result.lines.allSatisfy { $0.count <= 80 }, "\(result.text)")
        #expect(!result.text.unicodeScalars.contains { $0.value == 0x1b || $0.value == 0x9b || $0.value == 0x202e })
        #expect(result.text.contains(#""a\u202eb\u009b31m""#))
        let words = result.lines
        #expect(words.first == "errors  filtered")
        #expect(words.contains("product  admitted → b"))
        for stage in ["filter", "consent", "transform", "event"] { #expect(words.contains { $0.hasPrefix("  \(stage) ") }) }
    }

    @Test("an event that nests as deep as allowed is shown")
    func deep() throws {
        let router = try TestRouter(
            routes: #"{ "limits": { "depth": 100000 }, "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }"#)
        let event = "{\"a\":" + String(repeating: "[", count: 99_000) + String(repeating: "]", count: 99_000) + "}"
        #expect(try router.run(["explain"], input: event).code == 0)
        #expect(try router.run(["explain", "--json"], input: event).text.contains(event))
    }
}
