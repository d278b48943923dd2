import Foundation
import Ingest
import Plans
import Platform
import Testing

@testable import Listener

@Suite struct AnswersTests {
    @Test func `NDJSON becomes lines, and is answered after the sink has stored them`() throws {
        try withListener { listener, sink, address in
            let client = try TestClient(address)
            client.post("{\"a\":1}\n\n{\"b\":2}", ["Content-Type: application/x-ndjson"])
            let answer = try #require(client.answer())
            #expect(answer.status == 200)
            #expect(answer.body == "{\"accepted\":2,\"rejected\":0}\n")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(sink.lines == ["{\"a\":1}", "{\"b\":2}"])
            // The connection stays open for the next request.
            client.post("{\"c\":3}")
            #expect(client.answer()?.status == 200)
            #expect(listener.counts.requests == 2)
        }
    }

    @Test func `No answer is sent before the sink answers`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.holds = true }
            let client = try TestClient(address)
            client.post("{}")
            sink.waitForHeld(1)
            var none: UInt8 = 0
            #expect(recv(client.descriptor, &none, 1, Int32(MSG_DONTWAIT)) < 0)
            sink.release(.stored(invalid: []))
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `An invalid line is reported and does not affect the others`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "expected \"x\"")]) }
            let client = try TestClient(address)
            client.post("{}\n{\n{}\n")
            #expect(
                client.answer()?.body == "{\"accepted\":2,\"rejected\":1,\"errors\":[{\"event\":1,\"error\":\"expected \\\"x\\\"\"}]}\n")
            for (path, headers) in [("/v1/events?results=each", []), ("/v1/events", ["Prefer: return=representation"])] {
                client.post("{}\n{\n{}\n", headers, to: path)
                let results =
                    "[{\"status\":\"accepted\"},{\"status\":\"rejected\",\"error\":\"expected \\\"x\\\"\"},{\"status\":\"accepted\"}]"
                #expect(client.answer()?.body == "{\"accepted\":2,\"rejected\":1,\"results\":\(results)}\n")
            }
        }
    }

    @Test func `Small bodies are judged where they arrive, and large or compressed ones by a worker`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { ($0.holds, $0.answersOffers) = (true, true) }
            let client = try TestClient(address)
            for _ in 0..<2 {
                client.post("{}")
                #expect(client.answer()?.status == 200)
            }
            sink.state.withLock { $0.holds = false }
            client.post("{\"a\":\"" + String(repeating: "x", count: OwnShare.smallBody) + "\"}")
            #expect(client.answer()?.status == 200)
            client.post(gzipped(Array("{}".utf8)), ["Content-Encoding: gzip"])
            #expect(client.answer()?.status == 200)
            #expect(sink.state.withLock { $0.offers } == [true, true, false, false])
        }
    }

    @Test func `The server's thread translates small bodies itself, and only so many in a round`() {
        var share = OwnShare()
        func takes(_ bytes: Int, isCompressed: Bool = false) -> Bool { share.takes(bodyBytes: bytes, isCompressed: isCompressed) }
        #expect(takes(OwnShare.smallBody) && takes(OwnShare.smallBody))
        #expect(!takes(1), "the share of the round is used up")
        share.roundEnded()
        #expect(!takes(OwnShare.smallBody + 1) && !takes(1, isCompressed: true))
        #expect(takes(1))
    }

    @Test func `A request without any valid event is answered with 400`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 0, message: "no")]) }
            let client = try TestClient(address)
            client.post("x")
            #expect(client.answer()?.status == 400)
            client.post("")
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `Under overload the client is told when to send again`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            sink.state.withLock { $0.isFull = true }
            client.post("{}")
            var answer = try #require(client.answer())
            #expect(answer.status == 429 && answer.headers["retry-after"] == "1")
            sink.state.withLock {
                $0.isFull = false
                $0.submission = .overloaded(retryAfter: 7)
            }
            client.post("{}")
            answer = try #require(client.answer())
            #expect(answer.status == 429 && answer.headers["retry-after"] == "7")
            sink.state.withLock { $0.submission = .closing }
            client.post("{}")
            answer = try #require(client.answer())
            #expect(answer.status == 503 && answer.headers["retry-after"] == "5")
        }
    }

    @Test func `A stop answers every waiting request, and then ends`() throws {
        var plan = HTTPSourcePlan()
        plan.listen = .tcp(host: "127.0.0.1", port: 0)
        let sink = FakeSink()
        sink.state.withLock { $0.holds = true }
        let listener = HTTPListener(name: "http", plan: plan, source: 0, sink: sink)
        try listener.start()
        let address = try #require(listener.address)
        let clients = try (0..<20).map { _ in try TestClient(address) }
        for client in clients { client.post("{}") }
        sink.waitForHeld(20)
        // A sink that never answers does not delay the stop beyond `within`.
        listener.stop(within: .zero)
        for client in clients {
            let answer = try #require(client.answer())
            #expect(answer.status == 503 && answer.headers["connection"] == "close")
            #expect(client.ends())
        }
        // An answer of the sink that comes too late has no effect.
        sink.release(.stored(invalid: []))
    }

    @Test func `After quiesce open connections are told to send again later and no new ones are accepted`() throws {
        try withListener { listener, _, address in
            let client = try TestClient(address)
            client.post("{}")
            #expect(client.answer()?.status == 200)
            listener.quiesce()
            client.post("{}")
            let answer = try #require(client.answer())
            #expect(answer.status == 503 && answer.headers["retry-after"] == "5" && answer.headers["connection"] == "close")
            #expect(!TestClient.connects(address))
        }
    }

    @Test func `An unknown path and an unknown method get different answers`() throws {
        try withListener { _, _, address in
            let client = try TestClient(address)
            client.send("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(client.answer()?.status == 404)
            for method in ["GET", "PUT", "DELETE"] {
                client.send("\(method) /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
                let answer = try #require(client.answer())
                #expect(answer.status == 405 && answer.headers["allow"] == "OPTIONS, POST")
            }
            client.send("HEAD /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(client.answer(head: true)?.status == 405)
            client.send("OPTIONS /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = try #require(client.answer())
            #expect(answer.status == 204 && answer.headers["allow"] == "OPTIONS, POST")
            #expect(answer.headers["access-control-allow-origin"] == nil)
            client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(client.answer()?.status == 204)
            client.post("{}", to: "/nothing")
            #expect(client.answer()?.status == 404)
        }
    }

    @Test func `A chunked body and one that waits for 100 Continue are accepted`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n3\r\n:1}\r\n0\r\n\r\n")
            #expect(client.answer()?.status == 200)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nExpect: 100-continue\r\n\r\n")
            #expect(client.answer()?.status == 100)
            client.send("{\"b\":2}")
            #expect(client.answer()?.status == 200)
            #expect(sink.lines == ["{\"a\":1}", "{\"b\":2}"])
        }
    }

    @Test func `A client that waits for 100 Continue is refused before it sends the body`() throws {
        try withListener(listening { $0.limits.body = 10 }) { _, _, address in
            let client = try TestClient(address)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n")
            #expect(client.answer()?.status == 413)
        }
    }

    @Test func `A page of another origin cannot write to a listener without keys`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            for origin in ["https://evil.example", "null"] {
                for path in ["/v1/events", "/v1/track", "/v1/logs"] {
                    client.post("{}", ["Origin: \(origin)", "Content-Type: text/plain"], to: path)
                    #expect(client.answer()?.status == 403)
                }
            }
            #expect(sink.lines.isEmpty)
        }
        try withListener(listening { $0.origins = ["https://app.example"] }) { _, sink, address in
            let client = try TestClient(address)
            client.post("{}", ["Origin: https://app.example", "Content-Type: text/plain"])
            #expect(client.answer()?.status == 200)
            #expect(sink.lines.count == 1)
        }
    }

    @Test func `Pipelined requests are answered in order`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            let one = "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n"
            client.send(one + "{\"a\":1}" + one + "{\"a\":2}" + one + "{\"a\":3}")
            for _ in 0..<3 { #expect(client.answer()?.status == 200) }
            #expect(sink.lines == ["{\"a\":1}", "{\"a\":2}", "{\"a\":3}"])
        }
    }

    @Test func `A media type that cannot contain events is refused, and the default types of clients are accepted`() throws {
        try withListener { _, _, address in
            let client = try TestClient(address)
            client.post("{}", ["Content-Type: multipart/form-data; boundary=x"])
            #expect(client.answer()?.status == 415)
            for type in ["application/json; charset=utf-8", "text/plain", "application/x-www-form-urlencoded", "APPLICATION/X-NDJSON"] {
                client.post("{}", ["Content-Type: \(type)"])
                #expect(client.answer()?.status == 200)
            }
        }
    }
}

