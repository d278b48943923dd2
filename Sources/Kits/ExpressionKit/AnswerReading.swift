// Judges one answer by the rules. An answer is foreign: it may be of any form, name events that the request does not hold, or name one
// twice. No answer makes this code fail, and none makes an event count as delivered that it says nothing good about.

internal import Expressions
internal import HTTPKit
internal import PluginKit

struct AnswerReading {
    let rules: [AnswerRules.Rule]
    let variables: [String: Value]
    let reply: Reply
    let request: AnsweredRequest
    /// The outcome by the status.
    let standard: Outcome
    let answered: String
    let secrets: Secrets
    /// The steps that all evaluations for this answer share, so that no answer keeps the thread busy for long, however many items it has.
    let steps: EventSteps

    /// The most bytes of the words of a server that are kept.
    private static let longestReason = 300

    func judge() -> AnswerRules.Judged {
        for (number, rule) in rules.enumerated() {
            if let condition = rule.condition {
                switch truth(condition, variables) {
                case .success(false): continue
                case .success(true): break
                case .failure(let fault): return unread("answers[\(number)].where: \(fault)")
                }
            }
            if let fate = rule.outcome { return AnswerRules.Judged(outcome: outcome(fate, rule.reason, variables)) }
            if let items = rule.items { return judge(items, rule.reason, "answers[\(number)]") }
        }
        return AnswerRules.Judged(outcome: standard)
    }

    /// The body of an answer: the value of its JSON, or else a text. It must not be used after the JSON is gone.
    static func body(of reply: Reply, _ json: UnsafeBufferPointer<UInt8>?) -> Value {
        json.flatMap { json in json.baseAddress.flatMap { Value(validJSON: $0, count: json.count) } }
            ?? .string(TextValue(String(decoding: reply.body, as: UTF8.self)))
    }

    /// The value of the header fields by their names.
    static func headers(of reply: Reply) -> Value {
        var names: [String] = []
        for header in reply.headers where !names.contains(header.name) { names.append(header.name) }
        return .map(
            .entries(
                names.map { name in
                    MapEntry(key: .string(TextValue(name)), value: .string(TextValue(reply.header(name) ?? "")))
                }))
    }

    /// Returns the outcome after an answer that cannot be evaluated: the standard one, but never delivered.
    static func unread(_ standard: Outcome, _ status: Int, _ words: String) -> Outcome {
        guard case .delivered = standard else { return standard }
        return .unknown(code: status, words)
    }

    private func unread(_ why: String) -> AnswerRules.Judged {
        let words = "\(answered), but the answer cannot be evaluated: \(why)"
        return AnswerRules.Judged(outcome: AnswerReading.unread(standard, reply.status, words))
    }

    // MARK: - Items

    /// What the items say so far.
    private struct Findings {
        var fates: [Int: (fate: AnswerRules.Fate, words: String)] = [:]
        var count = 0
        /// The items that name no event of the request, and those of them that say that an event is not delivered.
        var strangers = 0
        var refusedStrangers = 0

        /// Adds what an item says of an event. Of several items the worst one counts.
        mutating func add(_ fate: AnswerRules.Fate, _ words: String, to event: Int) {
            if let known = fates[event], Findings.rank(known.fate) >= Findings.rank(fate) { return }
            fates[event] = (fate, words)
        }

        private static func rank(_ fate: AnswerRules.Fate) -> Int {
            switch fate {
            case .delivered: 0
            case .rejected: 1
            case .retry: 2
            case .unknown: 3
            case .fault: 4
            }
        }
    }

    private func judge(_ items: AnswerRules.Items, _ reason: Expression?, _ place: String) -> AnswerRules.Judged {
        let list: Value
        switch items.list.value(of: variables, steps: steps) {
        case .success(let value): list = value
        case .failure(let fault): return unread("\(place).items: \(fault)")
        }
        var events: [[UInt8]: [Int]] = [:]
        if case .id = items.naming {
            for (index, id) in request.ids.enumerated() { if let id { events[id, default: []].append(index) } }
        }
        var findings = Findings()
        var variables = variables
        let isList = list.forEachElement { item in
            variables["item"] = item ?? .null
            let named = self.events(of: items.naming, at: findings.count, variables, events)
            findings.count += 1
            let (fate, words) = fate(by: items.conditions, variables, place)
            let isRefused = fate != .delivered
            if named.isEmpty {
                findings.strangers += 1
                findings.refusedStrangers += isRefused ? 1 : 0
            } else {
                let words = isRefused ? words ?? self.reason(reason, variables) : ""
                for event in named { findings.add(fate, words, to: event) }
            }
            return true
        }
        guard isList else { return unread("\(place).items gives no list") }
        return judge(findings, items)
    }

