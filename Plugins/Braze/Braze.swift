// The provider `braze`: custom events and profiles go to Braze's /users/track, and an identify with both ids joins them by /users/identify.
// Braze knows no event that comes again. docs/providers/braze.md has the mapping and says what is lost.

public import VendorKit

package struct Braze: Vendor {
    package static let about = VendorDescription(
        name: "braze", version: "0.1.0", summary: "Sends events and profiles to Braze.",
        settings: [
            "key": .text("a REST API key with the permissions users.track, users.identify, users.delete and users.export.ids").required
                .secret,
            "instance": .text("the instance, such as iad-01 or fra-02, of the REST endpoint", pattern: "[a-z]+-[0-9]+").required,
            "app_id": .text("the app identifier of the events"),
            "alias_label": .text("the label of the alias that an anonymousId is", default: "anonymous_id"),
        ],
        compressions: [.none], deduplicates: false, delivery: .init(batchEvents: 200, batchBytes: "1MB", ordered: false), byHand: byHand,
        mapping: [
            MappingRow("event; Viewed NAME Page, Viewed NAME Screen", "events.name"),
            MappingRow("userId", "external_id"),
            MappingRow("anonymousId", "user_alias.alias_name", note: "without a userId; with one, identify joins the two"),
            MappingRow("timestamp, or else the arrival", "events.time"),
            MappingRow("properties", "events.properties", note: "byte for byte"),
            MappingRow("traits of identify, or else context.traits", "attributes", note: "each under its own name"),
            MappingRow("everything else", "events.properties.switchyard_unmapped", note: "of an event; of identify it is not sent"),
        ] + own.rows(in: "events.properties.") + fields.rows(at: "traits.", in: "attributes.")
            + reserved.rows(at: "traits.", in: "attributes."),
        refuses: [
            .noPerson, .longIDs(997), .trackWithoutName, .longNames(255), .alias, .group,
            LimitRow(.id, "identify without traits, and without both a userId and an anonymousId"),
            LimitRow(.propertyName, most: 255, "names of properties of more than 255 characters"),
            LimitRow(.reservedName, "names of properties that begin with a dollar sign"),
            LimitRow(.valueLength, most: 255, "texts in properties of more than 255 characters"),
            LimitRow(.depth, most: 32, "properties and traits of more than 32 objects and lists in one another"),
            LimitRow(.size, most: 51_200, "properties of more than 51200 bytes"), .unmapped,
        ])

    /// What Braze has names of its own for.
    static let fields: MemberTable = [
        "firstName": "first_name", "lastName": "last_name", "avatar": "image_url", "birthday": "dob", "address.city": "home_city",
        "address.country": "country",
    ]
    static let own: MemberTable = ["messageId": "message_id"]
    /// Names that say which person is meant, and the names under which traits of these names go.
    static let reserved: MemberTable = [
        "external_id": "traits_external_id", "braze_id": "traits_braze_id", "user_alias": "traits_user_alias",
        "_update_existing_only": "traits_update_existing_only", "push_token_import": "traits_push_token_import",
    ]

    private let events, profiles, joins: Endpoint.ID
    let lookup, deletions: ErasureEndpoint.ID
    let aliasLabel: String
    private let appID: String?
    private let own: MemberMap
    private let traits: (whole: Member, own: [MemberMap], inContext: [MemberMap])

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.secret("key")
        let base = "https://rest.\(try setup.settings.require("instance", as: String.self)).braze.com"
        func endpoint(_ path: String, _ list: String, after: String = "]}") -> Endpoint {
            // A request may have 75 objects, or 50 under some contracts.
            var endpoint = Endpoint(
                base, path: path, envelope: Envelope("{\"\(list)\":[", between: ",", after: after),
                limits: .init(events: 50, body: 4_000_000))
            endpoint.headers = [Header("Authorization", "Bearer \(key)")]
            return endpoint
        }
        events = setup.endpoint(endpoint("/users/track", "events"))
        profiles = setup.endpoint(endpoint("/users/track", "attributes"))
        joins = setup.endpoint(endpoint("/users/identify", "aliases_to_identify", after: "],\"merge_behavior\":\"merge\"}"))
        setup.credentialsRemedy = "correct key, its permissions, or instance"
        // A request without objects is refused after the key was looked at.
        setup.probe(endpoint("/users/track", "events"), body: "{}") { reply in
            let isEmpty = reply.withJSON { $0?["message"]?.text?.hasPrefix("Valid data must be provided") ?? false }
            return reply.status == 400 && isEmpty ? .accepted("Braze knows the key at this instance") : nil
        }
        let headers = [Header("Authorization", "Bearer \(key)")]
        lookup = setup.erasureEndpoint(base, path: "/users/export/ids", headers: headers)
        deletions = setup.erasureEndpoint(base, path: "/users/delete", headers: headers)
        aliasLabel = setup.settings.get("alias_label") ?? "anonymous_id"
        appID = setup.settings.get("app_id")
        func maps(_ base: String) -> [MemberMap] {
            [Braze.fields, Braze.reserved].map { setup.members($0, at: "\(base).", into: base) }
        }
        own = setup.members(Braze.own, into: "properties")
        traits = (setup.member("context.traits"), maps("traits"), maps("context.traits"))
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    // MARK: - Events

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard event.userId != nil || event.anonymousId != nil else {
            return wire.refuse("the event has neither userId nor anonymousId")
        }
        for id in [event.userId, event.anonymousId] {
            if let fault = id.flatMap(Braze.ids.fault) { return wire.refuse(fault) }
        }
        for object in [event.properties, event.traits, event[traits.whole]] where object?.depth ?? 0 > 32 {
            return wire.refuse("properties or traits have more than 32 objects and lists in one another")
        }
        switch event.kind {
        case .identify: identify(event, &wire)
        case .alias: wire.refuse("Braze changes the id of a person by another API, so an alias is not sent")
        case .group: wire.refuse("Braze has no groups")
        case .page: track(event, "Page", &wire)
        case .screen: track(event, "Screen", &wire)
        case .track, .other: event.ownName == nil ? wire.refuse("the event has no name") : track(event, nil, &wire)
        }
    }

    private func track(_ event: CanonicalEvent, _ view: StaticString?, _ wire: inout WireEvents) {
        if (view == nil ? event.ownName : event.name)?.isLonger(than: view == nil ? 255 : 240) ?? false {
            return wire.refuse("the name of the event has more than 255 characters")
        }
        if let properties = event.properties, let fault = Braze.fault(of: properties) { return wire.refuse(fault) }
        wire.begin(events)
        wire.openObject()
        person(event, &wire)
        if let appID { wire.member("app_id", string: appID) }
        if let view { wire.member("name", viewOf: event, as: view) } else { wire.member("name", event.ownName) }
        wire.member("time", timeOf: event, as: .text)
        wire.openObject("properties")
        wire.splice(event.properties)
        wire.members(own, of: event) { !$0.isLonger(than: 255) }
        wire.rest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// A person without a userId is known by an alias, whose profile is only made if that is demanded.
    private func person(_ event: CanonicalEvent, _ wire: inout WireEvents) {
        guard event.userId == nil else { return wire.member("external_id", text: event.userId) }
        alias(event.anonymousId, &wire)
        wire.member("_update_existing_only", flag: false)
    }

    private func alias(_ name: Value?, _ wire: inout WireEvents) {
        wire.openObject("user_alias")
        wire.member("alias_name", text: name)
        wire.member("alias_label", string: aliasLabel)
        wire.closeObject()
    }

    private func identify(_ event: CanonicalEvent, _ wire: inout WireEvents) {
        if event.userId != nil, event.anonymousId != nil {
            wire.begin(joins)
            wire.openObject()
            wire.member("external_id", text: event.userId)
            alias(event.anonymousId, &wire)
            wire.closeObject()
            wire.end()
        }
        guard let given = event.traits ?? event[traits.whole], given.isObject else { return }
        wire.begin(profiles)
        wire.openObject()
        person(event, &wire)
        for map in event.traits == nil ? traits.inContext : traits.own { wire.members(map, of: event) }
        wire.spliceRest(of: given, in: event)
        wire.closeObject()
        wire.end()
        wire.take(event.timestamp)
        wire.take(event.messageId)
        if wire.hasRest(of: event) { wire.loses("what an identify has besides ids and traits is not sent") }
    }

    // MARK: - Limits

    private static let ids = IDRules(of: "Braze", longest: 997)

    private static func fault(of properties: Value) -> String? {
        if properties.count > 51_200 { return "the properties have more than 51200 bytes" }
        for (name, value) in properties.members {
            if name.isLonger(than: 255) { return "a property has a name of more than 255 characters" }
            if name.withText({ $0?.first == UInt8(ascii: "$") }) { return "a property has a name that begins with a dollar sign" }
            if value.contains({ $0.isLonger(than: 255) }) { return "a text in the properties has more than 255 characters" }
        }
        return nil
    }

    // MARK: - Answers

    /// Braze names the objects that it does not take by their places in the list. After a 2xx it has taken all others, and after a 400 none.
    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        reply.withJSON { answer in
            guard (200..<300).contains(reply.status) || reply.status == 400, let answer else { return .standard }
            let errors = answer["errors"].map { Array($0.elements) } ?? []
            guard !errors.isEmpty else { return .standard }
            var refused: [Int: Outcome] = [:]
            for error in errors {
                guard let index = error["index"]?.event.integer, (0..<request.count).contains(index) else {
                    return .whole(.rejected(code: reply.status, "Braze did not take all objects of a request"))
                }
                refused[index] = .rejected(code: reply.status, "Braze refused it: \(error["type"]?.text?.prefix(200) ?? "no reason")")
            }
            let others: Outcome = reply.status == 400 ? .retry(code: 400, "Braze refused other objects of the request") : .delivered
            return .each(of: request) { refused[$0] ?? others }
        }
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Braze>.self) }
