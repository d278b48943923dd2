// The recipes of docs/recipes.md, as they are written there, against servers that hold the documented rules of the vendors.

import Foundation
import HTTPSupport
import TestSupport
import Testing

@Suite("Recipes", .timeLimit(.minutes(20)))
struct RecipeTests {
    /// Good events, one that the vendor refuses, and one that has no name.
    static let events = [
        #"{"messageId":"m1","event":"order_paid","userId":"u<1>","properties":{"value":1.5,"note":"a\nb"}}"#,
        #"{"messageId":"m2","event":"order_sent, x=1 <&>","properties":{"value":2}}"#,
        #"{"messageId":"m3","event":"order_bad","properties":{"value":3}}"#,
        #"{"messageId":"m4","properties":{"value":4}}"#,
    ]

    /// A recipe after it ran.
    private struct Played {
        var api: FakeAPI
        var result: Result
        var letters: [String]

        func letter(_ id: String) -> String { letters.first { $0.contains("\"messageId\":\"\(id)\"") } ?? "none" }
    }

    /// Returns the configuration below a heading of the page.
    private static func configuration(_ heading: String) throws -> [String: Any] {
        let page = try String(contentsOfFile: Project.root + "/docs/recipes.md", encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
        let block = try #require(section.components(separatedBy: "```json\n").dropFirst().first?.components(separatedBy: "```").first)
        return try #require(JSONSerialization.jsonObject(with: Data(block.utf8)) as? [String: Any])
    }

    /// Runs a recipe with the address of the fake in the place of the vendor's, short pauses, and `more` among the provider's keys.
    private func play(
        _ heading: String, events: [String] = RecipeTests.events, _ api: FakeAPI, adding more: [String: Any] = [:]
    ) throws -> Played {
        let server = Server.answering { request, connection in
            let answer = api.answer(request)
            connection.answer(answer.status, answer.body, headers: answer.headers)
        }
        defer { server.close() }
        let router = try TestRouter()
        var configuration = try RecipeTests.configuration(heading)
        var providers = try #require(configuration["providers"] as? [String: [String: Any]])
        let name = try #require(providers.keys.first)
        var provider = try #require(providers[name])
        let url = try #require(provider["url"] as? String)
        let path = url.components(separatedBy: "/").dropFirst(3).joined(separator: "/")
        provider["url"] = "http://127.0.0.1:\(server.port)/\(path)"
        var delivery = provider["delivery"] as? [String: Any] ?? [:]
        delivery["retry"] = ["first": "1ms", "most": "5ms"]
        provider["delivery"] = delivery
        provider.merge(more) { $1 }
        providers[name] = provider
        configuration["providers"] = providers
        let json = try JSONSerialization.data(withJSONObject: configuration, options: [.sortedKeys, .withoutEscapingSlashes])
        var text = String(decoding: json, as: UTF8.self)
        try router.write("secret-of-file", to: "token")
        text = text.replacingOccurrences(of: "/run/secrets/google-token", with: router.path("token"))
        try router.write(text, to: "routes.json")
        let names = text.components(separatedBy: "${env:").dropFirst().map { $0.components(separatedBy: "}")[0] }
        let environment = Dictionary(names.map { ($0, "secret-\($0)") }, uniquingKeysWith: { first, _ in first })
        let result = try router.run(environment: environment, input: events.map { $0 + "\n" }.joined())
        #expect(!result.errors.contains("secret-"), "\(result.errors)")
        return Played(api: api, result: result, letters: router.deadLetters)
    }

    /// Checks what each recipe has in common: the good events arrived once, and the bad one is a dead letter. So is the one without a name,
    /// if the recipe reads it.
    private func expectUsual(_ played: Played, bad: String, readsName: Bool = true) {
        #expect(played.api.stored.keys.sorted() == ["m1", "m2"] + (readsName ? [] : ["m4"]), "\(played.result.errors)")
        #expect(played.letter("m3").contains(bad), "\(played.letters)")
        if readsName { #expect(played.letter("m4").contains("body.each: event: the event has no such member"), "\(played.letters)") }
        #expect(played.letters.count == (readsName ? 2 : 1))
        // A batch that is sent again has the same bytes.
        #expect(played.api.bodies.count >= 2 && played.api.bodies[0] == played.api.bodies[1])
        #expect(played.api.mistakes.isEmpty, "\(played.api.mistakes)")
    }

    @Test("ClickHouse")
    func clickHouse() throws {
        expectUsual(try play("ClickHouse", FakeAPI(FakeAPI.clickHouse)), bad: "answered 400: Code: 27. DB::Exception")
    }

    @Test("a wrong query of ClickHouse is a fault, and refuses no event")
    func clickHouseQuery() throws {
        let played = try play("ClickHouse", events: [RecipeTests.events[0]], FakeAPI(FakeAPI.clickHouseWithAnotherQuery))
        #expect(played.api.stored.keys.sorted() == ["m1"] && played.letters.isEmpty, "\(played.result.errors)")
        #expect(played.result.errors.contains("answered 400: Code: 62. DB::Exception: Syntax error"), "\(played.result.errors)")
    }

    @Test("Elasticsearch and OpenSearch", arguments: [false, true])
    func elasticsearch(isolated: Bool) throws {
        let api = FakeAPI(FakeAPI.elasticsearch)
        // This event came in an earlier attempt.
        api.stored["m2"] = RecipeTests.events[1]
        let played = try play("Elasticsearch and OpenSearch", api, adding: isolated ? ["isolate": true] : [:])
        #expect(api.stored.keys.sorted() == ["m1", "m2", "m4"], "\(played.result.errors)")
        #expect(api.stored["m1"] == RecipeTests.events[0])
        #expect(played.letters.count == 1)
        #expect(played.letter("m3").contains("answered 200: mapper_parsing_exception: failed to parse"), "\(played.letters)")
        // Only the event that had to wait came again.
        #expect(api.bodies.count == 2 && api.bodies.last?.contains("\"m1\"") == true && api.bodies.last?.contains("\"m2\"") == false)
        #expect(api.mistakes.isEmpty, "\(api.mistakes)")
    }

    @Test("Loki")
    func loki() throws {
        expectUsual(try play("Loki", FakeAPI(FakeAPI.loki)), bad: "answered 400: entry for stream")
    }

    @Test("Datadog logs")
    func datadog() throws {
        expectUsual(try play("Datadog logs", FakeAPI(FakeAPI.datadog)), bad: "answered 400: {\\\"errors\\\"", readsName: false)
    }

    @Test("more than a thousand events are several requests to Datadog")
    func datadogLimit() throws {
        let events = (0..<2500).map { "{\"messageId\":\"m\($0)\",\"event\":\"e\"}" }
        let played = try play(
            "Datadog logs", events: events, FakeAPI(FakeAPI.datadog), adding: ["delivery": ["batch": ["events": 2500, "wait": "10s"]]])
        #expect(played.api.stored.count == 2500 && played.letters.isEmpty)
        #expect(played.api.mistakes.isEmpty, "\(played.api.mistakes)")
    }

    @Test("Splunk HEC")
    func splunk() throws {
        expectUsual(try play("Splunk HEC", FakeAPI(FakeAPI.splunk)), bad: "answered 400: Invalid data format", readsName: false)
    }

    @Test("BigQuery")
    func bigQuery() throws {
        expectUsual(try play("BigQuery", FakeAPI(FakeAPI.bigQuery)), bad: "answered 200: invalid: no such field")
    }

    @Test("Parts in an object store")
    func parts() throws {
        let played = try play("Parts in an object store", FakeAPI(FakeAPI.store))
        #expect(played.api.stored.count == 1 && played.letters.isEmpty, "\(played.result.errors)")
        #expect(played.api.stored.values.first == RecipeTests.events.map { $0 + "\n" }.joined())
        #expect(played.api.lines.count == 2 && played.api.lines[0] == played.api.lines[1])
        #expect(played.api.mistakes.isEmpty, "\(played.api.mistakes)")
    }

    @Test("Slack and other webhooks")
    func slack() throws {
        let played = try play("Slack and other webhooks", FakeAPI(FakeAPI.slack))
        #expect(
            played.api.stored.keys.sorted() == ["*order_paid* u<1>", "*order_sent, x=1 &lt;&amp;&gt;* somebody"], "\(played.result.errors)")
        #expect(played.letters.count == 1 && played.letter("m3").contains("answered 400: invalid_payload"))
        #expect(played.api.mistakes.isEmpty, "\(played.api.mistakes)")
    }

    @Test("InfluxDB")
    func influx() throws {
        expectUsual(try play("InfluxDB", FakeAPI(FakeAPI.influx)), bad: "answered 400: {\\\"code\\\":\\\"invalid\\\"")
    }

    @Test("check reports a fault in an expression with its line, its column and the way out, and no value of the environment")
    func check() throws {
        func errors(_ provider: String) throws -> [String] {
            let router = try TestRouter(
                routes:
                    "{ \"providers\": { \"out\": {\n  \"plugin\": \"http\", \"url\": \"http://127.0.0.1:1/\",\n  \(provider) } },\n  \"routes\": [ { \"to\": [\"out\"] } ] }"
            )
            let result = try router.run(["check"], environment: ["TOKEN": "sesame-open"])
            #expect(result.code == 78 && !result.errors.contains("sesame"), "\(result.errors)")
            return result.errorLines
        }
        #expect(
            try errors(#""body": { "each": "{'a': evnt(1)}" }"#)[0].contains(
                "routes.json:3:28: providers.out.body.each: there is no function 'evnt'"))
        #expect(
            try errors(#""body": { "wrap": "{'e': evnts}" }"#)[0].contains(
                "routes.json:3:28: providers.out.body.wrap: nothing is called 'evnts'"))
        #expect(
            try errors(#""answers": [ { "where": "status = 200", "outcome": "retry" } ]"#)[0].contains(
                "routes.json:3:35: providers.out.answers[0].where: "))
        #expect(
            try errors(#""answers": [ { "where": "status", "outcome": "retry" } ]"#)[0].contains(
                "providers.out.answers[0].where: a condition is true or false, but this gives int"))
        #expect(
            try errors(#""path": "source""#)[0].contains(
                "providers.out.path: the source of an event is not known when it is handed over"))
        #expect(
            try errors(#""body": { "each": "'${env:TOKEN}'" }"#)[0].contains(
                "an expression must be written out, without ${env:} and ${file:}; write the value into 'constants', and constants.NAME here"
            ))
        #expect(
            try errors(#""constants": { "token": "${env:TOKEN}" }, "body": { "each": "constants.tokn" }"#)[0].contains(
                "there is no constant 'tokn', did you mean token?"))
        #expect(try errors(#""body": "lines""#)[0].contains("providers.out.body must be \"ndjson\", \"array\" or \"event\", is \"lines\""))
        #expect(try errors(#""body": 7"#)[0].contains("providers.out.body must be \"ndjson\", \"array\", \"event\" or an object, is 7"))
        #expect(try errors(#""body": { "wrap": "{'a': 1}" }"#)[0].contains("body.wrap must hold 'events' or 'event' exactly once"))
    }

    @Test("a pattern works in an isolated module too", arguments: [false, true])
    func patterns(isolated: Bool) throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let router = try TestRouter(
            routes: """
                { "providers": { "out": { "plugin": "http", "url": "\(server.url)", "isolate": \(isolated),
                  "body": { "each": "event.matches('^a+$') ? 'yes' : 'no'" } } }, "routes": [ { "to": ["out"] } ] }
                """)
        let result = try router.run(input: "{\"event\":\"aaa\"}\n{\"event\":\"b\"}\n")
        #expect(result.code == 0 && server.requests.map(\.text).joined() == "yes\nno\n", "\(result.errors)")
    }
}
