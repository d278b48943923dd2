import Dialects
import Foundation
import Ingest
import Plans
import Platform
import TestSupport
import Testing

@testable import Listener

@Suite struct LimitTests {
    @Test func `A body of the largest size is accepted, one byte more is refused, and the connection stays open`() throws {
        try withListener(listening { $0.limits.body = 100 }) { _, sink, address in
            let client = try TestClient(address)
            let body = "{\"a\":\"" + String(repeating: "x", count: 92) + "\"}"
            client.post(body)
            #expect(client.answer()?.status == 200)
            client.post(body + " ")
            #expect(client.answer()?.status == 413)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" + body + " \r\n0\r\n\r\n")
            #expect(client.answer()?.status == 413)
            client.post(body)
            #expect(client.answer()?.status == 200)
            #expect(sink.lines.count == 2)
        }
    }

    @Test func `The limit of a decoded body also applies to an uncompressed body`() throws {
        try withListener(
            listening {
                $0.limits.body = 1000
                $0.limits.decoded = 100
            }
        ) { _, sink, address in
            let client = try TestClient(address)
            client.post(String(repeating: "{}\n", count: 33))
            #expect(client.answer()?.status == 200)
            client.post(String(repeating: "{}\n", count: 34))
            #expect(client.answer()?.status == 413)
            #expect(sink.lines.count == 33)
        }
    }

    @Test func `An endless body is cut off`() throws {
        try withListener(listening { $0.limits.body = 1000 }) { listener, _, address in
            let client = try TestClient(address)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = Array("1000\r\n".utf8) + [UInt8](repeating: 0x20, count: 4096) + Array("\r\n".utf8)
            var sent = 0
            while sent < 100_000_000, client.send(chunk) == chunk.count { sent += chunk.count }
            #expect(sent < 100_000_000)
            let huge = try TestClient(address)
            huge.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            #expect(huge.answer()?.status == 413)
        }
    }

    @Test func `The limit on events counts invalid events too`() throws {
        try withListener(listening { $0.limits.events = 3 }) { _, sink, address in
            let client = try TestClient(address)
            client.post("{}\n{}\n{}\n")
            #expect(client.answer()?.status == 200)
            for body in ["{}\n{}\n{}\n{}\n", "[{},{},{},{}]", "[1,2,3,4]"] {
                client.post(body)
                let answer = try #require(client.answer())
                #expect(answer.status == 413 && answer.body.contains("more than 3 events in one request"))
            }
            #expect(sink.lines.count == 3)
        }
    }

    @Test func `URLs and headers are accepted up to their limits, and refused beyond them`() throws {
        try withListener(
            listening {
                $0.limits.url = 100
                $0.limits.headers = 5
                $0.limits.head = 1000
            }
        ) { _, _, address in
            func status(_ path: String, _ headers: [String]) -> Int? {
                let client = try? TestClient(address)
                client?.post("{}", headers, to: path)
                return client?.answer()?.status
            }
            let query = "/v1/events?" + String(repeating: "x", count: 89)
            #expect(status(query, []) == 200)
            #expect(status(query + "x", []) == 414)
            // Host and Content-Length are two of the five headers.
            #expect(status("/v1/events", ["A: 1", "B: 2", "C: 3"]) == 200)
            #expect(status("/v1/events", ["A: 1", "B: 2", "C: 3", "D: 4"]) == 431)
            let room = 1000 - ("POST/v1/events".utf8.count + "HostxContent-Length2A".utf8.count + 3 * 4)
            #expect(status("/v1/events", ["A: " + String(repeating: "y", count: room)]) == 200)
            #expect(status("/v1/events", ["A: " + String(repeating: "y", count: room + 1)]) == 431)
        }
    }

