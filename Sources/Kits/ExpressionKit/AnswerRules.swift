// The setting `answers`: what an answer means for the events of its request. The first rule whose condition holds decides. It says what
// becomes of all events, or it reads a list of items, each of which is about one event.

internal import Expressions
package import HTTPKit
public import PluginKit

public struct AnswerRules: Sendable {
    /// What becomes of an event.
    enum Fate: String, SettingValue, CaseIterable, Sendable {
        case delivered
        case rejected
        case retry
        case unknown
        case fault
    }

    struct Rule: Sendable {
        var condition: Expression?
        var outcome: Fate?
        var items: Items?
        var reason: Expression?
    }

    /// How the items of an answer are read.
    struct Items: Sendable {
        enum Naming: Sendable {
            /// The first item is about the first event, and so on.
            case position
            case index(Expression)
            case id(Expression)
        }

        var list: Expression
        var naming = Naming.position
        /// The conditions of an item, in the order in which they are asked. The first that holds is the fate of its event.
        var conditions: [(fate: Fate, condition: Expression)]
        /// What becomes of events that no item refuses, if that is not the standard outcome.
        var others: Fate?
    }

    public static let schema = Schema.list(
        "what an answer means for the events of its request; the first rule whose 'where' is true decides; the status decides when left out",
        of: .object(
            "",
            [
                "where": .expression(
                    "whether the rule is for this answer, in CEL on 'status', 'headers' (names in lower case), 'body' and 'count', the number "
                        + "of events; always when left out",
                    names: ExpressionReader.replyNames, isCondition: true),
                "outcome": .choice("what becomes of all events of the request", of: Fate.allCases.map(\.rawValue)),
                "items": .expression(
                    "the list of items that are about single events, such as body.items", names: ExpressionReader.replyNames),
                "index": .expression(
                    "the index of the event that an 'item' is about, from 0; the place of the item when left out",
                    names: ExpressionReader.itemNames),
                "id": .expression("the messageId of the event that an 'item' is about", names: ExpressionReader.itemNames),
                "rejected": .expression(
                    "whether the event of an 'item' is refused for good", names: ExpressionReader.itemNames, isCondition: true),
                "retry": .expression(
                    "whether the event of an 'item' must be sent again", names: ExpressionReader.itemNames, isCondition: true),
                "unknown": .expression(
                    "whether it is unknown what became of the event of an 'item'", names: ExpressionReader.itemNames, isCondition: true),
                "others": .choice(
                    "what becomes of events that no item refuses; what the status says when left out",
                    of: [Fate.delivered, .retry, .unknown].map(\.rawValue)),
                "reason": .expression(
                    "the words of the server for its refusal, of an 'item' or of the answer", names: ExpressionReader.itemNames),
            ]))

    let rules: [Rule]
    private let constants: [String: String]

    /// True if an item can name its event by its id.
    var namesByID: Bool {
        rules.contains { if case .id? = $0.items?.naming { true } else { false } }
    }

    /// Reads the setting. Returns nil if there is none.
    public static func read(_ settings: Settings) throws(SettingsFault) -> AnswerRules? {
        guard let list = settings.get("answers", as: [Settings].self) else { return nil }
        guard !list.isEmpty else { throw SettingsFault("answers must not be empty; leave it out to let the status decide") }
        let reader = try ExpressionReader(settings)
        var rules: [Rule] = []
        for (number, given) in list.enumerated() { rules.append(try rule(given, reader, in: "answers[\(number)]")) }
        for (number, rule) in rules.dropLast().enumerated() where rule.condition == nil {
            throw SettingsFault("answers[\(number)] has no 'where', so the rules after it are never asked; move it to the end")
        }
        return AnswerRules(rules: rules, constants: reader.constants)
    }

    private static func rule(_ given: Settings, _ reader: ExpressionReader, in place: String) throws(SettingsFault) -> Rule {
        var rule = Rule()
        rule.condition = try reader.expression(given, "where", in: place, names: ExpressionReader.replyNames, isCondition: true)
        rule.outcome = given.get("outcome")
        let list = try reader.expression(given, "items", in: place, names: ExpressionReader.replyNames)
        let ofItem = ["index", "id", "rejected", "retry", "unknown", "others"].filter { given.names.contains($0) }
        guard let list else {
            guard rule.outcome != nil else { throw SettingsFault("\(place) lacks what becomes of the events: 'outcome', or 'items'") }
            if let key = ofItem.first { throw SettingsFault("\(place) has '\(key)', which is only for rules with 'items'") }
            rule.reason = try reader.expression(given, "reason", in: place, names: ExpressionReader.replyNames)
            return rule
        }
        guard rule.outcome == nil else { throw SettingsFault("\(place) has both 'outcome' and 'items'; a rule has one of them") }
        var conditions: [(fate: Fate, condition: Expression)] = []
        for fate in [Fate.rejected, .retry, .unknown] {
            let names = ExpressionReader.itemNames
            guard let condition = try reader.expression(given, fate.rawValue, in: place, names: names, isCondition: true) else { continue }
            conditions.append((fate, condition))
        }
        guard !conditions.isEmpty else {
            throw SettingsFault("\(place) has 'items', but none of 'rejected', 'retry' and 'unknown', so no item means anything")
        }
        var items = Items(list: list, conditions: conditions)
        let index = try reader.expression(given, "index", in: place, names: ExpressionReader.itemNames)
        let id = try reader.expression(given, "id", in: place, names: ExpressionReader.itemNames)
        switch (index, id) {
        case (.some, .some): throw SettingsFault("\(place) has both 'index' and 'id'; an item names its event in one way")
        case (let index?, nil): items.naming = .index(index)
        case (nil, let id?): items.naming = .id(id)
        case (nil, nil): break
        }
        items.others = given.get("others")
        rule.items = items
        rule.reason = try reader.expression(given, "reason", in: place, names: ExpressionReader.itemNames)
        return rule
    }
}

/// A request whose answer is judged.
package struct AnsweredRequest {
    /// The number of its events.
    package let count: Int
    /// The message id of each event. It is empty if answers name no ids.
    package let ids: [[UInt8]?]
    package let origin: String

    package init(count: Int, ids: [[UInt8]?], origin: String) {
        self.count = count
        self.ids = ids
        self.origin = origin
    }
}

extension AnswerRules {
    /// The outcome of a request, and a line for the log if the answer holds something that it should not.
    package struct Judged {
        package var outcome: Outcome
        package var note: String?
    }

    /// Returns what an answer means. If it cannot be evaluated, no event counts as delivered because of it.
    package func outcome(of reply: Reply, to request: AnsweredRequest, standard: Outcome, hiding secrets: Secrets) -> Judged {
        let answered = "\(request.origin) answered \(reply.status)"
        guard !reply.isCut else {
            return Judged(outcome: AnswerReading.unread(standard, reply.status, "\(answered), but the answer is too long to be evaluated"))
        }
        return reply.withValidJSON { json in
            var variables = Value.variables(ofConstants: constants)
            variables["status"] = .int(Int64(reply.status))
            variables["headers"] = AnswerReading.headers(of: reply)
            variables["count"] = .int(Int64(request.count))
            variables["body"] = AnswerReading.body(of: reply, json)
            let steps = EventSteps()
            defer { steps.destroy() }
            let reading = AnswerReading(
                rules: rules, variables: variables, reply: reply, request: request, standard: standard, answered: answered,
                secrets: secrets, steps: steps)
            return reading.judge()
        }
    }
}
