// The settings of a nats source, parsed and checked once: the servers, the stream, and the consumer with what it must be like.

internal import PluginKit

struct SourceRules: Sendable {
    enum Start: String, SettingValue {
        case all
        case new
    }

    let servers: ServerSettings
    let stream: String
    let consumer: String
    /// The subjects of the messages that the consumer gets. If it is nil, it gets all of the stream.
    let subject: String?
    /// Where a consumer begins that the source makes.
    let start: Start
    /// In milliseconds, for a consumer that the source makes.
    let ackWait: Int
    let mostUnacknowledged: Int
    /// The longest wait for an answer of the server, in milliseconds.
    let requestTimeout: Int

    static let schema: KeyValuePairs<String, Schema> = [
        "stream": .text("the stream whose messages are events").required,
        "consumer": .text("the durable pull consumer that keeps the place in the stream; it is made if it is missing").required,
        "subject": .text("the subjects of the messages, with * and > as wildcards; all of the stream when left out"),
        "start": .choice(
            "where a consumer begins that is made: all takes the messages that the stream has, new takes those that come later",
            of: ["all", "new"], default: "all"),
        "ack_wait": .duration(
            "for a consumer that is made: how long after the source was lost the server gives its messages out again", default: "1m"),
        "max_ack_pending": .integer(
            "for a consumer that is made: the most messages that are given out and not acknowledged", default: 65_536, minimum: 1,
            maximum: 10_000_000),
        "timeout": .object(
            "how long a step may take",
            [
                "connect": .duration("how long until the connection to one server is established", default: "5s"),
                "total": .duration("how long until the server has answered a request", default: "10s"),
            ]),
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        servers = try ServerSettings(settings)
        stream = try settings.require("stream")
        consumer = try settings.require("consumer")
        try NATSRules.check(name: stream, setting: "stream", of: "a stream")
        try NATSRules.check(name: consumer, setting: "consumer", of: "a consumer")
        subject = settings.get("subject")
        if let subject { try SourceRules.check(subject) }
        start = settings.get("start") ?? .all
        ackWait = settings.get("ack_wait") ?? 60_000
        requestTimeout = settings.get("timeout", as: Settings.self)?.get("total") ?? 10_000
        mostUnacknowledged = settings.get("max_ack_pending") ?? 65_536
        guard 1_000...86_400_000 ~= ackWait else { throw SettingsFault("ack_wait must be between 1s and 24h") }
    }

    private static func check(_ subject: String) throws(SettingsFault) {
        guard subject.utf8.count <= 500, subject.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"\"\\".utf8.contains($0) }) else {
            throw SettingsFault("subject is too long, or holds a space, a quote, a control character or a character that is not ASCII")
        }
        let parts = subject.split(separator: ".", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            guard !part.isEmpty else {
                throw SettingsFault("subject has an empty part: a dot at its beginning or end, or two dots in a row")
            }
            guard part.utf8.count == 1 || !part.contains(where: { $0 == "*" || $0 == ">" }) else {
                throw SettingsFault("subject: the wildcards * and > stand for a whole part between dots")
            }
            guard part != ">" || index == parts.count - 1 else { throw SettingsFault("subject: the wildcard > stands at the end") }
        }
    }
}
