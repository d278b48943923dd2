// The provider `rudderstack`: the HTTP API of a RudderStack data plane, /v1/batch. docs/providers/rudderstack.md has the mapping and says
// what is lost.

internal import SegmentAPI
public import VendorKit

package struct RudderStack: Vendor {
    package static let about = VendorDescription(
        name: "rudderstack", version: "0.1.0", summary: "Sends events to a RudderStack data plane.",
        settings: [
            "url": .text("the URL of the data plane, such as https://example.dataplane.rudderstack.com").required,
            "write_key": .text("the write key of the source").required.secret,
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "3MB", ordered: false), mapping: SegmentAPI.mapping,
        refuses: SegmentAPI.refuses(deepest: 198))

    private let api: SegmentAPI

    package init(_ setup: inout Setup) throws(SettingsFault) {
        api = try SegmentAPI(&setup, base: setup.settings.require("url"), limits: .init(body: 4_000_000, event: 32 << 10), deepest: 200)
        // The data plane looks at the key before it refuses a batch without events.
        setup.probe(api.empty, body: "{\"batch\":[]}") { reply in
            reply.status == 400 && String(decoding: reply.body, as: UTF8.self).hasPrefix("Empty batch payload")
                ? .accepted("the data plane knows the write key") : nil
        }
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) { api.map(event, to: &wire) }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<RudderStack>.self) }
