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
            "access_token": .text("a personal access token, by which users are erased").secret,
            "destination_ids": .list("the ids of RudderStack's destinations in which users are erased", of: .text("an id")),
            "api_region": .choice("the region of RudderStack's API", of: ["us", "eu"], default: "us"),
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "3MB", ordered: false), byHand: byHand, mapping: SegmentAPI.mapping,
        refuses: SegmentAPI.refuses(deepest: 198))

    private let api: SegmentAPI
    /// Where regulations are asked for, if the settings have a token for them.
    let regulations: ErasureEndpoint.ID?
    let destinationIDs: [String]

    package init(_ setup: inout Setup) throws(SettingsFault) {
        api = try SegmentAPI(&setup, base: setup.settings.require("url"), limits: .init(body: 4_000_000, event: 32 << 10), deepest: 200)
        destinationIDs = setup.settings.get("destination_ids") ?? []
        if let token = try setup.secretIfSet("access_token") {
            guard !destinationIDs.isEmpty else { throw SettingsFault("set destination_ids: RudderStack erases only in destinations") }
            let isEuropean = setup.settings.get("api_region") == "eu"
            // The API is not at the data plane of `url`.
            regulations = setup.erasureEndpoint(
                isEuropean ? "https://api.eu.rudderstack.com" : "https://api.rudderstack.com", path: "/v2/regulations",
                headers: [Header("Authorization", "Bearer \(token)")], followsURL: false)
        } else {
            regulations = nil
        }
        // The data plane looks at the key before it refuses a batch without events.
        setup.probe(api.empty, body: "{\"batch\":[]}") { reply in
            reply.status == 400 && String(decoding: reply.body, as: UTF8.self).hasPrefix("Empty batch payload")
                ? .accepted("the data plane knows the write key") : nil
        }
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) { api.map(event, to: &wire) }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<RudderStack>.self) }
