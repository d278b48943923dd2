import HTTPSupport
import PluginKit
import Testing

@testable import NATS

@Suite("nats as a source: settings and the consumer")
struct SourceSettingsTests {
    private static func rules(_ more: String = "") throws -> SourceRules {
        try SourceRules(Settings(json: #"{"servers": "nats://a", "stream": "EVENTS", "consumer": "router"\#(more)}"#))
    }

    @Test(
        "each fault of the settings is named with its remedy",
        arguments: [
            (#""stream": "EVENTS""#, "'consumer' is missing, or not what the description says"),
            (
                #""stream": "a.b", "consumer": "c""#,
                "stream is no name of a stream: it is empty, too long, or holds a space or one of . * > / \\ \""
            ),
            (
                #""stream": "a", "consumer": "c>""#,
                "consumer is no name of a consumer: it is empty, too long, or holds a space or one of . * > / \\ \""
            ),
            (#""stream": "a", "consumer": "c", "ack_wait": 999"#, "ack_wait must be between 1s and 24h"),
            (
                #""stream": "a", "consumer": "c", "subject": "a b""#,
                "subject is too long, or holds a space, a quote, a control character or a character that is not ASCII"
            ),
            (
                #""stream": "a", "consumer": "c", "subject": "a..b""#,
                "subject has an empty part: a dot at its beginning or end, or two dots in a row"
            ),
            (
                #""stream": "a", "consumer": "c", "subject": "a.b*""#,
                "subject: the wildcards * and > stand for a whole part between dots"
            ),
            (#""stream": "a", "consumer": "c", "subject": ">.a""#, "subject: the wildcard > stands at the end"),
            (#""stream": "a", "consumer": "c", "timeout": {"total": 0}"#, "timeout.total must be between 1ms and 1h"),
        ])
    func faults(_ settings: String, _ message: String) throws {
        let settings = try Settings(json: #"{"servers": "nats://a", \#(settings)}"#)
        #expect { try SourceRules(settings) } throws: { "\($0)" == message }
    }

    @Test(
        "a consumer that could lose messages, or gives out others, cannot be used, and the message names the remedy",
        arguments: [
            ("", nil), (#","deliver_subject":"""#, nil), (#","filter_subject":"""#, nil), (#","filter_subject":">""#, nil),
            (#","max_deliver":-1,"inactive_threshold":0,"headers_only":false"#, nil),
            (
                #","deliver_subject":"to""#,
                "pushes messages; a pull consumer is needed; name another one, or delete it so that it is made again"
            ),
            (#","headers_only":true"#, "gives out headers only; name another one, or delete it so that it is made again"),
            (
                #","max_deliver":5"#,
                "gives a message out only a limited number of times (max_deliver), and then loses it; remove max_deliver"
            ),
            (
                #","inactive_threshold":1"#,
                "is removed when nobody reads it (inactive_threshold), with its place; remove inactive_threshold"
            ),
            (#","filter_subject":"a.*""#, "takes 'a.*', and subject wants all subjects; correct one of them"),
            (#","filter_subjects":["a","b"]"#, "takes 'a', 'b', and subject wants all subjects; correct one of them"),
        ])
    func consumers(_ config: String, _ fault: String?) throws {
        let info = try ConsumerInfo(#"{"created":"c","config":{"durable_name":"router","ack_policy":"explicit"\#(config)}}"#)
        #expect(info.fault(for: try Self.rules()) == fault.map { "the consumer 'router' \($0)" })
    }

    @Test("a consumer with another policy, without a durable name or with another filter than the given one cannot be used")
    func others() throws {
        let all = try ConsumerInfo(#"{"created":"c","config":{"durable_name":"router","ack_policy":"all"}}"#)
        #expect(all.fault(for: try Self.rules())?.contains("has the ack_policy 'all', and explicit is needed") == true)
        let short = try ConsumerInfo(#"{"created":"c","config":{"ack_policy":"explicit"}}"#)
        #expect(short.fault(for: try Self.rules())?.contains("is not durable") == true)
        let wide = try ConsumerInfo(#"{"created":"c","config":{"durable_name":"router","ack_policy":"explicit"}}"#)
        #expect(
            wide.fault(for: try Self.rules(#", "subject": "a.>""#))?.contains("takes all subjects, and subject wants 'a.>'") == true)
        let same = try ConsumerInfo(#"{"created":"c","config":{"durable_name":"r","ack_policy":"explicit","filter_subject":"a.>"}}"#)
        #expect(same.fault(for: try Self.rules(#", "subject": "a.>""#)) == nil)
    }

    @Test(
        "an answer about a consumer that cannot be read is an error",
        arguments: ["", "[]", "{}", #"{"created":"c"}"#, #"{"config":{}}"#])
    func unreadable(_ answer: String) { #expect(throws: JetStreamError.self) { try ConsumerInfo(answer) } }

    @Test(
        "the reply of a message says which one it is, also with a domain; any other text is none",
        arguments: [
            ("$JS.ACK.S.C.1.12.13.99.4", [1, 12, 99, 4]), ("$JS.ACK.hub.acc.S.C.2.12.13.99.0.token", [2, 12, 99, 0]),
            ("$JS.ACK.hub.acc.S.C.2.12.13.99.0", [2, 12, 99, 0]), ("$JS.ACK.S.C.1.12.13.99", nil), ("$JS.ACK.S.C.1.0.13.99.4", nil),
            ("$JS.ACK.S.C.1.x.13.99.4", nil), ("$JS.ACK.S.C.1..13.99.4", nil), ("$JS.ACK.S.C.-1.2.13.99.4", nil), ("", nil),
            ("_INBOX.S.C.1.12.13.99.4.5", nil), ("$JS.ACK.S.C.1.12.13.99999999999999999999.4", nil),
        ] as [(String, [Int]?)])
    func replies(_ reply: String, _ numbers: [Int]?) {
        var reply = reply
        let read = reply.withUTF8 { DeliveredMessage(reply: UnsafeRawBufferPointer($0)) }
        #expect(
            read.map { [Int($0.deliveries), Int($0.identity.sequence), Int($0.identity.time), Int($0.pending)] } == numbers, "\(reply)")
    }

    @Test("check --connect finds the stream and the consumer, and says what is wrong")
    func probe() throws {
        let router = FakeRouter()
        func words(_ consumer: String?, stream: String? = "s1") throws -> String {
            let jetStream = FakeJetStream(consumer: consumer, ["{}"])
            defer { jetStream.close() }
            jetStream.state.withLock { $0.streamCreated = stream }
            let found = try NATSSource(jetStream, router).probe(within: 60_000)
            #expect(jetStream.now.made.isEmpty && jetStream.now.pulls.isEmpty, "a probe changed something")
            return switch found {
            case .accepted(let words): "accepted \(words)"
            case .refused(_, let words): "refused \(words)"
            case .reached(_, let words): "reached \(words)"
            case .failed(_, let words): "failed \(words)"
            }
        }
        let good = try words(FakeJetStream.consumer)
        #expect(good.hasPrefix("accepted") && good.contains("stream 'EVENTS' with the consumer 'router', which has 1 messages to give out"))
        let none = try words(nil)
        #expect(none.hasPrefix("accepted") && none.contains("it has no consumer 'router', which is made at the start"))
        let other = try words(#"{"durable_name":"router","ack_policy":"none"}"#)
        #expect(other.hasPrefix("refused") && other.contains("ack_policy"))
        let away = try words(nil, stream: nil)
        #expect(away.hasPrefix("refused") && away.contains("has no stream 'EVENTS'; create it, or correct stream"))
    }
}
