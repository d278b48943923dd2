// What is refused and why: paths, forms of a target, keys; the counts and the lines about it; and connections that make room for others.

import Foundation
import Ingest
import Plans
import Platform
import TestSupport
import Testing

@testable import Listener

private let secret = "a-key-of-32-bytes-0123456789abcd"

/// The lines that a log has said.
private final class Lines: Sendable {
    private let lines = Monitor<[String]>([])
    func say(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

@Suite struct TargetTests {
    @Test func `A path that is not there is answered with 404, which names the paths that are`() throws {
        try withListener(listening { $0.dialects = ["native", "otlp"] }) { _, _, address in
            for path in ["/", "/v1", "/v1/events/", "/v1/batch", "/v2/events"] {
                let client = try TestClient(address)
                client.post("{}", to: path)
                let answer = try #require(client.answer())
                #expect(answer.status == 404 && answer.headers["content-type"] == "application/json")
                #expect(answer.body == "{\"error\":\"there is nothing at this path; the paths are /v1/events, /v1/logs\"}\n")
            }
        }
    }

    @Test(arguments: ["http://x/v1/events", "HTTP://other:80/v1/events?a=b", "https://[::1]:1/v1/events"])
    func `A target with a scheme and a host means its path`(_ target: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.post("{\"a\":1}", to: target)
            #expect(client.answer()?.status == 200)
            client.post("{}", to: "http://x")
            #expect(client.answer()?.status == 404)
            client.post("{}", to: "http://x?/v1/events")
            #expect(client.answer()?.status == 404)
            #expect(sink.lines == ["{\"a\":1}"])
        }
    }

    @Test func `A query of a target with a host is read`() throws {
        try withListener { _, _, address in
            let client = try TestClient(address)
            client.post("{}", to: "http://x/v1/events?results=each")
            #expect(client.answer()?.body.contains("results") == true)
        }
    }

    @Test(arguments: ["/v1/events\u{0}", "/v1/events\u{0}/x", "/v1/events?a\u{0}b", "\u{0}/v1/events"])
    func `A zero byte in a target is refused, and the connection ends`(_ target: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.post("{}", to: target)
            let status = client.answer()?.status
            #expect(status == 400 || status == nil)
            #expect(client.answer() == nil)
            #expect(sink.lines.isEmpty)
        }
    }
}

@Suite struct RefusalCountTests {
    @Test func `Requests are counted by dialect and class of their answer, also the refused ones`() throws {
        let plan = listening { $0.keys = [AccessKey(name: "web", secrets: [Array(secret.utf8)])] }
        try withListener(plan) { listener, sink, address in
            let client = try TestClient(address)
            let key = ["Authorization: Bearer \(secret)"]
            client.post("{}", key)
            #expect(client.answer()?.status == 200)
            client.post("{}")
            #expect(client.answer()?.status == 401)
            client.post("{}", key, to: "/nothing")
            #expect(client.answer()?.status == 404)
            client.post("{\"writeKey\":\"wrong\"}", to: "/v1/track")
            #expect(client.answer()?.status == 401)
            sink.state.withLock { $0.isFull = true }
            client.post(
                "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{}]}]}]}", key + ["Content-Type: application/json"], to: "/v1/logs")
            #expect(client.answer()?.status == 503)
            func count(_ dialect: String, _ outcome: RequestOutcome) -> Int? {
                listener.counts.answers.first { $0.dialect == dialect && $0.outcome == outcome }?.requests
            }
            // A request has ended a moment after its client has read the answer.
            while listener.counts.answers.reduce(0, { $0 + $1.requests }) < 5 { sched_yield() }
            #expect(count("native", .success) == 1 && count("native", .refused) == 1 && count("none", .refused) == 1)
            #expect(count("segment", .refused) == 1 && count("otlp", .unavailable) == 1)
            #expect(listener.counts.answers.count == 16)
        }
    }

    @Test func `A request whose client leaves before the answer counts as unanswered`() throws {
        try withListener { listener, _, address in
            var client: TestClient? = try TestClient(address)
            client?.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
            while listener.counts.requests < 1 { sched_yield() }
            client = nil
            while !listener.counts.answers.contains(AnswerCount(dialect: "native", outcome: .unanswered, requests: 1)) { sched_yield() }
        }
    }
}

