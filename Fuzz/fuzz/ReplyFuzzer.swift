// Fuzzes the answer of a server to `http`. No answer makes an event count as delivered that one of its items refuses, and none settles an
// event that the request does not hold.

import ExpressionKit
import HTTPKit
import PluginKit

struct ReplyFuzzer: Fuzzer {
    private var mutator: Mutator
    private let plants: Bool
    private let rules: AnswerRules

    init(seed: UInt64, plants: Bool) throws {
        mutator = Mutator(seed: seed, seeds: ReplyFuzzer.seeds)
        self.plants = plants
        let settings = try Settings(
            json: #"""
                {"answers": [
                  {"where": "has(body.items)", "items": "body.items", "rejected": "item.s >= 400 && item.s != 429", "retry": "item.s == 429",
                   "reason": "item.why"},
                  {"where": "has(body.ids)", "items": "body.ids", "id": "item.id", "rejected": "item.bad", "retry": "!item.bad",
                   "reason": "item.why"},
                  {"items": "body.errors", "index": "item.index", "rejected": "true", "reason": "item.why"}]}
                """#)
        guard let rules = try AnswerRules.read(settings) else { throw SettingsFault("there are no rules") }
        self.rules = rules
    }

    private static let seeds = [
        #"{"took":3,"items":[{"s":201},{"s":400,"why":"bad"},{"s":429}]}"#, #"{"items":[{"s":409},{"s":500},{"s":200},{"s":200}]}"#,
        #"{"ids":[{"id":"a","bad":true,"why":"no\n\u001b[2J"},{"id":"é","bad":false},{"id":"zz","bad":true}]}"#,
        #"{"errors":[{"index":2,"why":"x"},{"index":2},{"index":3},{"index":-1},{"index":18446744073709551615}]}"#,
        #"{"errors":[]}"#, #"{"ids":[]}"#, #"[1,{"a":"\ud800"}]"#,
    ].map { Array($0.utf8) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let body = mutator.body()
        let ids: [[UInt8]?] = [Array("a".utf8), Array("é".utf8), nil]
        let status = [200, 207, 400, 503][mutator.below(4)]
        let standard: Outcome = status < 300 ? .delivered : status == 400 ? .rejected("no") : .retry("busy")
        let reply = Reply(status: status, body: body)
        let judged = rules.outcome(
            of: reply, to: AnsweredRequest(count: ids.count, ids: ids, origin: "https://x"), standard: standard, hiding: Secrets([]))
        return (judge(judged.outcome, status, count: ids.count, plants && body.count % 31 == 30), body)
    }

    private func judge(_ outcome: Outcome, _ status: Int, count: Int, _ isPlanted: Bool) -> Comparison {
        var events: [(index: Int, outcome: Outcome)] = []
        var rest = outcome
        if case .mixed(let others, let some) = outcome { (rest, events) = (others, some) }
        if isPlanted { events.append((count, .delivered)) }
        guard events.allSatisfy({ (0..<count).contains($0.index) }) else { return .unexplained("an event that is not there was settled") }
        guard Set(events.map(\.index)).count == events.count else { return .unexplained("an event was settled twice") }
        if status >= 300 {
            let isDelivered = ([rest] + events.map(\.outcome)).contains { if case .delivered = $0 { true } else { false } }
            guard !isDelivered else { return .unexplained("an event was delivered by an answer of \(status)") }
        }
        return events.isEmpty ? .invalid : .valid
    }
}
