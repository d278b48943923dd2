// Builds bodies and judges answers as an instance would, without a server.

import PluginKit

@testable import ExpressionKit
@testable import HTTPKit

/// A request that was built, and why other events are in none.
struct Built {
    var bodies: [String] = []
    var places: [String] = []
    var settled: [Int: String] = [:]
}

let address = "https://example.test/base?key=1"

/// Builds the requests of these events by settings such as `"body": {"each": "event"}`.
func build(_ settings: String, _ events: [String], arrivals: [Int64]? = nil, url: String = address) throws -> Built {
    let settings = try Settings(json: "{\(settings)}")
    let rules = try BodyRules(settings)
    let target = Target(rules.method, try Address(url, setting: "url"), headers: [])
    let builder = try BodyBuilder(
        rules, answers: try AnswerRules.read(settings), target: target, compression: .none, secrets: Secrets(rules.secrets), note: { _ in })
    return try Batch.with(events, arrivals: arrivals) { batch in
        guard let requests = builder.requests(batch.lines, arrivals: batch.arrivals) else { throw SettingsFault("no memory") }
        var built = Built()
        for index in 0..<requests.count {
            built.bodies.append(String(decoding: requests.body(index), as: UTF8.self))
            built.places.append(requests.place(of: index).map { "\($0.method.rawValue) \($0.url)" } ?? "")
        }
        for (event, outcome) in requests.settled { built.settled[event] = words(outcome) }
        return built
    }
}

/// Returns why the settings are refused.
func refusal(_ settings: String) -> String {
    do {
        let settings = try Settings(json: "{\(settings)}")
        _ = try BodyRules(settings)
        _ = try AnswerRules.read(settings)
        return "accepted"
    } catch {
        return "\(error)"
    }
}

/// Returns an outcome in one line: `rejected 200 words`.
func words(_ outcome: Outcome) -> String {
    switch outcome {
    case .delivered: "delivered"
    case .rejected(let code, let words): "rejected \(code) \(words)"
    case .retry(let code, let words, let pause): "retry \(code) \(words)" + (pause.map { " after \($0)" } ?? "")
    case .unknown(let code, let words): "unknown \(code) \(words)"
    case .fault(let code, let words): "fault \(code) \(words)"
    case .closed(let words): "closed \(words)"
    case .untried: "untried"
    case .mixed(let rest, let events):
        "mixed \(words(rest))" + events.map { "; \($0.index) \(words($0.outcome))" }.joined()
    }
}

struct Heard {
    var outcome: String
    var note: String?
}

/// Judges an answer by rules such as `[{"where": "status == 200", "outcome": "delivered"}]`.
func judge(
    _ rules: String, status: Int = 200, _ body: String = "", headers: [(String, String)] = [], ids: [String?] = ["a", "b", "c"],
    isCut: Bool = false, constants: String = "{}"
) throws -> Heard {
    let settings = try Settings(json: #"{"answers": \#(rules), "constants": \#(constants)}"#)
    guard let answers = try AnswerRules.read(settings) else { throw SettingsFault("there are no rules") }
    let reply = Reply(
        status: status, body: Array(body.utf8), headers: headers.map { (name: $0.0, value: Array($0.1.utf8)) }, isCut: isCut, retryAfter: 7)
    let request = AnsweredRequest(count: ids.count, ids: ids.map { $0.map { Array($0.utf8) } }, origin: "https://x")
    let standard: Outcome =
        switch status {
        case 200..<300: .delivered
        case 400: .rejected(code: 400, "standard")
        case 503: .retry(code: 503, "standard")
        default: .fault(code: status, "standard")
        }
    let judged = answers.outcome(of: reply, to: request, standard: standard, hiding: Secrets(["s3cret-token"]))
    return Heard(outcome: words(judged.outcome), note: judged.note)
}
