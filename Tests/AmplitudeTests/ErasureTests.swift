import Foundation
import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import Amplitude

private let settings = #""key":"am-test","secret_key":"am-s3cret""#

@Suite("amplitude: erasure")
struct ErasureTests {
    private let users = [Erasure.Subject(member: "userId", id: "user-1"), Erasure.Subject(member: "userId", id: "user-2")]
    private let state = "2026-12-05\n11\n12"

    /// Amplitude's User Privacy API as its documentation describes it: a deletion becomes part of the job of a day.
    private func answered(_ body: String, status: String = "200 OK", state: String = "") throws -> (Erased, Request) {
        let exchange = try Exchange(Amplitude.self, settings, status: status, body: body)
        defer { exchange.close() }
        return (exchange.instance.erase(users, state: state), try #require(exchange.server.requests.first))
    }

    private func day(_ day: String, _ status: String, _ ids: [Int]) -> String {
        let users = ids.map { #"{"amplitude_id":\#($0),"requested_on_day":"2026-11-25","requester":"switchyard"}"# }
        return #"{"day":"\#(day)","status":"\#(status)","amplitude_ids":[\#(users.joined(separator: ","))]}"#
    }

    @Test("a deletion is asked for, and its day and users are the state", arguments: [false, true])
    func begin(isList: Bool) throws {
        let row = day("2026-12-05", "staging", [11, 12])
        let (erased, request) = try answered(isList ? "[\(row)]" : row)
        #expect(erased == Erased(outcome: "retry 86400000: Amplitude deletes on 2026-12-05", state: state))
        #expect(request.line == "POST /in/api/2/deletions/users HTTP/1.1")
        #expect(request.text == #"{"user_ids":["user-1","user-2"],"requester":"switchyard","ignore_invalid_id":"True"}"#)
        #expect(request.headers["authorization"] == "Basic YW0tdGVzdDphbS1zM2NyZXQ=")
        #expect(try answered(day("2026-12-05", "staging", [])).0.outcome == "delivered 0: ", "Amplitude knows none of the users")
    }

    @Test("it is confirmed when the job of the day is done, and has every user")
    func poll() throws {
        let (erased, request) = try answered(
            "[\(day("2026-12-04", "done", [11])),\(day("2026-12-05", "done", [11, 12, 13]))]", state: state)
        #expect(erased.outcome == "delivered 0: ")
        #expect(request.line == "GET /in/api/2/deletions/users?start_day=2026-12-05&end_day=2026-12-05 HTTP/1.1")
        for status in ["staging", "submitted", "new"] {
            #expect(
                try answered("[\(day("2026-12-05", status, [11, 12]))]", state: state).0
                    == Erased(outcome: "retry 86400000: Amplitude deletes on 2026-12-05", state: state))
        }
        // A job that is done without a user has not deleted that user.
        for lacking in ["[]", "[\(day("2026-12-05", "done", [11]))]", "[\(day("2026-12-06", "done", [11, 12]))]"] {
            let erased = try answered(lacking, state: state).0
            #expect(erased.outcome.hasPrefix("retry 0: Amplitude's job of 2026-12-05 lacks a user") && erased.state == "", "\(erased)")
        }
    }

    @Test(
        "a server that is busy or broken confirms nothing",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", "done", "unknown"), ("403 No", "am-s3cret", "fault"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        for state in ["", self.state] {
            let erased = try answered(body, status: status, state: state).0
            #expect(erased.outcome.hasPrefix(outcome) && erased.state == state && !erased.outcome.contains("s3cret"), "\(erased)")
        }
    }

    @Test("without the secret key, and for a device, a person must do it")
    func byHand() throws {
        let keyless = try Exchange(Amplitude.self, #""key":"am-test""#)
        defer { keyless.close() }
        #expect(keyless.instance.erase(users).outcome.hasPrefix("rejected 0: Delete the user in Amplitude"))
        let exchange = try Exchange(Amplitude.self, settings)
        defer { exchange.close() }
        #expect(exchange.instance.erase([Erasure.Subject(member: "anonymousId", id: "device-1")]).own == [0: "rejected"])
        #expect(exchange.server.requests.isEmpty && keyless.server.requests.isEmpty)
    }
}
