import Foundation
import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import RudderStack
@testable import Segment
@testable import VendorKit

private let event = #"{"type":"track","event":"A","userId":"u","timestamp":"2026-11-21T05:49:23Z"}"#
private let key = #""write_key":"wk_test""#

@Suite("segment and rudderstack: answers")
struct SegmentAnswerTests {
    @Test("random events that are sent are all kept by a server that follows Segment's rules")
    func segment() throws {
        let fake = FakeSegment(key: "wk_test", mostOfBody: 500_000, mostEvents: 2500)
        let exchange = try Exchange(Segment.self, #""write_key":"wk_test","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        try check(exchange, fake)
    }

    @Test("random events that are sent are all kept by a server that follows RudderStack's rules")
    func rudderStack() throws {
        let fake = FakeSegment(key: "wk_test", mostOfBody: 4_000_000, mostEvents: .max)
        let exchange = try Exchange(RudderStack.self, #""write_key":"wk_test","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        try check(exchange, fake)
    }

    private func check(_ exchange: Exchange, _ fake: FakeSegment) throws {
        var random = RandomEvents(seed: 6)
        let events = (0..<500).map { _ in random.event() } + [event]
        let ending = exchange.deliver(events)
        #expect(ending.name == "delivered" && fake.dropped.isEmpty, "\(fake.dropped.first ?? "")")
        #expect(ending.events.values.allSatisfy { $0 == "rejected 0" })
        #expect(fake.kept.count == events.count - ending.events.count && fake.kept.last == "track")
    }

    @Test("a wrong key is a fault, and neither it nor its encoded form is shown")
    func wrongKey() throws {
        let exchange = try Exchange(Segment.self, key) { request, connection in
            connection.answer("401 Unauthorized", "wk_test, \(request.headers["authorization"] ?? "none") is not valid")
        }
        defer { exchange.close() }
        let ending = exchange.deliver([event])
        #expect(ending.name == "fault" && ending.message.hasSuffix("answered 401: ***, Basic *** is not valid; correct write_key"))
    }

    @Test("a key with a colon is refused")
    func colon() {
        #expect(throws: SettingsFault.self) { try Exchange.instance(Segment.self, #""write_key":"a:b""#, url: "http://127.0.0.1:1") }
    }

    @Test(
        "events that Segment says it did not take are not delivered",
        arguments: [
            (#"{"success": false}"#, false), (#"{"success":true}"#, true), ("OK", true), ("", true), (#"{"success":"no"}"#, true),
            (#"["success"]"#, true), (#"{"success":null}"#, true),
        ])
    func success(body: String, isDelivered: Bool) throws {
        let exchange = try Exchange(Segment.self, key, body: body)
        defer { exchange.close() }
        let ending = exchange.deliver([event, event])
        #expect(ending.name == (isDelivered ? "delivered" : "rejected") && ending.events.isEmpty)
    }

    @Test(
        "a refused body is halved, and a busy server gets it again",
        arguments: [("400 Bad Request", "rejected"), ("413 Too Large", "rejected"), ("503 Busy", "retry"), ("404 Not Found", "fault")])
    func statuses(status: String, name: String) throws {
        let exchange = try Exchange(RudderStack.self, key, status: status, body: "why")
        defer { exchange.close() }
        let ending = exchange.deliver([event, event])
        #expect(ending.name == name && ending.events.isEmpty)
    }

    @Test("a server that limits requests says for how long")
    func limit() throws {
        let exchange = try Exchange(Segment.self, key, status: "429 Slow Down", headers: "Retry-After: 7\r\n")
        defer { exchange.close() }
        let ending = exchange.deliver([event])
        #expect(ending.name == "retry" && ending.code == 429 && (6000...7000).contains(ending.after))
    }

    @Test("the address is the region's, or the data plane's")
    func addresses() throws {
        func address<V: Vendor>(_ vendor: V.Type, _ settings: String) throws -> [String] {
            var setup = Setup(try Settings(json: settings), Host(log: { _, _ in }, closed: { _ in }))
            _ = try V(&setup)
            return setup.endpoints.map { $0.base + $0.path }
        }
        #expect(try address(Segment.self, #"{"write_key":"k"}"#) == ["https://api.segment.io/v1/batch"])
        #expect(try address(Segment.self, #"{"write_key":"k","region":"eu"}"#) == ["https://events.eu1.segmentapis.com/v1/batch"])
        #expect(try address(RudderStack.self, #"{"write_key":"k","url":"https://x.example/"}"#) == ["https://x.example/v1/batch"])
        #expect(throws: SettingsFault.self) { try address(RudderStack.self, #"{"write_key":"k"}"#) }
    }

    @Test("the URL of RudderStack is described once, and is required")
    func description() {
        let json = VendorProvider<RudderStack>.description.json(erase: false)
        #expect(json.components(separatedBy: #""url":"#).count == 2 && json.contains(#""required":["url","write_key"]"#))
        #expect(VendorProvider<Segment>.description.json(erase: false).contains(#""writeOnly":true"#))
    }
}
