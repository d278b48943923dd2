// The provider `amplitude`: events go to Amplitude's HTTP V2 API, or to its Batch Event Upload. An answer that names events by their index
// decides only about these; the others of its request were not taken, and are sent again. docs/providers/amplitude.md has the mapping.

public import VendorKit

package struct Amplitude: Vendor {
    package static let about = VendorDescription(
        name: "amplitude", version: "0.1.0", summary: "Sends events to Amplitude.",
        settings: [
            "key": .text("the project's API key").required.secret,
            "region": .choice("where the project's data lies", of: ["us", "eu"], default: "us"),
            "api": .choice(
                "http: the HTTP V2 API; batch: Batch Event Upload, for many events of one person and for large batches",
                of: API.allCases.map(\.rawValue), default: "http"),
            "min_id_length": .integer("the fewest characters of a userId and an anonymousId", default: 5, minimum: 1, maximum: 100),
            "group_type": .text("the type of the groups in groupId and context.groupId", default: "company", pattern: "[A-Za-z0-9_ ]+"),
            "secret_key": .text("the project's secret key, by which users are erased").secret,
            "long_texts": LongTexts.setting(of: "Amplitude", most: 1024),
        ],
        delivery: .init(batchEvents: 10, batchBytes: "900KB", ordered: false), byHand: byHand,
        mapping: [
            MappingRow("event; Viewed NAME Page, Viewed NAME Screen, $identify, $groupidentify", "event_type"),
            MappingRow("messageId", "insert_id"),
            MappingRow("userId, anonymousId", "user_id, device_id"),
            MappingRow("timestamp, or else the arrival", "time", note: "in milliseconds"),
            MappingRow("properties", "event_properties", note: "byte for byte"),
            MappingRow("traits, or else context.traits", "user_properties", note: "traits of group are group_properties"),
            MappingRow("groupId, context.groupId", "groups"),
            MappingRow("properties.revenue", "revenue", note: "a number; it stays in the properties too"),
            MappingRow("context.sessionId", "session_id", note: "milliseconds, or -1"),
            MappingRow("everything else", "event_properties.switchyard_unmapped", note: "in its own structure", isRest: true),
        ] + members.rows() + numbers.rows(),
        refuses: [
            .longNames(1024), LimitRow(.id, "ids of less than 5 characters (min_id_length)"), .longIDs(128), .placeholderIDs, .noPerson,
            .noMessageID, .alias, .trackWithoutName, .groupWithoutID, .depth(38), .body(999_999), .unmapped,
        ],
        cuts: [LongTexts.row(of: "Amplitude", most: 1024)])

    /// What Amplitude has names of its own for. A value of another type, for which Amplitude would refuse the event, is left to the rest.
    static let members: MemberTable = [
        "context.ip": "ip", "context.app.version": "app_version", "context.os.name": "os_name", "context.os.version": "os_version",
        "context.device.type": "platform", "context.device.brand": "device_brand",
        "context.device.manufacturer": "device_manufacturer", "context.device.model": "device_model",
        "context.network.carrier": "carrier", "context.locale": "language", "context.location.country": "country",
        "context.location.region": "region", "context.location.city": "city", "context.library.name": "library",
    ]
    static let numbers: MemberTable = ["context.location.latitude": "location_lat", "context.location.longitude": "location_lng"]

    private enum API: String, SettingValue, CaseIterable { case http, batch }

    private let endpoint: Endpoint.ID
    private let api: API
    /// Where deletions are asked for, if the settings have the secret key.
    let deletions: ErasureEndpoint.ID?
    private let ids: IDRules
    private let longTexts: LongTexts
    private let groupType: String
    private let members, numbers: MemberMap
    private let context: (traits: Member, group: Member, session: Member)
    private let revenue: Member

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let key = try setup.apiKey("key")
        let isEuropean = setup.settings.get("region") == "eu"
        api = setup.settings.get("api") ?? .http
        let shortest: Int = setup.settings.get("min_id_length") ?? 5
        ids = IDRules(
            of: "Amplitude", shortest: (shortest, "min_id_length"), longest: 128,
            placeholders: [
                "anonymous", "anon", "nil", "none", "null", "n/a", "na", "undefined", "unknown", "[object object]", "true", "false", "0",
                "-1", "00000000-0000-0000-0000-000000000000", "{}", "[]", "nan",
            ])
        groupType = setup.settings.get("group_type") ?? "company"
        longTexts = LongTexts(of: "Amplitude", most: 1024, setup)
        let options = shortest == 5 ? "" : ",\"options\":{\"min_id_length\":\(shortest)}"
        var uploaded = Endpoint(
            isEuropean ? "https://api.eu.amplitude.com" : "https://api2.amplitude.com", path: api == .http ? "/2/httpapi" : "/batch",
            envelope: Envelope("{\"api_key\":\"\(key)\"\(options),\"events\":[", between: ",", after: "]}"),
            // "Under 1 MB": of the body and so of an event.
            limits: .init(events: api == .http ? 1999 : 2000, body: api == .http ? 999_999 : 20_000_000))
        uploaded.keptHeaders = ["retry-after"]
        endpoint = setup.endpoint(uploaded)
        setup.credentialsRemedy = "correct key, or region"
        uploaded.takesCompression = false
        setup.probe(uploaded, body: "{\"api_key\":\"\(key)\",\"events\":[]}") { Amplitude.judge(probe: $0) }
        if let secret = try setup.secretIfSet("secret_key") {
            deletions = setup.erasureEndpoint(
                isEuropean ? "https://analytics.eu.amplitude.com" : "https://amplitude.com", path: "/api/2/deletions/users",
                headers: [try setup.basicAuthorization(user: key, password: secret)])
        } else {
            deletions = nil
        }
        (members, numbers) = (setup.members(Amplitude.members), setup.members(Amplitude.numbers))
        context = (setup.member("context.traits"), setup.member("context.groupId"), setup.member("context.sessionId"))
        revenue = setup.member("properties.revenue")
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    // MARK: - Events

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        if let fault = fault(of: event) ?? longTexts.fault(within: event.whole, &wire) { return wire.refuse(fault) }
        if event.kind == .group, let group = event.groupId, let traits = event.traits {
            begin(event, "$groupidentify", "-group", &wire)
            groups(group, &wire)
            wire.member("group_properties", traits)
            wire.closeObject()
            wire.end()
        }
        switch event.kind {
        case .track, .other:
            guard let name = event.ownName else { return wire.refuse("the event has no name") }
            begin(event, nil, nil, &wire)
            wire.member("event_type", name)
        case .identify: begin(event, "$identify", nil, &wire)
        case .group:
            guard event.groupId != nil else { return wire.refuse("the group has no groupId") }
            begin(event, "$identify", nil, &wire)
        case .alias: return wire.refuse("Amplitude joins users by another API than that of events, so an alias is not sent")
        case .page: view(event, of: "Page", &wire)
        case .screen: view(event, of: "Screen", &wire)
        }
        wire.texts(members, of: event)
        wire.members(numbers, of: event) { $0.isNumber }
        if let value = event[context.session], let session = value.event.integer {
            wire.member("session_id", number: session)
            wire.take(value)
        }
        if let revenue = event[revenue], revenue.isNumber { wire.member("revenue", revenue) }
        if let group = event.groupId ?? event[context.group], group.isIdentity { groups(group, &wire) }
        people(event, &wire)
        wire.openObject("event_properties")
        wire.splice(event.properties)
        wire.rest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// Begins an event with what each has. A second one of the same event has an id of its own, since Amplitude would drop it.
    private func begin(_ event: CanonicalEvent, _ type: StaticString?, _ suffix: StaticString?, _ wire: inout WireEvents) {
        wire.begin(endpoint)
        wire.openObject()
        if let type { wire.member("event_type", constant: type) }
        wire.member("user_id", text: event.userId)
        wire.member("device_id", text: device(of: event))
        wire.member("time", timeOf: event, as: .milliseconds)
        guard let suffix, let id = event.messageId else { return wire.member("insert_id", text: event.messageId) }
        wire.write(key: "insert_id")
        wire.put("\"")
        wire.put(bytes: id.isText ? UnsafeRawBufferPointer(id.body) : id.json)
        wire.put(suffix)
        wire.put("\"")
    }

    private func view(_ event: CanonicalEvent, of kind: StaticString, _ wire: inout WireEvents) {
        begin(event, nil, nil, &wire)
        wire.member("event_type", viewOf: event, as: kind)
    }

    private func groups(_ group: Value, _ wire: inout WireEvents) {
        wire.openObject("groups")
        wire.member(key: groupType, text: group)
        wire.closeObject()
    }

    private func people(_ event: CanonicalEvent, _ wire: inout WireEvents) {
        if event.kind == .group, let group = event.groupId {
            // An $identify with a group makes the user a member of it.
            wire.openObject("user_properties")
            wire.member(key: groupType, text: group)
            wire.closeObject()
        } else if let traits = event.traits ?? event[context.traits], traits.isObject {
            wire.member("user_properties", traits)
        }
    }

    // MARK: - Limits

    /// The anonymousId, unless it is one that Amplitude does not take, beside a userId.
    private func device(of event: CanonicalEvent) -> Value? {
        event.anonymousId.flatMap { event.userId != nil && ids.fault(of: $0) != nil ? nil : $0 }
    }

    private func fault(of event: CanonicalEvent) -> String? {
        guard let id = event.userId ?? event.anonymousId else { return "the event has neither userId nor anonymousId" }
        if let fault = ids.fault(of: id) { return fault }
        if event.messageId == nil { return "the event has no messageId by which Amplitude recognizes an event that comes again" }
        if event.event?.isLonger(than: 1024) ?? false || event.name?.isLonger(than: 1000) ?? false {
            return "the name of the event has more than 1024 characters, and Amplitude would cut it"
        }
        return event.whole.depth > 38 ? "the event has more than 38 objects and lists in one another" : nil
    }

    // MARK: - Answers

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        switch reply.status {
        case 500, 502, 504: .whole(.unknown(code: reply.status, "Amplitude answered \(reply.status), and may have taken the events"))
        case 200: reply.withJSON { taken($0, request) }
        case 400: reply.withJSON { $0.map { refused($0, request) } ?? .standard }
        case 429: reply.header("retry-after") == nil ? reply.withJSON { throttled($0, request) } : .standard
        default: .standard
        }
    }

    /// Amplitude names a wrong key. It does not document what it says of a right one without an event.
    static func judge(probe reply: Reply) -> Probe? {
        let isWrong = reply.withJSON { answer in
            answer?["error"]?.text?.hasPrefix("Invalid API key") ?? false || answer?["missing_field"]?.isText("api_key") ?? false
        }
        if isWrong { return .refused(code: reply.status, "Amplitude does not know the key; correct key, or region") }
        guard [200, 400].contains(reply.status) else { return nil }
        return .reached(code: reply.status, "Amplitude did not name the key as wrong, and has no way to check it without an event")
    }

    private func taken(_ answer: Value?, _ request: SentRequest) -> Judgement {
        guard let count = answer?["events_ingested"]?.event.integer, count < request.count else { return .standard }
        return .whole(.rejected(code: 200, "Amplitude did not take all events"))
    }

    /// A request with bad events is refused as a whole: all others come again.
    private func refused(_ answer: Value, _ request: SentRequest) -> Judgement {
        let error = answer["error"]?.text ?? ""
        if error.hasPrefix("Invalid API key") || answer["missing_field"]?.isText("api_key") ?? false {
            return .whole(.fault(code: 400, "Amplitude does not know the key; correct key, or region"))
        }
        var faults: [Int: String] = [:]
        func note(_ list: Value?, _ words: String) {
            for index in list?.indices(below: request.count) ?? [] { faults[index] = words }
        }
        for (key, words) in [
            ("events_with_invalid_fields", "invalid"), ("events_with_missing_fields", "missing"),
            ("events_with_invalid_id_lengths", "of a wrong length"),
        ] as [(StaticString, String)] {
            guard let fields = answer[key] else { continue }
            for (field, list) in fields.members { note(list, "\(field.text?.prefix(100) ?? "a field") is \(words)") }
        }
        note(answer["silenced_events"], "Amplitude has silenced the device")
        guard !faults.isEmpty else { return .standard }
        return .each(of: request) { index in
            faults[index].map { .rejected(code: 400, "Amplitude refused it: \($0)") }
                ?? .retry(code: 400, "Amplitude refused other events of the request")
        }
    }

    /// The events that are throttled wait as long as Amplitude asks for, and all others of the request come again soon.
    private func throttled(_ answer: Value?, _ request: SentRequest) -> Judgement {
        let pause: UInt64 = api == .http ? 30_000 : 15_000
        let late = Outcome.retry(code: 429, "Amplitude takes only so many events of one user or device", afterMilliseconds: pause)
        let listed = Set(answer?["throttled_events"]?.indices(below: request.count) ?? [])
        if !listed.isEmpty {
            return .each(of: request) { listed.contains($0) ? late : .retry(code: 429, "Amplitude throttled other events of the request") }
        }
        var isAboutPeople = false
        for key in ["throttled_users", "throttled_devices", "exceeded_daily_quota_users", "exceeded_daily_quota_devices"]
            as [StaticString]
        {
            if answer?[key]?.members.contains(where: { _ in true }) ?? false { isAboutPeople = true }
        }
        guard isAboutPeople else { return .whole(.retry(code: 429, "Amplitude answered 429", afterMilliseconds: pause)) }
        // Users are named and their events are not: halves find them, and only these wait.
        return request.hasSeveralEvents
            ? .whole(.rejected(code: 429, "Amplitude throttled a user or a device")) : .each(of: request) { _ in late }
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Amplitude>.self) }
