import HTTPSupport
import Testing
import VendorSupport

@testable import VendorKit

/// A vendor that takes deletions as jobs: it answers 202 with a number, which is asked for until it says "done".
struct Deleting: Vendor, ErasingVendor {
    static let about = VendorDescription(
        name: "deleting", version: "1.0.0", summary: "For tests.", settings: ["key": .text("the key").required.secret],
        byHand: "Delete the person in Deleting.")

    private let events: Endpoint.ID
    private let deletions: ErasureEndpoint.ID

    init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.secret("key")
        let base = "https://deleting.invalid"
        events = setup.endpoint(Endpoint(base, path: "/in", envelope: Envelope("[", between: ",", after: "]"), limits: .init()))
        deletions = setup.erasureEndpoint(base, path: "/deletions", headers: [Header("Authorization", "Bearer \(key)")])
        setup.credentialsRemedy = "correct key"
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.begin(events)
        wire.element(event.whole)
        wire.end()
    }

    func erase(_ job: inout ErasureJob) -> ErasureStep {
        for index in job.subjects.indices where job.subjects[index].member == "email" {
            job.settle(index, .rejected("Deleting has no addresses; delete the person by hand"))
        }
        if job.open.isEmpty { return .confirmed }
        if job.state == "loop" { return .send(ErasureCall(deletions, tag: "loop")) }
        if job.state.isEmpty { return .send(ErasureCall(deletions, body: "{\"ids\":\(job.list(of: ["userId"]))}", tag: "begin")) }
        return .send(ErasureCall(deletions, path: "/" + ErasureCall.percentEncoded(job.state), method: .get, tag: "poll"))
    }

    func judge(_ reply: Reply, to call: ErasureCall, of job: inout ErasureJob) -> ErasureStep {
        if call.tag == "loop" { return .send(call) }
        guard 200..<300 ~= reply.status else { return reply.status == 404 ? .confirmed : .standard }
        return reply.withJSON { answer in
            if call.tag == "begin" {
                guard let number = answer?["job"]?.event.integer else { return .end(.unknown("the answer has no number")) }
                job.state = "\(number)"
                return .askAgain("accepted as \(number)", afterMilliseconds: 60_000)
            }
            return answer?["done"]?.isTrue ?? false ? .confirmed : .askAgain("at work")
        }
    }
}

