import HTTPSupport
import PluginKit
import Testing
import VendorKit
import VendorSupport

private let settings = #""key":"k3y-of-test","compression":"gzip""#
private let event = #"{"type":"track","userId":"u","properties":{"n":1,"k":"k3y-of-test"}}"#

@Suite("VendorKit: previews and probes")
struct InquiryTests {
    @Test("a preview is what would be sent, without compression and secrets")
    func preview() throws {
        let exchange = try Exchange(Sample.self, settings)
        defer { exchange.close() }
        let previewed = try #require(exchange.instance.preview([event, #"{"type":"alias"}"#, #"{"type":"page","userId":"u","name":"n"}"#]))
        #expect(previewed.refused == [1: "no aliases"])
        #expect(
            previewed.requests.map(\.body) == [
                #"[{"at":0,"user":"u","n":1,"k":"***"}]"#, #"{"kind":"page","user":"u","events":[{"name":"n"}]}"#,
            ])
        #expect(previewed.requests.map(\.events) == [[0], [2]])
        let url = exchange.server.url
        #expect(previewed.requests.map(\.url) == ["\(url)/list?key=***", "\(url)/grouped?key=***"])
        #expect(previewed.requests[0].method == "POST")
        #expect(previewed.requests[0].headers.contains("Content-Type: application/json"))
        #expect(previewed.requests[0].headers.contains("Content-Encoding: gzip"))
        #expect(exchange.server.connections == 0, "a preview sends nothing")
    }

    @Test("an event that needs several requests is in the parts of each")
    func several() throws {
        let exchange = try Exchange(Sample.self, settings)
        defer { exchange.close() }
        let four = #"{"type":"track","properties":{"copies":4}}"#
        let previewed = try #require(exchange.instance.preview([event, four]))
        #expect(previewed.requests.map(\.events) == [[0, 1, 1], [1, 1]])
        #expect(exchange.instance.preview([]) == Instance.Previewed())
    }

    @Test("a preview changes nothing: it comes out the same again, and a delivery after it sends the same bytes")
    func unchanged() throws {
        let plain = #""key":"k3y-of-test","compression":"none""#
        let exchange = try Exchange(Sample.self, plain)
        defer { exchange.close() }
        var random = RandomEvents(seed: 11)
        let events = (0..<200).map { _ in random.event() }
        let first = try #require(exchange.instance.preview(events))
        #expect(exchange.instance.preview(events) == first)
        let ending = exchange.deliver(events)
        #expect(ending.name == "delivered" && Set(ending.events.keys) == Set(first.refused.keys))
        let sent = exchange.server.requests.map(\.text).sorted()
        #expect(sent == first.requests.map(\.body).sorted())
        #expect(ending.messages.filter { first.refused[$0.key] != nil } == first.refused)
    }

    // MARK: - Probes

    @Test("a vendor that declares no probe only has its host asked, without the key")
    func reached() throws {
        let (answer, request) = try Exchange.probe(Sample.self, settings, status: "404 Not Found")
        #expect(answer.name == "reached" && answer.code == 404, "\(answer)")
        #expect(request.line == "GET / HTTP/1.1" && request.body.isEmpty)
        #expect(!"\(request.headers)".contains("k3y") && request.headers["content-encoding"] == nil)
    }

    @Test(
        "an answer that the vendor does not judge counts by its status",
        arguments: [
            ("200 OK", "accepted"), ("401 Unauthorized", "refused"), ("403 Forbidden", "refused"), ("302 Found", "refused"),
            ("400 Bad Request", "reached"), ("503 Busy", "failed"), ("429 Slow Down", "failed"),
        ])
    func statuses(status: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Asking.self, settings, status: status, body: "wrong key k3y-of-test")
        #expect(answer.name == name && !answer.message.contains("k3y-of-test"), "\(answer)")
        #expect(request.line == "POST /in/ask?key=k3y-of-test HTTP/1.1" && request.text == "{}")
        #expect(request.headers["content-encoding"] == nil)
    }

    @Test("a path that only the vendor itself has is not missed at another url")
    func redirected() throws {
        let (answer, _) = try Exchange.probe(Asking.self, settings, status: "404 Not Found")
        #expect(answer.name == "reached" && answer.code == 404, "\(answer)")
    }

    @Test("without a server, or with one that does not answer, there is no answer within the time")
    func unreachable() throws {
        let closed = try Exchange.instance(Asking.self, settings, url: "http://127.0.0.1:\(closedPort())")
        let refused = try #require(closed.probe())
        #expect(refused.name == "failed" && refused.message.hasPrefix("cannot reach http://127.0.0.1:"), "\(refused)")
        closed.close()
        let silent = try Exchange(Asking.self, settings) { _, connection in connection.stall() }
        let late = try #require(silent.instance.probe(milliseconds: 1))
        #expect(late.name == "failed" && late.message.hasSuffix(" did not answer within 1 ms"), "\(late)")
        silent.close()
    }
}

/// A vendor with a probe whose answers count by their status.
private struct Asking: Vendor {
    static let about = VendorDescription(
        name: "asking", version: "1.0.0", summary: "For tests.", settings: ["key": .text("the key").required.secret],
        compressions: [.none, .gzip])

    init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.secret("key")
        _ = setup.endpoint(Endpoint("https://sample.invalid", path: "/list", envelope: Envelope("[", after: "]"), limits: .init()))
        setup.probe(Endpoint("https://sample.invalid", path: "/ask?key=\(key)", envelope: Envelope(), limits: .init()), body: "{}")
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) { wire.refuse("nothing is sent") }
}