@Suite struct BrowserTests {
    @Test func `A page of a configured origin may send, and any other may not`() throws {
        try withListener(listening { $0.origins = ["https://app.example"] }) { _, _, address in
            let client = try TestClient(address)
            func preflight(_ origin: String) throws -> Answer {
                client.send("OPTIONS /v1/events HTTP/1.1\r\nHost: x\r\nOrigin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n\r\n")
                return try #require(client.answer())
            }
            let good = try preflight("https://app.example")
            #expect(good.status == 204)
            #expect(good.headers["access-control-allow-origin"] == "https://app.example")
            #expect(good.headers["access-control-allow-methods"] == "POST, OPTIONS")
            #expect(good.headers["access-control-allow-headers"] == "Authorization, Content-Type, Content-Encoding, Prefer")
            #expect(good.headers["access-control-max-age"] == "86400")
            #expect(good.headers["vary"] == "Origin")
            let bad = try preflight("https://evil.example")
            #expect(bad.status == 204 && bad.headers["access-control-allow-origin"] == nil && bad.headers["access-control-max-age"] == nil)
            client.post("{}", ["Origin: https://app.example"])
            #expect(client.answer()?.headers["access-control-allow-origin"] == "https://app.example")
            client.post("{}", ["Origin: https://app.example"], to: "/nothing")
            #expect(client.answer()?.headers["access-control-allow-origin"] == "https://app.example")
            client.post("{}", ["Origin: https://app.example.evil"])
            #expect(client.answer()?.headers["access-control-allow-origin"] == nil)
        }
    }
}

