import HTTPSupport
import PluginKit
import Testing

@Suite("http: servers that misbehave")
struct FaultTests {
    private func deliver(_ settings: String = "", _ serve: @escaping @Sendable (Server, Server.Connection) -> Void) throws -> Ending {
        let server = Server { server, connection in
            serve(server, connection)
        }
        let instance = try Instance(url: server.url, settings)
        let ending = instance.deliver()
        instance.close()
        server.close()
        return ending
    }

    /// Delivers with a short timeout, which is long enough for a good server. If a busy machine does not even send the request in time, or
    /// does not read this status, it tries longer timeouts.
    private func deliverInHaste(
        reaching status: Int32? = nil, _ serve: @escaping @Sendable (Server, Server.Connection) -> Void
    ) throws -> (ending: Ending, milliseconds: Int) {
        for milliseconds in [300, 3000, 30_000] {
            let ending = try deliver(#""timeout": {"total": \#(milliseconds), "connect": 600000}"#, serve)
            let isReached = ending.name == "unknown" && ending.code == status ?? ending.code
            if isReached || milliseconds == 30_000 { return (ending, milliseconds) }
        }
        fatalError("the last timeout always returns")
    }

    @Test("if the server never answers, the events are unknown")
    func hang() throws {
        let (ending, milliseconds) = try deliverInHaste { _, connection in
            _ = connection.request()
            connection.linger()
        }
        #expect(ending.name == "unknown" && ending.message.hasSuffix("gave no whole answer within \(milliseconds) ms"))
    }

    @Test("if the server sends its answer very slowly, the events are unknown")
    func drip() throws {
        let (ending, _) = try deliverInHaste(reaching: 200) { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.linger(milliseconds: 20), connection.send(".") {}
        }
        #expect(ending.name == "unknown" && ending.code == 200)
    }

    @Test("if the server sends the head of its answer very slowly, the events are unknown")
    func dripHead() throws {
        let (ending, _) = try deliverInHaste { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nX: ")
            while connection.linger(milliseconds: 20), connection.send(".") {}
        }
        #expect(ending.name == "unknown")
    }

    @Test("a server that accepts no connection is tried again")
    func refused() throws {
        let port = closedPort()
        let ending = try Instance(url: "http://127.0.0.1:\(port)").deliver()
        #expect(ending.name == "retry" && ending.message == "cannot reach http://127.0.0.1:\(port): Connection refused")
    }

    @Test("a host name that cannot be resolved is tried again")
    func nameNotFound() throws {
        let ending = try Instance(url: "http://no-such-host.invalid/x").deliver()
        #expect(ending.name == "retry" && ending.message.hasPrefix("cannot reach http://no-such-host.invalid: "))
    }

    @Test("if the server resets before it reads, the events are sent again")
    func resetBeforeReading() throws {
        let ending = try deliver { _, connection in connection.reset() }
        // The kernels race: a byte may have been sent before the reset or not. Both outcomes lead to a second attempt.
        #expect(ending.name == "unknown" || ending.name == "retry")
    }

    @Test("if the server resets after it has read, the events are unknown")
    func resetAfterReading() throws {
        let ending = try deliver { _, connection in
            _ = connection.request()
            connection.reset()
        }
        #expect(ending.name == "unknown" && ending.message.hasSuffix("was lost before it answered: Recv failure: Connection reset by peer"))
    }

    @Test("if the server closes without an answer, the events are unknown")
    func empty() throws {
        let ending = try deliver { _, connection in _ = connection.request() }
        #expect(ending.name == "unknown")
    }

    @Test(
        "if the answer is garbage, the events are unknown",
        arguments: [
            "\u{0}\u{1}\u{2}", "hello\r\n\r\n", "HTTP/9.9 lots\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 99 Low\r\n\r\n",
        ])
    func garbage(answer: String) throws {
        let ending = try deliver { _, connection in
            _ = connection.request()
            connection.send(answer)
        }
        #expect(ending.name == "unknown", "\(ending)")
    }

    @Test("with a truncated 2xx answer the events are unknown, and any other truncated answer counts")
    func truncated() throws {
        for (status, name) in [(200, "unknown"), (503, "retry"), (400, "rejected")] {
            let ending = try deliver { _, connection in
                _ = connection.request()
                connection.send("HTTP/1.1 \(status) X\r\nContent-Length: 100\r\n\r\nhalf")
            }
            #expect(ending.name == name && Int(ending.code) == status)
        }
    }

    @Test("an endless answer is cut, and its status counts")
    func endless() throws {
        for (status, name) in [(200, "delivered"), (400, "rejected"), (500, "retry")] {
            let ending = try deliver { _, connection in
                _ = connection.request()
                connection.send("HTTP/1.1 \(status) X\r\nTransfer-Encoding: chunked\r\n\r\n")
                while connection.send("400\r\n\(String(repeating: "y", count: 1024))\r\n") {}
            }
            #expect(ending.name == name)
        }
    }

    @Test("an endless head is cut")
    func endlessHead() throws {
        let ending = try deliver { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 503 X\r\n")
            while connection.send("X-More: \(String(repeating: "y", count: 1024))\r\n") {}
        }
        #expect(ending.name == "retry")
    }

    @Test("a kept connection that the server has closed is replaced without a failure")
    func staleConnection() throws {
        let server = Server { server, connection in
            if let request = connection.request() {
                server.note(request)
                connection.answer("200 OK")
            }
        }
        defer { server.close() }
        let instance = try Instance(url: server.url)
        for _ in 0..<5 { #expect(instance.deliver().name == "delivered") }
        #expect(server.requests.count == 5)
    }

    @Test(
        "if a kept connection takes a request without an answer, the outcome is unknown, whatever happens on the next connection",
        arguments: [true, false])
    func takenWithoutAnswer(isRefused: Bool) throws {
        let server = Server { server, connection in
            while let request = connection.request() {
                server.note(request)
                switch (connection.number, server.requests.count) {
                case (1, 1): connection.answer("200 OK")
                case (1, _):
                    if isRefused { server.refuse() }
                    return
                default: connection.answer("503 Service Unavailable", headers: "Retry-After: 5\r\n")
                }
            }
        }
        defer { server.close() }
        let instance = try Instance(url: server.url)
        #expect(instance.deliver().name == "delivered")
        let ending = instance.deliver()
        #expect(ending.name == "unknown" && ending.message.hasSuffix("; the previous connection ended without an answer"), "\(ending)")
        #expect(server.requests.count == (isRefused ? 2 : 3))
    }
}

@Suite("http: the end of an instance")
struct ClosingTests {
    @Test("before closing returns, sent requests are unknown and the others are to be retried")
    func close() throws {
        let server = Server { server, connection in
            if let request = connection.request() { server.note(request) }
            connection.linger()
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, #""in_flight": 2"#)
        let tokens = (0..<5).map { _ in instance.begin(["{\"n\":1}"]) }
        server.wait(requests: 2)
        instance.close()
        #expect(tokens.allSatisfy(instance.hasEnded))
        #expect(tokens.map { instance.ending($0).name } == ["unknown", "unknown", "retry", "retry", "retry"])
    }

    @Test("closing separates the sent events of a batch from the others")
    func closeWithinBatch() throws {
        let server = Server { server, connection in
            while let request = connection.request() {
                server.note(request)
                if request.text.contains("2") { connection.linger() } else { connection.answer("200 OK") }
            }
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, #""in_flight": 1, "body": "event""#)
        let token = instance.begin((0..<5).map { "{\"n\":\($0)}" })
        server.wait(requests: 3)
        instance.close()
        let ending = instance.ending(token)
        #expect(ending.name == "retry" && ending.events == [0: "delivered 0", 1: "delivered 0", 2: "unknown 0"])
    }

    @Test("closing ends a connection that is not yet established")
    func closeWhileConnecting() throws {
        // The server does not answer the TLS client hello.
        let server = Server { server, connection in
            server.note(Request(line: "", headers: [:], body: []))
            connection.linger()
        }
        defer { server.close() }
        let instance = try Instance(url: "https://127.0.0.1:\(server.port)")
        let token = instance.begin(["{}"])
        server.wait(requests: 1)
        instance.close()
        #expect(instance.ending(token).name == "retry")
    }

    @Test("a flush waits for active requests")
    func flush() throws {
        let gate = Monitor(false)
        let server = Server.answering { _, connection in
            gate.wait(while: { !$0 })
            connection.answer("200 OK")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url)
        let token = instance.begin(["{}"])
        server.wait(requests: 1)
        let flush = instance.beginFlush()
        #expect(!instance.hasEnded(flush))
        gate.withLock { $0 = true }
        gate.wake()
        #expect(instance.ending(flush).name == "delivered")
        #expect(instance.hasEnded(token) && instance.ending(token).name == "delivered")
    }

    @Test("a flush of an idle instance ends at once")
    func idleFlush() throws {
        let instance = try Instance(url: "http://127.0.0.1:1")
        #expect(instance.ending(instance.beginFlush()).name == "delivered")
    }

    @Test("an empty batch is delivered without a request")
    func emptyBatch() throws {
        #expect(try Instance(url: "http://127.0.0.1:1").deliver([]).name == "delivered")
    }

    @Test("a batch that waits too long for its turn is a retry")
    func noTurn() throws {
        let server = Server { server, connection in
            _ = connection.request()
            connection.linger()
        }
        defer { server.close() }
        // A busy machine may not even send the first request within the shorter time.
        for milliseconds in [1500, 15_000] {
            let instance = try Instance(url: server.url, #""in_flight": 1, "timeout": {"total": \#(milliseconds)}"#)
            let endings = (0..<3).map { _ in instance.begin(["{}"]) }.map(instance.ending)
            if milliseconds == 1500, endings[0].name != "unknown" { continue }
            #expect(endings[0].name == "unknown")
            #expect(endings[2].name == "retry")
            #expect(endings[2].message == "no request became free within \(milliseconds) ms")
            break
        }
    }
}
