// `explain` and a run of the router must give each event the same verdicts and the same bytes.

import Foundation
import Seeded
import Testing

extension ExplainTests {
    /// A plan with steps of many kinds. Their result depends only on the event.
    private static let stepped = """
        { "keys": { "ids": "${env:IDS}" },
          "providers": {
            "a": { "plugin": "file", "path": "a.ndjson" }, "b": { "plugin": "file", "path": "b.ndjson" },
            "c": { "plugin": "file", "path": "c.ndjson" } },
          "routes": [
            { "not": { "events": "page*" }, "sample": { "rates": { "error_*": 0.5 }, "annotate": true },
              "transform": [ { "set": { "double": { "cel": "n * 2" }, "user": { "cel": "userId.upperAscii()" } } },
                             { "rename": { "type": "kind" } }, { "move": { "traits.role": "role" } }, { "bin": { "n": [10, 20] } },
                             { "ip": ["context.ip"] }, { "limit": { "event": 6 } }, { "flatten": ["properties", "context"] } ], "to": ["a"] },
            { "not": { "events": "page*" }, "transform": [ { "scrub": { "in": ["context"] } }, { "default": { "userId": "none" } },
                             { "mask": { "pattern": "[aeiou]", "with": "*", "in": ["properties"] } }, { "round": { "n": 7 } },
                             { "lower": ["event"] }, { "geo": ["traits"] },
                             { "hash": { "fields": ["type"], "key": "ids" } } ], "to": ["b"] },
            { "not": { "events": "page*" }, "transform": [ { "keep": ["event", "context.ip", "userId"] },
                             { "set": { "context.ip": { "cel": "event == 'item_bought' ? context.ip : '-'" } } },
                             { "scrub": { "action": "reject" } } ], "to": ["c"] } ] }
        """

    @Test("explain agrees with the router on every event, in each verdict and each byte", arguments: [false, true])
    func agrees(isStepped: Bool) throws {
        let router = try TestRouter(routes: isStepped ? Self.stepped : Self.rich)
        var random = Seeded(state: 11)
        let events = (0..<60).map { Self.randomEvent($0, &random) }
        let run = try router.run(["--stats", "json"], environment: Self.environment, input: events.joined(separator: "\n") + "\n")
        #expect(run.code == 0)
        let last = try #require(run.errorLines.last)
        let account = try #require(try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])

        var left = ["a.ndjson", "b.ndjson", "c.ndjson"].map { router.lines($0) }
        var verdicts = [[String: Int]](repeating: [:], count: 3)
        for event in events {
            let result = try router.run(["explain", "--json"], environment: Self.environment, input: event)
            for (index, route) in try object(result).enumerated() {
                let verdict = try #require(route["verdict"] as? String)
                verdicts[index][verdict, default: 0] += 1
                guard verdict == "admitted" else { continue }
                guard !left[index].isEmpty else {
                    Issue.record("explain admits more than the router: \(event)")
                    return
                }
                let delivered = left[index].removeFirst()
                // explain shows the delivered bytes, with the digest and the secret constant masked.
                let masked = Self.masked(delivered)
                #expect(result.text.contains("\"event\":\(masked),\"to\""), "\(masked)\n\(result.text)")
            }
        }
        #expect(left.flatMap { $0 }.isEmpty, "the router delivers more than explain admits")
        for (index, route) in try #require(account["routes"] as? [[String: Any]]).enumerated() {
            let counts = route.compactMapValues { $0 as? Int }
            for verdict in ["admitted", "filtered", "denied", "sampled_out", "withheld"] {
                let counted = counts.filter { $0.key.hasPrefix(verdict) }.values.reduce(0, +)
                #expect(verdicts[index][verdict] ?? 0 == counted, "route \(index): \(verdict)")
            }
        }
    }

    private static func masked(_ line: String) -> String {
        let tagged = line.replacingOccurrences(of: "\"the-hidden-tag\"", with: "\"(secret)\"")
        return tagged.replacingOccurrences(of: "\"[0-9a-f]{64}\"", with: "\"(hashed)\"", options: .regularExpression)
    }

    private static func randomEvent(_ number: Int, _ random: inout Seeded) -> String {
        func pick(_ choices: [String]) -> String { choices.randomElement(using: &random)! }
        let user = pick(["", #""userId":"u\#(number)","#, #""userId":{"id":\#(number)},"#])
        let level = pick([
            "", #","consent":{"level":"standard"}"#, #","consent":{"level":"standard"}"#, #","consent":{"level":"essential"}"#,
            #","gpc":true"#, #","consent":{"level":1}"#,
        ])
        return
            #"{"n":\#(number), "event":"\#(pick(["item_viewed", "item_viewed", "item_bought", "error_1", "page"]))",\#(user)"type":"\#(pick(["track", "track", "page"]))","#
            + #""properties":{"source":"\#(pick(["web", "app", "cli"]))"},"traits":{"role":"x"},"context":{"ip":"10.0.0.1"\#(level)}}"#
    }
}
