import HTTPSupport
import Testing
import VendorSupport

@testable import Amplitude

private let settings = #""key":"amp-s3cret""#

@Suite("amplitude: previews and probes")
struct InquiryTests {
    @Test(
        "a wrong key is named, and a right one cannot be told from one that was not looked at",
        arguments: [
            ("400 Bad Request", #"{"code":400,"error":"Invalid API key: amp-s3cret"}"#, "refused"),
            ("400 Bad Request", #"{"code":400,"error":"Request missing required field","missing_field":"api_key"}"#, "refused"),
            ("400 Bad Request", #"{"code":400,"error":"Request missing required field","missing_field":"events"}"#, "reached"),
            ("200 OK", #"{"code":200,"events_ingested":0}"#, "reached"), ("503 Busy", "", "failed"), ("403 Forbidden", "", "refused"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Amplitude.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cret"), "\(answer)")
        #expect(request.line == "POST /in/2/httpapi HTTP/1.1" && request.text == #"{"api_key":"amp-s3cret","events":[]}"#)
    }

    @Test("a preview notes texts that Amplitude cuts")
    func preview() throws {
        let exchange = try Exchange(Amplitude.self, settings)
        defer { exchange.close() }
        let long = String(repeating: "x", count: 1025)
        let event = #"{"type":"track","event":"A","userId":"user-1","messageId":"m","properties":{"a":"\#(long)"}}"#
        let previewed = try #require(exchange.instance.preview([event, #"{"type":"alias","userId":"user-1","messageId":"m"}"#]))
        #expect(previewed.losses == [0: ["a text has more than 1024 characters, and Amplitude cuts it"]])
        #expect(previewed.refused.keys.sorted() == [1] && previewed.requests.count == 1)
        #expect(previewed.requests[0].body.hasPrefix(#"{"api_key":"***","#))
    }
}
