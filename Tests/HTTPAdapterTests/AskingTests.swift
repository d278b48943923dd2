// The question of http whether events may leave, which comes after the wait for a free request and for a connection.

import HTTPSupport
import Platform
import Testing

@testable import HTTP
@testable import PluginKit

@Suite("http: events that may not leave any more")
struct AskingTests {
    @Test("deliveries that wait behind a server that hangs are untried, and none of their requests begins", arguments: [1, 2])
    func waiting(inFlight: Int) throws {
        let gate = Monitor(false)
        let server = Server.answering { _, connection in
            gate.wait(while: { !$0 })
            connection.answer("200 OK")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, "\"in_flight\": \(inFlight)")
        let tokens = (0..<6).map { _ in instance.begin(["{\"n\":1}"]) }
        server.wait(requests: inFlight)
        instance.answer { _ in false }
        gate.withLock { $0 = true }
        gate.wake()
        let names = tokens.map { instance.ending($0).name }
        #expect(names.prefix(inFlight).allSatisfy { $0 == "delivered" } && names.dropFirst(inFlight).allSatisfy { $0 == "untried" })
        #expect(server.requests.count == inFlight)
    }

    @Test("each request of a delivery is asked for with its own events, and after a refusal no further one begins")
    func eventByEvent() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let instance = try Instance(url: server.url, #""body": "event", "in_flight": 1"#)
        let asked = Monitor<[[UInt64]?]>([])
        instance.answer { events in
            asked.withLock { $0.append(events) }
            return events != [1]
        }
        let ending = instance.deliver(["{\"n\":0}", "{\"n\":1}", "{\"n\":2}"])
        #expect(asked.withLock { $0 } == [[0], [1]])
        #expect((0..<3).map(ending.outcome) == ["delivered", "untried", "untried"])
        #expect(server.requests.count == 1)
    }

    @Test("a connection that cannot be made asks nothing, since nothing can leave")
    func noConnection() throws {
        let instance = try Instance(url: "http://127.0.0.1:\(closedPort())/")
        let count = Monitor(0)
        instance.answer { _ in
            count.withLock { $0 += 1 }
            return true
        }
        #expect(instance.deliver().name == "retry" && count.withLock { $0 } == 0)
    }
}
