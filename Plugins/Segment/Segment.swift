// The provider `segment`: Segment's HTTP API, /v1/batch. docs/providers/segment.md has the mapping and says what is lost.

internal import SegmentAPI
public import VendorKit

package struct Segment: Vendor {
    package static let about = VendorDescription(
        name: "segment", version: "0.1.0", summary: "Sends events to Segment.",
        settings: [
            "write_key": .text("the write key of the source").required.secret,
            "region": .choice("the region of the workspace", of: ["us", "eu"], default: "us"),
            "api_token": .text("a token of the Public API, by which users are erased").secret,
            "regulation": .choice(
                "suppress_with_delete: Segment erases a user and takes no new events; delete_only: it takes new ones",
                of: ["suppress_with_delete", "delete_only"], default: "suppress_with_delete"),
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "450KB", ordered: false), byHand: byHand, mapping: SegmentAPI.mapping,
        refuses: SegmentAPI.refuses(deepest: nil))

    private let api: SegmentAPI
    /// Where regulations are asked for, if the settings have a token for them.
    let regulations: ErasureEndpoint.ID?
    let regulationType: String

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let isEuropean = setup.settings.get("region") == "eu"
        api = try SegmentAPI(
            &setup, base: isEuropean ? "https://events.eu1.segmentapis.com" : "https://api.segment.io",
            limits: .init(events: 2500, body: 500_000, event: 32 << 10))
        let isSuppressing = setup.settings.get("regulation", as: String.self) ?? "suppress_with_delete" == "suppress_with_delete"
        regulationType = isSuppressing ? "SUPPRESS_WITH_DELETE" : "DELETE_ONLY"
        regulations = try setup.secretIfSet("api_token").map { token in
            setup.erasureEndpoint(
                isEuropean ? "https://eu1.api.segmentapis.com" : "https://api.segmentapis.com", path: "/regulations",
                contentType: "application/vnd.segment.v1+json", headers: [Header("Authorization", "Bearer \(token)")])
        }
        // Segment's API answers 200 to any key. The settings of a source, which its clients load, are only there for a key that it knows.
        var settings = Endpoint(
            "https://cdn-settings.segment.com", path: "/v1/projects/\(Segment.escaped(api.key))/settings", envelope: Envelope(),
            limits: .init())
        settings.method = .get
        settings.contentType = ""
        let mayLackSettings = isEuropean || setup.isRedirected
        setup.probe(settings) { Segment.judge(probe: $0, mayLackSettings: mayLackSettings) }
    }

    /// A key in a path. Every byte that could end the part of the path is written as %XX.
    private static func escaped(_ key: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return key.utf8.reduce(into: "") { text, byte in
            let isPlain = byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte == 0x2d || byte == 0x5f
            text += isPlain ? String(UnicodeScalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
    }

    /// `mayLackSettings` is true if a source that exists may have none there: in Europe, and behind an address of one's own.
    static func judge(probe reply: Reply, mayLackSettings: Bool) -> Probe? {
        let isKnown = reply.status == 200 && reply.withJSON { $0?["integrations"]?.isObject ?? false }
        if isKnown { return .accepted("Segment knows the write key") }
        let hasAnswered = reply.status < 500 && reply.status != 429
        if mayLackSettings, hasAnswered {
            return .reached(code: reply.status, "Segment's API answers 200 to any key, so the key cannot be checked")
        }
        return reply.status == 404 ? .refused(code: 404, "Segment has no source with this write key; correct write_key") : nil
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) { api.map(event, to: &wire) }

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        guard reply.status == 200, reply.withJSON({ $0?["success"].map { $0.isFlag && !$0.isTrue } ?? false }) else { return .standard }
        return .whole(.rejected(code: 200, "Segment answered that it did not take the events (success: false)"))
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Segment>.self) }
