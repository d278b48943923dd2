// Every vendor, with what a test needs to try it in the same way as all others.

import HTTPKit
import HTTPSupport
import PluginKit
import VendorSupport

@testable import Amplitude
@testable import Braze
@testable import GA4
@testable import Mixpanel
@testable import OTLP
@testable import PostHog
@testable import RudderStack
@testable import Segment
@testable import Sentry
@testable import VendorKit

/// What a server answers to a request of which it does not take one event.
struct Refusal: Sendable {
    var status = "200 OK"
    var headers = ""
    let body: String
}

struct VendorCase: Sendable, CustomStringConvertible {
    let description: String
    /// The members of the settings.
    let settings: String
    /// The settings for bodies that are larger than the buffers of a connection, or nil if the vendor takes none.
    var largeSettings: String?
    /// What the vendor answers if it does not take one event of a request, by its index. It is nil if the vendor never says so.
    var partial: (@Sendable (Int) -> Refusal)?
    /// What becomes of the other events of such a request.
    var others = "delivered"

    /// What the vendor declares to refuse and to cut.
    let refuses, cuts: [LimitRow]

    let play: @Sendable (ServerFault) throws -> Ending
    let exchange: @Sendable (String, @escaping @Sendable (Request, Server.Connection) -> Void) throws -> Exchange
    let instance: @Sendable (String, String) throws -> Instance
    let map: @Sendable (String, [String], Int64) throws -> Mapped
    let judge: @Sendable (Reply, SentRequest) throws -> Judgement

    init<V: Vendor>(
        _ vendor: V.Type, _ settings: String, large: String? = nil, others: String = "delivered",
        partial: (@Sendable (Int) -> Refusal)? = nil
    ) {
        description = V.about.name
        (refuses, cuts) = (V.about.refuses, V.about.cuts)
        self.settings = settings
        largeSettings = large
        self.others = others
        self.partial = partial
        play = { fault in try fault.play(vendor, settings) { VendorCase.event("good_\($0)") } }
        exchange = { try Exchange(vendor, $0, $1) }
        instance = { try Exchange.instance(vendor, $0, url: $1) }
        map = { try Mapped(vendor, "{\"url\":\"http://vendor.invalid\",\($0)}", $1, now: $2) }
        judge = { reply, request in
            var setup = Setup(
                try Settings(json: "{\"url\":\"http://vendor.invalid\",\(settings)}"), Host(log: { _, _ in }, closed: { _ in }))
            return try V(&setup).judge(reply, to: request)
        }
    }

    /// An event that each vendor takes.
    static func event(_ name: String, _ member: String = "") -> String {
        """
        {"type":"track","event":"\(name)","messageId":"id-of-\(name)","userId":"user-1","anonymousId":"1234.5678",\
        "timestamp":"2199-01-01T00:00:00Z","properties":{"level":"error"\(member)}}
        """
    }

    static let all: [VendorCase] = [
        VendorCase(Amplitude.self, #""key":"am-test""#, large: #""key":"am-test","api":"batch""#) {
            Refusal(status: "400 Bad Request", body: #"{"code":400,"error":"bad","events_with_invalid_fields":{"time":[\#($0)]}}"#)
        },
        VendorCase(Braze.self, #""key":"k-test","instance":"iad-01""#) {
            Refusal(body: #"{"message":"success","errors":[{"type":"bad","input_array":"events","index":\#($0)}]}"#)
        },
        VendorCase(GA4.self, #""api_secret":"s3cr3t","measurement_id":"G-1""#),
        VendorCase(Mixpanel.self, #""token":"t0k3n""#, large: #""token":"t0k3n""#) {
            Refusal(status: "400 Bad Request", body: #"{"code":400,"failed_records":[{"index":\#($0),"field":"time","message":"bad"}]}"#)
        },
        VendorCase(OTLP.self, #""encoding":"json""#, large: #""encoding":"protobuf""#) { _ in
            Refusal(body: #"{"partialSuccess":{"rejectedLogRecords":"1"}}"#)
        },
        VendorCase(PostHog.self, #""key":"phc_test""#, large: #""key":"phc_test""#, others: "rejected") { _ in
            Refusal(body: #"{"status":1,"quota_limited":["events"]}"#)
        },
        VendorCase(RudderStack.self, #""write_key":"wk_test""#),
        VendorCase(Segment.self, #""write_key":"wk_test""#) { _ in Refusal(body: #"{"success":false}"#) },
        VendorCase(Sentry.self, #""dsn":"https://k0123456789@sentry.invalid/42""#) { _ in
            Refusal(headers: "X-Sentry-Rate-Limits: 60:error:organization\r\n", body: "{}")
        },
    ]
}
