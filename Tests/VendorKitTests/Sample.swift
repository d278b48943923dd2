// A small vendor for the tests of the kit: two endpoints, groups, limits, and answers by index.

import VendorKit

struct Sample: Vendor {
    static let about = VendorDescription(
        name: "sample", version: "1.0.0", summary: "For tests.",
        settings: ["key": .text("the key").required.secret, "limit": .integer("bytes of a body", default: 1000)])

    static let table: MemberTable = ["context.ip": "ip", "properties.url": "where", "context.page.url": "where"]

    private let list: Endpoint.ID
    private let grouped: Endpoint.ID
    private let members: MemberMap
    private let copies: Member

    init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.secret("key")
        let limit = setup.settings.get("limit") ?? 1000
        list = setup.endpoint(
            Endpoint(
                "https://sample.invalid", path: "/list?key=\(key)", envelope: Envelope("[", between: ",", after: "]"),
                limits: .init(events: 3, body: limit, event: 200)))
        grouped = setup.endpoint(
            Endpoint(
                "https://sample.invalid", path: "/grouped?key=\(key)", envelope: Envelope("{", group: ",\"events\":[", after: "]}"),
                limits: .init(events: 2, body: limit)))
        members = setup.members(Sample.table, into: "properties")
        copies = setup.member("properties.copies")
        setup.credentialsRemedy = "correct key"
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        switch event.kind {
        case .page:
            wire.begin(grouped)
            wire.member("kind", constant: "page")
            wire.member("user", event.userId)
            wire.endGroup()
            wire.openObject()
            wire.member("name", event.name)
            wire.closeObject()
            wire.end()
        case .screen:
            wire.begin(list)
            wire.openObject()
            wire.member("user", event.userId)
            wire.flatRest("rest", of: event)
            wire.closeObject()
            wire.end()
        case .identify: break
        case .alias: wire.refuse("no aliases")
        default:
            for _ in 0..<(event[copies]?.event.integer ?? 1) {
                wire.begin(list)
                wire.openObject()
                wire.member("id", uuidOf: event)
                wire.member("at", timeOf: event, as: .milliseconds)
                wire.member("user", text: event.userId)
                wire.splice(event.properties)
                wire.members(members, of: event)
                wire.rest("rest", of: event)
                wire.closeObject()
                wire.end()
            }
        }
    }

    func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        reply.withJSON { answer in
            guard let failed = answer?["failed"], failed.isList else { return .standard }
            let indices = failed.elements.compactMap { $0.event.integer }
            let later = answer?["later"]?.isTrue ?? false
            return .mixed(rest: .delivered, indices.map { ($0, later ? .retry("busy") : .rejected(code: 400, "invalid")) })
        }
    }
}
