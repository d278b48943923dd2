import Foundation
import HTTPSupport
import PluginKit
import TestSupport
import Testing

@Suite("http: requests")
struct RequestTests {
    private let events = [#"{"n":1,"text":"ä\n"}"#, #"{ "n" : 2.50 }"#, #"{"n":[3,{}]}"#]

    private func request(_ settings: String = "") throws -> Request {
        let server = Server.answering("200 OK")
        defer { server.close() }
        #expect(try Instance(url: server.url, settings).deliver(events).name == "delivered")
        return try #require(server.requests.first)
    }

    @Test("by default a batch is sent with POST as lines, byte for byte")
    func ndjson() throws {
        let request = try request()
        #expect(request.line == "POST /in HTTP/1.1")
        #expect(request.text == events.map { $0 + "\n" }.joined())
        #expect(request.headers["content-type"] == "application/x-ndjson")
        #expect(request.headers["content-encoding"] == nil && request.headers["expect"] == nil)
        #expect(request.headers["user-agent"]?.hasPrefix("switchyard/") == true)
    }

    @Test("an array is valid JSON, with each event byte for byte")
    func array() throws {
        let request = try request(#""body": "array", "method": "PUT""#)
        #expect(request.line == "PUT /in HTTP/1.1")
        #expect(request.text == "[" + events.joined(separator: ",") + "]")
        #expect(request.headers["content-type"] == "application/json")
        #expect((try JSONSerialization.jsonObject(with: Data(request.body)) as? [Any])?.count == 3)
    }

    @Test("an array of one event is valid JSON")
    func arrayOfOne() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        #expect(try Instance(url: server.url, #""body": "array""#).deliver(["{}"]).name == "delivered")
        #expect(server.requests.map(\.text) == ["[{}]"])
    }

    @Test("with one event per request, each body is one JSON document")
    func event() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        #expect(try Instance(url: server.url, #""body": "event", "in_flight": 1"#).deliver(events).name == "delivered")
        #expect(server.requests.map(\.text) == events)
        #expect(server.requests.allSatisfy { $0.headers["content-type"] == "application/json" })
    }

    @Test("compressed bodies contain the same lines", arguments: ["gzip", "zstd"])
    func compression(method: String) throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let instance = try Instance(url: server.url, "\"compression\": \"\(method)\"")
        let large = (0..<2000).map { "{\"n\":\($0)}" }
        #expect(instance.deliver(large).name == "delivered")
        #expect(instance.deliver(events).name == "delivered")
        #expect(server.requests.allSatisfy { $0.headers["content-encoding"] == method })
        let texts = server.requests.map { String(decoding: method == "gzip" ? gunzip($0.body) : unzstd($0.body), as: UTF8.self) }
        #expect(texts == [large, events].map { $0.map { $0 + "\n" }.joined() })
        #expect((server.requests.first?.body.count ?? .max) < large.joined().utf8.count / 2)
    }

    @Test("single events are compressed one by one", arguments: ["gzip", "zstd"])
    func compressedEvents(method: String) throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let instance = try Instance(url: server.url, "\"body\": \"event\", \"in_flight\": 1, \"compression\": \"\(method)\"")
        #expect(instance.deliver(events).name == "delivered")
        #expect(server.requests.map { String(decoding: method == "gzip" ? gunzip($0.body) : unzstd($0.body), as: UTF8.self) } == events)
    }

    private func gunzip(_ bytes: [UInt8]) -> [UInt8] {
        let (plain, isWhole) = Compression.inflated(bytes)
        return isWhole ? plain : []
    }

    private func unzstd(_ bytes: [UInt8]) -> [UInt8] { Compression.unzstd(bytes) ?? [] }

    @Test("headers are sent with every request, and may replace the adapter's own headers")
    func headers() throws {
        let request = try request(
            #""headers": {"Authorization": "Bearer abc", "X-Empty": "", "user-agent": "mine/1", "Content-Type": "text/plain", "Host": "other.example"}"#
        )
        #expect(request.headers["authorization"] == "Bearer abc")
        #expect(request.headers["x-empty"] == "")
        #expect(request.headers["user-agent"] == "mine/1")
        #expect(request.headers["content-type"] == "text/plain")
        #expect(request.headers["host"] == "other.example")
    }

    @Test("connections are kept between requests")
    func reuse() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let instance = try Instance(url: server.url)
        for _ in 0..<20 { #expect(instance.deliver(events).name == "delivered") }
        #expect(server.connections == 1 && server.requests.count == 20)
    }

    @Test("the number of requests at once reaches the limit and never exceeds it")
    func inFlight() throws {
        let counts = Monitor((now: 0, most: 0, come: 0))
        let server = Server.answering { _, connection in
            let mine = counts.withLock { counts in
                counts.come += 1
                counts.now += 1
                counts.most = max(counts.most, counts.now)
                return counts.come
            }
            counts.wake()
            // Requests are answered in groups of three: none is answered before all three of its group have arrived.
            counts.wait(while: { $0.come < (mine + 2) / 3 * 3 })
            counts.withLock { $0.now -= 1 }
            connection.answer("200 OK")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, #""in_flight": 3"#)
        let batches = (0..<6).map { _ in instance.begin(["{}"]) }
        #expect(batches.allSatisfy { instance.ending($0).name == "delivered" })
        instance.close()
        let single = try Instance(url: server.url, #""in_flight": 3, "body": "event""#)
        #expect(single.deliver((0..<12).map { "{\"n\":\($0)}" }).name == "delivered")
        #expect(counts.withLock { $0.most } == 3)
        #expect(server.connections == 6)
    }

    @Test("a configured proxy is used, with its own credentials")
    func proxy() throws {
        let server = Server.answering("200 OK")
        defer { server.close() }
        let instance = try Instance(url: "http://collector.invalid/in", "\"proxy\": \"http://me:pa55@127.0.0.1:\(server.port)\"")
        #expect(instance.deliver().name == "delivered")
        #expect(server.requests.first?.line == "POST http://collector.invalid/in HTTP/1.1")
        #expect(server.requests.first?.headers["proxy-authorization"] == "Basic bWU6cGE1NQ==")
    }

    @Test("a proxy that permanently refuses a tunnel is a fault, and it never gets the headers of the requests")
    func proxyTunnel() throws {
        for (status, name) in [("407 Who", "fault"), ("403 No", "fault"), ("503 Busy", "retry")] {
            let server = Server.answering(status)
            defer { server.close() }
            let instance = try Instance(
                url: "https://collector.invalid/in",
                "\"headers\": {\"Authorization\": \"Bearer tops3cret\"}, \"proxy\": \"http://127.0.0.1:\(server.port)\"")
            let ending = instance.deliver()
            #expect(ending.name == name, "\(ending)")
            #expect(ending.message.hasPrefix("the proxy http://127.0.0.1:\(server.port) answered"))
            #expect(server.requests.first?.line == "CONNECT collector.invalid:443 HTTP/1.1")
            #expect(server.requests.first?.headers["authorization"] == nil)
        }
    }
}
