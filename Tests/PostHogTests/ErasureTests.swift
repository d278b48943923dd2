import Foundation
import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import PostHog

private let settings = #""key":"phc_test","personal_key":"phx_s3cret","project_id":"42""#
private let person = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"

/// PostHog's API of persons as its documentation describes it: a person is found by an id, deleted with its events, and the events go later.
private final class FakePersons: Sendable {
    struct State {
        var persons: [String: String]
        /// Whether the events of a deleted person are gone.
        var events: [String: Bool] = [:]
        var isLying = false
    }
    let state: Monitor<State>

    init(_ persons: [String: String], isLying: Bool = false) { state = Monitor(State(persons: persons, isLying: isLying)) }

    func finish() { state.withLock { state in for key in state.events.keys { state.events[key] = true } } }

    func answer(_ request: Request, _ connection: Server.Connection) {
        guard request.headers["authorization"] == "Bearer phx_s3cret" else { return connection.answer("401 Unauthorized", "{}") }
        let words = request.line.split(separator: " ")
        let path = String(words[1])
        guard path.hasPrefix("/in/api/projects/42/persons/") else { return connection.answer("404 Not Found", "{}") }
        let rest = path.dropFirst("/in/api/projects/42/persons/".count)
        let body: String = state.withLock { state in
            if rest.hasPrefix("?distinct_id=") {
                let id = rest.dropFirst("?distinct_id=".count).removingPercentEncoding ?? ""
                return #"{"results":[\#(state.persons[id].map { #"{"id":1,"uuid":"\#($0)"}"# } ?? "")]}"#
            }
            if rest.hasPrefix("deletion_status/?person_uuid=") {
                let uuid = String(rest.dropFirst("deletion_status/?person_uuid=".count).prefix(36))
                let row = state.events[uuid].map { #"{"person_uuid":"\#(uuid)","status":"\#($0 ? "completed" : "pending")"}"# }
                return #"{"results":[\#(row ?? "")]}"#
            }
            let uuid = String(rest.prefix(36))
            if !state.isLying { state.persons = state.persons.filter { $0.value != uuid } }
            state.events[uuid] = state.events[uuid] ?? false
            return ""
        }
        connection.answer(words[0] == "DELETE" ? "202 Accepted" : "200 OK", body)
    }
}

@Suite("posthog: erasure")
struct ErasureTests {
    private let user = Erasure.Subject(member: "userId", id: "u/1")

    private func exchange(_ fake: FakePersons, _ more: String = "") throws -> Exchange {
        try Exchange(PostHog.self, settings + more) { fake.answer($0, $1) }
    }

    @Test("a person is looked up and deleted with the events, and the job is done when there is neither")
    func job() throws {
        let fake = FakePersons(["u/1": person])
        let exchange = try exchange(fake)
        defer { exchange.close() }
        let first = exchange.instance.erase([user])
        #expect(first == Erased(outcome: "retry 43200000: PostHog has taken the deletion", state: person))
        #expect(
            exchange.server.requests.map(\.line) == [
                "GET /in/api/projects/42/persons/?distinct_id=u%2F1 HTTP/1.1",
                "DELETE /in/api/projects/42/persons/\(person)/?delete_events=true HTTP/1.1",
            ])
        let second = exchange.instance.erase([user], state: person, attempt: 2)
        #expect(second == Erased(outcome: "retry 43200000: PostHog is deleting the events", state: person))
        fake.finish()
        #expect(exchange.instance.erase([user], state: person, attempt: 3) == Erased(outcome: "delivered 0: ", state: ""))
        #expect(exchange.instance.erase([user]).outcome == "delivered 0: ", "a repeated call does no harm")
    }

    @Test("a deletion that PostHog accepts and does not carry out is never confirmed")
    func falseConfirmation() throws {
        let fake = FakePersons(["u/1": person], isLying: true)
        let exchange = try exchange(fake)
        defer { exchange.close() }
        var state = ""
        for attempt in 1...5 {
            let erased = exchange.instance.erase([user], state: state, attempt: UInt32(attempt))
            #expect(erased.outcome.hasPrefix("retry "))
            state = erased.state
            fake.finish()
        }
    }

    @Test(
        "a server that is busy, broken or never answers as PostHog does confirms nothing",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", "<html>", "unknown"), ("204 No Content", "", "unknown"),
            ("200 OK", "{}", "unknown"),
            ("200 OK", #"{"results":{}}"#, "unknown"), ("401 No", "phx_s3cret", "fault"), ("404 No", "", "fault"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        let exchange = try Exchange(PostHog.self, settings, status: status, body: body)
        defer { exchange.close() }
        let erased = exchange.instance.erase([user], state: person)
        #expect(erased.outcome.hasPrefix(outcome) && erased.state == person && !erased.outcome.contains("s3cret"), "\(erased)")
    }

    @Test("ids that PostHog does not know people by, and events without a person, are for a person to look at")
    func byHand() throws {
        let email = Erasure.Subject(member: "context.traits.email", id: "a@b")
        let device = Erasure.Subject(member: "anonymousId", id: "a")
        let exchange = try exchange(FakePersons([:]), #","person_profiles":"identified""#)
        defer { exchange.close() }
        #expect(
            exchange.instance.erase([user, email, device])
                == Erased(outcome: "delivered 0: ", state: "", own: [1: "rejected", 2: "rejected"]))
        let keyless = try Exchange(PostHog.self, #""key":"phc_test""#)
        defer { keyless.close() }
        #expect(keyless.instance.erase([user]).outcome.hasPrefix("rejected 0: Delete the person in PostHog under People"))
        #expect(keyless.server.requests.isEmpty)
    }
}
