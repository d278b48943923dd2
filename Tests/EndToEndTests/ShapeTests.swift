// Filters and transforms of providers: one route with several providers, queues that follow a provider to another shape, dead letters, a
// reload, and a kill.

import Foundation
import Glibc
import TestSupport
import Testing

/// A plan with a queue on disk, whose provider is `down` or a file.
private func plan(_ provider: String, shape: String, deadline: String = "1ms") -> String {
    """
    { "shutdown": { "deadline": "\(deadline)" }, "message_id": { "add": false },
      "providers": { "far": { \(provider)\(shape), "delivery": { "queue": { "disk": "10MB" }, "batch": { "wait": "1ms" } } } },
      "routes": [ { "name": "all", "transform": [ { "drop": ["secret"] } ], "to": ["far"] } ] }
    """
}

private let down = #""plugin": "http", "url": "http://127.0.0.1:9/""#
private let file = #""plugin": "file", "path": "out.ndjson""#

@Suite("Filters and transforms of providers, end to end")
struct ShapeTests {
    private func account(_ result: Result) throws -> [String: Any] {
        let line = result.errorLines.last { $0.hasPrefix("{") } ?? "{}"
        return try JSONSerialization.jsonObject(with: Data(line.utf8)) as! [String: Any]
    }

    @Test("one route serves two providers, each with a filter and a transform of its own")
    func twoProviders() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": {
                    "one": { "plugin": "file", "path": "one.ndjson", "filter": { "events": "a*", "where": "n > 1" } },
                    "two": { "plugin": "file", "path": "two.ndjson", "filter": { "not": { "events": "b" } },
                             "transform": [ { "rename": { "event": "name" } }, { "set": { "double": { "cel": "n * 2" } } },
                                            { "scrub": { "action": "reject" } } ] },
                    "all": { "plugin": "file", "path": "all.ndjson" } },
                  "routes": [ { "transform": [ { "drop": ["secret"] } ], "to": ["one", "two", "all"] } ] }
                """#)
        let events = [
            #"{"event":"a","n":1,"secret":1}"#, #"{"event":"a","n":2}"#, #"{"event":"b","n":3}"#, #"{"event":"a"}"#,
            #"{"event":"c","n":4,"mail":"bob@example.org"}"#, #"{"event":"c","n":"x"}"#,
        ]
        let run = try router.run(["run", "--stats", "json"], input: events.map { $0 + "\n" }.joined())
        #expect(run.code == 0, "\(run.errors)")
        #expect(router.lines("one.ndjson") == [#"{"event":"a","n":2}"#])
        #expect(
            router.lines("two.ndjson") == [
                #"{"name":"a","n":1,"double":2}"#, #"{"name":"a","n":2,"double":4}"#, #"{"name":"a"}"#, #"{"name":"c","n":"x"}"#,
            ])
        #expect(router.lines("all.ndjson").count == 6 && router.lines("all.ndjson")[0] == #"{"event":"a","n":1}"#)
        #expect(router.deadLetters == [])
        let providers = try #require(try account(run)["providers"] as? [[String: Any]])
        #expect(providers.map { $0["taken"] as? Int } == [6, 6, 6])
        #expect(providers.map { $0["delivered"] as? Int } == [1, 4, 6])
        #expect(providers.map { $0["filtered"] as? Int } == [5, 2, 0])
        #expect(providers.map { $0["transform_errors"] as? Int } == [0, 2, 0])
        let reasons = providers.map { ($0["filtered_by"] as? [String: Int])?.filter { $0.value > 0 } }
        #expect(reasons == [["events": 3, "where": 1, "where_errors": 1], ["not": 1, "withheld": 1], [:]])
    }

    @Test("the status and the metrics have the fate, and a filter makes no run incomplete")
    func status() throws {
        let router = try TestRouter(routes: plan(file, shape: #", "filter": { "events": "a" }"#, deadline: "10s"))
        let run = try router.startRouter(["--stats", "text"])
        run.send("{\"event\":\"a\"}\n{\"event\":\"b\"}\n")
        try waitUntil("both have a fate") { (try router.status()["lanes"] as! [[String: Any]])[0]["filtered"] as? Int == 1 }
        let metrics = try router.command("status", "--metrics")
        if metrics.code == 0 { #expect(metrics.text.contains(#"switchyard_lane_settled_total{provider="far",fate="filtered"} 1"#)) }
        let result = run.finish()
        #expect(result.code == 0 && result.errors.contains("provider far: 2 taken: 1 delivered, 1 filtered"), "\(result.errors)")
    }

    @Test("a queue on disk arrives in the shape of the provider that delivers it, also after a kill", arguments: [SIGTERM, SIGKILL])
    func follows(_ signal: Int32) throws {
        let router = try TestRouter(routes: plan(down, shape: #", "transform": [ { "set": { "for": "old" } } ]"#))
        let run = try router.startRouter()
        run.send((0..<30).map { "{\"n\":\($0),\"secret\":1}\n" }.joined())
        try waitUntil("they wait") { (try router.status()["lanes"] as! [[String: Any]])[0]["events"] as? Int == 30 }
        run.end(by: signal)
        let shape = #", "filter": { "where": "n % 3 != 0" }, "transform": [ { "set": { "for": "new" } } ]"#
        try router.write(plan(file, shape: shape, deadline: "10s"), to: "routes.json")
        let result = try router.run(["run", "--stats", "json"])
        #expect(result.code == 0, "\(result.errors)")
        let expected = (0..<30).filter { $0 % 3 != 0 }.map { "{\"n\":\($0),\"for\":\"new\"}" }
        #expect(router.lines("out.ndjson") == expected)
        #expect(result.errors.contains("\"resumed\":30,\"delivered\":20,\"filtered\":10"), "\(result.errors)")
        // All of them have left the queue.
        let next = try router.run(["run", "--stats", "json"])
        #expect(next.code == 0 && next.errors.contains("\"resumed\":0") && router.lines("out.ndjson").count == 20)
    }

    @Test("a reload applies a changed shape to what waits, and keeps the instance of the module")
    func reload() throws {
        let wait = #""delivery": { "batch": { "wait": "1h" } }"#
        func text(_ shape: String) -> String {
            #"{ "providers": { "out": { "plugin": "file", "path": "out.ndjson", \#(shape)\#(wait) } }, "routes": [ { "to": ["out"] } ] }"#
        }
        let router = try TestRouter(routes: text(""))
        let run = try router.startRouter(["--stats", "json"])
        run.send("{\"n\":1}\n{\"n\":2}\n")
        try waitUntil("they wait") { (try router.status()["lanes"] as! [[String: Any]])[0]["events"] as? Int == 2 }
        try router.replace("routes.json", with: text(#""filter": { "where": "n == 2" }, "transform": [ { "set": { "x": 1 } } ], "#))
        #expect(try router.command("reload").text == "routes.json was loaded; kept: out\n")
        let result = run.finish()
        #expect(result.code == 0 && router.lines("out.ndjson") == [#"{"n":2,"x":1}"#], "\(result.errors)")
    }

    @Test("a dead letter keeps the event as the route made it, and a replay shapes it again")
    func letters() throws {
        let shape = #", "transform": [ { "set": { "y": { "cel": "x + 1" } } } ]"#
        let router = try TestRouter(routes: plan(file, shape: shape, deadline: "10s"))
        let run = try router.run(["run", "--stats", "json"], input: "{\"x\":1,\"x\":2,\"secret\":1}\n{\"x\":1}\n")
        #expect(run.code == 69 && run.errors.contains("\"rejected\":1"), "\(run.errors)")
        #expect(router.lines("out.ndjson") == [#"{"x":1,"y":2}"#])
        #expect(router.deadLetters.count == 1 && router.deadLetters[0].contains(#"{"x":1,"x":2}"#), "\(router.deadLetters)")
        // Another transform can read it; the filter of a third one leaves it out.
        try router.write(plan(file, shape: #", "transform": [ { "set": { "z": 1 } } ]"#, deadline: "10s"), to: "routes.json")
        let replay = try router.command("replay")
        #expect(replay.code == 0, "\(replay.text)\(replay.errors)")
        #expect(router.lines("out.ndjson").last == #"{"x":1,"x":2,"z":1}"#)
        #expect(router.deadLetters == [])
    }

    @Test("a replay removes letters that the filter of the provider leaves out, and does not count them as delivered")
    func filteredLetters() throws {
        let router = try TestRouter(routes: plan(file, shape: #", "transform": [ { "set": { "y": { "cel": "x" } } } ]"#, deadline: "10s"))
        #expect(try router.run(["run"], input: "{\"x\":1,\"x\":2}\n").code == 69)
        try router.write(plan(file, shape: #", "filter": { "events": "wanted" }"#, deadline: "10s"), to: "routes.json")
        let replay = try router.command("replay", "--json")
        #expect(replay.code == 0 && replay.text.contains("\"delivered\":0") && replay.text.contains("\"filtered\":1"), "\(replay.text)")
        #expect(router.lines("out.ndjson") == [] && router.deadLetters == [])
    }

    @Test("explain shows what each provider with a shape would get, and masks what the route hashed, wherever it went")
    func explains() throws {
        let router = try TestRouter(
            routes: #"""
                { "keys": { "ids": "an example's key of some length" }, "message_id": { "add": false },
                  "providers": { "crm": { "plugin": "console", "filter": { "events": "order_*" },
                                          "transform": [ { "set": { "who": { "cel": "userId" } } }, { "rename": { "userId": "id" } } ] },
                                 "few": { "plugin": "console", "filter": { "where": "n > 5" } },
                                 "all": { "plugin": "console" } },
                  "routes": [ { "name": "r", "transform": [ { "hash": { "fields": ["userId"], "key": "ids" } } ],
                                "to": ["crm", "few", "all"] } ] }
                """#)
        let event = #"{"event":"order_done","userId":"u1","n":1}"#
        let text = try router.run(["explain"], input: event)
        #expect(text.code == 0 && text.text.contains("  → crm  handed over\n") && text.text.contains("  → few  filtered\n"), "\(text.text)")
        #expect(!text.text.contains("→ all"))
        let json = try router.run(["explain", "--json"], input: event)
        let object = try JSONSerialization.jsonObject(with: json.output) as! [String: Any]
        let providers = (object["routes"] as! [[String: Any]])[0]["providers"] as! [[String: Any]]
        #expect(providers.map { $0["name"] as? String } == ["crm", "few"])
        #expect(providers.map { $0["verdict"] as? String } == ["admitted", "filtered"])
        #expect(
            providers[0]["event"] as? NSDictionary == ["event": "order_done", "id": "(hashed)", "n": 1, "who": "(hashed)"],
            "\(json.text)")
        #expect(providers[1]["reason"] as? String == "n > 5 is false")
        let check = try router.run(["check"])
        #expect(check.text.contains("    1. at the hand-over, filter: event is order_*\n"), "\(check.text)")
    }
}
