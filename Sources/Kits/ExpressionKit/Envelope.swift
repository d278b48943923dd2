// What stands around the events in a body. It is computed once, from an expression in which a placeholder stands for the events, so it is
// the same in every body and its size is known.

internal import Expressions
internal import PluginKit

struct Envelope: Sendable {
    var before: [UInt8] = []
    var between: [UInt8] = []
    var after: [UInt8] = []
    /// True if a body holds one event.
    var isSingle = false
    /// True if each event is one or more lines, which a line break ends.
    var isLines = false

    /// The events as lines.
    static let lines = Envelope(isLines: true)
    /// The events as a list in JSON.
    static let list = Envelope(before: Array("[".utf8), between: Array(",".utf8), after: Array("]".utf8))
    /// One event in each body.
    static let single = Envelope(isSingle: true)

    static let names: KeyValuePairs<String, Schema.Variable> = ["events": .opaque, "event": .opaque]
    /// The texts that stand for the events while the expression is evaluated. No constant holds one by chance.
    private static let events = "switchyard-events-6f1c6d0c0d3f4b0f"
    private static let event = "switchyard-event-91b0a52e7a3f4c55"

    /// The bytes that the envelope adds to a body of one event.
    var overhead: Int { before.count + after.count }

    /// Evaluates `body.wrap`.
    static func read(_ expression: Expression, _ constants: [String: Value]) throws(SettingsFault) -> Envelope {
        var variables = constants
        variables["events"] = .string(TextValue(events))
        variables["event"] = .string(TextValue(event))
        let json: [UInt8]
        switch expression.value(of: variables) {
        case .failure(let fault): throw SettingsFault("body.wrap: \(fault)")
        case .success(let value):
            guard let text = value.json else { throw SettingsFault("body.wrap: the values nest deeper than an evaluation may go") }
            json = Array(text.utf8)
        }
        let list = places(of: events, in: json)
        let single = places(of: event, in: json)
        guard let place = (list + single).first, list.count + single.count == 1, json[place.upperBound...].first != UInt8(ascii: ":") else {
            throw SettingsFault(
                "body.wrap must hold 'events' or 'event' exactly once, where the events stand; "
                    + "write for instance {'events': events}, or events for a list without an envelope")
        }
        let isSingle = list.isEmpty
        let (open, close) = isSingle ? ("", "") : ("[", "]")
        return Envelope(
            before: Array(json[..<place.lowerBound]) + Array(open.utf8), between: isSingle ? [] : Array(",".utf8),
            after: Array(close.utf8) + Array(json[place.upperBound...]), isSingle: isSingle)
    }

    private static func places(of mark: String, in json: [UInt8]) -> [Range<Int>] {
        let quoted = Array("\"\(mark)\"".utf8)
        guard json.count >= quoted.count else { return [] }
        return (0...json.count - quoted.count).filter { json[$0...].starts(with: quoted) }.map { $0..<$0 + quoted.count }
    }
}
