import VendorKit

struct Example: Vendor {
    static let about = VendorDescription(
        name: "example", version: "1.0.0", summary: "Sends events to Example.",
        settings: [
            "key": .text("the project's API key").required.secret,
            "region": .choice("where the data lies", of: ["us", "eu"], default: "us"),
        ],
        mapping: [
            MappingRow("event", "name"), MappingRow("userId", "person"), MappingRow("messageId", "id"),
            MappingRow("timestamp, or else the arrival", "time", note: "in milliseconds"),
            MappingRow("properties", "properties", note: "byte for byte"),
            MappingRow("everything else", "properties.switchyard_unmapped", note: "in its own structure"),
        ] + members.rows(in: "properties."),
        refuses: [
            LimitRow(.kind, "all but track"), .trackWithoutName, LimitRow(.id, "events without userId"), .longNames(100), .size(100_000),
            .unmapped,
        ])

    static let members: MemberTable = ["context.ip": "ip", "context.page.url": "url"]

    private let endpoint: Endpoint.ID
    private let members: MemberMap

    init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.apiKey("key")
        endpoint = setup.endpoint(
            Endpoint(
                "https://\(setup.settings.get("region") ?? "us").example.com", path: "/batch",
                envelope: Envelope("{\"key\":\"\(key)\",\"events\":[", between: ",", after: "]}"),
                limits: .init(events: 1000, body: 5_000_000, event: 100_000)))
        setup.credentialsRemedy = "correct key, or region"
        members = setup.members(Example.members, into: "properties")
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard event.kind == .track, let name = event.event else { return wire.refuse("the event is no track event with a name") }
        guard let person = event.userId else { return wire.refuse("the event has no userId") }
        if name.isLonger(than: 100) { return wire.refuse("the name of the event has more than 100 characters") }
        wire.begin(endpoint)
        wire.openObject()
        wire.member("id", text: event.messageId)
        wire.member("name", name)
        wire.member("person", text: person)
        wire.member("time", timeOf: event, as: .milliseconds)
        wire.openObject("properties")
        wire.splice(event.properties)
        wire.members(members, of: event)
        wire.rest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// 200 with {"failed":[1,7]} names the events that were not taken.
    func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        reply.withJSON { answer in
            guard reply.status == 200, let failed = answer?["failed"] else { return .standard }
            let refused = Outcome.rejected(code: 200, "Example did not take the event")
            return .mixed(rest: .delivered, failed.indices(below: request.count).map { ($0, refused) })
        }
    }
}
