// The setting `erase.answers`: what an answer means for each subject of its request. An answer is foreign, and in doubt nothing is confirmed:
// not by an answer that no rule knows, that cannot be evaluated, or whose status is that of a failure or of a redirect.

internal import Expressions
package import HTTPKit
package import PluginKit

package struct ErasureAnswers: Sendable {
    /// What an answer says.
    enum Word: String, SettingValue, CaseIterable, Sendable {
        case confirmed
        case again
        case byHand = "by_hand"
        case unknown
        case fault
    }

    struct Rule: Sendable {
        var condition: Expression?
        var word: Word
        var reason: Expression?
        var state: Expression?
    }

    /// What an answer means for a subject.
    package struct Judged: Sendable {
        package var outcome: Outcome
        /// The state for the next request about the subject. It is nil if the last one stays.
        package var state: String?
        /// True if the answer says it of this subject. Otherwise it is about the server, and others need not be asked now.
        package var isOfSubject: Bool

        package init(outcome: Outcome, state: String? = nil, isOfSubject: Bool) {
            self.outcome = outcome
            self.state = state
            self.isOfSubject = isOfSubject
        }
    }

    private static let names: KeyValuePairs<String, Schema.Variable> = [
        "status": .integer, "headers": .texts, "body": .any, "id": .text, "member": .text, "state": .text,
    ]

    static let schema = Schema.list(
        "what an answer means for each of its people; the first rule whose 'where' is true decides; without one nothing is confirmed",
        of: .object(
            "",
            [
                "where": .expression(
                    "whether the rule is for this answer and this person, in CEL on 'status', 'headers' (names in lower case), 'body', "
                        + "'member', 'id' and 'state', the one of the request; always when left out",
                    names: names, isCondition: true),
                "outcome": .choice(
                    "confirmed: the server holds nothing of the person any more; again: it is at work, and is asked again; by_hand: a person "
                        + "must act; unknown or fault: it is asked again", of: Word.allCases.map(\.rawValue)
                ).required,
                "reason": .expression("the words of the server", names: names),
                "state": .expression("what the next request about the job needs, such as the number of the job there", names: names),
            ]))

    private let rules: [Rule]
    private let constants: [String: Value]

    /// True if a rule gives a state.
    package var giveStates: Bool { rules.contains { $0.state != nil } }

    init(_ erase: Settings, _ reader: ExpressionReader) throws(SettingsFault) {
        constants = reader.variables
        var rules: [Rule] = []
        for (number, given) in try erase.require("answers", as: [Settings].self).enumerated() {
            let place = "erase.answers[\(number)]"
            let names = ErasureAnswers.names
            rules.append(
                Rule(
                    condition: try reader.expression(given, "where", in: place, names: names, isCondition: true),
                    word: try given.require("outcome"), reason: try reader.expression(given, "reason", in: place, names: names),
                    state: try reader.expression(given, "state", in: place, names: names)))
        }
        guard rules.contains(where: { $0.word == .confirmed }) else {
            throw SettingsFault("erase.answers has no rule with the outcome 'confirmed', so no erasure could ever end")
        }
        for (number, rule) in rules.dropLast().enumerated() where rule.condition == nil {
            throw SettingsFault("erase.answers[\(number)] has no 'where', so the rules after it are never asked; move it to the end")
        }
        self.rules = rules
    }

    /// Returns what an answer means for each of these subjects. `standard` is the outcome by the status alone.
    package func judge(
        _ reply: Reply, to subjects: [Erasure.Subject], state: String, standard: Outcome, origin: String, hiding secrets: Secrets
    ) -> [Judged] {
        let answered = "\(origin) answered \(reply.status)"
        guard !reply.isCut else {
            let outcome = AnswerReading.unread(standard, reply.status, "\(answered), but the answer is too long to be evaluated")
            return subjects.map { _ in Judged(outcome: outcome, isOfSubject: false) }
        }
        return reply.withValidJSON { json in
            var variables = constants
            variables["status"] = .int(Int64(reply.status))
            variables["headers"] = AnswerReading.headers(of: reply)
            variables["body"] = AnswerReading.body(of: reply, json)
            variables["state"] = .string(TextValue(state))
            let steps = EventSteps()
            defer { steps.destroy() }
            return subjects.map { subject in
                steps.begin()
                variables["id"] = .string(TextValue(subject.id))
                variables["member"] = .string(TextValue(subject.member))
                return judge(reply, variables, steps, standard: standard, answered: answered, hiding: secrets)
            }
        }
    }

    private func judge(
        _ reply: Reply, _ variables: [String: Value], _ steps: EventSteps, standard: Outcome, answered: String, hiding secrets: Secrets
    ) -> Judged {
        let status = reply.status
        func unread(_ why: String) -> Judged {
            Judged(
                outcome: AnswerReading.unread(standard, status, "\(answered), but the answer cannot be evaluated: \(why)"),
                isOfSubject: true)
        }
        for (number, rule) in rules.enumerated() {
            let place = "erase.answers[\(number)]"
            if let condition = rule.condition {
                switch AnswerReading.truth(condition, variables, steps) {
                case .success(false): continue
                case .success(true): break
                case .failure(let fault): return unread("\(place).where: \(fault)")
                }
            }
            var state: String?
            if let expression = rule.state {
                switch ErasureAnswers.state(expression, variables, steps) {
                case .success(let text): state = text
                case .failure(let why): return unread("\(place).state \(why.words)")
                }
            }
            let words = answered + AnswerReading.reason(rule.reason, variables, steps, hiding: secrets)
            let outcome: Outcome =
                switch rule.word {
                case .confirmed where ErasureAnswers.canConfirm(status): .delivered
                case .confirmed: .unknown(code: status, "\(answered), and such an answer confirms no erasure, whatever erase.answers says")
                case .again: .retry(code: status, words, afterMilliseconds: reply.retryAfter)
                case .byHand: .rejected(code: status, words)
                case .unknown: .unknown(code: status, words)
                case .fault: .fault(code: status, words)
                }
            // A pause that the server asks for is for all requests.
            return Judged(outcome: outcome, state: state, isOfSubject: rule.word != .fault && reply.retryAfter == nil)
        }
        guard case .delivered = standard else { return Judged(outcome: standard, isOfSubject: isRejection(standard)) }
        return Judged(
            outcome: .unknown(code: status, "\(answered), and no rule of erase.answers says what that means"), isOfSubject: true)
    }

    /// Only a success says that something was erased, and only 404 and 410 that there is nothing.
    private static func canConfirm(_ status: Int) -> Bool { 200..<300 ~= status || status == 404 || status == 410 }

    private func isRejection(_ outcome: Outcome) -> Bool { if case .rejected = outcome { true } else { false } }

    private struct Unusable: Error { let words: String }

    /// Returns the state that an expression gives: a text, or a whole number as text.
    private static func state(_ expression: Expression, _ variables: [String: Value], _ steps: EventSteps) -> Result<String, Unusable> {
        let text: String
        switch expression.value(of: variables, steps: steps) {
        case .failure(let fault): return .failure(Unusable(words: "cannot be evaluated: \(fault)"))
        case .success(.string(let value)): text = value.string
        case .success(.int(let number)): text = "\(number)"
        case .success(.uint(let number)): text = "\(number)"
        case .success(let value): return .failure(Unusable(words: "gives a value of the type \(value.typeName), and not a text"))
        }
        guard text.utf8.count <= ErasureTemplate.longestState else {
            return .failure(Unusable(words: "gives more than \(ErasureTemplate.longestState) bytes"))
        }
        return .success(text)
    }
}
