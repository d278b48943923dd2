import HTTPSupport
import Testing
import VendorSupport

@testable import GA4

private let ofWeb = #""api_secret":"s3cret-of-web","measurement_id":"G-1""#

@Suite("ga4: previews and probes")
struct InquiryTests {
    @Test(
        "the validation server judges the id of a web stream, and nothing judges the secret",
        arguments: [
            ("200 OK", #"{"validationMessages":[]}"#, "reached"), ("200 OK", "{}", "reached"), ("200 OK", "<html>", "reached"),
            (
                "200 OK",
                #"{"validationMessages":[{"fieldPath":"measurement_id","description":"no stream s3cret-of-web","validationCode":"VALUE_INVALID"}]}"#,
                "refused"
            ), ("404 Not Found", "", "reached"), ("503 Busy", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(GA4.self, ofWeb, status: status, body: body)
        #expect(answer.name == name && !answer.message.contains("s3cret"), "\(answer)")
        #expect(request.line == "POST /in/debug/mp/collect?measurement_id=G-1&api_secret=s3cret-of-web HTTP/1.1")
        #expect(request.text.hasPrefix(#"{"validation_behavior":"ENFORCE_RECOMMENDATIONS","client_id":"1.1","user_id":"switchyard","#))
        if name == "refused" { #expect(answer.message == "Google's validation server says measurement_id: no stream ***") }
    }

    @Test("the probe of an app has an id of an app")
    func app() throws {
        let settings = #""api_secret":"s3cret","firebase_app_id":"1:2:ios:3""#
        let (answer, request) = try Exchange.probe(GA4.self, settings, status: "200 OK", body: #"{"validationMessages":[]}"#)
        #expect(answer.message.hasSuffix("it does not check api_secret or firebase_app_id anywhere"), "\(answer)")
        #expect(request.line.contains("firebase_app_id=1:2:ios:3") && request.text.contains(#","app_instance_id":"0"#))
    }

    @Test(
        "the sample is what the module makes of an event with these settings, and a server that follows Google's rules keeps all of it",
        arguments: ["", #","traits":"all""#, #","traits":"none","engagement":false"#, #","derive_id":false,"long_values":"cut""#])
    func sample(more: String) throws {
        for (settings, isApp) in [(ofWeb, false), (#""api_secret":"s3cret","firebase_app_id":"1:2:ios:3""#, true)] {
            let fake = FakeGA4(isApp: isApp)
            let (_, request) = try Exchange.probe(GA4.self, settings + more, status: "200 OK", body: #"{"validationMessages":[]}"#)
            #expect(request.text.contains(#""user_properties":{"plan":{"value":"pro"}}"#) == !more.contains("none"))
            #expect(request.text.contains(#""ad_user_data":"DENIED""#) && request.text.contains(#""items":[{"item_id":"a""#))
            fake.take(Array(request.text.replacing(#""validation_behavior":"ENFORCE_RECOMMENDATIONS","#, with: "").utf8))
            #expect(fake.losses.isEmpty && fake.kept.count == 1, "\(fake.losses) \(request.text)")
        }
    }

    @Test("a preview names what is refused, and what is cut if it may be")
    func preview() throws {
        let exchange = try Exchange(GA4.self, ofWeb + #","long_values":"cut""#)
        defer { exchange.close() }
        let long = String(repeating: "x", count: 101)
        let previewed = try #require(
            exchange.instance.preview(
                [
                    #"{"type":"track","event":"A","anonymousId":"1.2","properties":{"a":"\#(long)","b":"\#(long)"}}"#,
                    #"{"type":"track","event":"session_start","anonymousId":"1.2"}"#,
                    #"{"type":"track","event":"\#(long)","anonymousId":"1.2","properties":{"a":"\#(long)"}}"#,
                    #"{"type":"track","event":"B","anonymousId":"1.2","properties":{"a":["\#(long)",1]}}"#,
                ], arrivals: (0..<4).map { _ in .max }))
        let cut = ["a parameter has a value of more than 100 characters, which is cut"]
        #expect(previewed.losses == [0: cut, 3: cut])
        #expect(
            previewed.refused == [
                1: "the name of the event is one that Google reserves", 2: "the name of the event has more than 40 characters",
            ])
        #expect(previewed.requests.map(\.events) == [[0, 3]])
        #expect(previewed.requests[0].url == exchange.server.url + "/mp/collect?measurement_id=***&api_secret=***")
        #expect(!"\(previewed)".contains("s3cret"))
    }
}
