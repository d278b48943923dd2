import HTTPSupport
import PluginKit
import Testing

@testable import NATS

@Suite("nats: the connection")
struct ConnectionTests {
    @Test("events whose connection ends before their acknowledgement are unknown, and the next delivery connects again")
    func lost() throws {
        let server = FakeNATS { message, session in
            if session.number > 1 || message.data.contains("first") { return session.acknowledge(message) }
            session.connection.reset()
            session.send("-ERR 'Slow Consumer'\r\n")
        }
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver([#"{"n":"first"}"#, "{}"])
        #expect((0..<2).map { ending.outcome(of: $0) } == ["delivered", "unknown"], "\(ending)")
        #expect(instance.deliver(["{}"]).name == "delivered" && server.connections == 2)
    }

    @Test("a server that is not there is retried, and its address is named")
    func away() throws {
        let instance = try Instance(nats: #"{"servers": "nats://127.0.0.1:\#(closedPort())", "subject": "a"}"#)
        defer { instance.close() }
        let ending = instance.deliver(["{}"])
        #expect(ending.name == "retry" && ending.message.contains("cannot connect to nats://127.0.0.1:"), "\(ending)")
    }

    @Test("another server of the cluster is used if the first one is away")
    func cluster() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(
            nats: #"{"servers": ["nats://127.0.0.1:\#(closedPort())", "\#(server.address)"], "subject": "a"}"#)
        defer { instance.close() }
        #expect(instance.deliver(["{}"]).name == "delivered")
    }

    @Test("credentials that the server refuses are a fault, and are not shown even if the server repeats them")
    func credentials() throws {
        let server = FakeNATS(greeting: "-ERR 'Authorization Violation of hunter22'\r\n")
        defer { server.close() }
        let instance = try Instance(server, #""user": "me", "password": "hunter22""#)
        defer { instance.close() }
        let ending = instance.deliver(["{}"])
        #expect(ending.name == "fault" && ending.message.contains("refuses the credentials") && !ending.message.contains("hunter22"))
        #expect(server.connects[0].contains(#""user":"me","pass":"hunter22""#))
    }

    @Test("a token is sent as a token")
    func token() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server, #""token": "t0k3n""#)
        defer { instance.close() }
        #expect(instance.deliver(["{}"]).name == "delivered" && server.connects[0].contains(#""auth_token":"t0k3n""#))
    }

    @Test(
        "a server that greets strangely is retried, or is a fault if it lacks what is needed",
        arguments: [
            ("nothing of JSON", "retry"), (String(repeating: "x", count: 300_000), "retry"),
            (#"{"server_id":"F","max_payload":9,"proto":1}"#, "fault"),
            (#"{"server_id":"\#(String(repeating: "y", count: 20_000))","headers":true,"max_payload":1000000,"proto":1}"#, "delivered"),
            (#"{"server_id":"F","headers":true,"max_payload":-1,"proto":1}"#, "rejected"),
        ])
    func greeting(_ info: String, _ outcome: String) throws {
        let server = FakeNATS(info: info)
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let ending = instance.deliver(["{}"])
        #expect(ending.outcome(of: 0) == outcome, "\(ending)")
    }

    @Test("a server that stops in the middle of a handshake does not keep the provider")
    func stalled() throws {
        let server = FakeNATS(info: #"{"server_id":"F","headers":true,"tls_required":true,"max_payload":1000,"proto":1}"#)
        let address = "tls\(server.address.dropFirst(4))"
        let instance = try Instance(nats: #"{"servers": "\#(address)", "subject": "a", "timeout": {"connect": 100, "total": 600000}}"#)
        let ending = instance.deliver(["{}"])
        #expect(ending.name == "retry" && ending.message.contains("does not continue"), "\(ending)")
        #expect(instance.deliver(["{}"]).name == "retry", "the next delivery is answered too")
        server.close()
        instance.close()
    }

    @Test("a connection without TLS is refused if the server was to be reached over TLS")
    func plain() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(nats: #"{"servers": "tls\#(server.address.dropFirst(4))", "subject": "a", "token": "t0k3n"}"#)
        defer { instance.close() }
        #expect(instance.deliver(["{}"]).name == "fault")
        #expect(server.connects.isEmpty, "the token was sent without TLS")
    }

    @Test("events that are not acknowledged in time are unknown")
    func late() throws {
        let server = FakeNATS { _, _ in }
        defer { server.close() }
        let instance = try Instance(server, #""timeout": {"connect": 600000, "total": 50}"#)
        defer { instance.close() }
        let ending = instance.deliver(["{}"])
        #expect(ending.name == "unknown" && ending.message == "no acknowledgement within 50 ms")
    }

    @Test("events that may not leave do not leave")
    func asking() throws {
        let server = FakeNATS()
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        instance.answer { _ in false }
        #expect(instance.deliver(["{}", "{}"]).name == "untried" && server.messages.isEmpty)
        // A large batch is asked about in parts, and what follows a refusal has not left.
        instance.answer { events in events?.contains(300) != true }
        let ending = instance.deliver((0..<400).map { #"{"n":\#($0)}"# })
        #expect(ending.outcome(of: 0) == "delivered" && ending.outcome(of: 255) == "delivered" && ending.outcome(of: 256) == "untried")
        #expect(server.messages.count == 256)
    }

    @Test("a closed provider hands back what has not left, and what has left is unknown")
    func closing() throws {
        let server = FakeNATS { _, _ in }
        defer { server.close() }
        let instance = try Instance(server)
        let token = instance.begin(["{}"])
        server.wait(messages: 1)
        instance.close()
        let ending = instance.ending(token)
        #expect(ending.name == "unknown" && ending.message == "the provider was closed")
    }

    @Test("a flush is answered when everything is acknowledged")
    func flush() throws {
        let held = Monitor<[(FakeNATS.Message, FakeNATS.Session)]>([])
        let server = FakeNATS { message, session in
            held.withLock { $0.append((message, session)) }
            held.wake()
        }
        defer { server.close() }
        let instance = try Instance(server)
        defer { instance.close() }
        let first = instance.beginFlush()
        #expect(instance.ending(first).name == "delivered", "there was nothing to wait for")
        let token = instance.begin(["{}"])
        server.wait(messages: 1)
        let flush = instance.beginFlush()
        #expect(!instance.hasEnded(flush))
        // The message is noted before it is held.
        held.wait(while: \.isEmpty)
        for (message, session) in held.withLock({ $0 }) { session.acknowledge(message) }
        #expect(instance.ending(token).name == "delivered" && instance.ending(flush).name == "delivered")
    }

    @Test("check --connect finds the stream that takes the subject, and says what is wrong")
    func probe() throws {
        let server = FakeNATS { message, session in
            guard message.subject == "$JS.API.STREAM.NAMES" else { return }
            let isTaken = message.data.contains("events.*")
            session.answer(message, isTaken ? #"{"streams":["EVENTS"]}"# : #"{"streams":[]}"#)
        }
        defer { server.close() }
        let good = try Instance(server)
        let other = try Instance(server, subject: "other")
        let away = try Instance(nats: #"{"servers": "nats://127.0.0.1:\#(closedPort())", "subject": "a"}"#)
        defer { for instance in [good, other, away] { instance.close() } }
        #expect(good.probe()?.description.contains("the stream 'EVENTS' takes 'events.*'") == true)
        #expect(other.probe()?.description.contains("no stream takes 'other'") == true)
        #expect(away.probe()?.description.contains("cannot connect") == true)
        #expect(server.messages.allSatisfy { $0.subject.hasPrefix("$JS.API.STREAM.") }, "a probe stored something")
    }
}
