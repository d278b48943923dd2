import HTTPSupport
import Testing
import VendorSupport

@testable import PostHog

private let settings = #""key":"phc_s3cret","compression":"none""#

@Suite("posthog: previews and probes")
struct InquiryTests {
    @Test(
        "a key is checked by a request that stores nothing",
        arguments: [
            ("200 OK", #"{"errorsWhileComputingFlags":false,"flags":{},"requestId":"1"}"#, "accepted"),
            ("200 OK", #"{"config":{},"featureFlags":{}}"#, "accepted"), ("200 OK", "<html>", "reached"),
            ("401 Unauthorized", #"{"type":"authentication_error","detail":"Project API key invalid."}"#, "refused"),
            ("404 Not Found", "", "reached"), ("500 Oops", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(PostHog.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cret"), "\(answer)")
        #expect(request.line == "POST /in/flags/?v=2 HTTP/1.1")
        #expect(request.text == #"{"api_key":"phc_s3cret","distinct_id":"switchyard","disable_flags":true}"#)
    }

    @Test("a preview hides the key of the body")
    func preview() throws {
        let exchange = try Exchange(PostHog.self, settings)
        defer { exchange.close() }
        let event = #"{"type":"track","event":"A","userId":"u","timestamp":"2099-01-01T00:00:00Z"}"#
        let previewed = try #require(exchange.instance.preview([event, #"{"type":"track","event":"A"}"#]))
        #expect(previewed.requests.count == 1 && previewed.requests[0].body.hasPrefix(#"{"api_key":"***","historical_migration":false"#))
        #expect(previewed.requests[0].url == exchange.server.url + "/batch/" && !"\(previewed)".contains("s3cret"))
        #expect(previewed.refused == [1: "the event has neither userId nor anonymousId"])
    }
}
