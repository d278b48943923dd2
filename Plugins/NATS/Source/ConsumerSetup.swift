// Finds the consumer of a source on a connection, or makes it. A consumer that has gone while the source ran is made again behind the
// messages that the server had acknowledged, so that none is left out.

internal import CNATS
internal import HTTPKit
internal import PluginKit

/// The place of a source in a stream, to go on there if its consumer has gone.
struct StreamPlace: Sendable {
    /// When the stream was made. Another time means another stream, whose messages are all new.
    var streamCreated: String
    var acknowledged: UInt64
}

struct ConsumerSetup {
    private let rules: SourceRules
    private let connection: Connection
    private let milliseconds: Int

    /// A request is given up after that time.
    init(_ rules: SourceRules, _ connection: Connection, milliseconds: Int) {
        self.rules = rules
        self.connection = connection
        self.milliseconds = milliseconds
    }

    /// Where the server says what the consumer is like.
    static func infoSubject(_ rules: SourceRules) -> String { "$JS.API.CONSUMER.INFO.\(rules.stream).\(rules.consumer)" }
    static func pullSubject(_ rules: SourceRules) -> String { "$JS.API.CONSUMER.MSG.NEXT.\(rules.stream).\(rules.consumer)" }

    /// Returns the consumer, which is made if it is missing. `place` is where the source was with an earlier one. `isNew` is true if it was made.
    func prepare(after place: StreamPlace?) throws(ConnectionFault) -> (consumer: ConsumerInfo, isNew: Bool) {
        if let found = try find() { return (try usable(found), false) }
        return (try usable(make(after: place)), true)
    }

    /// Returns the consumer, or nil if the stream has none of this name.
    func find() throws(ConnectionFault) -> ConsumerInfo? {
        let answer = try ask(ConsumerSetup.infoSubject(rules), "")
        do throws(JetStreamError) {
            return try ConsumerInfo(answer)
        } catch {
            if error.number == JetStreamError.noConsumer { return nil }
            throw fault(error)
        }
    }

    func usable(_ consumer: ConsumerInfo) throws(ConnectionFault) -> ConsumerInfo {
        if let words = consumer.fault(for: rules) { throw ConnectionFault(words: "\(connection.server.origin): \(words)", isSetting: true) }
        return consumer
    }

    /// Returns when the stream was made.
    func streamCreated() throws(ConnectionFault) -> String {
        let answer = try ask("$JS.API.STREAM.INFO.\(rules.stream)", "")
        do throws(JetStreamError) {
            guard let answer = try? Settings(json: answer) else { throw JetStreamError(unreadable: "the stream") }
            if let error = answer.get("error", as: Settings.self) { throw JetStreamError(error) }
            guard let created: String = answer.get("created") else { throw JetStreamError(unreadable: "the stream") }
            return created
        } catch {
            throw fault(error)
        }
    }

    private func make(after place: StreamPlace?) throws(ConnectionFault) -> ConsumerInfo {
        var start = #""deliver_policy":"\#(rules.start.rawValue)""#
        if let place {
            let isSame = try streamCreated() == place.streamCreated
            start =
                isSame && place.acknowledged > 0
                ? #""deliver_policy":"by_start_sequence","opt_start_seq":\#(place.acknowledged + 1)"# : #""deliver_policy":"all""#
        }
        let filter = rules.subject.map { #","filter_subject":"\#($0)""# } ?? ""
        let config =
            #"{"durable_name":"\#(rules.consumer)","ack_policy":"explicit","ack_wait":\#(rules.ackWait * 1_000_000),"#
            + #""max_ack_pending":\#(rules.mostUnacknowledged),"max_deliver":-1,"replay_policy":"instant",\#(start)\#(filter)}"#
        let answer = try ask(
            "$JS.API.CONSUMER.DURABLE.CREATE.\(rules.stream).\(rules.consumer)",
            #"{"stream_name":"\#(rules.stream)","config":\#(config)}"#)
        do throws(JetStreamError) {
            return try ConsumerInfo(answer)
        } catch {
            throw fault(error, "the consumer '\(rules.consumer)' cannot be made: ")
        }
    }

    private func ask(_ subject: String, _ body: String) throws(ConnectionFault) -> String {
        let (status, answer) = connection.request(subject, body, milliseconds: milliseconds)
        let origin = connection.server.origin
        switch status {
        case CNATS_OK: return answer
        case CNATS_NOBODY:
            throw ConnectionFault(words: "\(origin): JetStream is not enabled for these credentials, or not ready", isSetting: false)
        case CNATS_TIMEOUT:
            throw ConnectionFault(
                words: "\(origin) does not answer the request \(subject); the user needs the permission to publish it", isSetting: false)
        default: throw ConnectionFault(words: "\(origin) was lost", isSetting: false)
        }
    }

    private func fault(_ error: JetStreamError, _ what: String = "") -> ConnectionFault {
        let origin = connection.server.origin
        guard error.number != JetStreamError.noStream else {
            return ConnectionFault(words: "\(origin) has no stream '\(rules.stream)'; create it, or correct stream", isSetting: true)
        }
        return ConnectionFault(words: "\(origin): \(what)\(rules.servers.secrets.concealed(in: error.words))", isSetting: error.isSetting)
    }
}
