import HTTPSupport
import PluginKit
import Testing
import VendorKit
import VendorSupport

@testable import RudderStack
@testable import Segment

private let users = [Erasure.Subject(member: "userId", id: "u\"1")]

/// Answers as the Public API of Segment, or the User Suppression API of RudderStack, does by its documentation.
private func erase<V: Vendor>(
    _ vendor: V.Type, _ settings: String, status: String = "200 OK", _ body: String, state: String = "",
    _ subjects: [Erasure.Subject] = users
) throws -> (Erased, [Request]) {
    let server = Server.answering(status, body)
    defer { server.close() }
    let instance = try Exchange.instance(vendor, settings + ",\"erase_url\":\"\(server.url)\"", url: "http://vendor.invalid")
    defer { instance.close() }
    return (instance.erase(subjects, state: state), server.requests)
}

@Suite("segment: erasure")
struct SegmentErasureTests {
    private let settings = #""write_key":"wk","api_token":"sgp-s3cret""#

    private func regulation(_ status: String) -> String {
        #"{"data":{"regulation":{"id":"reg-1","overallStatus":"\#(status)","streamStatus":[]}}}"#
    }

    @Test("a regulation is made once, and its id is the state")
    func begin() throws {
        let (erased, requests) = try erase(Segment.self, settings, #"{"data":{"regulateId":"reg-1"}}"#)
        #expect(erased == Erased(outcome: "retry 21600000: Segment has taken the regulation", state: "reg-1"))
        #expect(requests[0].line.hasPrefix("POST ") && requests[0].line.contains("/regulations HTTP/1.1"))
        #expect(requests[0].text == #"{"regulationType":"SUPPRESS_WITH_DELETE","subjectType":"USER_ID","subjectIds":["u\"1"]}"#)
        #expect(requests[0].headers["authorization"] == "Bearer sgp-s3cret")
        let only = try erase(Segment.self, settings + #","regulation":"delete_only""#, #"{"data":{"regulateId":"reg-1"}}"#)
        #expect(only.1[0].text.contains("DELETE_ONLY"))
    }

    @Test(
        "only FINISHED confirms it",
        arguments: [
            ("FINISHED", "delivered 0: ", "reg-1"), ("RUNNING", "retry 21600000: ", "reg-1"), ("INITIALIZED", "retry 21600000: ", "reg-1"),
            ("FAILED", "retry 0: ", ""), ("PARTIAL_SUCCESS", "rejected 0: ", "reg-1"), ("NOT_SUPPORTED", "rejected 0: ", "reg-1"),
            ("INVALID", "rejected 0: ", "reg-1"), ("DONE", "unknown 0: ", "reg-1"),
        ])
    func statuses(status: String, outcome: String, state: String) throws {
        let (erased, requests) = try erase(Segment.self, settings, regulation(status), state: "reg-1")
        #expect(erased.outcome.hasPrefix(outcome) && erased.state == state, "\(erased)")
        #expect(requests.count == 1 && requests[0].line.contains("/regulations/reg-1 HTTP/1.1"))
    }

    @Test(
        "a server that is busy or broken, and an answer about another regulation, confirm nothing",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", "FINISHED", "unknown"), ("401 No", "sgp-s3cret", "fault"),
            ("200 OK", #"{"data":{"regulation":{"id":"reg-2","overallStatus":"FINISHED"}}}"#, "unknown"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        let erased = try erase(Segment.self, settings, status: status, body, state: "reg-1").0
        #expect(erased.outcome.hasPrefix(outcome) && erased.state == "reg-1" && !erased.outcome.contains("s3cret"), "\(erased)")
        #expect(!(try erase(Segment.self, settings, status: status, body).0.outcome.hasPrefix("delivered")))
        #expect(try erase(Segment.self, settings, status: "404 Lost", "", state: "reg-1").0.state == "", "it is made anew")
    }

    @Test("without a token, and for an anonymousId, a person must do it")
    func byHand() throws {
        let (keyless, none) = try erase(Segment.self, #""write_key":"wk""#, "")
        #expect(keyless.outcome.hasPrefix("rejected 0: Delete the user in Segment") && none.isEmpty)
        let (device, asked) = try erase(Segment.self, settings, "", [Erasure.Subject(member: "anonymousId", id: "a")])
        #expect(device.own == [0: "rejected"] && asked.isEmpty)
    }
}

@Suite("rudderstack: erasure")
struct RudderStackErasureTests {
    private let settings = #""write_key":"wk","access_token":"rs-s3cret","destination_ids":["d1","d2"]"#

    @Test("the deletion is passed on, and never counts as confirmed, since RudderStack does not say when it is done")
    func passed() throws {
        let body = #"[{"id":"r1","canceled":false,"regulationType":"suppress_with_delete","attributes":{"userId":"u\"1"}}]"#
        let (erased, requests) = try erase(RudderStack.self, settings, status: "201 Created", body)
        #expect(erased.outcome.hasPrefix("rejected 0: RudderStack has passed the deletion on, and never says whether it is done"))
        #expect(requests[0].line.contains("/v2/regulations HTTP/1.1") && requests[0].headers["authorization"] == "Bearer rs-s3cret")
        #expect(
            requests[0].text
                == #"{"regulationType":"suppress_with_delete","destinationIds":["d1","d2"],"users":[{"userId":"u\"1"}]}"#)
    }

    @Test(
        "a server that is busy or broken, and an answer without the user, are asked again",
        arguments: [
            ("429 Slow", "", "retry"), ("500 Oops", "", "retry"), ("200 OK", "OK", "unknown"), ("204 No Content", "", "unknown"),
            ("201 Created", "[]", "unknown"),
            ("401 No", "rs-s3cret", "fault"),
        ])
    func broken(status: String, body: String, outcome: String) throws {
        let erased = try erase(RudderStack.self, settings, status: status, body).0
        #expect(erased.outcome.hasPrefix(outcome) && !erased.outcome.contains("s3cret"), "\(erased)")
    }

    @Test("it never asks the data plane, and needs destinations")
    func settingsAreChecked() throws {
        let server = Server.answering("201 Created", "[]")
        defer { server.close() }
        let instance = try Exchange.instance(RudderStack.self, #""write_key":"wk""#, url: server.url)
        defer { instance.close() }
        #expect(instance.erase(users).outcome.hasPrefix("rejected 0: Delete the user in each destination of RudderStack"))
        #expect(server.requests.isEmpty)
        #expect { try Exchange.instance(RudderStack.self, #""write_key":"wk","access_token":"t""#, url: server.url) } throws: {
            "\($0)".hasPrefix("set destination_ids")
        }
    }
}