    /// Returns the events that an item is about.
    private func events(
        of naming: AnswerRules.Items.Naming, at position: Int, _ variables: [String: Value], _ events: [[UInt8]: [Int]]
    ) -> [Int] {
        let index: Int?
        switch naming {
        case .position: index = position
        case .index(let expression):
            switch expression.value(of: variables, steps: steps) {
            case .success(.int(let number)): index = Int(exactly: number)
            case .success(.uint(let number)): index = Int(exactly: number)
            default: index = nil
            }
        case .id(let expression):
            guard case .success(.string(let id)) = expression.value(of: variables, steps: steps) else { return [] }
            return events[id.bytes] ?? []
        }
        guard let index, (0..<request.count).contains(index) else { return [] }
        return [index]
    }

    /// Returns what an item says, and why if it cannot be evaluated.
    private func fate(
        by conditions: [(fate: AnswerRules.Fate, condition: Expression)], _ variables: [String: Value], _ place: String
    ) -> (AnswerRules.Fate, String?) {
        for (fate, condition) in conditions {
            switch truth(condition, variables) {
            case .success(true): return (fate, nil)
            case .success(false): continue
            case .failure(let fault): return (.unknown, ", but an item cannot be evaluated: \(place).\(fate.rawValue): \(fault)")
            }
        }
        return (.delivered, nil)
    }

    private func judge(_ findings: Findings, _ items: AnswerRules.Items) -> AnswerRules.Judged {
        var others = items.others.map { outcome($0, nil, variables) } ?? standard
        var note: String?
        if findings.strangers > 0 {
            let what = findings.strangers == 1 ? "1 item names an event" : "\(findings.strangers) items name events"
            let words = ", but \(what) that the request did not hold"
            note = answered + words
            // The server refuses an event, and which one it is cannot be known. So the silence about the others proves nothing.
            if findings.refusedStrangers > 0, case .delivered = others { others = .unknown(code: reply.status, answered + words) }
        }
        var events: [(index: Int, outcome: Outcome)] = []
        for event in 0..<request.count {
            guard let (fate, words) = findings.fates[event] else {
                // If items name their events, silence about an event means what the status says. A list in order must be complete.
                guard case .position = items.naming, case .delivered = others else { continue }
                let words = "\(answered), but its answer has \(findings.count) items for \(request.count) events"
                events.append((event, .unknown(code: reply.status, words)))
                continue
            }
            switch fate {
            case .delivered:
                // The others may be unknown. An item that says nothing bad is better than silence.
                if case .delivered = standard, items.others == nil { events.append((event, .delivered)) }
            case .rejected: events.append((event, .rejected(code: reply.status, answered + words)))
            case .retry: events.append((event, .retry(code: reply.status, answered + words)))
            case .unknown, .fault: events.append((event, .unknown(code: reply.status, answered + words)))
            }
        }
        return AnswerRules.Judged(outcome: events.isEmpty ? others : .mixed(rest: others, events: events), note: note)
    }

    // MARK: - Values

    private func truth(_ condition: Expression, _ variables: [String: Value]) -> Result<Bool, EvaluationFault> {
        AnswerReading.truth(condition, variables, steps)
    }

    static func truth(_ condition: Expression, _ variables: [String: Value], _ steps: EventSteps) -> Result<Bool, EvaluationFault> {
        condition.value(of: variables, steps: steps).flatMap { value in
            guard case .bool(let holds) = value else { return .failure(EvaluationFault(notBooleanIn: condition)) }
            return .success(holds)
        }
    }

    private func outcome(_ fate: AnswerRules.Fate, _ reason: Expression?, _ variables: [String: Value]) -> Outcome {
        let words = answered + self.reason(reason, variables)
        return switch fate {
        case .delivered: .delivered
        case .rejected: .rejected(code: reply.status, words)
        case .retry: .retry(code: reply.status, words, afterMilliseconds: reply.retryAfter)
        case .unknown: .unknown(code: reply.status, words)
        case .fault: .fault(code: reply.status, words)
        }
    }

    private func reason(_ expression: Expression?, _ variables: [String: Value]) -> String {
        AnswerReading.reason(expression, variables, steps, hiding: secrets)
    }

    /// Returns the words of the server after a colon, safe to show. They are empty if there are none.
    static func reason(
        _ expression: Expression?, _ variables: [String: Value], _ steps: EventSteps, hiding secrets: Secrets
    ) -> String {
        guard let expression, case .success(let value) = expression.value(of: variables, steps: steps) else { return "" }
        let text: String
        if case .string(let string) = value { text = string.string } else { text = value.json ?? "" }
        let shown = secrets.concealed(in: text)
        guard !shown.isEmpty else { return "" }
        let bytes = Array(shown.utf8)
        guard bytes.count > AnswerReading.longestReason else { return ": " + printable(shown) }
        var end = AnswerReading.longestReason
        // Do not cut inside a character.
        while end > 0, bytes[end] & 0xc0 == 0x80 { end -= 1 }
        return ": " + printable(bytes[..<end]) + "..."
    }
}