    @Test func `A flood of headers is refused at any size`() throws {
        try withListener { listener, _, address in
            for flood in [String(repeating: "A: b\r\n", count: 100_000), "A: " + String(repeating: "b", count: 10_000_000)] {
                let client = try TestClient(address)
                client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\n" + flood + "\r\n")
                let status = client.answer()?.status
                #expect(status == nil || status == 431 || status == 413)
            }
            let client = try TestClient(address)
            client.post("{}")
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `A head that two parsers could read in two ways is refused, and the connection ends`() throws {
        let heads = [
            "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 2",
            "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2\r\nContent-Length: 2", "Content-Length: +2", "Content-Length: 0x2",
            "Content-Length: 2, 2", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: identity", "Content-Length : 2", "Transfer-Encoding : chunked", "Content-Length: -1",
            "Host: y\r\nContent-Length: 2",
        ]
        try withListener { _, sink, address in
            for head in heads {
                let client = try TestClient(address)
                client.send(
                    "POST /v1/events HTTP/1.1\r\nHost: x\r\n\(head)\r\n\r\n{}POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
                )
                let status = client.answer()?.status
                #expect(status == 400 || status == nil, "\(head): \(String(describing: status))")
                #expect(client.answer() == nil, "\(head)")
            }
            #expect(sink.lines.isEmpty)
        }
    }

    @Test(arguments: [
        "Content-Length:\r\n 79", "Content-Length: 2\r\n ", "Transfer-Encoding:\r\n chunked", "A: b\r\n c\r\nContent-Length: 2",
        "Content-Length: 2\r\nA: b\r\n\tc", "A: b\nContent-Length: 2", "Content-Length: 2\nA: b", "Content-Length: 2\rA: b",
        "Content-Length: 2\u{0}0", "A: b\u{0}c\r\nContent-Length: 2",
    ])
    func `A folded header, a bare line feed and a zero byte are refused, and the connection ends`(_ head: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            let inner = "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}"
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\n\(head)\r\n\r\n\(inner)")
            let status = client.answer()?.status
            #expect(status == 400)
            #expect(client.answer() == nil)
            #expect(sink.lines.isEmpty)
        }
    }

    @Test func `A complete chunked body is refused if the request also has a Content-Length`() throws {
        try withListener { _, sink, address in
            for head in ["Content-Length: 12\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 12"] {
                let client = try TestClient(address)
                client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\n\(head)\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
                let answer = try #require(client.answer())
                #expect(answer.status == 400 && answer.headers["connection"] == "close")
                #expect(client.ends())
            }
            #expect(sink.lines.isEmpty)
        }
    }

    @Test func `All bodies together have a memory limit`() throws {
        try withListener(listening { $0.limits.memory = 100_000 }) { listener, _, address in
            let first = try TestClient(address)
            let body = [UInt8](repeating: 0x20, count: 60_000)
            first.post(body)
            #expect(first.answer()?.status == 429)
            first.post([UInt8](repeating: 0x20, count: 30_000))
            #expect(first.answer()?.status == 200)
            #expect(listener.counts.memory == 0)
        }
    }

    @Test func `Connections beyond the limit of one address are ended, and earlier ones stay open`() throws {
        try withListener(listening { $0.limits.connectionsByAddress = 3 }) { _, _, address in
            let clients = try (0..<3).map { _ in try TestClient(address) }
            for client in clients {
                client.post("{}")
                #expect(client.answer()?.status == 200)
            }
            let more = try TestClient(address)
            more.post("{}")
            #expect(more.answer() == nil)
            clients[0].post("{}")
            #expect(clients[0].answer()?.status == 200)
        }
    }

    @Test func `Connections beyond the total limit wait until another one ends`() throws {
        try withListener(listening { $0.limits.connections = 2 }) { _, _, address in
            var clients = try (0..<2).map { _ in try TestClient(address) }
            for client in clients {
                client.post("{}")
                #expect(client.answer()?.status == 200)
            }
            let more = try TestClient(address)
            more.post("{}")
            clients.removeAll()
            #expect(more.answer()?.status == 200)
        }
    }
}

@Suite struct SlownessTests {
    static let limits = HTTPLimits()

    @Test func `A body has limits for a pause, its rate and its total time`() {
        let pacing = Pacing(limits: SlownessTests.limits)
        let start = Instant(nanoseconds: 0)
        #expect(pacing.body(start: start, received: 0, now: start) == start + .seconds(5))
        #expect(pacing.body(start: start, received: 1_000, now: start) == start + .seconds(6))
        #expect(pacing.body(start: start, received: 1_000_000, now: start) == start + .seconds(10))
        #expect(pacing.body(start: start, received: 1_000_000, now: start + .seconds(50)) == start + .seconds(60))
        #expect(pacing.body(start: start, received: 1_000_000, now: start + .seconds(115)) == start + .seconds(120))
        #expect(pacing.body(start: start, received: .max, now: start) == start + .seconds(10))
    }

