// The provider `segment`: Segment's HTTP API, /v1/batch. docs/providers/segment.md has the mapping and says what is lost.

internal import SegmentAPI
public import VendorKit

package struct Segment: Vendor {
    package static let about = VendorDescription(
        name: "segment", version: "0.1.0", summary: "Sends events to Segment.",
        settings: [
            "write_key": .text("the write key of the source").required.secret,
            "region": .choice("the region of the workspace", of: ["us", "eu"], default: "us"),
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "450KB", ordered: false), mapping: SegmentAPI.mapping)

    private let api: SegmentAPI

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let isEuropean = setup.settings.get("region") == "eu"
        api = try SegmentAPI(
            &setup, base: isEuropean ? "https://events.eu1.segmentapis.com" : "https://api.segment.io",
            limits: .init(events: 2500, body: 500_000, event: 32 << 10))
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) { api.map(event, to: &wire) }

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        guard reply.status == 200, reply.withJSON({ $0?["success"].map { $0.isFlag && !$0.isTrue } ?? false }) else { return .standard }
        return .whole(.rejected(code: 200, "Segment answered that it did not take the events (success: false)"))
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Segment>.self) }
