import Foundation
import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import Braze

/// Braze's lookup and deletion of profiles as its documentation describes them.
private final class FakeProfiles: Sendable {
    let profiles: Monitor<Set<String>>
    let isLying: Bool

    init(_ profiles: Set<String>, isLying: Bool = false) {
        self.profiles = Monitor(profiles)
        self.isLying = isLying
    }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.headers["authorization"] == "Bearer k-test" else { return connection.answer("401 Unauthorized", "{}") }
        let body = (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any] ?? [:]
        let aliases = (body["user_aliases"] as? [[String: String]] ?? []).map { "\($0["alias_label"]!)/\($0["alias_name"]!)" }
        let ids = Set((body["external_ids"] as? [String] ?? []) + aliases)
        guard (1...50).contains(ids.count) else { return connection.answer("400 Bad Request", "{}") }
        let known = profiles.withLock { $0.intersection(ids) }
        if request.line.contains("/users/delete ") {
            if !isLying { profiles.withLock { $0.subtract(ids) } }
            return connection.answer("200 OK", #"{"deleted":\#(known.count),"message":"success"}"#)
        }
        let users = known.map { #"{"external_id":"\#($0)"}"# }.joined(separator: ",")
        connection.answer("201 Created", #"{"users":[\#(users)],"invalid_user_ids":[],"message":"success"}"#)
    }
}

@Suite("braze: erasure")
struct ErasureTests {
    private let settings = #""key":"k-test","instance":"fra-02""#
    private let subjects =
        (0..<60).map { Erasure.Subject(member: "userId", id: "u\($0)") } + [Erasure.Subject(member: "anonymousId", id: "a")]

    @Test("profiles are looked up, deleted, and looked up again until there are none")
    func job() throws {
        let fake = FakeProfiles(["u1", "u55", "anonymous_id/a", "other"])
        let exchange = try Exchange(Braze.self, settings) { fake.answer($0, $1) }
        defer { exchange.close() }
        var open = subjects
        var rounds = 0
        while !open.isEmpty, rounds < 10 {
            rounds += 1
            let erased = exchange.instance.erase(open)
            open = open.indices.filter { erased.own[$0] != "delivered" }.map { open[$0] }
            if erased.outcome.hasPrefix("delivered") { break }
            #expect(erased.outcome == "retry 3600000: Braze has taken the deletion")
        }
        #expect(fake.profiles.withLock { $0 } == ["other"] && rounds == 4)
    }

    @Test("a deletion that Braze accepts and does not carry out is never confirmed")
    func falseConfirmation() throws {
        let fake = FakeProfiles(["u1"], isLying: true)
        let exchange = try Exchange(Braze.self, settings) { fake.answer($0, $1) }
        defer { exchange.close() }
        for _ in 0..<3 { #expect(exchange.instance.erase([subjects[1]]).outcome.hasPrefix("retry ")) }
    }

    @Test(
        "a server that is busy or broken confirms nothing",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", "{}", "unknown"), ("201 Created", #"{"users":1}"#, "unknown"),
            ("401 No", "", "fault"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        let exchange = try Exchange(Braze.self, settings, status: status, body: body)
        defer { exchange.close() }
        #expect(exchange.instance.erase([subjects[0]]).outcome.hasPrefix(outcome))
    }
}