@Suite struct KeyTests {
    static let keys = [
        AccessKey(name: "web", secrets: [Array("first-secret-0001".utf8), Array("second-secret-002".utf8)]),
        AccessKey(name: "other", secrets: [Array("other-secret-0003".utf8)], dialects: ["segment"]),
    ]

    @Test func `Both keys of a rotation are valid in either scheme, and no other key is`() throws {
        try withListener(listening { $0.keys = KeyTests.keys }) { _, sink, address in
            let client = try TestClient(address)
            for key in ["first-secret-0001", "second-secret-002"] {
                client.post("{}", ["Authorization: Bearer \(key)"])
                #expect(client.answer()?.status == 200)
                client.post("{}", ["Authorization: Basic \(Data("\(key):".utf8).base64EncodedString())"])
                #expect(client.answer()?.status == 200)
            }
            for header in [
                "Authorization: Bearer first-secret-0002", "Authorization: Bearer first-secret-000", "Authorization: Basic !", "X: y",
            ] {
                client.post("{}", [header])
                let answer = try #require(client.answer())
                #expect(answer.status == 401)
                #expect(answer.headers["www-authenticate"] == "Bearer realm=\"switchyard\"")
                #expect(!answer.body.contains("secret"))
            }
            client.post("{}", ["Authorization: Bearer other-secret-0003"])
            #expect(client.answer()?.status == 403)
            #expect(sink.lines.count == 4)
        }
    }

    @Test func `The sink learns which key limits the routes, from a header or from the body`() throws {
        let keys = KeyTests.keys + [AccessKey(name: "bound", secrets: [Array("bound-secret-0004".utf8)], routes: ["errors"])]
        try withListener(listening { $0.keys = keys }) { _, sink, address in
            let client = try TestClient(address)
            for key in ["first-secret-0001", "bound-secret-0004"] {
                client.post("{}", ["Authorization: Bearer \(key)"])
                #expect(client.answer()?.status == 200)
            }
            client.post(#"{"type":"track","event":"e","userId":"u","writeKey":"bound-secret-0004"}"#, to: "/v1/track")
            #expect(client.answer()?.status == 200)
            #expect(sink.keys == [0, 3, 3])
        }
    }

    @Test func `Keys are equal only if every byte is equal`() {
        let secret = Array("0123456789abcdef".utf8)
        #expect(KeyRing.isSame(secret, secret))
        #expect(!KeyRing.isSame([], secret))
        #expect(!KeyRing.isSame(secret + secret, secret))
        for index in secret.indices {
            var other = secret
            other[index] ^= 1
            #expect(!KeyRing.isSame(other, secret))
        }
    }

    @Test func `The user name of Basic is the key, or the password if the name is empty`() {
        func basic(_ pair: String) -> String? {
            Credentials.key("Basic " + Data(pair.utf8).base64EncodedString()).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(basic("key:") == "key")
        #expect(basic("key:word") == "key")
        #expect(basic(":word") == "word")
        #expect(basic(":") == nil)
        #expect(basic("word") == nil)
        #expect(Credentials.key("bearer  k") == Array("k".utf8))
        #expect(Credentials.key("Digest k") == nil)
        #expect(Credentials.key(nil) == nil)
    }
}
