// The commands for a change of vendor: the mapping of a module, the event on the wire, the check of connections, and what a swap loses.

import Foundation
import HTTPSupport
import Testing

private let event = #"{"type":"track","event":"Signed Up","userId":"u-1","messageId":"m-1","timestamp":"2099-01-01T00:00:00Z"}"#

private func routes(_ provider: String, _ more: String = "", route: String = "") -> String {
    #"{ "providers": { "far": { \#(provider) } }, "routes": [ { \#(route)"to": ["far"] } ] \#(more) }"#
}

private func posthog(_ url: String = "http://127.0.0.1:1") -> String {
    #""plugin": "posthog", "key": "phc_s3cret", "url": "\#(url)", "compression": "none""#
}
private func ga4(_ url: String = "http://127.0.0.1:1") -> String {
    #""plugin": "ga4", "measurement_id": "G-1", "api_secret": "ga-s3cret", "url": "\#(url)""#
}

@Suite("The mapping of a module")
struct MappingCommandTests {
    @Test("it is printed as text that fits a terminal, and as JSON")
    func prints() throws {
        let router = try TestRouter()
        for module in ["amplitude", "ga4", "mixpanel", "posthog", "rudderstack", "segment", "sentry"] {
            let text = try router.run(["providers", module, "--mapping"])
            #expect(text.code == 0 && text.errors == "" && text.lines.first == "\(module) 0.1.0", "\(text.errors)")
            #expect(text.lines.allSatisfy { $0.count <= 80 } && text.text.contains("\nREFUSED\n"))
            let json = try router.run(["providers", module, "--mapping", "--json"])
            let object = try #require(try JSONSerialization.jsonObject(with: json.output) as? [String: Any])
            #expect(object.keys.sorted() == ["cuts", "mapping", "name", "refuses", "version"] && object["name"] as? String == module)
            let rows = try #require(object["mapping"] as? [[String: Any]])
            #expect(!rows.isEmpty && rows.allSatisfy { $0["from"] is String && $0["to"] is String })
        }
    }

    @Test("a module without a table says so, and wrong usage is refused")
    func without() throws {
        let router = try TestRouter()
        let noop = try router.run(["providers", "noop", "--mapping"])
        #expect(noop.code == 1 && noop.text == "" && noop.errors == "switchyard: the module noop describes no mapping\n")
        for (arguments, words) in [
            (["providers", "--mapping"], "--mapping needs the name of a module"),
            (["providers", "ga4", "--json"], "--json belongs to --mapping"),
            (["providers", "ga5", "--mapping"], "there is no module 'ga5', did you mean ga4?"),
        ] {
            let result = try router.run(arguments)
            #expect(result.code == 64 && result.errors.contains(words) && result.text == "", "\(result.errors)")
        }
    }