@Suite struct RefusalLogTests {
    @Test func `The first refusal is said at once, and those of the next minute in one line with their numbers and no key`() throws {
        let time = ManualClock()
        let lines = Lines()
        let log = RefusalLog(name: "in", paths: ["/v1/events", "/v1/logs"], clock: time.clock, say: lines.say)
        log.note(.malformed("x"))
        #expect(log.due == nil)
        log.note(.wrongKey)
        #expect(log.due == "in: refused 1 request without a key that is valid for it")
        log.note(.noKey)
        for _ in 0..<1200 { log.note(.otherKey) }
        log.note(.notFound(paths: []))
        #expect(log.due == nil)
        time.advance(RefusalLog.interval - .nanoseconds(1))
        log.note(.wrongMethod(allowed: []))
        #expect(log.due == nil)
        time.advance(.nanoseconds(1))
        #expect(
            log.due == "in: refused 1,201 requests without a key that is valid for it, refused 1 request to a path that is not there "
                + "(the paths are /v1/events, /v1/logs), refused 1 request with another method than POST")
        log.note(.noCertificate)
        log.note(.otherOrigin)
        for _ in 0..<7 { log.noteShedConnection() }
        log.end()
        log.run()
        #expect(
            lines.all == [
                "in: refused 1 request without a certificate of a client, refused 1 request of web pages whose origin is not in 'origins', "
                    + "ended 7 idle connections to make room for others, since as many are open as may be"
            ])
    }

    @Test func `A listener says that it refuses keys and paths, and shows neither`() throws {
        let lines = Lines()
        let plan = listening { $0.keys = [AccessKey(name: "web", secrets: [Array(secret.utf8)])] }
        let listener = HTTPListener(name: "in", plan: plan, source: 0, sink: FakeSink(), say: lines.say)
        try listener.start()
        let client = try TestClient(try #require(listener.address))
        client.post("{}", ["Authorization: Bearer a-wrong-key-0123456789"])
        #expect(client.answer()?.status == 401)
        client.post("{\"writeKey\":\"a-wrong-key-0123456789\"}", to: "/v1/track")
        #expect(client.answer()?.status == 401)
        client.post("{}", to: "/a-wrong-key-0123456789")
        #expect(client.answer()?.status == 404)
        listener.stop(within: .seconds(600))
        let all = lines.all.joined(separator: "\n")
        #expect(all.contains("without a key") && all.contains("to a path that is not there") && !all.contains("a-wrong-key"))
    }
}

@Suite struct SheddingTests {
    @Test func `At the limit, the connection that waits longest for a request makes room for a new one, and is counted`() throws {
        let time = ManualClock()
        try withListener(listening { $0.limits.connections = 4 }, clock: time.clock) { listener, sink, address in
            var clients: [TestClient] = []
            func add() throws {
                clients.append(try TestClient(address))
                while listener.counts.connections < clients.count { sched_yield() }
                time.advance(.milliseconds(1))
            }
            // The first one is in a request, the others wait for one.
            try add()
            clients[0].send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")
            while listener.counts.requests < 1 { sched_yield() }
            for _ in 1..<4 { try add() }
            time.advance(.seconds(2))
            #expect(listener.counts.shedConnections == 0, "no client waits for room")
            let next = try TestClient(address)
            next.post("{}")
            #expect(next.answer()?.status == 200)
            #expect(clients[1].ends())
            #expect(listener.counts.shedConnections == 1 && listener.counts.slowConnections == 0)
            clients[0].send("{}")
            #expect(clients[0].answer()?.status == 200)
            for client in clients[2...] {
                client.post("{}")
                #expect(client.answer()?.status == 200)
            }
        }
    }

    @Test func `What arrives behind a request in work counts as memory of the listener`() throws {
        for (memory, answers) in [(64 << 20, 2), (2000, 1)] {
            try withListener(listening { $0.limits.memory = memory }) { listener, sink, address in
                sink.state.withLock { $0.holds = true }
                let client = try TestClient(address)
                let post = "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
                client.send(post + post.replacing("\r\n\r\n", with: "\r\nA: \(String(repeating: "a", count: 4000))\r\n\r\n"))
                sink.waitForHeld(1)
                sink.state.withLock { $0.holds = false }
                sink.release(.stored(invalid: []))
                #expect(client.answer()?.status == 200)
                #expect(client.answer()?.status == (answers == 2 ? 200 : nil))
                client.post("{}")
                #expect((client.answer() != nil) == (answers == 2))
            }
        }
    }
}
