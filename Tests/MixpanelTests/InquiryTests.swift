import HTTPSupport
import Testing
import VendorSupport

@testable import Mixpanel

private let settings = #""token":"t0ken-of-test","compression":"none""#

@Suite("mixpanel: previews and probes")
struct InquiryTests {
    @Test(
        "credentials are checked by a request without events",
        arguments: [
            ("200 OK", #"{"code":200,"num_records_imported":0,"status":"OK"}"#, "accepted"),
            ("400 Bad Request", #"{"code":400,"error":"empty"}"#, "reached"),
            ("401 Unauthorized", #"{"code":401,"error":"Invalid credentials t0ken-of-test"}"#, "refused"), ("500 Oops", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Mixpanel.self, settings, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("t0ken"), "\(answer)")
        #expect(request.line == "POST /in/import?strict=1 HTTP/1.1" && request.text == "[]")
        #expect(request.headers["authorization"]?.hasPrefix("Basic ") ?? false)
    }

    @Test("a preview has the changes of profiles, notes texts that Mixpanel cuts, and hides the credentials")
    func preview() throws {
        let exchange = try Exchange(Mixpanel.self, settings)
        defer { exchange.close() }
        let long = String(repeating: "x", count: 256)
        let previewed = try #require(
            exchange.instance.preview([
                #"{"type":"identify","userId":"u","messageId":"m1","traits":{"a":1}}"#,
                #"{"type":"track","event":"A","userId":"u","messageId":"m2","properties":{"a":"\#(long)","b":["\#(long)"]}}"#,
            ]))
        #expect(previewed.requests.map(\.events).sorted { $0.count < $1.count } == [[0], [0, 1]])
        #expect(previewed.losses == [1: ["a text has more than 255 characters, and Mixpanel cuts it"]])
        #expect(previewed.requests.contains { $0.headers.contains("Authorization: ***") })
        #expect(previewed.requests.contains { $0.body.contains(#""$token":"***""#) } && !"\(previewed)".contains("t0ken"))
    }
}
