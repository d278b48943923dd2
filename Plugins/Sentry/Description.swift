// What `sentry` says about itself: its settings, where members go, and what is refused or shortened.

package import VendorKit

extension Sentry {
    package static let about = VendorDescription(
        name: "sentry", version: "0.1.0", summary: "Sends errors to Sentry.",
        settings: [
            "dsn": .text("the DSN of the project, such as https://KEY@o1.ingest.sentry.io/2").required.secret,
            "take": .choice(
                "errors: events with an exception, or of the level error or fatal; all: every track event of the route",
                of: ["errors", "all"], default: "errors"),
            "environment": .text("the environment of events that name none, such as production"),
            "release": .text("the release of events that name none"),
            "platform": .text("the platform of events that name none, such as python", default: "other"),
        ],
        delivery: .init(batchEvents: 100, batchBytes: "4MB", ordered: false),
        byHand: "Delete the issues of the person in Sentry: search them by user.id; it cannot delete single events.",
        mapping: [
            MappingRow(
                "messageId", "event_id", note: "32 hexadecimal digits; if it is no UUID they are derived, and it is extra.message_id"),
            MappingRow("timestamp, or else the arrival", "timestamp"),
            MappingRow("properties.exception, $exception_list, error", "exception.values", note: "Sentry's own form, or type and message"),
            MappingRow("properties.error_message, error_type", "exception.values[0].value, .type"),
            MappingRow("properties.message, or else the name", "logentry.formatted"),
            MappingRow("event, or else the type", "tags.event"),
            MappingRow("properties.level", "level", note: "without one it is error"),
            MappingRow("properties.platform, logger, transaction, fingerprint, breadcrumbs, tags, environment", "the same"),
            MappingRow("properties.release, or else context.app.version", "release"),
            MappingRow("userId, or else anonymousId", "user.id"),
            MappingRow("other properties", "extra", note: "byte for byte"),
            MappingRow("everything else", "extra.switchyard_unmapped", note: "in its own structure", isRest: true),
        ] + users.rows(in: "user.") + requests.rows(in: "request.")
            + contexts.flatMap { context, table in table.rows(in: "contexts.\(context).") },
        refuses: [
            .identify, .alias, .group, .page, .screen, LimitRow(.kind, "track that tells of no error (unless take is all)"),
            LimitRow(.kind, "track without an exception, a message and a name"), .size(1 << 20), .unmapped,
        ],
        cuts: [
            LimitRow(.valueLength, most: 8192, "messages of more than 8192 characters, which Sentry shortens"),
            LimitRow(.depth, most: 7, "properties of more than 7 levels, which Sentry shortens"),
            LimitRow(.size, most: 256 << 10, "properties of more than 262144 bytes, which Sentry shortens"),
        ])

    // What Sentry has names of its own for, if it is a text. Of several members for one name the first text is written.
    static let users: MemberTable = [
        "traits.email": "email", "context.traits.email": "email", "traits.username": "username", "context.traits.username": "username",
        "traits.name": "name", "context.traits.name": "name", "context.ip": "ip_address",
    ]
    static let requests: MemberTable = ["context.page.url": "url"]
    /// A messageId that is a UUID is written already, and what is written is left out here.
    static let extra: MemberTable = ["messageId": "message_id"]
    static let contexts: KeyValuePairs<StaticString, MemberTable> = [
        "os": ["context.os.name": "name", "context.os.version": "version"],
        "device": [
            "context.device.name": "name", "context.device.model": "model", "context.device.manufacturer": "manufacturer",
        ],
        "app": ["context.app.name": "app_name", "context.app.build": "app_build", "context.app.namespace": "app_identifier"],
        "culture": ["context.locale": "locale", "context.timezone": "timezone"],
    ]
}
