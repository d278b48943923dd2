// What `mixpanel` says about itself: its settings, where members go, and what is refused or cut.

package import VendorKit

extension Mixpanel {
    package static let about = VendorDescription(
        name: "mixpanel", version: "0.1.0", summary: "Sends events to Mixpanel.",
        settings: [
            "token": .text("the project's token").required.secret,
            "project_id": .text("the project's number, for a service account", pattern: "[0-9]+"),
            "service_account": .text("the name of a service account; without one, the token is sent as the credentials"),
            "service_secret": .text("the secret of the service account").secret,
            "region": .choice("where the project's data lies", of: Region.allCases.map(\.rawValue), default: "us"),
            "identity": .choice(
                "how the project joins ids of a person: Simplified or Original ID Merge", of: Identity.allCases.map(\.rawValue),
                default: "simplified"),
            "group_key": .text("the group key of groupId and context.groupId", default: "company", pattern: "[A-Za-z0-9_]+"),
            "gdpr_token": .text("a token for Mixpanel's GDPR API, by which people are erased").secret,
            "long_texts": LongTexts.setting(of: "Mixpanel", most: 255),
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "2MB", ordered: false), byHand: byHand,
        mapping: [
            MappingRow("event; Loaded a Page, Loaded a Screen, $identify, Group, $merge", "event"),
            MappingRow("messageId", "$insert_id", note: "if it is no UUID, one is derived from it (version 5), and it is message_id too"),
            MappingRow("userId, or else $device: and anonymousId", "distinct_id"),
            MappingRow("userId, anonymousId", "$user_id, $device_id"),
            MappingRow("timestamp, or else the arrival", "time", note: "in milliseconds"),
            MappingRow("properties", "properties", note: "byte for byte; reserved names become properties.NAME"),
            MappingRow("context.ip", "ip", note: "0 without one"),
            MappingRow("traits, or else context.traits", "$set of /engage", note: "of identify; traits of group are $set of /groups"),
            MappingRow("properties.$set, $set_once, $union, $remove, $unset", "/engage"),
            MappingRow("groupId, context.groupId", "group_key"),
            MappingRow("everything else", "switchyard_unmapped", note: "with paths as names", isRest: true),
        ] + members.rows() + traits.rows(at: "traits."),
        refuses: [
            .longNames(255), .longIDs(247), .placeholderIDs, .noMessageID, LimitRow(.id, "identify without userId and anonymousId"),
            LimitRow(.kind, "alias (unless identity is original)"), .trackWithoutName, .groupWithoutID,
            LimitRow(.propertyCount, most: 254, "objects and lists with more than 254 members"),
            LimitRow(.depth, most: 3, "more than three objects in one another, in properties or traits"), .size(999_999), .unmapped,
        ],
        cuts: [LongTexts.row(of: "Mixpanel", most: 255)])

    /// What Mixpanel has names of its own for.
    static let members: MemberTable = [
        // A messageId that is a UUID is $insert_id, and what is written is left out here.
        "messageId": "message_id",
        "name": "name", "context.page.url": "$current_url", "context.page.referrer": "$referrer", "context.os.name": "$os",
        "context.os.version": "$os_version", "context.screen.width": "$screen_width", "context.screen.height": "$screen_height",
        "context.screen.density": "$screen_dpi", "context.network.carrier": "$carrier", "context.network.wifi": "$wifi",
        "context.network.bluetooth": "$bluetooth_enabled", "context.device.name": "$device",
        "context.device.manufacturer": "$manufacturer", "context.device.model": "$model", "context.library.name": "mp_lib",
        "context.library.version": "$lib_version", "context.app.build": "$app_build_number",
        "context.app.version": "$app_version_string", "context.campaign.name": "utm_campaign", "context.campaign.source": "utm_source",
        "context.campaign.medium": "utm_medium", "context.campaign.content": "utm_content", "context.campaign.term": "utm_term",
    ]
    static let traits: MemberTable = [
        "email": "$email", "name": "$name", "firstName": "$first_name", "lastName": "$last_name", "phone": "$phone", "avatar": "$avatar",
        "createdAt": "$created",
    ]
    /// Names that Mixpanel reads in the properties of every event, and the names under which an event's own members of these names go.
    static let reserved: MemberTable = [
        "time": "properties.time", "distinct_id": "properties.distinct_id", "$insert_id": "properties.$insert_id",
        "$user_id": "properties.$user_id", "$device_id": "properties.$device_id", "token": "properties.token",
        "$distinct_ids": "properties.$distinct_ids",
    ]
}
