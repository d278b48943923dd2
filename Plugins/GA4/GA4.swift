// The provider `ga4`: the Measurement Protocol of Google Analytics 4, for web streams and for apps with Firebase. Google answers 204 to
// everything. What it would then ignore, shorten or record at another time is refused here, with the reason. docs/providers/ga4.md has the
// mapping and says what is not sent.

public import VendorKit

package struct GA4: Vendor {
    enum Traits: String, SettingValue, CaseIterable { case identify, all, none }

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
        setup.probe(
            validation, sample: GA4.sample(isApp: isApp),
            wrap: { "{\"validation_behavior\":\"ENFORCE_RECOMMENDATIONS\"," + $0.dropFirst() },
            judge: { GA4.judge(probe: $0, name) })
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

    /// An event with everything that the module makes a member of its own of.
    private static func sample(isApp: Bool) -> String {
        let client = isApp ? "00000000000000000000000000000001" : "1.1"
        return #"{"type":"identify","anonymousId":"\#(client)","userId":"switchyard","traits":{"plan":"pro"},"#
            + #""properties":{"value":1.5,"currency":"EUR","list":["a","b"],"items":[{"product_id":"a","price":1.5,"quantity":1}]},"#
            + #""context":{"ip":"192.0.2.1","userAgent":"switchyard","sessionId":1,"traits":{"plan":"pro"},"#
            + #""consent":{"google":{"ad_user_data":"denied","ad_personalization":"denied"}},"#
            + #""page":{"url":"https://example.com/","title":"t"},"campaign":{"name":"c","source":"s","medium":"m"}}}"#
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
        return .reached(code: 200, "Google takes the shape of a sample, with these settings; it does not check \(unseen) anywhere")
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
        return GA4Name.isReserved(name, isApp: isApp) ? refuse("the name of the event is one that Google reserves") : name
    }

    // MARK: - What events of a body share

    /// Writes the id of the client, and of the user. Returns false if the event is refused.
    private func identify(_ event: CanonicalEvent, _ wire: inout WireEvents) -> Bool {
        let kind: StaticString = isApp ? "ga4AppInstanceId" : "ga4ClientId"
        let external = event[named.externalId]?.elements.first { $0["type"]?.isText(kind) ?? false }?["id"]
        if let given = [event[named.id], external].lazy.compactMap({ $0 }).first(where: { !$0.isNull }) {
            guard GoogleID.isOne(given, isApp: isApp) else {
                return refused("the id of the event for Google has not the form of Google's", &wire)
            }
            wire.member(isApp ? "app_instance_id" : "client_id", given)
        } else if let id = event.anonymousId, GoogleID.isOne(id, isApp: isApp) {
            wire.member(isApp ? "app_instance_id" : "client_id", id)
        } else if derivesID, let id = event.anonymousId ?? event.userId {
            GoogleID.write(id.derivedUUID, isApp: isApp, to: &wire)
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
