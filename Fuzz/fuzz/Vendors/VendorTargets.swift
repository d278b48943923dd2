// The targets of the vendors: for each one that maps events, and one that judges answers, with the answers of the vendor's server.

import Amplitude
import GA4
import Mixpanel
import OTLP
import PostHog
import RudderStack
import Segment
import Sentry
import VendorKit

enum VendorTargets {
    static let names = ["amplitude", "ga4", "mixpanel", "otlp-json", "otlp-protobuf", "posthog", "rudderstack", "segment", "sentry"]

    /// Returns the fuzzer of a target such as `posthog-map` or `posthog-judge`, or nil if there is none.
    static func fuzzer(_ target: String, seed: UInt64, plants: Bool) throws -> (any Fuzzer)? {
        guard let part = ["-map", "-judge"].first(where: { target.hasSuffix($0) }) else { return nil }
        /// The secret of a vendor is also what stands for it in its settings.
        func make<V: Vendor>(
            _ vendor: V.Type, _ settings: String, _ secret: String, _ answers: [FuzzedAnswer] = [], _ check: @escaping WireCheck
        ) throws -> any Fuzzer {
            let settings = "{\"url\":\"http://vendor.invalid\",\(settings)}"
            return part == "-map"
                ? try MapFuzzer(vendor, settings, seed: seed, plants: plants, check)
                : try JudgeFuzzer(vendor, settings, secret: secret, answers: answers, seed: seed, plants: plants)
        }
        switch target.dropLast(part.count) {
        case "amplitude": return try make(Amplitude.self, #""key":"am-f0zz""#, "am-f0zz", amplitude, WireChecks.amplitude)
        case "ga4": return try make(GA4.self, #""api_secret":"s3cr3t","measurement_id":"G-1""#, "s3cr3t", [], WireChecks.ga4)
        case "mixpanel": return try make(Mixpanel.self, #""token":"t0k3n-f0zz""#, "t0k3n-f0zz", mixpanel, WireChecks.mixpanel)
        case "otlp-json":
            return try make(OTLP.self, #""encoding":"json","headers":{"Key":"f0zz-k3y"}"#, "f0zz-k3y", otlp, WireChecks.otlpJSON)
        case "otlp-protobuf":
            return try make(OTLP.self, #""headers":{"Key":"f0zz-k3y"}"#, "f0zz-k3y", otlp, WireChecks.otlpProtobuf)
        case "posthog": return try make(PostHog.self, #""key":"phc_f0zz""#, "phc_f0zz", postHog, WireChecks.postHog)
        case "rudderstack": return try make(RudderStack.self, #""write_key":"wk_f0zz""#, "wk_f0zz", [], WireChecks.rudderStack)
        case "segment": return try make(Segment.self, #""write_key":"wk_f0zz""#, "wk_f0zz", segment, WireChecks.segment)
        case "sentry":
            return try make(Sentry.self, #""dsn":"https://k0123456789@sentry.invalid/42""#, "k0123456789", sentry, WireChecks.sentry)
        default: return nil
        }
    }

    private static let amplitude = [
        FuzzedAnswer(body: #"{"code":200,"events_ingested":5,"payload_size_bytes":50}"#),
        FuzzedAnswer(body: #"{"code":200,"events_ingested":0}"#, namesLoss: true),
        FuzzedAnswer(
            status: 400, body: #"{"code":400,"error":"Request missing required field","missing_field":"api_key"}"#, namesLoss: true),
        FuzzedAnswer(
            status: 400,
            body:
                ##"{"code":400,"error":"bad","events_with_invalid_fields":{"time":[0,99]},"events_with_missing_fields":{"event_type":[1,-1]}}"##,
            namesLoss: true),
        FuzzedAnswer(
            status: 400, body: #"{"code":400,"events_with_invalid_id_lengths":{"user_id":[0]},"silenced_events":[0]}"#, namesLoss: true),
        FuzzedAnswer(status: 429, body: #"{"code":429,"throttled_events":[0,7],"throttled_users":{"user-1234":9}}"#, namesLoss: true),
        FuzzedAnswer(status: 429, body: #"{"code":429,"exceeded_daily_quota_users":{"user-1234":500001}}"#, namesLoss: true),
    ]

    private static let mixpanel = [
        FuzzedAnswer(body: #"{"code":200,"num_records_imported":5,"status":"OK"}"#),
        FuzzedAnswer(body: #"{"code":200,"num_records_imported":0,"status":"OK"}"#, namesLoss: true),
        FuzzedAnswer(
            status: 400,
            body:
                #"{"code":400,"num_records_imported":4,"failed_records":[{"index":0,"insert_id":"x","field":"properties.time","message":"no"}]}"#,
            namesLoss: true),
        FuzzedAnswer(status: 400, body: #"{"code":400,"failed_records":[{"index":0},{"index":99},{"index":-1},{}]}"#, namesLoss: true),
        FuzzedAnswer(body: #"{"status":0,"error":"token is wrong"}"#, namesLoss: true), FuzzedAnswer(body: "0", namesLoss: true),
        FuzzedAnswer(body: #"{"status":1,"error":null}"#),
    ]

    private static let otlp = [
        FuzzedAnswer(body: #"{"partialSuccess":{}}"#),
        FuzzedAnswer(body: #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}"#, namesLoss: true),
        FuzzedAnswer(body: #"{"partialSuccess":{"rejectedLogRecords":99}}"#, namesLoss: true),
        // The same as a protocol buffer: one record is rejected, because of "no".
        FuzzedAnswer(body: "\u{0a}\u{06}\u{08}\u{01}\u{12}\u{02}no", namesLoss: true),
        FuzzedAnswer(status: 400, body: "\u{12}\u{02}no"), FuzzedAnswer(status: 400, body: #"{"code":3,"message":"no"}"#),
    ]

    private static let postHog = [
        FuzzedAnswer(body: #"{"status":1}"#),
        FuzzedAnswer(body: #"{"status":1,"quota_limited":["events"]}"#, namesLoss: true),
        FuzzedAnswer(body: #"{"status":1,"quota_limited":["recordings"]}"#),
        FuzzedAnswer(status: 400, body: #"{"type":"validation_error","code":"invalid_payload","detail":"no"}"#, namesLoss: true),
    ]

    private static let segment = [
        FuzzedAnswer(body: #"{"success":true}"#), FuzzedAnswer(body: #"{"success":false}"#, namesLoss: true),
    ]

    private static let sentry = [
        FuzzedAnswer(body: #"{"id":"0190a1b2c3d47e5f8a9b0c1d2e3f4a5b"}"#),
        FuzzedAnswer(headers: [("x-sentry-rate-limits", "60:error:organization")], body: "{}", namesLoss: true),
        FuzzedAnswer(headers: [("x-sentry-rate-limits", "1e999::key, -1:default;error:x, 5")], body: "{}", namesLoss: true),
        FuzzedAnswer(headers: [("x-sentry-rate-limits", "60:transaction:organization")], body: "{}"),
        FuzzedAnswer(status: 400, body: #"{"detail":"bad envelope","causes":["no"]}"#, namesLoss: true),
    ]
}
