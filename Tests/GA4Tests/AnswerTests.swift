import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import GA4
@testable import HTTPKit
@testable import VendorKit

/// Events that never grow too old, whatever the time of the test.
private let event = #"{"type":"track","event":"A","anonymousId":"1.2","timestamp":"2199-01-01T00:00:00Z"}"#
private let arrival: Int64 = 7_226_582_400_000_000_000

@Suite("ga4: answers")
struct AnswerTests {
    @Test("events arrive at a server that follows Google's rules, and what it would drop is refused before")
    func arrive() throws {
        let fake = FakeGA4()
        let exchange = try Exchange(GA4.self, web) { fake.answer($0, $1) }
        defer { exchange.close() }
        let ending = exchange.deliver(
            [
                event, #"{"type":"page","anonymousId":"a"}"#, #"{"type":"track","event":"session_start","anonymousId":"a"}"#,
                #"{"type":"track","event":"A","anonymousId":"a","timestamp":"2020-01-01T00:00:00Z"}"#,
            ], arrivals: Array(repeating: arrival, count: 4))
        #expect(ending.name == "delivered" && ending.events == [2: "rejected 0", 3: "rejected 0"])
        #expect(fake.losses.isEmpty && fake.kept.map(\.name).sorted() == ["A", "page_view"])
    }

    @Test("random events that are sent are all kept by such a server")
    func random() throws {
        let fake = FakeGA4(isApp: true)
        let exchange = try Exchange(GA4.self, #"\#(app),"derive_id":true"#) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 4)
        let events = (0..<300).map { _ in random.event() }
        let ending = exchange.deliver(events, arrivals: Array(repeating: arrival, count: events.count))
        #expect(ending.name == "delivered" && fake.losses.isEmpty)
        #expect(fake.kept.count == events.count - ending.events.count && !fake.kept.isEmpty)
    }

    @Test("the secret is never shown")
    func secret() throws {
        let exchange = try Exchange(GA4.self, web, status: "403 Forbidden", body: "s3cret is not valid")
        defer { exchange.close() }
        let ending = exchange.deliver([event])
        #expect(ending.name == "fault" && !ending.message.contains("s3cret"))
        #expect(ending.message.hasSuffix("correct measurement_id, or api_secret"))
    }

    @Test(
        "only a 2xx is a delivery",
        arguments: [
            ("204 No Content", "delivered"), ("200 OK", "delivered"), ("400 Bad Request", "rejected"), ("413 Too Large", "rejected"),
            ("503 Busy", "retry"), ("429 Limit", "retry"), ("404 Not Found", "fault"),
        ])
    func statuses(status: String, name: String) throws {
        let exchange = try Exchange(GA4.self, web, status: status, body: status.hasPrefix("204") ? "" : "why")
        defer { exchange.close() }
        #expect(exchange.deliver([event, event]).name == name)
    }

    @Test("a request that fails fails only its own client's events")
    func parts() throws {
        let exchange = try Exchange(GA4.self, web) { request, connection in
            connection.answer(request.text.contains("3.4") ? "400 Bad Request" : "204 No Content")
        }
        defer { exchange.close() }
        let ending = exchange.deliver([event, event.replacing("1.2", with: "3.4")])
        #expect(ending.name == "delivered" && ending.events == [1: "rejected 400"])
    }

    @Test("the address is the region's, of a web stream or of an app")
    func addresses() throws {
        func address(_ settings: String) throws -> String {
            var setup = Setup(try Settings(json: "{\(settings)}"), Host(log: { _, _ in }, closed: { _ in }))
            _ = try GA4(&setup)
            return setup.endpoints.map { $0.base + $0.path }.joined()
        }
        #expect(try address(web) == "https://www.google-analytics.com/mp/collect?measurement_id=G-1&api_secret=s3cret")
        #expect(
            try address(#"\#(app),"region":"eu""#)
                == "https://region1.google-analytics.com/mp/collect?firebase_app_id=1:2:ios:3&api_secret=s3cret")
        #expect(try address(#"\#(web),"url":"https://x.example/y/""#).hasPrefix("https://x.example/y/mp/collect?"))
        for wrong in [
            #""api_secret":"s""#, "\(web),\"firebase_app_id\":\"1\"", #""api_secret":"a&b","measurement_id":"G-1""#,
            #""api_secret":"s","measurement_id":"G 1""#, "\(web),\"id_member\":\"a..b\"", "\(web),\"id_member\":\"\"",
        ] {
            #expect(throws: SettingsFault.self) { try address(wrong) }
        }
    }

    @Test("the description has the settings, with the secret as one")
    func description() {
        let json = VendorProvider<GA4>.description.json(erase: false)
        #expect(json.contains(#""name":"ga4""#) && json.contains(#""writeOnly":true"#) && json.contains(#""in_flight""#))
        #expect(GA4.about.mapping.contains { $0.from == "context.page.url" && $0.to == "page_location" })
    }
}
