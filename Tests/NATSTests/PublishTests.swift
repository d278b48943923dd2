import HTTPSupport
import PluginKit
import Testing

@testable import NATS

@Suite("nats: what an event becomes")
struct PublishTests {
    @Test("an event is one message, byte for byte, on the subject of its members and with its id")
    func message() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server, subject: "events.{type}.{properties.plan}")
        defer { instance.close() }
        let events = [
            #"{"type":"track","messageId":"m-1","properties":{"plan":"pro"},"n":1.0}"#, #"{ "type" : "page", "n":9007199254740993 }"#,
        ]
        #expect(instance.deliver(events).name == "delivered")
        #expect(server.messages.map(\.subject) == ["events.track.pro", "events.page._"])
        #expect(server.messages.map(\.data) == events)
        #expect(server.messages.map(\.headers) == ["NATS/1.0\r\nNats-Msg-Id: m-1\r\n\r\n", ""])
    }

    @Test("an event chooses no other part of a subject: dots, wildcards, spaces and ends of lines become '_'")
    func hostileSubject() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let types = [
            #""a.b""#, #""*""#, #"">""#, #""a b""#, #""a\r\nPUB x 0\r\n""#, #""\u0000""#, #""é""#, #""""#, "12.5", "true", "{}", "null",
            #""\ud800""#,
        ]
        #expect(instance.deliver(types.map { #"{"type":\#($0)}"# }).name == "delivered")
        #expect(
            server.messages.map { String($0.subject.dropFirst(7)) } == [
                "a_b", "_", "_", "a_b", "a__PUB_x_0__", "_", "_", "_", "12_5", "true", "_", "_", "_",
            ])
    }

    @Test("an id adds no header, and two ids never become one")
    func hostileID() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ids = [#""a\r\nNats-Rollup: all""#, #""a%0D""#, #""a\r""#, "7", #""""#, "null"]
        #expect(instance.deliver(ids.map { #"{"messageId":\#($0)}"# }).name == "delivered")
        #expect(
            server.messages.map { $0.headers.split(separator: "\r\n").dropFirst().joined(separator: "|") } == [
                "Nats-Msg-Id: a%0D%0ANats-Rollup:%20all", "Nats-Msg-Id: a%250D", "Nats-Msg-Id: a%0D", "Nats-Msg-Id: 7", "", "",
            ])
    }

    @Test("the stream that must take the events is named in each message")
    func stream() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server, #""stream": "EVENTS""#)
        defer { instance.close() }
        #expect(instance.deliver(["{}"]).name == "delivered")
        #expect(server.messages[0].headers.contains("Nats-Expected-Stream: EVENTS\r\n"))
    }

    @Test("a preview shows what would be sent and connects to nothing")
    func preview() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server, #""token": "t0k3n-of-secrets""#)
        defer { instance.close() }
        let shown = try #require(instance.preview([#"{"type":"a b","messageId":"m"}"#]))
        #expect(shown.requests.map(\.url) == ["\(server.address)/events.a_b"])
        #expect(!"\(shown)".contains("t0k3n") && "\(shown)".contains("Nats-Msg-Id: m"))
        #expect(server.connections == 0)
    }
}
