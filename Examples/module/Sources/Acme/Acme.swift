// The provider `acme`: the API of a vendor that does not exist. Replace it by yours. It posts {"events":[...]} to /v1/events, and the answer
// to a batch lists the events that were refused: {"refused":[{"index":0,"reason":"..."}]}.

public import VendorKit

struct Acme: Vendor {
    static let about = VendorDescription(
        name: "acme", version: "1.0.0", summary: "Sends events to Acme.",
        settings: ["key": .text("the API key").required.secret],
        mapping: [
            MappingRow("event", "name", note: "events without a name are refused"),
            MappingRow("messageId", "id", note: "if it is no UUID, one is derived from it"),
            MappingRow("timestamp, or else the arrival", "at", note: "milliseconds since 1970"),
            MappingRow("userId, or else anonymousId", "user"),
            MappingRow("properties", "data", note: "byte for byte"),
            MappingRow("everything else", "more", note: "in its own structure"),
        ] + members.map { MappingRow("\($0)", "\($1)") })

    /// The members of the context for which Acme has names of its own. They are written into `data`.
    static let members: MemberTable = ["context.ip": "ip", "context.page.url": "url"]

    private let events: Endpoint.ID
    private let members: MemberMap

    init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.secret("key")
        var endpoint = Endpoint(
            "https://api.acme.invalid", path: "/v1/events", envelope: Envelope("{\"events\":[", between: ",", after: "]}"),
            limits: .init(events: 500, body: 1_000_000, event: 32_000))
        endpoint.headers = [Header("Authorization", "Bearer \(key)")]
        events = setup.endpoint(endpoint)
        members = setup.members(Acme.members, into: "properties")
        setup.credentialsRemedy = "correct key"
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard let name = event.event else { return wire.refuse("the event has no name") }
        wire.begin(events)
        wire.openObject()
        wire.member("name", name)
        wire.member("id", uuidOf: event)
        wire.member("at", timeOf: event, as: .milliseconds)
        wire.member("user", text: event.userId ?? event.anonymousId)
        wire.openObject("data")
        wire.splice(event.properties)
        wire.members(members, of: event)
        wire.closeObject()
        wire.rest("more", of: event)
        wire.closeObject()
        wire.end()
    }

    func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        guard reply.status == 200 else { return .standard }
        return reply.withJSON { answer in
            let refused = answer?["refused"]?.elements.compactMap { entry -> (index: Int, outcome: Outcome)? in
                guard let index = entry["index"]?.event.integer else { return nil }
                return (index, .rejected(code: 200, "Acme refused it: \(entry["reason"]?.text ?? "without a reason")"))
            }
            // An answer that cannot be read says nothing about the events, so they may have arrived.
            guard answer != nil else { return .whole(.unknown(code: 200, "Acme's answer is not JSON")) }
            return refused.map { .mixed(rest: .delivered, $0) } ?? .standard
        }
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Acme>.self) }
