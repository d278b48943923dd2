// The examples of docs/transforms.md: each operation makes the event that the page shows.

import Foundation
import TestSupport
import Testing

@Suite("Transforms")
struct TransformTests {
    private struct Example {
        var operation: String
        var event: String
        var result: String
    }

    private static let examples: [Example] = {
        let page = Project.root + "/docs/transforms.md"
        let text = (try? String(contentsOfFile: page, encoding: .utf8)) ?? ""
        return text.components(separatedBy: "```transform\n").dropFirst().map { block in
            let lines = block.components(separatedBy: "\n```")[0].components(separatedBy: "\n")
            precondition(lines.count == 3, "an example has three lines: \(lines)")
            return Example(operation: lines[0], event: lines[1], result: lines[2])
        }
    }()

    @Test("every example of the page has the result that the page shows")
    func examples() throws {
        #expect(TransformTests.examples.count >= 19)
        // One run tests all examples. Each example has its own route and provider.
        let examples = TransformTests.examples
        let providers = examples.indices.map { #""p\#($0)": { "plugin": "file", "path": "out\#($0).ndjson" }"# }
        let routes = examples.indices.map { index in
            #"{ "match": { "example": \#(index) }, "transform": [ { "drop": ["example"] }, \#(examples[index].operation) ], "to": ["p\#(index)"] }"#
        }
        let router = try TestRouter(
            routes: #"""
                { "keys": { "ids": "an example's key of some length" }, "message_id": { "add": false },
                  "providers": { \#(providers.joined(separator: ",")) }, "routes": [ \#(routes.joined(separator: ",\n")) ] }
                """#)
        let events = examples.enumerated().map { index, example in "{\"example\":\(index),\(example.event.dropFirst())\n" }
        let run = try router.run(input: events.joined())
        #expect(run.code == 0, "\(run.errors)")
        for (index, example) in examples.enumerated() {
            #expect(router.lines("out\(index).ndjson") == [example.result], "\(example.operation)")
        }
    }

    @Test("an expression that has no value leaves the event as it is, and is counted")
    func errors() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": { "out": { "plugin": "console", "format": "ndjson" } },
                  "routes": [ { "transform": [ { "set": { "b": { "cel": "a + 1" } } } ], "to": ["out"] } ] }
                """#)
        let run = try router.run(["run", "--stats", "json"], input: "{\"a\":1}\n{\"a\":\"x\"}\n")
        #expect(run.lines == [#"{"a":1,"b":2}"#, #"{"a":"x"}"#])
        #expect(run.errors.contains("\"transform_errors\":1"))
    }

    @Test("an existing message id stays, and a missing one is added after the steps")
    func ids() throws {
        let router = try TestRouter(
            routes: #"""
                { "message_id": { "add": true }, "providers": { "out": { "plugin": "console", "format": "ndjson" } },
                  "routes": [ { "transform": [ { "lower": ["event"] } ], "to": ["out"] } ] }
                """#)
        let run = try router.run(input: "{\"event\":\"A\",\"messageId\":\"m\"}\n{\"event\":\"B\"}\n")
        try #require(run.lines.count == 2)
        #expect(run.lines[0] == #"{"event":"a","messageId":"m"}"#)
        #expect(run.lines[1].hasPrefix(#"{"event":"b","messageId":""#) && run.lines[1].utf8.count == 64)
    }
}
