import Foundation
import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import Mixpanel

private let settings = #""token":"t0k3n","gdpr_token":"gdpr-s3cret""#

/// Mixpanel's data deletions as its documentation describes them.
private final class FakeDeletions: Sendable {
    let status = Monitor("PENDING")
    /// The ids of each deletion, by its number.
    let taken = Monitor([String: [String]]())

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.headers["authorization"] == "Bearer gdpr-s3cret", request.line.contains("?token=t0k3n ") else {
            return connection.answer("401 Unauthorized", #"{"status":"error"}"#)
        }
        guard request.line.hasPrefix("POST ") else {
            let id = String(request.line.split(separator: " ")[1].split(separator: "/").last!.prefix { $0 != "?" })
            guard let ids = taken.withLock({ $0[id] }) else { return connection.answer("404 Not Found", "{}") }
            let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
            return connection.answer(
                "200 OK", #"{"status":"ok","results":{"status":"\#(status.withLock { $0 })","result":"","distinct_ids":[\#(list)]}}"#)
        }
        let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any]
        guard let ids = body?["distinct_ids"] as? [String], ids.count <= 1999, body?["compliance_type"] as? String == "GDPR" else {
            return connection.answer("400 Bad Request", "{}")
        }
        let id: String = taken.withLock { taken in
            let id = "\(1000 + taken.count)"
            taken[id] = ids
            return id
        }
        connection.answer("200 OK", #"{"status":"ok","results":[{"status":"PENDING","tracking_id":"\#(id)","distinct_id_count":1}]}"#)
    }
}

@Suite("mixpanel: erasure")
struct ErasureTests {
    private let subjects = [Erasure.Subject(member: "userId", id: "u1"), Erasure.Subject(member: "anonymousId", id: "a1")]

    @Test("a deletion is begun once and asked for until Mixpanel says SUCCESS")
    func job() throws {
        let fake = FakeDeletions()
        let exchange = try Exchange(Mixpanel.self, settings) { fake.answer($0, $1) }
        defer { exchange.close() }
        let first = exchange.instance.erase(subjects)
        #expect(first.state == "1000" && first.outcome.hasPrefix("retry 21600000: Mixpanel has taken the deletion"), "\(first)")
        #expect(fake.taken.withLock { $0 } == ["1000": ["u1", "$device:a1", "a1"]])
        for (status, outcome, state) in [
            ("STAGING", "retry 21600000: Mixpanel is at work", "1000"), ("UNKNOWN", "unknown 0: Mixpanel does not say", "1000"),
            ("REVOKED", "rejected 0: somebody has cancelled", "1000"), ("FAILURE", "retry 0: the deletion failed", ""),
            ("SUCCESS", "delivered", "1000"),
        ] {
            fake.status.withLock { $0 = status }
            let erased = exchange.instance.erase(subjects, state: "1000", attempt: 2)
            #expect(erased.outcome.hasPrefix(outcome) && erased.state == state, "\(status): \(erased)")
        }
        #expect(exchange.instance.erase(subjects, state: "7").state == "", "a deletion that Mixpanel has lost is begun anew")
        #expect(fake.taken.withLock { $0.count } == 1)
    }

    @Test(
        "no answer but SUCCESS for this deletion confirms anything",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", #"{"status":"ok"}"#, "unknown"),
            ("200 OK", "SUCCESS", "unknown"),
            ("200 OK", #"{"results":{"status":"SUCCESS","tracking_id":"8"}}"#, "unknown"), ("401 No", "gdpr-s3cret", "fault"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        let exchange = try Exchange(Mixpanel.self, settings, status: status, body: body)
        defer { exchange.close() }
        let erased = exchange.instance.erase(subjects, state: "7")
        #expect(erased.outcome.hasPrefix(outcome) && erased.state == "7" && !erased.outcome.contains("s3cret"), "\(erased)")
        let begun = exchange.instance.erase(subjects)
        #expect(!begun.outcome.hasPrefix("delivered"), "\(begun)")
    }

    @Test("without a token, and for other ids, a person must do it")
    func byHand() throws {
        let keyless = try Exchange(Mixpanel.self, #""token":"t0k3n""#)
        defer { keyless.close() }
        #expect(keyless.instance.erase(subjects).outcome.hasPrefix("rejected 0: Delete the person in Mixpanel"))
        let exchange = try Exchange(Mixpanel.self, settings)
        defer { exchange.close() }
        #expect(exchange.instance.erase([Erasure.Subject(member: "groupId", id: "g")]).own == [0: "rejected"])
        #expect(exchange.server.requests.isEmpty && keyless.server.requests.isEmpty)
    }
}
