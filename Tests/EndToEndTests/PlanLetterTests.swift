// Events that the tracking plan rejects, where they cannot be kept as dead letters: also a lane that blocks until its letters are kept does not
// wait for them, since they were never in it.

import Foundation
import TestSupport
import Testing

@Suite("Rejected events of the plan without a place for dead letters", .timeLimit(.minutes(5)))
struct PlanLetterTests {
    @Test("are lost, counted and reported, and hold nothing up", arguments: ["lose", "block"])
    func lost(policy: String) throws {
        let router = try TestRouter(
            routes: #"""
                { "plan": "plan.json",
                  "providers": { "out": { "plugin": "file", "path": "out.ndjson", "delivery": { "dead_letters": "\#(policy)" } } },
                  "routes": [ { "to": ["out"] } ] }
                """#)
        try router.write(#"{"events": {"order": {"violation": "reject", "properties": {"required": ["total"]}}}}"#, to: "plan.json")
        // No file can be made where a folder is.
        try FileManager.default.createDirectory(atPath: router.path("state/dead-letters.sqlite"), withIntermediateDirectories: true)
        let good = #"{"event":"order","messageId":"m","properties":{"total":1}}"#
        let run = try router.run(["run", "--stats", "json"], input: #"{"event":"order","messageId":"n"}"# + "\n" + good + "\n")
        #expect(router.lines("out.ndjson") == [good], "\(run.errors)")
        #expect(run.errors.contains(#""lost":1,"#), "\(run.errors)")
        #expect(run.code == 69, "a lost letter ends the run with the code of a loss: \(run.errors)")
        #expect(run.errors.contains("events lost: 1, and more may follow"), "\(run.errors)")
        #expect(run.errors.contains(#""violations":{"count":0,"mark":0,"strip":0,"reject":1}"#), "\(run.errors)")
    }
}
