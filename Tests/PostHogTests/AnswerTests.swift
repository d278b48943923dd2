import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import PostHog
@testable import VendorKit

private let event = #"{"type":"track","event":"A","userId":"u","timestamp":"2099-01-01T00:00:00Z"}"#

@Suite("posthog: answers")
struct AnswerTests {
    @Test("events arrive at a server that follows PostHog's rules, old ones as historical")
    func arrive() throws {
        let fake = FakePostHog(key: "phc_test")
        let exchange = try Exchange(PostHog.self, #""key":"phc_test","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        let old = #"{"type":"page","anonymousId":"a","messageId":"m1","timestamp":"2020-01-01T00:00:00Z"}"#
        let ending = exchange.deliver([event, old, #"{"type":"track","event":"A"}"#])
        #expect(ending.name == "delivered" && ending.events == [2: "rejected 0"])
        #expect(fake.dropped == 0 && fake.kept.map(\.name).sorted() == ["$pageview", "A"])
        #expect(fake.kept.filter(\.isHistorical).map(\.id) == ["a"])
    }

    @Test("random events that are sent are all kept by such a server")
    func random() throws {
        let fake = FakePostHog(key: "phc_test")
        let exchange = try Exchange(PostHog.self, #""key":"phc_test""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 3)
        let events = (0..<500).map { _ in random.event() }
        let ending = exchange.deliver(events)
        #expect(ending.name == "delivered" && fake.dropped == 0)
        #expect(fake.kept.count == events.count - ending.events.count && !fake.kept.isEmpty)
    }

    @Test("a wrong key is a fault, and is not shown")
    func key() throws {

        let exchange = try Exchange(PostHog.self, #""key":"phc_wrong""#) { _, connection in
            connection.answer("401 Unauthorized", "phc_wrong is not valid")
        }
        defer { exchange.close() }

        let ending = exchange.deliver([event])
        #expect(ending.name == "fault" && ending.message.hasSuffix("answered 401: *** is not valid; correct key, or region"))
    }

    @Test(
        "events of a project without quota are dropped by PostHog, so they are never delivered",
        arguments: [
            (#"{"status":1,"quota_limited":["events"]}"#, true), (#"{"status": 1, "quota_limited": ["recordings","events"]}"#, true),
            (#"{"status":1,"quota_limited":["recordings"]}"#, false), (#"{"status":1,"quota_limited":[]}"#, false),
            (#"{"status":1,"quota_limited":null}"#, false), (#"{"status":1}"#, false), ("", false), (#"["quota_limited"]"#, false),
        ])
    func quota(body: String, isDropped: Bool) throws {
        let exchange = try Exchange(PostHog.self, #""key":"phc_test""#, body: body)
        defer { exchange.close() }
        let ending = exchange.deliver([event, event])
        if isDropped {
            #expect(ending.events.isEmpty && ending.name == "rejected" || ending.events == [0: "rejected 200", 1: "rejected 200"])
        } else {
            #expect(ending.name == "delivered" && ending.events.isEmpty)
        }
    }

    @Test(
        "a refused body is halved, and a busy server gets it again",
        arguments: [("400 Bad Request", "rejected"), ("503 Busy", "retry"), ("429 Limit", "retry")])
    func statuses(status: String, name: String) throws {
        let exchange = try Exchange(PostHog.self, #""key":"phc_test""#, status: status, body: "why")
        defer { exchange.close() }
        let ending = exchange.deliver([event, event])
        #expect(ending.name == name && ending.events.isEmpty)
    }

    @Test("the address is the region's, or another one")
    func addresses() throws {
        func origins(_ settings: String) throws -> Set<String> {
            var setup = Setup(try Settings(json: settings), Host(log: { _, _ in }, closed: { _ in }))
            _ = try PostHog(&setup)
            return Set(setup.endpoints.map { $0.base + $0.path })
        }
        #expect(try origins(#"{"key":"k"}"#) == ["https://us.i.posthog.com/batch/"])
        #expect(try origins(#"{"key":"k","region":"eu"}"#) == ["https://eu.i.posthog.com/batch/"])
        #expect(try origins(#"{"key":"k","url":"https://ph.example/x/"}"#) == ["https://ph.example/x/batch/"])
    }

    @Test("the description has the settings, with the key as a secret, and a row for each member of the table")
    func description() {
        let json = VendorProvider<PostHog>.description.json(erase: false)
        #expect(json.contains(#""name":"posthog""#) && json.contains(#""writeOnly":true"#) && json.contains(#""in_flight""#))
        #expect(PostHog.about.mapping.contains { $0.from == "context.os.name" && $0.to == "$os" })
    }
}