@Suite("VendorKit: erasures")
struct ErasureTests {
    private func exchange(_ answer: @escaping @Sendable (Request, Server.Connection) -> Void) throws -> Exchange {
        try Exchange(Deleting.self, #""key":"k3y-of-test""#, answer)
    }

    private let subjects = [Erasure.Subject(member: "userId", id: "u\"1"), Erasure.Subject(member: "userId", id: "u2")]

    @Test("a job is begun, its number is kept as the state, and it is asked for until the vendor has confirmed")
    func job() throws {
        let polls = Monitor(0)
        let exchange = try exchange { request, connection in
            if request.line.hasPrefix("POST") { return connection.answer("202 Accepted", #"{"job":7}"#) }
            let number = polls.withLock { polls in
                polls += 1
                return polls
            }
            connection.answer("200 OK", number == 1 ? "{}" : #"{"done":true}"#)
        }
        defer { exchange.close() }
        let first = exchange.instance.erase(subjects)
        #expect(first == Erased(outcome: "retry 60000: accepted as 7", state: "7"))
        #expect(exchange.instance.erase(subjects, state: "7", attempt: 2) == Erased(outcome: "retry 0: at work", state: "7"))
        #expect(exchange.instance.erase(subjects, state: "7", attempt: 3) == Erased(outcome: "delivered 0: ", state: "7"))
        #expect(
            exchange.server.requests.map(\.line) == [
                "POST /in/deletions HTTP/1.1", "GET /in/deletions/7 HTTP/1.1", "GET /in/deletions/7 HTTP/1.1",
            ])
        #expect(exchange.server.requests[0].text == #"{"ids":["u\"1","u2"]}"#)
        #expect(exchange.server.requests[0].headers["authorization"] == "Bearer k3y-of-test")
    }

    @Test(
        "the kit ends a round by the status when the vendor's code does not, and hides secrets and ids",
        arguments: [
            ("429 Slow", "retry 7000: answered 429"), ("500 No", "retry 7000: answered 500"),
            ("401 k3y-of-test", "fault 0: answered 401: *** of *** is wrong; correct key"),
            ("404 None", "delivered 0: "),
        ])
    func statuses(status: String, expected: String) throws {
        let exchange = try exchange { _, connection in
            connection.answer(status, "k3y-of-test of long-id-1 is wrong", headers: "Retry-After: 7\r\n")
        }
        defer { exchange.close() }
        let erased = exchange.instance.erase([Erasure.Subject(member: "userId", id: "long-id-1")])
        let origin = exchange.server.url.dropLast("/in".count)
        #expect(erased.outcome.replacing("\(origin) ", with: "") == expected && erased.state == "")
    }

    @Test("an answer that is cut, or none at all, confirms nothing")
    func lost() throws {
        let server = Server { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"done\":true")
        }
        defer { server.close() }
        let instance = try Exchange.instance(Deleting.self, #""key":"k3y-of-test""#, url: server.url)
        defer { instance.close() }
        let erased = instance.erase(subjects, state: "7", attempt: 2)
        #expect(erased.outcome.hasPrefix("unknown 0: ") && erased.state == "7")
        let late = instance.erase(subjects, state: "7", attempt: 3, deadline: 0)
        #expect(late.outcome == "retry 0: the time of the call is over; the erasure goes on with the next one")
    }

    @Test("subjects that the vendor cannot erase have outcomes of their own")
    func settled() throws {
        let exchange = try exchange { _, connection in connection.answer("202 Accepted", #"{"job":7}"#) }
        defer { exchange.close() }
        let email = Erasure.Subject(member: "email", id: "a@example.com")
        let both = exchange.instance.erase([subjects[0], email])
        #expect(both == Erased(outcome: "retry 60000: accepted as 7", state: "7", own: [1: "rejected"]))
        #expect(exchange.instance.erase([email]) == Erased(outcome: "delivered 0: ", state: "", own: [0: "rejected"]))
    }

    @Test("a vendor's code that asks without end is stopped")
    func endless() throws {
        let exchange = try exchange { _, connection in connection.answer("200 OK") }
        defer { exchange.close() }
        let outcome = exchange.instance.erase(subjects, state: "loop").outcome
        #expect(outcome == "unknown 0: the erasure made more than 1000 requests in one call")
    }

    @Test("a pause that the vendor asks for in an erasure does not hold back deliveries")
    func pause() throws {
        let exchange = try exchange { request, connection in
            connection.answer(request.line.contains("deletions") ? "429 Slow" : "200 OK", "{}", headers: "Retry-After: 3600\r\n")
        }
        defer { exchange.close() }
        #expect(exchange.instance.erase(subjects).outcome.hasPrefix("retry 3600000"))
        #expect(exchange.deliver(["{}"]).name == "delivered")
    }

    @Test("erasures go to erase_url, or else to url")
    func place() throws {
        let exchange = try exchange { _, connection in connection.answer("202 Accepted", #"{"job":7}"#) }
        defer { exchange.close() }
        let other = try Exchange.instance(
            Deleting.self, #""key":"k3y-of-test","erase_url":"\#(exchange.server.url)/other/""#, url: "http://127.0.0.1:1")
        defer { other.close() }
        #expect(other.erase(subjects).state == "7")
        #expect(exchange.server.requests.map(\.line) == ["POST /in/other/deletions HTTP/1.1"])
        #expect {
            try Exchange.instance(Deleting.self, #""key":"k","erase_url":"http://h?q=1""#, url: "http://127.0.0.1:1")
        } throws: { "\($0)".hasPrefix("erase_url has a query") }
    }

    @Test("the description announces the capability, the setting and the words for people")
    func description() {
        let json = VendorProvider<Deleting>.description.json(erase: true)
        #expect(json.contains("\"erase_url\"") && json.contains(#""by_hand":"Delete the person in Deleting.""#))
        #expect(!VendorProvider<Sample>.description.json(erase: false).contains("erase_url"))
        #expect(export(VendorProvider<Sample>.self).pointee.erase_subjects == nil)
    }

    @Test("a text becomes a segment of a path that stays one")
    func encoding() {
        #expect(ErasureCall.percentEncoded("a/b ?é") == "a%2Fb%20%3F%C3%A9")
        #expect(ErasureCall.percentEncoded("..") == "%2E%2E")
    }
}
