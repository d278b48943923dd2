// What `ga4` says about itself: its settings, where members go, and what is refused.

package import VendorKit

extension GA4 {
    package static let about = VendorDescription(
        name: "ga4", version: "0.1.0", summary: "Sends events to Google Analytics 4.",
        settings: [
            "api_secret": .text("the secret of the stream's Measurement Protocol API").required.secret,
            "measurement_id": .text("the id of a web stream, such as G-...; either this or firebase_app_id"),
            "firebase_app_id": .text("the id of an app, such as 1:1234:ios:5678; either this or measurement_id"),
            "region": .choice("where Google takes the events: us, or eu", of: ["us", "eu"], default: "us"),
            "id_member": .text("the path of the member with Google's client_id or app_instance_id", default: "context.ga4.id"),
            "derive_id": .flag("whether an event without an id of Google's gets one that is derived; if not set: web streams only"),
            "traits": .choice(
                "the traits that become user properties: those of identify; also context.traits of every event; or none",
                of: Traits.allCases.map(\.rawValue), default: "identify"),
            "engagement": .flag("whether events get engagement_time_msec 1, without which reports do not count the user", default: true),
            "long_values": .choice("what is done with longer values than Google takes", of: ["refuse", "cut"], default: "refuse"),
            "analytics_360": .flag("whether the property has the limits of Analytics 360", default: false),
        ],
        compressions: [.none], deduplicates: false, delivery: .init(batchEvents: 200, batchBytes: "1MB", ordered: false),
        byHand: "Delete the user in Google Analytics under User explorer by the client_id, app_instance_id or userId, "
            + "or by its User Deletion API.",
        mapping: [
            MappingRow("event; of page page_view, screen screen_view, group join_group, identify identify", "events.name"),
            MappingRow("id_member, context.externalId, or derived of anonymousId or userId", "client_id, app_instance_id"),
            MappingRow("userId", "user_id"),
            MappingRow("timestamp, or else the arrival", "events.timestamp_micros"),
            MappingRow("properties; of group traits", "events.params", note: "flat"),
            MappingRow("name", "page_name, screen_name"),
            MappingRow("groupId", "group_id", note: "of group"),
            MappingRow("traits of identify", "user_properties"),
            MappingRow("context.consent.google.ad_user_data, .ad_personalization", "consent"),
            MappingRow("context.ip, context.userAgent", "ip_override, user_agent"),
            MappingRow("other members of the context, and outside the shape", "not sent"),
        ] + context.rows(), refuses: refuses,
        cuts: [LimitRow(.valueLength, most: 100, "values of more than 100 characters, 36 of a user property, if long_values is cut")])

    private static let refuses: [LimitRow] = [
        .longNames(40), LimitRow(.other, "names of events that are not ASCII, or do not begin with a letter"),
        LimitRow(.reservedName, "names of events that Google reserves, such as session_start, error or user_engagement"),
        LimitRow(.reservedName, "names of parameters and user properties that Google reserves, such as ga_session_id and user_id"),
        LimitRow(.propertyCount, most: 25, "more than 25 parameters (100 with analytics_360)"),
        LimitRow(.propertyCount, most: 25, "more than 25 user properties"),
        LimitRow(.propertyName, most: 40, "names of parameters of more than 40 characters"),
        LimitRow(.propertyName, most: 24, "names of user properties of more than 24 characters"),
        LimitRow(.propertyName, "names of parameters that are not ASCII, do not begin with a letter, or come twice"),
        LimitRow(.valueLength, most: 100, "values of more than 100 characters (unless long_values is cut; 500 with analytics_360)"),
        LimitRow(.valueLength, most: 36, "values of user properties of more than 36 characters (unless long_values is cut)"),
        LimitRow(.age, most: 72 * 3600, "events that are older than 72 hours when they are delivered"),
        .alias, .trackWithoutName, .groupWithoutID, LimitRow(.kind, "screen in a web stream"),
        LimitRow(.id, "events without an id of the client"), LimitRow(.id, most: 256, "a userId of more than 256 characters"),
        LimitRow(.depth, most: 1, "lists of lists or objects; objects become parameters with joined names"),
        LimitRow(.other, most: 200, "more than 200 items"), LimitRow(.other, most: 10, "more than 10 parameters of one's own in an item"),
        LimitRow(.other, "signals of context.consent.google that are neither granted nor denied"),
        LimitRow(.other, "properties and traits that are no objects"), .body(129_999),
    ]

    /// The members of the context that become parameters as long as there is room.
    static let context: MemberTable = [
        "context.sessionId": "session_id", "context.page.url": "page_location", "context.page.title": "page_title",
        "context.page.referrer": "page_referrer", "context.campaign.id": "campaign_id", "context.campaign.name": "campaign",
        "context.campaign.source": "source", "context.campaign.medium": "medium", "context.campaign.term": "term",
        "context.campaign.content": "content",
    ]
    /// The names of Google's for properties of a page.
    static let page: MemberTable = ["url": "page_location", "title": "page_title", "referrer": "page_referrer"]
}
