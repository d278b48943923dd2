// What `otlp` says about itself: its settings, where members go, and what is refused or changed.

package import VendorKit

extension OTLP {
    package static let about = VendorDescription(
        name: "otlp", version: "0.1.0", summary: "Sends events as logs of OpenTelemetry (OTLP/HTTP).",
        settings: [
            "encoding": .choice("how a body is written", of: ["protobuf", "json"], default: "protobuf"),
            "resource": .object(
                "attributes of the resource, such as service.name; they take the place of those of the events", [:],
                others: .text("the value")),
            "headers": .object(
                "headers of every request, such as Authorization; their values are never shown", [:],
                others: .text("the value, one line").secret),
            "partial_success": .choice(
                "a request of which the server rejects some records without naming them: halve sends it again in halves, so that taken "
                    + "records arrive again; reject refuses all of its events",
                of: ["halve", "reject"], default: "halve"),
        ],
        deduplicates: false, delivery: .init(batchEvents: 500, batchBytes: "2MB", ordered: false),
        byHand: "Delete the person's records in the store behind the OTLP server; OTLP itself has no way to erase.",
        mapping: [
            MappingRow("timestamp, or else the arrival", "timeUnixNano"),
            MappingRow("context.otlp.observedTimeUnixNano, or else the arrival", "observedTimeUnixNano"),
            MappingRow("event, or else the type", "eventName", note: "not of a type of your own without event"),
            MappingRow("body, properties.message, message, or else the name", "body"),
            MappingRow("context.otlp.severityNumber, .severityText; properties.level, .severity, level, severity", "severity"),
            MappingRow("context.otlp.traceId, context, properties or the event: traceId, trace_id", "traceId", note: "and so spanId"),
            MappingRow("context.otlp.flags", "flags"),
            MappingRow("context.otlp.resource.attributes", "resource.attributes"),
            MappingRow("properties", "attributes", note: "each under its own name"),
            MappingRow("everything else", "attributes.switchyard_unmapped", note: "in its own structure"),
        ] + services.rows(in: "resource.attributes.") + attributes.rows(in: "attributes."),
        refuses: [.body(20 << 20), .unmapped],
        cuts: [
            LimitRow(
                .depth, most: MessageWriter.deepest,
                "more than \(MessageWriter.deepest) objects and lists in one another, which become the text of their JSON")
        ])

    /// What describes the service, and becomes a part of the resource.
    static let services: MemberTable = [
        "context.service.name": "service.name", "context.service.version": "service.version",
        "context.service.namespace": "service.namespace", "context.app.name": "service.name", "context.app.version": "service.version",
        "context.environment": "deployment.environment.name",
    ]
    /// What the conventions of OpenTelemetry have names for.
    static let attributes: MemberTable = [
        "messageId": "log.record.uid", "userId": "user.id", "anonymousId": "enduser.pseudo.id", "previousId": "previousId",
        "groupId": "groupId", "name": "name", "context.ip": "client.address", "context.userAgent": "user_agent.original",
        "context.sessionId": "session.id", "context.page.url": "url.full", "context.os.name": "os.name", "context.os.version": "os.version",
        "context.device.id": "device.id", "context.device.manufacturer": "device.manufacturer",
        "context.device.model": "device.model.name", "traits": "traits",
    ]
}
