import HTTPSupport
import PluginKit
import TestSupport
import Testing

@testable import NATS

@Suite("nats as a source: faults", .timeLimit(.minutes(5)))
struct SourceFaultTests: SourceSuite {
    let router = FakeRouter()

    @Test("what ended while the connection was lost is acknowledged on the next one, and the rest is not handed over again")
    func lost() throws {
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream)
        router.wait { $0.lines.count == 1 }
        jetStream.add(["{}"])
        router.wait { $0.lines.count == 2 }
        jetStream.dropConnection()
        router.wait { $0.states.contains { $0.hasPrefix("connecting: the connection ended") } }
        source.acknowledge([router.now.tokens[0]])
        jetStream.wait { $0.acknowledged == [1] }
        jetStream.redeliver()
        jetStream.add(["{}"])
        router.wait { $0.lines.count >= 3 }
        #expect(router.now.numbers == [1, 2, 3])
        end(source, jetStream)
        #expect(jetStream.now.acknowledged == [1] && jetStream.now.rejected.sorted() == [2, 3])
    }

    @Test("what ended while the connection was lost is acknowledged before the source has ended")
    func lostAtTheEnd() throws {
        let time = manualClock()
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream, clock: time.clock)
        router.wait { $0.lines.count == 1 }
        jetStream.dropConnection()
        router.wait { $0.states.contains { $0.hasPrefix("connecting: the connection ended") } }
        source.stop(withinMilliseconds: 1_000)
        source.acknowledge(router.now.tokens)
        source.close()
        #expect(jetStream.now.acknowledged == [1])
        jetStream.close()
    }

    @Test("a consumer that has gone is made again behind what was acknowledged, and what the router has of it is acknowledged no more")
    func gone() throws {
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream)
        router.wait { $0.lines.count == 1 }
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged == [1] }
        jetStream.add(["{}"])
        router.wait { $0.lines.count == 2 }
        // The next connection says what is acknowledged.
        jetStream.dropConnection()
        router.wait { $0.states.filter { $0.hasPrefix("connected") }.count == 2 }
        jetStream.wait { $0.open != nil }
        jetStream.removeConsumer()
        jetStream.wait { $0.made.count == 1 }
        try #require(jetStream.now.made[0].contains(#""deliver_policy":"by_start_sequence","opt_start_seq":2}"#), "\(jetStream.now.made)")
        jetStream.add(["{}"])
        router.wait { $0.numbers.last == 3 }
        try #require(router.now.numbers == [1, 2, 2, 3])
        source.acknowledge([router.now.tokens[1]])
        end(source, jetStream)
        #expect(jetStream.now.acknowledged == [1] && jetStream.now.rejected.sorted() == [2, 3])
        #expect(router.now.log.contains { $0.contains("is another one than before") })
    }

    @Test("a consumer of a stream that was made again begins with its first message, also with start new")
    func otherStream() throws {
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream, #""start": "new""#)
        router.wait { $0.lines.count == 1 }
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged == [1] }
        // The next connection says what is acknowledged.
        jetStream.dropConnection()
        jetStream.wait { $0.open != nil }
        jetStream.state.withLock { $0.streamCreated = "s2" }
        jetStream.removeConsumer()
        jetStream.wait { $0.made.count == 1 }
        #expect(jetStream.now.made[0].contains(#""deliver_policy":"all""#))
        end(source, jetStream)
    }

    @Test("a consumer that somebody made again meanwhile is noticed")
    func replaced() throws {
        let time = manualClock()
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream, clock: time.clock)
        router.wait { $0.lines.count == 1 }
        jetStream.state.withLock { $0.created += 1 }
        advance(time, .seconds(5), source)
        router.wait { $0.states.contains { $0.contains("the consumer is another one than before") } }
        source.acknowledge(router.now.tokens)
        advance(time, .seconds(1), source)
        // What is to be acknowledged goes before the next request for messages.
        jetStream.wait { $0.pulls.count == 2 }
        try #require(jetStream.now.acknowledged == [], "a message of the other consumer was acknowledged")
        jetStream.redeliver()
        router.wait { $0.numbers == [1, 1] }
        end(source, jetStream)
    }

    @Test(
        "a status that ends a request leads to the next one, or to another look at the consumer",
        arguments: [
            ("408 Request Timeout", "the server ended a request for messages at once"), ("503", "nobody answers for the consumer"),
            ("409 Consumer Deleted", "JetStream: 409 Consumer Deleted"), ("409 Leadership Change", "JetStream: 409 Leadership Change"),
        ])
    func statuses(_ status: String, _ words: String) throws {
        let jetStream = FakeJetStream(["{}"])
        jetStream.state.withLock { $0.status = status }
        let source = try started(jetStream)
        router.wait { $0.lines.count == 1 }
        #expect(router.now.states.contains { $0.hasPrefix("connecting: \(words); the next attempt is in 250 ms") }, "\(router.now.states)")
        end(source, jetStream)
    }

    @Test("a request that ends by time leads to the next one on the same connection")
    func timeout() throws {
        let time = manualClock()
        let jetStream = FakeJetStream()
        let source = try started(jetStream, clock: time.clock)
        jetStream.wait { $0.open != nil }
        advance(time, .seconds(7), source)
        router.wait { $0.behind.count == 1 }
        jetStream.say("100 Idle Heartbeat")
        // The answer to the next look comes behind the sign that the request is open.
        advance(time, .seconds(5), source)
        router.wait { $0.behind.count == 2 }
        advance(time, .seconds(9), source)
        router.wait { $0.behind.count == 3 }
        jetStream.say("408 Request Timeout")
        jetStream.wait { $0.pulls.count == 2 }
        #expect(jetStream.server.connections == 1)
        end(source, jetStream)
    }

    @Test("a request about which the server is silent is given up, and the consumer is looked up again")
    func silent() throws {
        let time = manualClock()
        let jetStream = FakeJetStream()
        let source = try started(jetStream, clock: time.clock)
        jetStream.wait { $0.open != nil }
        advance(time, .seconds(15), source)
        router.wait { $0.states.contains { $0.contains("the server is silent about a request for messages") } }
        advance(time, .seconds(1), source)
        jetStream.wait { $0.pulls.count == 2 }
        end(source, jetStream)
    }

    @Test("a message that is larger than a request allows is asked for with a larger one")
    func tooLarge() throws {
        let jetStream = FakeJetStream(["{}"])
        jetStream.state.withLock { $0.status = "409 Message Size Exceeds MaxBytes" }
        let source = try started(jetStream)
        router.wait { $0.lines.count == 1 }
        let pulls = jetStream.now.pulls
        #expect(pulls.count == 2 && pulls[0].contains(#""max_bytes":2097152"#) && pulls[1].contains(#""max_bytes":4194304"#))
        end(source, jetStream)
    }

    @Test("the limits of the consumer hold for requests, and one that is too small for a message is a fault")
    func limits() throws {
        let limited = String(FakeJetStream.consumer.dropLast()) + #","max_batch":3,"max_bytes":1000,"max_expires":8000000000}"#
        let jetStream = FakeJetStream(consumer: limited)
        let source = try started(jetStream)
        jetStream.wait { $0.open != nil }
        #expect(jetStream.now.pulls == [#"{"batch":3,"max_bytes":1000,"expires":8000000000,"idle_heartbeat":2000000000}"#])
        jetStream.say("409 Message Size Exceeds MaxBytes")
        router.wait { $0.states.contains { $0.hasPrefix("fault: a message is larger than max_bytes of the consumer (1000)") } }
        end(source, jetStream)
    }

    @Test("what the server does not permit is a fault with the words of the server, without secrets, and is tried less and less often")
    func forbidden() throws {
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream, #""user": "me", "password": "hunter22""#)
        router.wait { $0.lines.count == 1 }
        jetStream.sendLine(#"-ERR 'Permissions Violation for Publish to "$JS.ACK.hunter22"'"#)
        router.wait { $0.states.contains { $0.hasPrefix("fault: the server does not permit what is needed") } }
        #expect(!router.now.states.contains { $0.contains("hunter22") }, "\(router.now.states)")
        #expect(router.now.states.contains { $0.hasSuffix("the next attempt is in 250 ms") })
        jetStream.wait { $0.pulls.count == 2 }
        jetStream.add(["{}"])
        router.wait { $0.lines.count == 2 }
        jetStream.sendLine(#"-ERR 'Permissions Violation for Publish to "$JS.ACK"'"#)
        router.wait { $0.states.last?.hasSuffix("the next attempt is in 500 ms") == true }
        end(source, jetStream)
    }

    @Test("a consumer that the source cannot use is a fault, and nothing is asked for")
    func unusable() throws {
        let jetStream = FakeJetStream(consumer: #"{"durable_name":"router","ack_policy":"none"}"#, ["{}"])
        let source = try started(jetStream)
        router.wait { $0.states.contains { $0.contains("has the ack_policy 'none', and explicit is needed") } }
        #expect(router.now.states[1].hasPrefix("fault: ") && jetStream.now.pulls == [])
        end(source, jetStream)
    }

    @Test("a source whose server is away tries again, and ends at once")
    func away() throws {
        let settings = #"{"servers": "nats://127.0.0.1:\#(closedPort())", "stream": "EVENTS", "consumer": "router"}"#
        let source = try NATSSource(settings: Settings(json: settings), host: router.host(), clock: .system, library: .system)
        source.start()
        router.wait { $0.states.filter { $0.hasPrefix("connecting: cannot connect to nats://127.0.0.1:") }.count == 2 }
        #expect(router.now.states[2].hasSuffix("the next attempt is in 500 ms"), "\(router.now.states)")
        source.close()
    }

    @Test("a library that cannot be loaded is a fault")
    func library() throws {
        let settings = try Settings(json: #"{"servers": "nats://127.0.0.1:9", "stream": "EVENTS", "consumer": "router"}"#)
        let missing = NATSLibrary(isFound: { false }, load: { "it is not there" })
        #expect { try NATSSource(settings: settings, host: router.host(), clock: .system, library: missing) } throws: {
            "\($0)" == "it is not there"
        }
        let broken = NATSLibrary(isFound: { true }, load: { "it is broken" })
        let source = try NATSSource(settings: settings, host: router.host(), clock: .system, library: broken)
        source.start()
        router.wait { $0.states.contains { $0.hasPrefix("fault: it is broken") } }
        source.close()
        guard case .failed(_, "it is broken") = source.probe(within: 1_000) else {
            Issue.record("a probe without the library was made")
            return
        }
    }
}
