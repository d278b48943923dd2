// The provider `posthog`: PostHog's /batch/ API. Each event becomes one event of PostHog. What PostHog would drop or shorten while it
// answers 200 is refused here, with the reason. docs/providers/posthog.md has the mapping and says what is lost.

public import VendorKit

package struct PostHog: Vendor {
    package static let about = VendorDescription(
        name: "posthog", version: "0.1.0", summary: "Sends events to PostHog.",
        settings: [
            "key": .text("the project's API key, such as phc_...").required.secret,
            "region": .choice("the region of PostHog Cloud", of: ["us", "eu"], default: "us"),
            "geoip": .flag("whether PostHog looks up places by context.ip; events without that member are never looked up", default: true),
            "person_profiles": .choice(
                "which events make or change a person's profile: all; those with a userId; or only identify, alias and group",
                of: Profiles.allCases.map(\.rawValue), default: "all"),
            "group_type": .text("the type of the groups in groupId and context.groupId", default: "company"),
            "personal_key": .text("a personal API key with the scope person:write, by which people are erased").secret,
            "project_id": .text("the project's number, for erasures", pattern: "[0-9]+"),
            "historical": .duration("events that are older than this are sent apart, as historical_migration", default: "48h"),
        ],
        delivery: .init(batchEvents: 1000, batchBytes: "4MB", ordered: false), byHand: byHand,
        mapping: [
            MappingRow("event; of page $pageview, screen $screen, identify $identify, group $groupidentify, alias $create_alias", "event"),
            MappingRow("messageId", "uuid", note: "if it is no UUID, one is derived from it (version 5), and it is message_id too"),
            MappingRow("userId, or else anonymousId", "distinct_id", note: "illegal ids are refused"),
            MappingRow("timestamp, or else the arrival", "timestamp"),
            MappingRow("properties", "properties", note: "byte for byte, with $set, $set_once and $groups"),
            MappingRow("anonymousId", "$anon_distinct_id", note: "of identify, with a userId"),
            MappingRow("traits, or else context.traits", "$set", note: "traits of group are $group_set"),
            MappingRow("previousId", "alias", note: "of alias"),
            MappingRow("groupId, context.groupId", "$group_key of group, else $groups"),
            MappingRow("name", "$screen_name of screen, else name"),
            MappingRow("everything else", "switchyard_unmapped", note: "in its own structure", isRest: true),
        ] + members.rows(),
        refuses: [
            .longNames(200), .longIDs(200), .placeholderIDs, .noPerson, .trackWithoutName, .groupWithoutID, .aliasWithoutPreviousID,
            .size(900_000), .unmapped,
        ])

    /// What PostHog has names of its own for.
    static let members: MemberTable = [
        // A UUID is written already, and what is written is left out here.
        "messageId": "message_id",
        "context.ip": "$ip", "context.page.url": "$current_url", "properties.url": "$current_url", "context.page.path": "$pathname",
        "context.page.referrer": "$referrer", "context.page.title": "title", "context.userAgent": "$raw_user_agent",
        "context.library.name": "$lib", "context.library.version": "$lib_version", "context.os.name": "$os",
        "context.os.version": "$os_version", "context.device.id": "$device_id", "context.device.manufacturer": "$device_manufacturer",
        "context.device.model": "$device_model", "context.device.name": "$device_name", "context.device.type": "$device_type",
        "context.screen.width": "$screen_width", "context.screen.height": "$screen_height", "context.app.name": "$app_name",
        "context.app.version": "$app_version", "context.app.build": "$app_build", "context.app.namespace": "$app_namespace",
        "context.network.carrier": "$network_carrier", "context.locale": "$locale", "context.timezone": "$timezone",
        "context.campaign.source": "utm_source", "context.campaign.medium": "utm_medium", "context.campaign.name": "utm_campaign",
        "context.campaign.content": "utm_content", "context.campaign.term": "utm_term",
    ]

    enum Profiles: String, SettingValue, CaseIterable { case all, identified, none }

    private let live: Endpoint.ID
    private let historical: Endpoint.ID
    private let historicalAge: Int64
    private let usesGeoIP: Bool
    let profiles: Profiles
    /// Where people are looked up and deleted, if the settings have a personal key.
    let persons: ErasureEndpoint.ID?
    private let groupType: String
    private let members: MemberMap
    private let context: (ip: Member, traits: Member, group: Member)
    /// Names that the properties of an event can have themselves. Then the event's own value stays.
    private let own:
        (ip: Member, noPlace: Member, noPerson: Member, set: Member, groups: Member, anonymous: Member, name: Member, screen: Member)

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.apiKey("key")
        let base = "https://\(setup.settings.get("region") ?? "us").i.posthog.com"
        func endpoint(isHistorical: Bool) -> Endpoint {
            Endpoint(
                base, path: "/batch/",
                envelope: Envelope(
                    "{\"api_key\":\"\(key)\",\"historical_migration\":\(isHistorical),\"batch\":[", between: ",", after: "]}"),
                limits: .init(body: 20 << 20, event: 900_000))
        }
        live = setup.endpoint(endpoint(isHistorical: false))
        historical = setup.endpoint(endpoint(isHistorical: true))
        setup.credentialsRemedy = "correct key, or region"
        // With its flags disabled this request only looks up the project of the key.
        let flags = Endpoint(base, path: "/flags/?v=2", envelope: Envelope(), limits: .init())
        let question = "{\"api_key\":\"\(key)\",\"distinct_id\":\"switchyard\",\"disable_flags\":true}"
        setup.probe(flags, body: question) { reply in
            guard reply.status == 200 else { return nil }
            let isPostHog = reply.withJSON { $0?["flags"] != nil || $0?["featureFlags"] != nil }
            return isPostHog
                ? .accepted("PostHog knows the key in this region")
                : .reached(code: 200, "it was reached, and did not answer as PostHog does")
        }
        if let personal = try setup.secretIfSet("personal_key") {
            let project: String = try setup.settings.require("project_id")
            persons = setup.erasureEndpoint(
                "https://\(setup.settings.get("region") ?? "us").posthog.com", path: "/api/projects/\(project)/persons/", method: .get,
                headers: [Header("Authorization", "Bearer \(personal)")])
        } else {
            persons = nil
        }
        historicalAge = setup.duration("historical") ?? 48 * 3_600_000_000_000
        usesGeoIP = setup.settings.get("geoip") ?? true
        profiles = setup.settings.get("person_profiles") ?? .all
        groupType = setup.settings.get("group_type") ?? "company"
        members = setup.members(PostHog.members, into: "properties")
        context = (setup.member("context.ip"), setup.member("context.traits"), setup.member("context.groupId"))
        func property(_ name: String) -> Member { setup.member("properties.\(name)") }
        own = (
            property("$ip"), property("$geoip_disable"), property("$process_person_profile"), property("$set"), property("$groups"),
            property("$anon_distinct_id"), property("name"), property("$screen_name")
        )
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard let id = event.userId ?? event.anonymousId else { return wire.refuse("the event has neither userId nor anonymousId") }
        if let fault = PostHog.ids.fault(of: id) { return wire.refuse(fault) }

        wire.begin(event.age > historicalAge ? historical : live)
        wire.openObject()
        wire.member("uuid", uuidOf: event)
        switch event.kind {
        case .track, .other:
            guard let name = event.ownName else { return wire.refuse("the event has no name") }
            if name.isLonger(than: 200) {
                return wire.refuse("the name of the event has more than 200 characters, and PostHog would cut it")
            }
            wire.member("event", name)
        case .identify: wire.member("event", constant: "$identify")
        case .alias: wire.member("event", constant: "$create_alias")
        case .group: wire.member("event", constant: "$groupidentify")
        case .page: wire.member("event", constant: "$pageview")
        case .screen: wire.member("event", constant: "$screen")
        }
        wire.member("distinct_id", text: id)
        wire.member("timestamp", timeOf: event, as: .text)
        wire.openObject("properties")
        wire.splice(event.properties)
        properties(of: event, id, &wire)
        wire.members(members, of: event)
        let hasPlace = usesGeoIP && (event[context.ip] != nil || event[own.ip] != nil)
        if !hasPlace, event[own.noPlace] == nil { wire.member("$geoip_disable", flag: true) }
        wire.rest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// Writes the properties that depend on the kind of the event.
    private func properties(of event: CanonicalEvent, _ id: Value, _ wire: inout WireEvents) {
        switch event.kind {
        case .identify:
            if event.userId != nil, let anonymous = event.anonymousId, event[own.anonymous] == nil, PostHog.ids.fault(of: anonymous) == nil
            {
                wire.member("$anon_distinct_id", text: anonymous)
            }
        case .alias:
            guard let previous = event.previousId else { return wire.refuse("the alias has no previousId") }
            if let fault = PostHog.ids.fault(of: previous) { return wire.refuse(fault) }
            wire.member("alias", text: previous)
        case .group:
            guard let group = event.groupId else { return wire.refuse("the group has no groupId") }
            wire.member("$group_type", string: groupType)
            wire.member("$group_key", text: group)
            wire.member("$group_set", event.traits)
        case .screen: if event[own.screen] == nil { wire.member("$screen_name", event.name ?? event.event) }
        case .page: if event[own.name] == nil { wire.member("name", event.name) }
        case .track, .other: break
        }
        let traits = event.kind == .group ? nil : event.traits
        if event[own.set] == nil { wire.member("$set", traits ?? event[context.traits]) }
        if let group = event.groupId ?? event[context.group], group.isIdentity, event[own.groups] == nil {
            wire.openObject("$groups")
            wire.member(key: groupType, text: group)
            wire.closeObject()
        }
        let isPersonal = profiles == .all || profiles == .identified && event.userId != nil
        // PostHog drops an identify, alias or group that is not to make a profile.
        guard !isPersonal, event[own.noPerson] == nil else { return }
        switch event.kind {
        case .identify, .alias, .group: break
        default: wire.member("$process_person_profile", flag: false)
        }
    }

    private static let ids = IDRules(
        of: "PostHog", longest: 200,
        placeholders: [
            "0", "00000000-0000-0000-0000-000000000000", "[object object]", "anonymous", "anonymous-user", "backend", "distinct_id",
            "distinctid", "email", "false", "guest", "id", "nan", "none", "not_authenticated", "null", "system", "true", "undefined",
            "user",
        ])

    // MARK: - Answers

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        // PostHog answers 200 and drops the events of a project that has used up its quota. Other quotas do not concern events.
        let isDropped = reply.withJSON { answer in
            answer?["quota_limited"]?.elements.contains { !$0.isText("recordings") && !$0.isText("feature_flags") } ?? false
        }
        guard reply.status == 200, isDropped else { return .standard }
        return .each(.rejected(code: 200, "PostHog dropped the events, since the project has used up its quota (quota_limited)"))
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<PostHog>.self) }
