// `switchyard eval`, `where` in a run, and what `check`, `explain` and the account report about it.

import Foundation
import Testing

@Suite("eval and where") struct EvalTests {
    private let event = #"{"type":"track","properties":{"price":10,"name":"caf\u00e9","status":"error"}}"# + "\n"

    @Test("eval prints the value as JSON")
    func values() throws {
        let router = try TestRouter()
        try router.write(event, to: "event.json")
        for (expression, value) in [
            ("properties.price * 1.5", "15"), ("properties.name == 'café'", "true"),
            ("this.properties", #"{"price":10,"name":"caf\u00e9","status":"error"}"#),
            ("properties.map(k, k)", #"["price","name","status"]"#), ("properties.name.matches('^c.f')", "true"), ("has(userId)", "false"),
            ("source", #""stdin""#), ("now > timestamp('2020-01-01T00:00:00Z')", "true"),
        ] {
            let result = try router.run(["eval", expression, "event.json"])
            #expect(result.text == value + "\n" && result.errors.isEmpty && result.code == 0, "\(expression): \(result)")
        }
        // Without a file, eval reads standard input, but only if the expression uses the event.
        #expect(try router.run(["eval", "1 + 2"]).text == "3\n")
        #expect(try router.run(["eval", "type"], input: event).text == "\"track\"\n")
        #expect(try router.run(["eval", "type", "-"], input: event).text == "\"track\"\n")
    }

    @Test("eval has an exit code for each kind of failure")
    func failures() throws {
        let router = try TestRouter()
        for (arguments, input, code, errors) in [
            (["eval"], "", 64, "switchyard: eval needs an expression: switchyard eval 'properties.price > 10' event.json\n"),
            (
                ["eval", "a ==\n 'x' and b"], "", 78,
                "expression:2:6: expected an operator or the end of the expression, found 'and'; 'and' is written &&\n"
            ),
            (["eval", "properties.gone > 5"], event, 1, "switchyard: expression:1:1: properties.gone: the event has no such member\n"),
            (["eval", "1 / 0"], "", 1, "switchyard: expression:1:1: 1 / 0: division by zero\n"),
            (["eval", "type"], "{\"type\":}\n", 65, "switchyard: standard input:1:9: expected a value, found 0x7d '}'\n"),
            (["eval", "type", "no.json"], "", 69, "switchyard: no.json: No such file or directory\n"),
            (
                ["eval", "type"], "{}\n{}\n", 64,
                "switchyard: eval takes one event on one line; pick one with head -n 1, or put an event of several lines on one with jq -c .\n"
            ),
        ] {
            let result = try router.run(arguments, input: input)
            #expect(Int(result.code) == code && result.errors == errors && result.text.isEmpty, "\(arguments): \(result)")
        }
    }

    private static let routes = """
        { "providers": { "out": { "plugin": "console" } },
          "routes": [ { "name": "slow", "where": "properties.ms > 500 && !has(properties.test)",
                        "sample": { "rate": 0, "keep": { "where": "properties.status == 'error'" } }, "to": ["out"] } ] }
        """
    private static let events = [
        #"{"properties":{"ms":600,"status":"error"}}"#, #"{"properties":{"ms":600.5}}"#, #"{"properties":{"ms":100}}"#, "{}",
        #"{"properties":{"ms":9e9,"test":0}}"#,
    ]

    @Test("where and keep decide by an expression, and an error counts and does not match")
    func run() throws {
        let router = try TestRouter(routes: Self.routes)
        let result = try router.run(["--stats", "json"], input: Self.events.joined(separator: "\n"))
        #expect(result.lines == [Self.events[0]])
        for count in [#""admitted":1"#, #""filtered_where":2"#, #""where_errors":1"#, #""sampled_out":1"#, #""keep_errors":1"#] {
            #expect(result.errors.contains(count), "\(count) in \(result.errors)")
        }
        let text = try router.run(["--stats", "text"], input: Self.events.joined(separator: "\n")).errors
        #expect(
            text.contains("route slow: 1 admitted, 2 filtered (where), 1 filtered (where error), 1 sampled out; sample.keep errors: 1\n"))
    }

    @Test("explain shows the part of the expression that decided")
    func explain() throws {
        let router = try TestRouter(routes: Self.routes)
        for (event, words) in zip(
            Self.events,
            [
                "properties.status == 'error' is true, always in the sample", "the sample takes no event", "properties.ms > 500 is false",
                "properties.ms > 500 has no value, properties.ms: the event has no such member", "has(properties.test) is true",
            ])
        {
            let told = try router.run(["explain", "--json"], input: event).text
            #expect(told.contains(words), "\(words) in \(told)")
        }
    }

    @Test("check shows each expression, and the place of a fault inside it")
    func check() throws {
        let router = try TestRouter(routes: Self.routes)
        let plan = try router.run(["check"]).text
        #expect(plan.contains("filter: properties.ms > 500 && !has(properties.test)\n"))
        #expect(plan.contains("always when properties.status == 'error'\n"))
        try router.write(
            #"{"providers":{"out":{"plugin":"noop"}},"routes":[{"where":"a == \"x\" and b","to":["out"]}]}"#, to: "routes.json")
        let wrong = try router.run(["check"])
        #expect(wrong.code == 78)
        #expect(
            wrong.errors
                == "routes.json:1:71: routes[0].where: expected an operator or the end of the expression, found 'and'; 'and' is written &&\n"
        )
    }
}