    /// Runs `send`, advances the clock to just before the deadline and then past it, and expects the cut only then.
    private func expectCut(after deadline: Duration, _ send: (TestClient, HTTPListener) -> Void) throws {
        let time = ManualClock()
        try withListener(clock: time.clock) { listener, _, address in
            let client = try TestClient(address)
            send(client, listener)
            time.advance(deadline - .milliseconds(1))
            listener.watch.sweep()
            #expect(listener.counts.slowConnections == 0)
            time.advance(.milliseconds(1))
            listener.watch.sweep()
            #expect(listener.counts.slowConnections == 1)
            #expect(client.ends())
        }
    }

    private func waitUntil(_ condition: () -> Bool) { while !condition() { sched_yield() } }

    @Test func `A client that sends nothing, or its head too slowly, is ended at the deadline`() throws {
        try expectCut(after: .seconds(10)) { _, listener in waitUntil { listener.counts.connections == 1 } }
        try expectCut(after: .seconds(10)) { client, listener in
            waitUntil { listener.counts.connections == 1 }
            client.send("POST /v1/events HTTP/1.1\r\nHo")
        }
    }

    @Test func `A client that sends its body too slowly is ended by the least rate`() throws {
        try expectCut(after: .seconds(5)) { client, listener in
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
            waitUntil { listener.counts.requests == 1 }
        }
    }

    @Test func `A client that stops inside its body is ended by the limit on pauses`() throws {
        try expectCut(after: .seconds(10)) { client, listener in
            // This is so much that the rate alone would allow a later deadline.
            let piece = [UInt8](repeating: 0x20, count: 100_000)
            client.send(Array("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n".utf8) + piece)
            waitUntil { listener.counts.memory >= piece.count }
        }
    }

    @Test func `A connection that is idle too long between two requests is ended`() throws {
        try expectCut(after: .seconds(75)) { client, listener in
            client.post("{}")
            _ = client.answer()
            waitUntil { listener.isIdle }
        }
    }

    @Test func `A client that does not read its reply is ended`() throws {
        let time = ManualClock()
        try withListener(services: [LongWindedService()], clock: time.clock) { listener, _, address in
            let client = try TestClient(address, receiveBuffer: 4096)
            client.post("{}", to: "/long")
            // The first byte has arrived. The rest is more than the sockets can buffer.
            var first: UInt8 = 0
            #expect(recv(client.descriptor, &first, 1, Int32(MSG_PEEK)) == 1)
            time.advance(.seconds(30) - .milliseconds(1))
            listener.watch.sweep()
            #expect(listener.counts.slowConnections == 0)
            time.advance(.milliseconds(1))
            listener.watch.sweep()
            #expect(listener.counts.slowConnections == 1)
            waitUntil { listener.counts.connections == 0 }
        }
    }

    @Test func `A client may wait without limit while the sink works`() throws {
        let time = ManualClock()
        try withListener(clock: time.clock) { listener, sink, address in
            sink.state.withLock { $0.holds = true }
            let client = try TestClient(address)
            client.post("{}")
            sink.waitForHeld(1)
            time.advance(.seconds(3600))
            listener.watch.sweep()
            #expect(listener.counts.slowConnections == 0)
            sink.release(.stored(invalid: []))
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `The watch wakes without help at a deadline`() throws {
        try withListener(listening { $0.limits.headTime = .milliseconds(1) }) { _, _, address in
            let client = try TestClient(address)
            #expect(client.ends())
        }
    }
}

/// A service that answers with more bytes than a socket can buffer.
struct LongWindedService: Service {
    let name = "long"
    let endpoints = [Endpoint("/long")]
    func dialect(of request: Request) throws(Refusal) -> any Dialect { Native() }
    func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply {
        Reply(status: 200, body: [UInt8](repeating: 0x20, count: 20_000_000))
    }
}

extension HTTPListener {
    var isIdle: Bool { state.withLock { $0.active == 0 } }
}
