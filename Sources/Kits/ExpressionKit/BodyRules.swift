// The settings by which bodies are built: what becomes of each event, what stands around the events, where a request goes, and how large it
// may be.

internal import Expressions
public import HTTPKit
public import PluginKit

public struct BodyRules: Sendable {
    /// What `body` says without an expression.
    public enum Form: String, SettingValue, CaseIterable, Sendable {
        case ndjson
        case array
        case event
    }

    public static let bodySchema = Schema.either(
        "what a request holds: a batch as lines (application/x-ndjson), a batch as a JSON array (application/json), or a single event; "
            + "or an object of expressions in CEL that build it",
        [
            .choice("", of: Form.allCases.map(\.rawValue), default: "ndjson"),
            .object(
                "",
                [
                    "each": .expression("the value of an event in the body, in CEL on the event; the event itself when left out"),
                    "wrap": .expression(
                        "what stands around them, in CEL: 'events' is the list of all values, and 'event' the value of the only event; "
                            + "lines when left out",
                        names: Envelope.names),
                    "events": .integer("the most events in a body", minimum: 1),
                    "bytes": .size("the most bytes of a body, with what stands around the events, before it is compressed"),
                ]),
        ])
    public static let methodSchema = Schema.either(
        "the method of the requests, or an object with an expression that gives it",
        [
            .choice("", of: Target.Method.ofEvents.map(\.rawValue), default: "POST"),
            .object("", ["each": .expression("the method for an event, in CEL on the event").required]),
        ])
    public static let pathSchema = Schema.expression(
        "what follows the path of url, in CEL on the event, such as \"type == 'identify' ? '/users' : '/events'\"; "
            + "in its value {part} stands for a hash of the body")
    public static let constantsSchema = ExpressionReader.constantsSchema

    /// The longest path that an event may give.
    static let longestPath = 4096

    let each: Expression?
    let pathOfEach: Expression?
    let methodOfEach: Expression?
    let envelope: Envelope
    let mostEvents: Int
    let mostBytes: Int
    let constants: [String: String]
    /// The plain form, if no expression has a part in it.
    public let form: Form?
    /// The method of all requests.
    public let method: Target.Method

    /// True if bodies are built of the lines of a batch alone.
    public var isPlain: Bool { form != nil && pathOfEach == nil && methodOfEach == nil }
    public var contentType: String { envelope.isLines ? "application/x-ndjson" : "application/json" }
    /// Texts that are never shown.
    public var secrets: [String] { Array(constants.values) }

    public init(_ settings: Settings) throws(SettingsFault) {
        let reader = try ExpressionReader(settings)
        constants = reader.constants
        pathOfEach = try reader.expression(settings, "path", in: "")
        let byMethod = settings.get("method", as: Settings.self)
        methodOfEach = try byMethod.flatMap { (given) throws(SettingsFault) in try reader.expression(given, "each", in: "method") }
        method = settings.get("method") ?? .post

        let given = settings.get("body", as: Settings.self)
        if given == nil { form = settings.get("body") ?? .ndjson } else { form = nil }
        each = try given.flatMap { (given) throws(SettingsFault) in try reader.expression(given, "each", in: "body") }
        let wrap = try given.flatMap { (given) throws(SettingsFault) in
            try reader.expression(given, "wrap", in: "body", names: Envelope.names)
        }
        switch form {
        case .array: envelope = .list
        case .event: envelope = .single
        case .ndjson: envelope = .lines
        case nil: envelope = try wrap.map { (wrap) throws(SettingsFault) in try Envelope.read(wrap, reader.variables) } ?? .lines
        }
        mostBytes = given?.get("bytes") ?? .max
        guard mostBytes > envelope.overhead else {
            throw SettingsFault("body.bytes must be greater than the \(envelope.overhead) bytes of body.wrap without events")
        }
        let events = given?.get("events", as: Int.self)
        if envelope.isSingle, let events, events > 1 {
            throw SettingsFault(
                "body.events is \(events), but body.wrap holds a single 'event'; write 'events' there, or leave body.events out")
        }
        mostEvents = envelope.isSingle ? 1 : events ?? .max
        guard mostEvents >= 1 else { throw SettingsFault("body.events must be at least 1") }
    }
}
