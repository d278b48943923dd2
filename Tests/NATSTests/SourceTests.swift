import HTTPSupport
import PluginKit
import TestSupport
import Testing

@testable import NATS

@Suite("nats as a source", .timeLimit(.minutes(5)))
struct SourceTests: SourceSuite {
    let router = FakeRouter()

    @Test("the messages of a stream are events, and are acknowledged when their block has come to its end")
    func reads() throws {
        let jetStream = FakeJetStream([#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#])
        let source = try started(jetStream)
        router.wait { $0.lines.count == 3 }
        let seen = router.now
        #expect(seen.lines == [#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#] && seen.numbers == [1, 2, 3] && seen.origins == ["stream EVENTS"])
        #expect(jetStream.now.acknowledged == [] && jetStream.now.made == [], "a consumer that is there is used")
        source.acknowledge(seen.tokens)
        jetStream.wait { $0.acknowledged.count == 3 }
        jetStream.add([#"{"n":4}"#])
        router.wait { $0.lines.count == 4 }
        end(source, jetStream)
        #expect(jetStream.now.acknowledged == [1, 2, 3] && jetStream.now.rejected == [4], "what is not acknowledged is given back")
    }

    @Test("what is acknowledged just before the end is acknowledged to the server when the source has ended")
    func atTheEnd() throws {
        let jetStream = FakeJetStream((0..<500).map { #"{"n":\#($0)}"# })
        let source = try started(jetStream)
        router.wait { $0.lines.count == 500 }
        source.stop(withinMilliseconds: 1_000)
        source.acknowledge(router.now.tokens)
        source.close()
        #expect(jetStream.now.acknowledged.count == 500 && jetStream.now.rejected == [])
        jetStream.close()
    }

    @Test("a consumer that is missing is made: durable, with explicit acknowledgements and the given settings")
    func made() throws {
        let jetStream = FakeJetStream(consumer: nil, ["{}"])
        let source = try started(jetStream, #""start": "new", "ack_wait": 90000, "max_ack_pending": 7"#)
        router.wait { $0.lines.count == 1 }
        #expect(
            jetStream.now.made == [
                #"{"stream_name":"EVENTS","config":{"durable_name":"router","ack_policy":"explicit","ack_wait":90000000000,"#
                    + #""max_ack_pending":7,"max_deliver":-1,"replay_policy":"instant","deliver_policy":"new"}}"#
            ])
        #expect(router.now.states.last?.hasSuffix("stream 'EVENTS', consumer 'router', which was made") == true, "\(router.now.states)")
        end(source, jetStream)
    }

    @Test("a message of several lines is one event, and one that is no event is handed over, so that it is counted")
    func lines() throws {
        let long = String(repeating: "x", count: 300)
        let jetStream = FakeJetStream(["{\"a\":\n1,\n\"b\":2}\n", "no event", "", "{\"a\":\"\(long)\"}", "{}"])
        let source = try started(jetStream)
        router.wait { $0.lines.count == 5 }
        #expect(router.now.lines == ["{\"a\":\r1,\r\"b\":2}", "no event", "", "{\"a\":\"\(long.prefix(95))", "{}"])
        #expect(router.now.numbers == [1, 2, 3, 4, 5])
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged.count == 5 }
        end(source, jetStream)
    }

    @Test("a paused source asks for nothing, and goes on after it was resumed")
    func paused() throws {
        let jetStream = FakeJetStream()
        let time = manualClock()
        let source = try NATSSource(jetStream, router, clock: time.clock)
        source.pause()
        source.start()
        router.wait { $0.states.contains { $0.hasPrefix("connected") } }
        jetStream.add(["{}"])
        // A request would come before the look.
        advance(time, .seconds(5), source)
        router.wait { $0.behind.count == 1 }
        #expect(jetStream.now.pulls == [])
        source.resume()
        router.wait { $0.lines.count == 1 }
        end(source, jetStream)
    }

    @Test("a block for which there is no room is handed over again after the source was resumed, and once")
    func full() throws {
        let jetStream = FakeJetStream(["{}"])
        router.state.withLock { $0.verdict = .full }
        let source = try started(jetStream)
        router.wait { $0.refusals == 1 }
        router.state.withLock { $0.verdict = .taken }
        source.resume()
        router.wait { $0.lines.count == 1 }
        #expect(router.now.refusals == 1 && router.now.tokens == [1])
        end(source, jetStream)
        #expect(jetStream.now.rejected == [1])
    }

    @Test("while the router has a block, the server is told in time that its messages are in work")
    func inWork() throws {
        let time = manualClock()
        let jetStream = FakeJetStream(["{}", "{}"])
        let source = try started(jetStream, clock: time.clock)
        router.wait { $0.lines.count == 2 }
        source.pause()
        #expect(jetStream.now.inWork.isEmpty)
        // The consumer waits 30 s for an acknowledgement.
        advance(time, .seconds(10), source)
        jetStream.wait { $0.inWork.count == 2 }
        #expect(jetStream.now.inWork.sorted() == [1, 2])
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged.count == 2 }
        source.resume()
        jetStream.add(["{}"])
        router.wait { $0.lines.count == 3 }
        advance(time, .seconds(10), source)
        jetStream.wait { $0.inWork.count == 3 }
        #expect(jetStream.now.inWork.last == 3, "what is acknowledged is in work no more")
        end(source, jetStream)
    }

    @Test("a message that is given out again while the router has it is counted, and handed over once")
    func again() throws {
        let jetStream = FakeJetStream([#"{"n":1}"#, #"{"n":2}"#])
        let time = manualClock()
        let source = try started(jetStream, clock: time.clock)
        router.wait { $0.lines.count == 2 }
        jetStream.redeliver()
        jetStream.add([#"{"n":3}"#])
        router.wait { $0.numbers.last == 3 }
        try #require(router.now.numbers == [1, 2, 3])
        advance(time, .seconds(5), source)
        router.wait { $0.states.last?.hasSuffix("; 2 messages were given out again, 2 of them while they were in work") ?? false }
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged.count == 3 }
        end(source, jetStream)
    }

    @Test("at the end the source gives back what it has, in the order of the stream, also what is under way")
    func givenBack() throws {
        let time = manualClock()
        let jetStream = FakeJetStream()
        let source = try started(jetStream, clock: time.clock)
        for count in 1...5 {
            jetStream.add(["{}"])
            router.wait { $0.tokens.count == count }
        }
        jetStream.state.withLock { $0.most = 20 }
        jetStream.add(Array(repeating: "{}", count: 25))
        jetStream.wait { $0.given.count == 20 }
        // The answer to a look comes behind them.
        advance(time, .seconds(5), source)
        router.wait { $0.behind.count == 1 }
        let closer = Thread.start("closer") { source.close() }
        jetStream.state.withLock { $0.most = .max }
        jetStream.give()
        closer.join()
        #expect(jetStream.now.rejected == Array(1...30))
        jetStream.close()
    }

    @Test("the source goes on if it was resumed while a block was refused")
    func resumedMeanwhile() throws {
        let jetStream = FakeJetStream(["{}"])
        let resume = Monitor<NATSSource?>(nil)
        let refused = Monitor(false)
        let router = router
        let host = SourceHost(submit: { block in
            let isFirst = refused.withLock { refused in
                defer { refused = true }
                return !refused
            }
            guard isFirst else { return router.host().submit(block) }
            resume.wait(while: { $0 == nil })
            resume.withLock { $0 }?.resume()
            return .full
        })
        let settings = #"{"servers":"\#(jetStream.server.address)","stream":"EVENTS","consumer":"router"}"#
        let source = try NATSSource(settings: Settings(json: settings), host: host, clock: .system, library: .system)
        source.start()
        resume.withLock { $0 = source }
        resume.wake()
        router.wait { $0.lines.count == 1 }
        resume.withLock { $0 = nil }
        end(source, jetStream)
    }

    @Test("a message whose acknowledgement got lost is handed over again")
    func lostAcknowledgement() throws {
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream)
        router.wait { $0.lines.count == 1 }
        source.acknowledge(router.now.tokens)
        jetStream.wait { $0.acknowledged == [1] }
        // The server can have the acknowledgement before the source has noted that. Its thread hands the next message over afterwards.
        jetStream.add(["{}"])
        router.wait { $0.lines.count == 2 }
        jetStream.state.withLock { state in state.given = [1] }
        jetStream.redeliver()
        router.wait { $0.lines.count == 3 }
        #expect(router.now.numbers == [1, 2, 1])
        end(source, jetStream)
    }

    @Test("how far the source is behind is what the consumer has not given out, and the age of the last message")
    func behind() throws {
        let time = manualClock()
        let jetStream = FakeJetStream(["{}"])
        let source = try started(jetStream, clock: time.clock)
        router.wait { $0.lines.count == 1 }
        source.pause()
        jetStream.say("408 Request Timeout")
        jetStream.add(["{}", "{}"])
        advance(time, .seconds(5), source)
        // The message with the sequence 1 came to the stream at the second 1.
        router.wait { $0.behind.contains("2 1000000004000") }
        end(source, jetStream)
    }
}
