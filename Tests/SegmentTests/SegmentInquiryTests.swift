import HTTPKit
import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import RudderStack
@testable import Segment

private let settings = #""write_key":"wk/s3cret""#

@Suite("segment and rudderstack: previews and probes")
struct SegmentInquiryTests {
    @Test(
        "Segment's settings of a source tell whether the key is known",
        arguments: [
            ("200 OK", #"{"integrations":{"Segment.io":{}}}"#, "accepted"), ("200 OK", "{}", "reached"),
            ("404 Not Found", "", "reached"), ("503 Busy", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Segment.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cret"), "\(answer)")
        #expect(request.line == "GET /in/v1/projects/wk%2Fs3cret/settings HTTP/1.1" && request.body.isEmpty)
        #expect(request.headers["authorization"] == nil)
    }

    @Test("at Segment itself an unknown key is refused")
    func judged() {
        func name(_ status: Int, _ body: String) -> String {
            switch Segment.judge(probe: Reply(status: status, body: Array(body.utf8)), mayLackSettings: false) {
            case .accepted: "accepted"
            case .refused: "refused"
            case .reached: "reached"
            case .failed: "failed"
            case nil: "by status"
            }
        }
        #expect(name(200, #"{"integrations":{}}"#) == "accepted")
        #expect(name(404, "Not Found") == "refused")
        #expect(name(500, "") == "by status")
    }

    @Test(
        "a data plane judges the key before it refuses an empty batch",
        arguments: [
            ("400 Bad Request", "Empty batch payload", "accepted"), ("400 Bad Request", "Invalid JSON", "reached"),
            ("401 Unauthorized", "Invalid Write Key", "refused"), ("404 Not Found", "", "refused"), ("500 Oops", "", "failed"),
        ])
    func dataPlane(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(RudderStack.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cret"), "\(answer)")
        #expect(request.line == "POST /in/v1/batch HTTP/1.1" && request.text == #"{"batch":[]}"#)
    }

    @Test("a preview hides the key")
    func preview() throws {
        let exchange = try Exchange(Segment.self, settings)
        defer { exchange.close() }
        let event = #"{"type":"track","event":"A","userId":"u","timestamp":"2026-01-01T00:00:00Z"}"#
        let previewed = try #require(exchange.instance.preview([event]))
        #expect(previewed.requests.map(\.body) == [#"{"batch":[\#(event)]}"#])
        #expect(previewed.requests[0].headers.contains("Authorization: ***"))
    }
}
