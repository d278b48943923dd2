import Foundation
import Testing

@Suite("explain and the steps of a transform")
struct StepExplainTests {
    private struct Answer: Decodable {
        struct Route: Decodable {
            struct StepError: Decodable, Equatable { var member, error: String }
            var verdict, reason: String
            var found: [String: Int]
            var errors: [StepError]
        }
        var routes: [Route]
    }

    private static let gate = "takes every event; no consent section, the gate is off; "

    private func explain(_ transform: String, _ event: String, route: String = "") throws -> Answer.Route {
        let router = try TestRouter(
            routes: """
                { "providers": { "a": { "plugin": "noop" } },
                  "routes": [ { \(route) "transform": [\(transform)], "to": ["a"] } ] }
                """)
        let result = try router.run(["explain", "--json"], input: event)
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.text.contains("bob"))
        return try #require(try JSONDecoder().decode(Answer.self, from: result.output).routes.first)
    }

    @Test("findings of scrub are reported by kind and number, and never with their text")
    func finds() throws {
        let event = #"{"a":"bob@example.org, bob\u0040x.org","b":["10.1.2.3"],"n":1}"#
        let replaced = try explain(#"{ "scrub": {} }"#, event)
        #expect(replaced.reason == Self.gate + "scrub finds 2 × email, 1 × ip")
        #expect(replaced.found == ["email": 2, "ip": 1])
        #expect(replaced.errors.isEmpty)
        let twice = try explain(#"{ "scrub": { "find": ["email"], "in": ["a"], "action": "drop" } }, { "scrub": {} }"#, event)
        #expect(twice.reason == Self.gate + "drops a; scrub finds 2 × email; scrub finds 1 × ip")
        #expect(twice.found == ["email": 2, "ip": 1])
        #expect(try explain(#"{ "scrub": {} }"#, "{}").reason == Self.gate + "scrub finds nothing")
        #expect(try explain(#"{ "drop": ["a"] }"#, "{}").found.isEmpty)
    }

    @Test("an expression without a value is reported with its reason, in place of the result of its member")
    func errors() throws {
        let set = #"{ "set": { "total": { "cel": "price * 2" }, "k": 1 } }"#
        let erred = try explain(set, #"{"total":7}"#)
        #expect(erred.reason == Self.gate + "adds k; cannot set total, price: the event has no such member")
        #expect(erred.errors == [.init(member: "total", error: "price: the event has no such member")])
        #expect(try explain(set, #"{"price":2}"#).errors.isEmpty)
        let defaults = #"{ "default": { "a": { "cel": "x.y" } } }"#
        #expect(try explain(defaults, #"{"a":null}"#).errors.map(\.member) == ["a"])
        #expect(try explain(defaults, #"{"a":1}"#).reason == Self.gate + "leaves a")
        // A later step sets the member.
        let both = try explain(set + #", { "set": { "total": 3 } }"#, "{}")
        #expect(both.reason == Self.gate + "adds total, k; cannot set total, price: the event has no such member")
    }

    @Test("the step that holds an event back is named with its reason, after the stages that the event passed")
    func withheld() throws {
        let reject = #"{ "drop": ["u"] }, { "scrub": { "action": "reject" } }"#
        let rejected = try explain(reject, #"{"a":"bob@x.org bob@y.org","b":"10.1.2.3"}"#, route: #""sample": { "limit": "5/s" },"#)
        #expect(rejected.verdict == "withheld")
        #expect(rejected.reason == "transform[1] holds the event back: scrub finds 2 × email, 1 × ip")
        #expect(rejected.found == ["email": 2, "ip": 1])
        #expect(try explain(reject, "{}", route: #""sample": { "limit": "5/s" },"#).verdict == "admitted")

        let after = #"{ "set": { "t": { "cel": "p + 1" } } }, { "scrub": { "action": "reject" } }"#
        #expect(
            try explain(after, #"{"a":"bob@x.org"}"#).reason
                == "cannot set t, p: the event has no such member; transform[1] holds the event back: scrub finds 1 × email")
    }

    @Test("a step whose result is not an event is named, and a member that a step makes twice is reported")
    func broken() throws {
        let event = #"{"bob@x.org":1,"[email]":2}"#
        let later = try explain(##"{ "scrub": {} }, { "drop": ["[\"[email]\"]"] }"##, event)
        #expect(later.verdict == "withheld")
        #expect(
            later.reason
                == #"scrub finds 1 × email; transform[0] holds the event back: its result is not an event, "#
                + #"the member ["[email]"] is there twice"#)
        let router = try TestRouter(
            routes: ##"""
                { "providers": { "a": { "plugin": "noop" } },
                  "routes": [ { "transform": [ { "scrub": { "find": ["email"] } } ], "to": ["a"] },
                              { "match": { "[\"[email]\"]": 2 }, "transform": [ { "default": { "[\"[email]\"]": 1 } }, { "scrub": {} } ], "to": ["a"] } ] }
                """##)
        let result = try router.run(["explain", "--json"], input: event)
        let routes = try JSONDecoder().decode(Answer.self, from: result.output).routes
        #expect(routes.map(\.verdict) == ["admitted", "admitted"])
        #expect(routes[1].reason.hasSuffix(#"leaves twice ["[email]"]; scrub finds 1 × email"#), "\(routes[1].reason)")
    }

    @Test("a hash of any form is masked, even after a step moves it, and so is the hashed value")
    func hashes() throws {
        let router = try TestRouter(
            routes: """
                { "keys": { "ids": "0123456789abcdef" }, "providers": { "a": { "plugin": "noop" } },
                  "routes": [
                    { "transform": [ { "hash": { "fields": ["userId"], "key": "ids", "name": true, "length": 16 } },
                                     { "move": { "userId": "user.id" } } ], "to": ["a"] },
                    { "transform": [ { "rename": { "mail": "m" } }, { "hash": { "fields": ["m"], "key": "ids", "length": 8 } } ], "to": ["a"] },
                    { "match": { "mail": "x" }, "to": ["a"] } ] }
                """)
        let text = try router.run(["explain", "--json"], input: #"{"userId":"u-77","mail":"bob@x.org"}"#).text
        #expect(text.contains(#""event":{"mail":"bob@x.org","user":{"id":"(hashed)"}}"#), "\(text)")
        #expect(text.contains(#""event":{"userId":"u-77","m":"(hashed)"}"#), "\(text)")
        #expect(text.contains(#""reason":"mail is (hashed), not 'x'""#), "\(text)")
    }

    @Test("the output for people shows the same at the transform, also if the transform decides")
    func person() throws {
        let router = try TestRouter(
            routes: """
                { "providers": { "a": { "plugin": "noop" } },
                  "routes": [ { "name": "r", "sample": { "limit": "5/s" }, "transform": [ { "scrub": { "action": "reject" } } ], "to": ["a"] } ] }
                """)
        let lines = try router.run(["explain"], input: #"{"a":"bob@example.org"}"#).lines
        #expect(
            lines == [
                "r  withheld", "  filter     takes every event", "  consent    no consent section, the gate is off",
                "  sample     the sample takes every event; within the limit of 5/s",
                "  transform  transform[0] holds the event back: scrub finds 1 × email",
            ])
    }
}
