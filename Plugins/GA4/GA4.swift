// The provider `ga4`: the Measurement Protocol of Google Analytics 4, for web streams and for apps with Firebase. Google answers 204 to
// everything. What it would then ignore, shorten or record at another time is refused here, with the reason. docs/providers/ga4.md has the
// mapping and says what is not sent.

public import VendorKit

package struct GA4: Vendor {
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

    private enum Traits: String, SettingValue, CaseIterable { case identify, all, none }

    private let stream: Endpoint.ID
    private let isApp: Bool
    private let derivesID: Bool
    private let traits: Traits
    private let engages: Bool
    private let parameters: FlatRules
    private let properties: FlatRules
    private let members: [(member: Member, name: StaticString)]
    private let named: (id: Member, externalId: Member, traits: Member, ip: Member, userAgent: Member)
    private let objects: [Member]
    private let consent: (whole: Member, userData: Member, personalization: Member)

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let secret = try GA4.plain(setup.secret("api_secret"), "api_secret")
        let (web, app): (String?, String?) = (setup.settings.get("measurement_id"), setup.settings.get("firebase_app_id"))
        guard let id = web ?? app, web == nil || app == nil else { throw SettingsFault("set either measurement_id or firebase_app_id") }
        isApp = app != nil
        let name = isApp ? "firebase_app_id" : "measurement_id"
        let host = setup.settings.get("region") == "eu" ? "region1.google-analytics.com" : "www.google-analytics.com"
        stream = setup.endpoint(
            Endpoint(
                "https://\(host)", path: "/mp/collect?\(name)=\(try GA4.plain(id, name))&api_secret=\(secret)",
                envelope: Envelope("", group: ",\"events\":[", between: ",", after: "]}"),
                limits: .init(events: 25, body: 129_999)))
        setup.credentialsRemedy = "correct \(name), or api_secret"
        // Google validates an event here and records nothing. It looks at neither api_secret nor firebase_app_id.
        var validation = Endpoint(
            "https://\(host)", path: "/debug/mp/collect?\(name)=\(id)&api_secret=\(secret)", envelope: Envelope(), limits: .init())
        validation.takesCompression = false
        setup.probe(validation, body: GA4.sample(isApp: isApp)) { GA4.judge(probe: $0, name) }
        derivesID = setup.settings.get("derive_id") ?? !isApp
        traits = setup.settings.get("traits") ?? .identify
        engages = setup.settings.get("engagement") ?? true
        let is360 = setup.settings.get("analytics_360") ?? false
        let cuts = setup.settings.get("long_values") == "cut"
        parameters = FlatRules(kind: .parameters, most: is360 ? 100 : 25, longestName: 40, longestValue: is360 ? 500 : 100, cuts: cuts)
        properties = FlatRules(kind: .userProperties, most: 25, longestName: 24, longestValue: 36, cuts: cuts)
        members = GA4.context.map { (setup.member("\($0)"), $1) }
        let path: String = setup.settings.get("id_member") ?? "context.ga4.id"
        guard path.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ GA4Name.isPathKey(Array($0.utf8)) }) else {
            throw SettingsFault("id_member is no path of names with dots between them")
        }
        named = (
            setup.member(path), setup.member("context.externalId"), setup.member("context.traits"), setup.member("context.ip"),
            setup.member("context.userAgent")
        )
        objects = [setup.member("properties"), setup.member("traits")]
        func google(_ signal: String) -> Member { setup.member("context.consent.google\(signal)") }
        consent = (google(""), google(".ad_user_data"), google(".ad_personalization"))
    }

    private static func sample(isApp: Bool) -> String {
        let client = isApp ? #""app_instance_id":"00000000000000000000000000000001""# : #""client_id":"1.1""#
        return "{\(client),\"validation_behavior\":\"ENFORCE_RECOMMENDATIONS\",\"events\":[{\"name\":\"switchyard_check\",\"params\":{}}]}"
    }

    /// Returns what the validation server's answer says about the settings.
    static func judge(probe reply: Reply, _ name: String) -> Probe? {
        guard reply.status == 200 else { return nil }
        let faults: [String]? = reply.withJSON { answer in
            guard let messages = answer?["validationMessages"] else { return answer == nil ? nil : [] }
            return messages.elements.map { "\($0["fieldPath"]?.text ?? ""): \($0["description"]?.text ?? "it is not valid")" }
        }
        guard let faults else { return .reached(code: 200, "Google's validation server gave an answer that is not JSON") }
        if let first = faults.first { return .refused(code: 200, "Google's validation server says \(first.prefix(300))") }
        let unseen = name == "measurement_id" ? "api_secret" : "api_secret or firebase_app_id"
        return .reached(code: 200, "Google's validation server takes such events; Google does not check \(unseen) anywhere")
    }

    /// Returns a value that can stand in a query as it is.
    private static func plain(_ value: String, _ setting: String) throws(SettingsFault) -> String {
        let isPlain = value.utf8.allSatisfy { GA4Name.isPathKey([$0]) || "-.:~".utf8.contains($0) }
        guard !value.isEmpty, isPlain else { throw SettingsFault("\(setting) is none of Google's") }
        return value
    }

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        if event.age > 72 * 3_600_000_000_000 {
            return wire.refuse("the event is older than 72 hours, and Google would record it at another time")
        }
        for member in objects {
            guard let value = event[member], !value.isObject, !value.isNull, value.elements.contains(where: { _ in true }) || !value.isList
            else { continue }
            return wire.refuse("properties or traits are no object")
        }
        guard let name = name(of: event, &wire) else { return }
        wire.begin(stream)
        wire.openObject()
        guard identify(event, &wire), userProperties(of: event, &wire), consent(of: event, &wire) else { return }
        if let ip = event[named.ip], ip.isText, ip.isIdentity { wire.member("ip_override", ip) }
        if let agent = event[named.userAgent], agent.isText, agent.isIdentity { wire.member("user_agent", agent) }
        wire.endGroup()

        wire.openObject()
        name.withUnsafeBufferPointer {
            wire.write(key: "name")
            wire.put(byte: UInt8(ascii: "\""))
            wire.put(bytes: UnsafeRawBufferPointer($0))
            wire.put(byte: UInt8(ascii: "\""))
        }
        wire.write(key: "timestamp_micros")
        wire.put(time: time(of: event), as: .microseconds)
        wire.openObject("params")
        guard parameters(of: event, &wire) else { return }
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// Google takes only times of the past, and no event happens after it has arrived.
    private func time(of event: CanonicalEvent) -> Int64 { min(event.time, event.arrival) }

    // MARK: - Names

    /// The name of the event as Google takes it. If there is none, the event is refused.
    private func name(of event: CanonicalEvent, _ wire: inout WireEvents) -> [UInt8]? {
        func refuse(_ reason: String) -> [UInt8]? {
            wire.refuse(reason)
            return nil
        }
        switch event.kind {
        case .page: return Array("page_view".utf8)
        case .screen:
            return isApp ? Array("screen_view".utf8) : refuse("the event is a screen, and Google takes screens only in streams of apps")
        case .group: return event.groupId == nil ? refuse("the group has no groupId") : Array("join_group".utf8)
        case .identify: return Array("identify".utf8)
        case .alias: return refuse("the event is an alias, and Google has nothing that joins two users")
        case .track, .other: break
        }
        guard let given = event.ownName else { return refuse("the event has no name") }
        var name: [UInt8] = []
        guard GA4Name.append(given, to: &name) else { return refuse("the name of the event has characters that are not ASCII") }
        if name.count > 40 { return refuse("the name of the event has more than 40 characters") }
        if !GA4Name.beginsWithLetter(name) { return refuse("the name of the event does not begin with a letter") }
        let isReserved = name.withUnsafeBufferPointer { GA4.reserved.contains($0) || !isApp && GA4.reservedForApps.contains($0) }
        return isReserved || GA4Name.hasReservedPrefix(name) ? refuse("the name of the event is one that Google reserves") : name
    }

    private static let reserved = TextSet([
        "ad_activeview", "ad_click", "ad_exposure", "ad_query", "ad_reward", "adunit_exposure", "app_background", "app_clear_data",
        "app_exception", "app_install", "app_remove", "app_store_refund", "app_store_subscription_cancel",
        "app_store_subscription_convert", "app_store_subscription_renew", "app_update", "app_upgrade", "dynamic_link_app_open",
        "dynamic_link_app_update", "dynamic_link_first_open", "error", "first_open", "first_visit", "notification_dismiss",
        "notification_foreground", "notification_open", "notification_receive", "notification_send", "os_update", "session_start",
        "session_start_with_rollout", "user_engagement",
    ])
    private static let reservedForApps = TextSet(["ad_impression", "in_app_purchase", "screen_view"])

    // MARK: - What events of a body share

    /// Writes the id of the client, and of the user. Returns false if the event is refused.
    private func identify(_ event: CanonicalEvent, _ wire: inout WireEvents) -> Bool {
        let kind: StaticString = isApp ? "ga4AppInstanceId" : "ga4ClientId"
        let external = event[named.externalId]?.elements.first { $0["type"]?.isText(kind) ?? false }?["id"]
        if let given = [event[named.id], external].lazy.compactMap({ $0 }).first(where: { !$0.isNull }) {
            guard isGoogles(given) else { return refused("the id of the event for Google has not the form of Google's", &wire) }
            wire.member(isApp ? "app_instance_id" : "client_id", given)
        } else if let id = event.anonymousId, isGoogles(id) {
            wire.member(isApp ? "app_instance_id" : "client_id", id)
        } else if derivesID, let id = event.anonymousId ?? event.userId {
            derived(id.derivedUUID, &wire)
        } else {
            return refused("the event has no \(isApp ? "app_instance_id" : "client_id")", &wire)
        }
        var room = 256
        if let user = event.userId {
            guard user.body(within: &room).count == user.body.count else { return refused("userId has more than 256 characters", &wire) }
            wire.member("user_id", text: user)
        }
        return true
    }

    /// True for two positive numbers with a point between them, as gtag.js makes them, or the 32 hexadecimal digits of Firebase.
    private func isGoogles(_ id: Value) -> Bool {
        let body = id.body
        func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
        if isApp { return body.count == 32 && body.allSatisfy { isDigit($0) || ($0 | 0x20) &- 0x61 < 6 } }
        let parts = body.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { $0.count <= 20 && $0.allSatisfy(isDigit) && $0.contains { $0 != 0x30 } }
    }

    private func derived(_ bytes: [UInt8], _ wire: inout WireEvents) {
        if isApp {
            wire.write(key: "app_instance_id")
            wire.put(byte: UInt8(ascii: "\""))
            for byte in bytes { for digit in [byte >> 4, byte & 15] { wire.put(byte: digit < 10 ? 0x30 + digit : 0x57 + digit) } }
        } else {
            wire.write(key: "client_id")
            wire.put(byte: UInt8(ascii: "\""))
            func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } % 0x7fff_ffff + 1 }
            wire.put(number: number(bytes[0..<4]))
            wire.put(byte: UInt8(ascii: "."))
            wire.put(number: number(bytes[12..<16]))
        }
        wire.put(byte: UInt8(ascii: "\""))
    }

    private func userProperties(of event: CanonicalEvent, _ wire: inout WireEvents) -> Bool {
        let given: Value? =
            switch traits {
            case .none: nil
            case .identify: event.kind == .identify ? event.traits : nil
            case .all: event.kind == .identify ? event.traits ?? event[named.traits] : event[named.traits]
            }
        // Google needs no empty object here.
        guard let given, given.members.contains(where: { !$0.value.isNull }) else { return true }
        wire.openObject("user_properties")
        var flat = FlatObject(properties)
        flat.add(membersOf: given, to: &wire)
        wire.closeObject()
        return !flat.isRefused
    }

    private func consent(of event: CanonicalEvent, _ wire: inout WireEvents) -> Bool {
        if let whole = event[consent.whole], !whole.isObject, !whole.isNull { return refused("context.consent.google is no object", &wire) }
        let signals: [(StaticString, Value?)] = [
            ("ad_user_data", event[consent.userData]), ("ad_personalization", event[consent.personalization]),
        ]
        guard signals.contains(where: { $0.1 != nil }) else { return true }
        wire.openObject("consent")
        for case (let name, let signal?) in signals {
            if signal.isText("granted") || signal.isText("GRANTED") {
                wire.member(name, constant: "GRANTED")
            } else if signal.isText("denied") || signal.isText("DENIED") {
                wire.member(name, constant: "DENIED")
            } else {
                return refused("a signal of context.consent.google is neither granted nor denied", &wire)
            }
        }
        wire.closeObject()
        return true
    }

    private func refused(_ reason: String, _ wire: inout WireEvents) -> Bool {
        wire.refuse(reason)
        return false
    }

    // MARK: - Parameters

    private func parameters(of event: CanonicalEvent, _ wire: inout WireEvents) -> Bool {
        var flat = FlatObject(parameters)
        flat.add(membersOf: event.properties, renamed: event.kind == .page ? GA4.page : [:], to: &wire)
        switch event.kind {
        case .page: if let name = event.name, !flat.has("page_name") { flat.add("page_name", name, to: &wire) }
        case .screen: if let name = event.name ?? event.event, !flat.has("screen_name") { flat.add("screen_name", name, to: &wire) }
        case .group:
            flat.add(membersOf: event.traits, to: &wire)
            if let group = event.groupId, !flat.has("group_id") { flat.add("group_id", group, to: &wire) }
        case .other:
            // A log says what it says in members of its own.
            for (key, value) in event.whole.members where !GA4.shape.contains(key) { flat.add(key, value, to: &wire) }
        case .track, .identify, .alias: break
        }
        for (member, name) in members where !flat.isFull && !flat.has(name) && !flat.isRefused {
            if let value = event[member], value.isText || value.isNumber { flat.add(name, value, to: &wire) }
        }
        if engages, !flat.isFull, !flat.has("engagement_time_msec") { flat.add("engagement_time_msec", number: 1, to: &wire) }
        return !flat.isRefused
    }

    private static let shape = TextSet([
        "type", "event", "messageId", "anonymousId", "userId", "previousId", "groupId", "timestamp", "properties", "traits",
        "context", "integrations", "originalTimestamp", "sentAt", "receivedAt", "channel", "version", "writeKey",
    ])
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<GA4>.self) }
