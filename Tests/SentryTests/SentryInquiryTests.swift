import HTTPSupport
import Testing
import VendorSupport

@testable import Sentry

private let settings = #""dsn":"https://s3cretkey@o1.ingest.sentry.io/2","compression":"none""#

@Suite("sentry: previews and probes")
struct SentryInquiryTests {
    @Test(
        "a report without a discarded event makes Sentry look at the project",
        arguments: [
            ("200 OK", "{}", "reached"),
            ("403 Forbidden", #"{"detail":"event submission rejected with_reason: ProjectId s3cretkey"}"#, "refused"),
            ("401 Unauthorized", "", "refused"), ("400 Bad Request", "", "reached"), ("503 Busy", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Sentry.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cretkey"), "\(answer)")
        #expect(request.line == "POST /in/api/2/envelope/ HTTP/1.1")
        #expect(request.text == "{}\n{\"type\":\"client_report\"}\n{\"discarded_events\":[]}\n")
        #expect(request.headers["x-sentry-auth"]?.contains("sentry_key=s3cretkey") ?? false)
    }

    @Test("a preview has an envelope for each error, and hides the key")
    func preview() throws {
        let exchange = try Exchange(Sentry.self, settings)
        defer { exchange.close() }
        let error = #"{"type":"track","event":"failed","messageId":"m","properties":{"error":{"type":"E","message":"x"}}}"#
        let previewed = try #require(exchange.instance.preview([error, error, #"{"type":"page","messageId":"m"}"#]))
        #expect(previewed.requests.map(\.events) == [[0], [1]])
        #expect(previewed.refused == [2: "only track events can be errors"])
        #expect(previewed.requests[0].headers.contains("X-Sentry-Auth: ***") && !"\(previewed)".contains("s3cretkey"))
    }
}