    @Test("a hostile description is refused, and none of its controls reach the terminal")
    func hostile() throws {
        let router = try TestRouter()
        try router.compile("inquiries", [#"-DROWS=",\"mapping\":[{\"from\":\"\\u001b[31m\",\"to\":\"x\"}]""#])
        let result = try router.run(["providers", "inquiries", "--mapping"], environment: router.moduleFolder)
        #expect(result.code == 78 && !(result.text + result.errors).contains("\u{1B}"), "\(result.text)\(result.errors)")
        #expect((result.text + result.errors).contains("inquiries cannot be used: "))
    }
}

@Suite("explain --to")
struct WireTests {
    @Test("the request is shown behind the route, the filter and the transform of the provider, without secrets")
    func request() throws {
        let shape = #", "filter": { "events": "Signed *" }, "transform": [ { "set": { "properties.plan": "pro" } } ]"#
        let router = try TestRouter(routes: routes(posthog() + shape, route: #""transform": [ { "drop": ["secret"] } ], "#))
        let input = event.dropLast() + #","secret":1}"#
        let result = try router.run(["explain", "--to", "far"], input: String(input))
        #expect(result.code == 0 && result.errors == "", "\(result.errors)")
        #expect(result.text.contains("POST http://127.0.0.1:1/batch/\n") && result.text.contains("Content-Type: application/json\n"))
        #expect(result.text.contains(#""plan": "pro""#) && !result.text.contains("s3cret") && !result.text.contains(#""secret": 1"#))
        #expect(result.text.contains(#""api_key": "***""#) && result.text.contains("on the wire"))
        let json = try router.run(["explain", "--to", "far", "--json"], input: String(input))
        let object = try #require(try JSONSerialization.jsonObject(with: json.output) as? [String: Any])
        let route = try #require((object["routes"] as? [[String: Any]])?.first)
        let wire = try #require(route["wire"] as? [String: Any])
        let request = try #require((wire["requests"] as? [[String: Any]])?.first)
        #expect(wire["provider"] as? String == "far" && request["method"] as? String == "POST")
        let body = try #require(request["body"] as? String)
        let tree = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
        #expect(tree["api_key"] as? String == "***" && (tree["batch"] as? [[String: Any]])?.first?["event"] as? String == "Signed Up")
    }

    @Test("a refusal of the module is shown with its reason")
    func refusal() throws {
        let router = try TestRouter(routes: routes(ga4()))
        let alias = #"{"type":"alias","userId":"u","previousId":"v"}"#
        let result = try router.run(["explain", "--to", "far"], input: alias)
        #expect(result.code == 0 && result.text.contains("refused: the event is an alias, and Google has nothing"), "\(result.text)")
        let json = try router.run(["explain", "--to", "far", "--json"], input: alias)
        #expect(json.text.contains(#""wire":{"provider":"far","refused":"the event is an alias, and Google has"#), "\(json.text)")
    }

    @Test("hashed members and values of the environment are masked on the wire too")
    func masks() throws {
        let keys = #", "keys": { "ids": "${env:IDS}" }"#
        let route = #""transform": [ { "hash": { "fields": ["userId"], "key": "ids" } }, { "set": { "properties.by": "${env:BY}" } } ], "#
        let router = try TestRouter(routes: routes(posthog(), keys, route: route))
        let environment = ["IDS": "0123456789abcdef-ids", "BY": "the-hidden-tag"]
        let result = try router.run(["explain", "--to", "far"], environment: environment, input: event)
        #expect(result.code == 0 && result.text.contains(#""distinct_id": "(hashed)""#), "\(result.text)")
        #expect(result.text.contains(#""by": "(secret)""#) && !result.text.contains("hidden-tag"))
        #expect(result.text.range(of: "[0-9a-f]{64}", options: .regularExpression) == nil, "a digest is shown: \(result.text)")
    }

    @Test("only routes to the provider are shown, and an event that does not reach it is explained without its module")
    func other() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": { "far": { "plugin": "noop" }, "near": { "plugin": "noop" } },
                  "routes": [ { "name": "one", "events": "x", "to": ["far", "near"] }, { "name": "two", "to": ["near"] } ] }
                """#)
        let result = try router.run(["explain", "--to", "far"], input: event)
        #expect(result.code == 0 && result.text.contains("one  filtered") && !result.text.contains("two"), "\(result.text)")
    }

    @Test("a module that cannot say what it would send is named, also in a process of its own", arguments: [false, true])
    func unable(isolated: Bool) throws {
        let router = try TestRouter(routes: routes(#""plugin": "noop", "isolate": \#(isolated)"#))
        let result = try router.run(["explain", "--to", "far"], input: event)
        let text = result.text.split { $0.isWhitespace }.joined(separator: " ")
        #expect(result.code == 1 && text.contains("the module noop cannot show what it would send"), "\(result.text)\(result.errors)")
        #expect(try router.run(["explain", "--to", "far", "--json"], input: event).text.contains(#""wire":{"provider":"far","unknown":""#))
    }

    @Test("a module in a process of its own shows the same as in the router's process")
    func isolated() throws {
        let here = try TestRouter(routes: routes(posthog())).run(["explain", "--to", "far", "--json"], input: event)
        let apart = try TestRouter(routes: routes(posthog() + #", "isolate": true"#)).run(
            ["explain", "--to", "far", "--json"], input: event)
        #expect(apart.code == 0 && apart.text == here.text && here.text.contains("/batch/"), "\(apart.text)\(apart.errors)")
    }

    @Test("an arrival that is assumed is named, and an event with a time of its own needs none")
    func arrival() throws {
        let router = try TestRouter(routes: routes(posthog()))
        let note = "the time of this command stands for the arrival"
        let own = try router.run(["explain", "--to", "far"], input: event)
        #expect(own.code == 0 && !own.text.contains(note), "\(own.text)")
        let timeless = #"{"type":"track","event":"A","userId":"u-1","messageId":"m-1"}"#
        let assumed = try router.run(["explain", "--to", "far"], input: timeless)
        #expect(assumed.code == 0 && assumed.text.contains(note), "\(assumed.text)")
        let json = try router.run(["explain", "--to", "far", "--json"], input: timeless)
        #expect(json.text.contains(#""assumes_arrival":true"#), "\(json.text)")
    }

    @Test("wrong usage is refused")
    func usage() throws {
        let router = try TestRouter(routes: routes(posthog()))
        let result = try router.run(["explain", "--to", "fat"], input: event)
        #expect(
            result.code == 64 && result.errors.contains("the configuration has no provider 'fat', did you mean far?"), "\(result.errors)")
    }

    @Test("a second check of consent is named where there is consent")
    func consent() throws {
        let section =
            #", "consent": { "levels": { "none": [], "all": ["analytics"] }, "default": "none", "unknown": { "assume": "none" } }"#
        let router = try TestRouter(routes: routes(posthog(), section))
        let result = try router.run(["explain", "--to", "far"], input: event)
        #expect(result.code == 0 && result.text.contains("nothing is asked again at the hand-over"), "\(result.text)")
        // With a ledger the records are asked, and they let the event pass.
        let keys = #", "keys": { "ids": "0123456789abcdef" }"#
        let kept = section.replacingOccurrences(of: #""consent": {"#, with: #""consent": { "ledger": "ids","#)
        try router.write(routes(posthog(), kept + keys), to: "routes.json")
        let asked = try router.run(["explain", "--to", "far", "--state", "state"], input: event)
        let text = asked.text.split { $0.isWhitespace }.joined(separator: " ")
        #expect(asked.code == 0 && text.contains("asked again at the hand-over: what is on record lets it pass now"), "\(asked)")
    }
}

@Suite("check --connect")
struct ConnectionTests {
    @Test("each provider is asked, and the worst answer is the exit code")
    func answers() throws {
        let good = Server.answering("200 OK", #"{"flags":{}}"#)
        let bad = Server.answering("401 Unauthorized", "Project API key phc_s3cret invalid")
        defer {
            good.close()
            bad.close()
        }
        let router = try TestRouter(
            routes: """
                { "providers": {
                    "good": { \(posthog(good.url)) }, "bad": { \(posthog(bad.url)) }, "google": { \(ga4(good.url)) },
                    "gone": { \(posthog("http://127.0.0.1:\(closedPort())")) }, "local": { "plugin": "noop" },
                    "own": { \(posthog(good.url)), "isolate": true } },
                  "routes": [ { "to": ["good", "bad", "google", "gone", "local", "own"] } ] }
                """)
        let all = try router.run(["check", "--connect"])
        #expect(all.code == 78 && all.errors == "" && !all.text.contains("s3cret"), "\(all.errors)")
        let starts = [
            "good: ok: PostHog knows the key in this region", "bad: refused: http://127.0.0.1:",
            "google: cannot be checked: Google takes the shape of a sample",
            "gone: no answer: cannot reach http://127.0.0.1:", "local: cannot be checked: the module noop has no destination",
            "own: ok: PostHog knows the key in this region",
        ]
        #expect(all.lines.count == starts.count && zip(all.lines, starts).allSatisfy { $0.hasPrefix($1) }, "\(all.text)")
        #expect(all.lines.count > 1 && all.lines[1].contains("answered 401: Project API key *** invalid; correct key, or region"))
        for (name, code) in [("good", 0), ("bad", 78), ("google", 0), ("gone", 69), ("local", 0)] as [(String, Int32)] {
            let one = try router.run(["check", "--connect", "--provider", name])
            #expect(one.code == code && one.lines.count == 1, "\(one.text)\(one.errors)")
        }
        #expect(good.requests.allSatisfy { !$0.line.contains("/batch/") }, "nothing is sent to the data")
    }

    @Test("a host that has no name is said to be out of reach")
    func unresolved() throws {
        let router = try TestRouter(routes: routes(posthog("http://nowhere.invalid")))
        let result = try router.run(["check", "--connect"])
        #expect(result.code == 69 && result.text.hasPrefix("far: no answer: cannot reach http://nowhere.invalid"), "\(result.text)")
    }

    @Test("wrong usage is refused")
    func usage() throws {
        let router = try TestRouter(routes: routes(posthog()))
        for (arguments, words) in [
            (["--provider", "far"], "--provider belongs to --connect"), (["--events", "x"], "--events belongs to --swap"),
            (["--connect", "--swap", "x"], "--connect and --swap do not go together"),
            (["--connect", "--state", "x"], "--connect and --state do not go together"),
            (["--connect", "--provider", "fat"], "the configuration has no provider 'fat', did you mean far?"),
        ] {
            let result = try router.run(["check"] + arguments)
            #expect(result.code == 64 && result.errors.contains(words), "\(result.errors)")
        }
    }
}

@Suite("check --swap")
struct SwapTests {
    private func router() throws -> TestRouter {
        let router = try TestRouter()
        try router.write(routes(posthog()), to: "old.json")
        try router.write(routes(ga4()), to: "new.json")
        return router
    }

    @Test("what the new module refuses, and members without a place, are losses")
    func declared() throws {
        let result = try router().run(["check", "--swap", "old.json", "new.json"])
        #expect(result.code == 1 && result.errors == "", "\(result.errors)")
        #expect(result.lines.prefix(2) == ["from old.json to new.json", "far: posthog → ga4"], "\(result.text)")
        #expect(result.text.contains("    context.device.model  (posthog: $device_model)\n"), "\(result.text)")
        #expect(result.text.contains("    names of events of more than 40 characters"))
        #expect(result.text.contains("(posthog: names of events of more than 200 characters)"))
        #expect(!result.text.contains("    userId  (") && !result.text.contains("    properties  ("))
    }

    @Test("in the other direction only what is stricter is a loss")
    func back() throws {
        let result = try router().run(["check", "--swap", "new.json", "old.json"])
        #expect(result.code == 1 && !result.text.contains("200 characters  (ga4: names"), "\(result.text)")
        #expect(!result.text.contains("has no place for them"))
    }

    @Test("a limit that both modules have is no loss, and a cut that becomes a refusal is one")
    func shared() throws {
        let router = try router()
        try router.write(routes(#""plugin": "segment", "write_key": "wk""#), to: "segment.json")
        let same = try router.run(["check", "--swap", "segment.json", "old.json"])
        #expect(!same.text.contains("group without groupId") && !same.text.contains("events without userId"), "\(same.text)")
        #expect(same.text.contains("    ids of more than 200 characters\n") && !same.text.contains("bytes"), "\(same.text)")
        try router.write(routes(#""plugin": "mixpanel", "token": "t""#), to: "mixpanel.json")
        try router.write(routes(#""plugin": "braze", "key": "k", "instance": "iad-01""#), to: "braze.json")
        let refused = try router.run(["check", "--swap", "mixpanel.json", "braze.json"])
        #expect(refused.text.contains("    texts in properties of more than 255 characters"), "\(refused.text)")
    }

    @Test("without FILE the new configuration is routes.json, and the report says so")
    func oneFile() throws {
        let router = try router()
        try router.write(routes(ga4()), to: "routes.json")
        let result = try router.run(["check", "--swap", "old.json"])
        #expect(result.code == 1 && result.lines.first == "from old.json to routes.json", "\(result.text)\(result.errors)")
    }

    @Test("a sample is counted by reason, and what the old module refuses too is no loss")
    func sample() throws {
        let router = try router()
        let long = String(repeating: "n", count: 60)
        let events = [
            #"{"type":"track","event":"A","userId":"u"}"#, #"{"type":"track","event":"\#(long)","userId":"u"}"#,
            #"{"type":"track","event":"\#(long)","userId":"u"}"#, #"{"type":"track","event":"B"}"#, "no event",
            #"{"type":"alias","userId":"u","previousId":"v"}"#,
        ]
        try router.write(events.map { $0 + "\n" }.joined(), to: "sample.ndjson")
        for source in ["sample.ndjson", "-"] {
            let input = source == "-" ? router.read("sample.ndjson") : ""
            let result = try router.run(["check", "--swap", "old.json", "new.json", "--events", source], input: input)
            #expect(result.code == 1 && result.errors.contains("1 lines of the sample are no events"), "\(result.errors)")
            #expect(result.text.contains("  of 5 events of the sample, 5 reach the provider\n"), "\(result.text)")
            #expect(result.text.contains("    2 refused: the name of the event has more than 40 characters\n"))
            #expect(result.text.contains("    1 refused: the event is an alias, and Google has nothing that joins two users\n"))
            #expect(result.text.contains("  1 refused, 1 of them by the old module too: the event has no client_id\n"))
        }
    }

    @Test("the sample passes the routes, and consent keeps nothing from it")
    func routed() throws {
        let router = try TestRouter()
        let section = #", "consent": { "levels": { "none": [], "all": ["a"] }, "default": "all", "unknown": "deny" }"#
        try router.write(routes(posthog(), section, route: #""events": "A", "#), to: "old.json")
        try router.write(routes(ga4(), section, route: #""events": "A", "#), to: "new.json")
        let events = #"{"type":"track","event":"A","userId":"u"}"# + "\n" + #"{"type":"track","event":"B","userId":"u"}"# + "\n"
        let result = try router.run(["check", "--swap", "old.json", "new.json", "--events", "-"], input: events)
        #expect(result.text.contains("  of 2 events of the sample, 1 reach the provider\n"), "\(result.text)")
    }

    @Test("without another module, or without a mapping, no loss is known")
    func none() throws {
        let router = try router()
        let same = try router.run(["check", "--swap", "old.json", "old.json"])
        #expect(same.code == 0 && same.text == "no provider of old.json has another module than in old.json\n")
        try router.write(routes(#""plugin": "noop""#), to: "noop.json")
        let noop = try router.run(["check", "--swap", "old.json", "noop.json", "--events", "-"], input: event)
        #expect(noop.code == 0 && noop.text.contains("noop describes no mapping, so what it does with events is not known"), "\(noop.text)")
        #expect(noop.text.contains("the sample was not tried: the module noop cannot show what it would send"))
    }

    @Test("files that are missing or wrong are reported")
    func faults() throws {
        let router = try router()
        #expect(try router.run(["check", "--swap", "none.json", "new.json"]).code == 78)
        #expect(try router.run(["check", "--swap", "old.json", "none.json"]).code == 78)
        let events = try router.run(["check", "--swap", "old.json", "new.json", "--events", "none"])
        #expect(events.code == 69 && events.errors.contains("none: No such file"), "\(events.errors)")
        let twice = try router.run(["check", "--swap", "-", "new.json", "--events", "-"])
        #expect(twice.code == 64 && twice.errors.contains("only one of"), "\(twice.errors)")
    }
}
