import HTTPSupport
import PluginKit
import Testing

@testable import NATS

@Suite("nats: what an answer means")
struct OutcomeTests {
    private func ending(_ answer: String, _ events: [String] = ["{}"]) throws -> Ending {
        let server = FakeNATS { message, session in session.answer(message, answer) }
        defer { server.close() }
        let instance = try Instance(server, subject: "events")
        defer { instance.close() }
        return instance.deliver(events)
    }

    @Test(
        "an acknowledgement names a stream and a sequence; anything else is none",
        arguments: [
            (#"{"stream":"EVENTS", "seq":1}"#, "delivered"), (#"{"stream":"E","seq":18,"duplicate":true}"#, "delivered"),
            (#"{"stream":"E","domain":"hub","seq":5}"#, "delivered"), ("", "unknown"), ("{}", "unknown"), ("+ACK", "unknown"),
            (#"{"stream":"E", "seq":0}"#, "unknown"), (#"{"stream":"", "seq":1}"#, "unknown"), (#"{"stream":"E"}"#, "unknown"),
            (#"{"stream":"E", "seq":1"#, "unknown"), (#"{"stream":"E", "seq":1} "#, "delivered"),
            (#"{"stream":"E", "seq":"1"}"#, "unknown"),
            (#"[{"stream":"E", "seq":1}]"#, "unknown"), (#"{"stream":"E", "seq":1}x"#, "unknown"),
            (#"{"stream":"E","seq":99999999999999999999999999}"#, "delivered"),
        ])
    func acknowledgements(_ answer: String, _ outcome: String) throws { #expect(try ending(answer).name == outcome, "\(answer)") }

    @Test(
        "an error of JetStream is retried, refused or a fault by its number",
        arguments: [
            (503, 10077, "retry"), (500, 10047, "retry"), (503, 10008, "retry"), (404, 10059, "retry"), (400, 10054, "rejected"),
            (400, 10097, "rejected"), (400, 10003, "rejected"), (503, 10039, "fault"), (503, 10076, "fault"), (400, 10060, "fault"),
            (400, 10109, "fault"), (403, 1, "fault"), (0, 0, "retry"),
        ])
    func errors(_ code: Int, _ number: Int, _ outcome: String) throws {
        let ending = try ending(#"{"error":{"code":\#(code),"err_code":\#(number),"description":"words"},"stream":"E","seq":7}"#)
        #expect(ending.outcome(of: 0) == outcome && (ending.messages[0] ?? ending.message) == "JetStream: words", "\(ending)")
    }

    @Test("each event of a batch has the outcome of its own answer")
    func single() throws {
        let server = FakeNATS { message, session in
            switch message.subject {
            case "a": session.acknowledge(message)
            case "b": session.answer(message, #"{"error":{"code":400,"err_code":10054,"description":"too large"}}"#)
            default: session.sayNobody(message)
            }
        }
        defer { server.close() }
        let instance = try Instance(server, subject: "{type}")
        defer { instance.close() }
        let ending = instance.deliver(["a", "b", "c", "a"].map { #"{"type":"\#($0)"}"# })
        #expect((0..<4).map { ending.outcome(of: $0) } == ["delivered", "rejected", "retry", "delivered"], "\(ending)")
    }

    @Test("no stream takes the subject: the whole batch is retried")
    func nobody() throws {
        let server = FakeNATS { message, session in session.sayNobody(message) }
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver(["{}", "{}"])
        #expect(ending.name == "retry" && ending.code == 503 && ending.events.isEmpty && ending.message.contains("create a stream"))
    }

    @Test("answers to other replies, to events that have not left, and second answers change nothing")
    func strange() throws {
        let server = FakeNATS { message, session in
            let inbox = message.reply.prefix { $0 != "-" }
            for token in ["9", "99999", "-1", "x", "", "18446744073709551616", "9999999999999999999"] {
                session.answer(to: "\(inbox)-\(token)", #"{"stream":"E", "seq":1}"#)
            }
            session.answer(to: message.reply.split(separator: ".").dropLast().joined(separator: ".") + ".1-0", #"{"stream":"E", "seq":1}"#)
            if message.data.contains("bad") {
                session.answer(message, #"{"error":{"code":400,"err_code":10054,"description":"too large"}}"#)
                session.acknowledge(message)
            } else {
                session.acknowledge(message)
                session.acknowledge(message)
            }
        }
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver([#"{"n":"good"}"#, #"{"n":"bad"}"#])
        #expect((0..<2).map { ending.outcome(of: $0) } == ["delivered", "rejected"])
    }

    @Test("an event that the server does not permit is a fault, and the others are delivered")
    func forbidden() throws {
        let server = FakeNATS { message, session in
            if message.subject == "events.secret" {
                session.send("-ERR 'Permissions Violation for Publish to \"events.secret\"'\r\n")
            } else {
                session.acknowledge(message)
            }
        }
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver([#"{"type":"open"}"#, #"{"type":"secret"}"#])
        #expect((0..<2).map { ending.outcome(of: $0) } == ["delivered", "fault"])
        #expect(ending.message.contains("does not permit the user to publish to 'events.secret'"))
    }

    @Test("an event that is larger than the server accepts is refused alone, with its headers counted")
    func size() throws {
        let server = FakeNATS(info: #"{"server_id":"F","headers":true,"max_payload":60,"proto":1}"#)
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver([
            #"{"n":1}"#, #"{"n":"\#(String(repeating: "x", count: 60))"}"#, #"{"messageId":"0123456789012345678901234567890123"}"#,
        ])
        #expect((0..<3).map { ending.outcome(of: $0) } == ["delivered", "rejected", "rejected"])
        #expect(server.messages.count == 1)
    }
}
