// Fuzzes what a vendor's module makes of an answer. For any answer, each event of the batch has an outcome; none is settled that the request
// does not hold; none is delivered by an answer that refuses the whole request, or by one that is known to name a loss; and no words of the
// server show a secret or move a cursor.

import HTTPKit
import PluginKit
import Seeded
import VendorKit

/// An answer of a vendor's server.
struct FuzzedAnswer {
    var status = 200
    var headers: [(name: String, value: String)] = []
    let body: String
    /// True if it says that an event of the request was not taken, so that not all events may count as delivered.
    var namesLoss = false
}

final class JudgeFuzzer<V: Vendor>: Fuzzer {
    private let mapper: Mapper<V>
    private let answers: [FuzzedAnswer]
    private let secret: String
    private let plants: Bool
    private var random: Seeded
    private var mutator: Mutator

    private static var statuses: [Int] {
        [200, 200, 200, 201, 202, 204, 207, 400, 400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504]
    }

    init(_ vendor: V.Type, _ settings: String, secret: String, answers: [FuzzedAnswer], seed: UInt64, plants: Bool) throws {
        mapper = try FuzzedVendor.mapper(vendor, settings)
        self.secret = secret
        self.plants = plants
        random = Seeded(state: seed)
        let common = [
            FuzzedAnswer(body: "{}"), FuzzedAnswer(body: ""), FuzzedAnswer(body: "[0,1,-1,18446744073709551616,null]"),
            FuzzedAnswer(body: "{\"error\":\"wrong key \(secret)\\u001b[2J\"}"), FuzzedAnswer(body: "<html>\(secret)</html>"),
        ]
        self.answers = answers + common
        mutator = Mutator(seed: seed &+ 1, seeds: self.answers.map { Array($0.body.utf8) })
    }

    func next() -> (Comparison, input: [UInt8]) {
        // One event of the batch is refused when it is mapped: it has no name, no id and no content.
        let batch = (0..<1 + random.below(5)).map { Array(VendorEvents.plain($0).utf8) } + [Array("{\"type\":\"alias\"".utf8)]
        return FuzzedVendor.withLines(batch) { lines, arrivals in
            guard let requests = mapper.requests(lines, arrivals: arrivals) else { return (.unexplained("there is no memory"), []) }
            var (outcomes, said): ([Outcome?], [UInt8]) = ([], [])
            var (namesLoss, isRefused): (Set<Int>, Set<Int>) = ([], [])
            for index in 0..<requests.count {
                let answer = answer()
                if answer.isLoss { namesLoss.insert(index) }
                if answer.reply.status >= 300, answer.reply.status != 400 { isRefused.insert(index) }
                outcomes.append(requests.outcome(of: answer.reply, to: index, standard: JudgeFuzzer.standard(answer.reply.status)))
                said += answer.reply.body + [0x0a]
            }
            do throws(Wrong) {
                let final = try self.outcomes(
                    requests.outcome(of: outcomes, rest: nil), count: batch.count, plants && said.count % 31 == 30)
                guard !final[batch.count - 1].isDelivered else { throw Wrong("an event that is refused counts as delivered") }
                for index in 0..<requests.count {
                    let events = try events(of: index, requests, count: batch.count)
                    if isRefused.contains(index), events.contains(where: { final[$0].isDelivered }) {
                        throw Wrong("an event counts as delivered by an answer that refuses the request")
                    }
                    if namesLoss.contains(index), events.allSatisfy({ final[$0].isDelivered }) {
                        throw Wrong("all events count as delivered by an answer that names a loss")
                    }
                }
                return (final.contains { !$0.isDelivered && $0.words.count > 10 } ? .valid : .invalid, said)
            } catch {
                return (.unexplained(error.words), said)
            }
        }
    }

    private func answer() -> (reply: Reply, isLoss: Bool) {
        let known = random.pick(answers)
        let headers =
            known.headers + (random.below(8) == 0 ? [("retry-after", random.pick(["7", "-1", "1e999", "soon", "999999999999"]))] : [])
        func reply(_ status: Int, _ body: [UInt8], isCut: Bool) -> Reply {
            Reply(status: status, body: body, headers: headers.map { ($0.name, Array($0.value.utf8)) }, isCut: isCut)
        }
        if random.below(3) == 0 { return (reply(known.status, Array(known.body.utf8), isCut: false), known.namesLoss) }
        return (reply(random.pick(JudgeFuzzer.statuses), mutator.body(), isCut: random.below(8) == 0), false)
    }

    /// What HTTPKit makes of a status.
    private static func standard(_ status: Int) -> Outcome {
        switch status {
        case 200..<300: .delivered
        case 408, 425, 429, 500..<600: .retry(code: status, "the server is busy")
        case 400, 409, 413, 422: .rejected(code: status, "the server refused it")
        default: .fault(code: status, "the configuration is wrong")
        }
    }

    /// The events of a request: those that are to be sent again if it is.
    private func events(of index: Int, _ requests: VendorRequests<V>, count: Int) throws(Wrong) -> [Int] {
        let outcomes = (0..<requests.count).map { $0 == index ? Outcome.retry("probe") : .delivered }
        let fates = try self.outcomes(requests.outcome(of: outcomes, rest: nil), count: count, false)
        return fates.indices.filter { if case .retry = fates[$0] { true } else { false } }
    }

    /// The outcome of each event of the batch.
    private func outcomes(_ outcome: Outcome, count: Int, _ isPlanted: Bool) throws(Wrong) -> [Outcome] {
        var single: [Int: Outcome] = [:]
        var rest = outcome
        if case .mixed(let others, var events) = outcome {
            rest = others
            // The planted bug: sometimes an event is settled that is not there.
            if isPlanted { events.append((count, .delivered)) }
            for event in events {
                guard (0..<count).contains(event.index) else { throw Wrong("an event that is not there was settled") }
                guard single.updateValue(event.outcome, forKey: event.index) == nil else { throw Wrong("an event was settled twice") }
            }
        }
        let fates = (0..<count).map { single[$0] ?? rest }
        for fate in fates {
            if case .mixed = fate { throw Wrong("the outcome of an event is mixed") }
            guard !fate.words.contains(secret) else { throw Wrong("words show the secret: \(fate.words)") }
            guard fate.words.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7f..<0xa0).contains($0.value) }) else {
                throw Wrong("words can move a cursor: \(fate.words.debugDescription)")
            }
        }
        return fates
    }
}

extension Outcome {
    fileprivate var isDelivered: Bool { if case .delivered = self { true } else { false } }

    fileprivate var words: String {
        switch self {
        case .delivered, .untried, .mixed: ""
        case .rejected(_, let words), .retry(_, let words, _), .unknown(_, let words), .fault(_, let words), .closed(let words): words
        }
    }
}
