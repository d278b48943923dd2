import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import Sentry
@testable import VendorKit

private let event = #"{"type":"track","event":"A","properties":{"error":"e"}}"#
private let dsn = #""dsn":"https://k0123456789@sentry.invalid/42""#

@Suite("sentry: answers")
struct SentryAnswerTests {
    @Test("random events are kept whole by a server that follows Sentry's rules, or are refused")
    func random() throws {
        let fake = FakeSentry()
        let exchange = try Exchange(Sentry.self, dsn + #","take":"all","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 7)
        let errors = [
            #"{"type":"Error","message":"m"}"#, #""e""#, #"[{"type":"E"}]"#, #"{"values":[{"value":1}]}"#, "null", "7",
            #"{"name":"","message":"\ud83d"}"#,
        ]
        let events = (0..<300).map { index in
            let error = #""properties":{"error":\#(errors[index % errors.count]),"level":"warn","tags":{"a":"","b":[],"c":1}}"#
            return index % 3 == 0 ? random.event() : #"{"type":"track","event":"E\#(index)","userId":"\ud83d",\#(error)}"#
        }
        let ending = exchange.deliver(events)
        #expect(ending.name == "delivered" && fake.faults.isEmpty, "\(fake.faults.first ?? "")")
        #expect(ending.events.values.allSatisfy { $0 == "rejected 0" })
        #expect(fake.kept.count == events.count - ending.events.count && fake.kept.count > 150)
    }

    @Test("a wrong key is a fault, and is not shown")
    func wrongKey() throws {
        let exchange = try Exchange(Sentry.self, dsn, status: "403 Forbidden", body: "k0123456789 is not valid")
        defer { exchange.close() }
        let ending = exchange.deliver([event])
        #expect(ending.name == "fault" && ending.message.hasSuffix("answered 403: *** is not valid; correct dsn"))
    }

    @Test(
        "the limits of errors pause the lane, whatever the status, and others do not",
        arguments: [
            (429, ["x-sentry-rate-limits": "60:transaction:key, 2700:default;error;security:organization"], 2_700_000),
            (200, ["x-sentry-rate-limits": "5:error:project:quota"], 5000), (200, ["x-sentry-rate-limits": "5::organization"], 5000),
            (503, ["x-sentry-rate-limits": "5:error:key"], 5000), (429, [:], 60_000),
            (429, ["x-sentry-rate-limits": "99999:error:key", "retry-after": "7"], 3_600_000),
            // The kit decides these: it reads Retry-After, and what a 400 means.
            (429, ["retry-after": "7"], nil), (200, ["x-sentry-rate-limits": "60:transaction;session:key"], nil), (200, [:], nil),
            (400, ["x-sentry-rate-limits": "60:error:key"], nil), (403, ["x-sentry-rate-limits": "60:error:key"], nil),
        ] as [(Int, [String: String], UInt64?)])
    func limits(status: Int, headers: [String: String], pause: UInt64?) throws {
        var setup = Setup(try Settings(json: "{\(dsn)}"), Host(log: { _, _ in }, closed: { _ in }))
        let sentry = try Sentry(&setup)
        let reply = Reply(status: status, body: [], headers: headers.map { ($0.key, Array($0.value.utf8)) })
        switch sentry.judge(reply, to: SentRequest(endpoint: Endpoint.ID(index: 0), count: 1)) {
        case .whole(.retry(let code, _, let after)): #expect(code == status && after == pause)
        case .standard: #expect(pause == nil)
        default: Issue.record("another judgement")
        }
    }

    @Test("an event that comes back for a limit waits with the lane")
    func limited() throws {
        let exchange = try Exchange(Sentry.self, dsn, headers: "X-Sentry-Rate-Limits: 600:error:key\r\n")
        defer { exchange.close() }
        let ending = exchange.deliver([event])
        #expect(ending.name == "retry" && ending.code == 200 && ending.after > 0 && ending.events.isEmpty)
    }

    @Test(
        "the header of limits is read, whatever it holds",
        arguments: [
            ("60:error:key", 60_000), ("1.5:error", 1500), ("60", 60_000), ("60:", 60_000), (" 2 : default ; x : key ", 2000),
            ("2:error,9::org,5:default", 9000), ("60:unknown:key", nil), ("", nil), (",,", nil), ("x:error", nil), ("-5:error", nil),
            ("0:error", nil), ("nan:error", nil), ("inf:error", nil), ("1e300:error", 3_600_000), ("0.0001:error", 1),
        ] as [(String, UInt64?)])
    func header(text: String, pause: UInt64?) { #expect(Sentry.pause(text) == pause) }

    @Test("an event that is too large for Sentry is refused alone")
    func tooLarge() throws {
        let exchange = try Exchange(Sentry.self, dsn, status: "413 Payload Too Large")
        defer { exchange.close() }
        #expect(exchange.deliver([event, event]).events == [0: "rejected 413", 1: "rejected 413"])
    }

    @Test("the address is the DSN's, or another one")
    func addresses() throws {
        func address(_ settings: String) throws -> [String] {
            var setup = Setup(try Settings(json: settings), Host(log: { _, _ in }, closed: { _ in }))
            _ = try Sentry(&setup)
            return setup.endpoints.map { $0.base + $0.path }
        }
        #expect(try address("{\(dsn)}") == ["https://sentry.invalid/api/42/envelope/"])
        #expect(try address("{\(dsn),\"url\":\"http://relay:3000\"}") == ["http://relay:3000/api/42/envelope/"])
    }
}
