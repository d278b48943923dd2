// The provider `mixpanel`: events go to Mixpanel's /import, which names each event that it refuses; changes of profiles go to /engage and
// /groups. What would count twice if it came twice is never sent. docs/providers/mixpanel.md has the mapping and says what is lost.

public import VendorKit

package struct Mixpanel: Vendor {
    /// The operations of /engage that have the same result if they come twice, and whether their value is a list.
    private static let operations: [(name: StaticString, takesList: Bool)] = [
        ("$set", false), ("$set_once", false), ("$union", false), ("$remove", false), ("$unset", true),
    ]

    enum Region: String, SettingValue, CaseIterable { case us, eu, `in` }
    enum Identity: String, SettingValue, CaseIterable { case simplified, original }

    private let events: Endpoint.ID
    private let people: Endpoint.ID
    private let groups: Endpoint.ID
    let token: String
    let identity: Identity
    /// Where deletions are asked for, if the settings have a token for them.
    let deletions: ErasureEndpoint.ID?
    private let groupKey: String
    private let longTexts: LongTexts
    private let maps: (members: MemberMap, traits: MemberMap, contextTraits: MemberMap, reserved: MemberMap)
    private let context: (ip: Member, traits: Member, group: Member)
    private let own: (ip: Member, group: Member, operations: [Member])

    package init(_ setup: inout Setup) throws(SettingsFault) {
        token = try setup.secret("token")
        let region: Region = setup.settings.get("region") ?? .us
        let base = "https://api\(region == .us ? "" : "-\(region.rawValue)").mixpanel.com"
        let list = Envelope("[", between: ",", after: "]")
        // /import takes 10 MB, and events of less than 1 MB.
        var imported = Endpoint(
            base, path: "/import?strict=1", envelope: list, limits: .init(events: 2000, body: 10_000_000, event: 999_999))
        if let account: String = setup.settings.get("service_account") {
            imported.path += "&project_id=\(try setup.settings.require("project_id", as: String.self))"
            imported.headers = [try setup.basicAuthorization(user: account, password: setup.secret("service_secret"))]
            setup.credentialsRemedy = "correct service_account, service_secret, project_id, or region"
        } else {
            imported.headers = [try setup.basicAuthorization(user: token)]
            setup.credentialsRemedy = "correct token, or region"
        }
        events = setup.endpoint(imported)
        // A list without events. Mixpanel looks at the credentials before it reads a body.
        setup.probe(imported, body: "[]") { reply in
            switch reply.status {
            case 200: .accepted("Mixpanel accepts the credentials")
            case 400: .reached(code: 400, "Mixpanel did not refuse the credentials, and took no request without events")
            default: nil
            }
        }
        func profiles(_ path: String) -> Endpoint {
            var endpoint = Endpoint(base, path: path, envelope: list, limits: .init(events: 2000, body: 10_000_000, event: 999_999))
            endpoint.takesCompression = false
            return endpoint
        }
        people = setup.endpoint(profiles("/engage?strict=1&verbose=1&ip=0"))
        groups = setup.endpoint(profiles("/groups?strict=1&verbose=1"))
        identity = setup.settings.get("identity") ?? .simplified
        groupKey = setup.settings.get("group_key") ?? "company"
        guard !groupKey.isEmpty, groupKey.utf8.allSatisfy({ ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || $0 == 0x5f }) else {
            throw SettingsFault("group_key may have only letters, digits and underscores")
        }
        deletions = try setup.secretIfSet("gdpr_token").map { token in
            setup.erasureEndpoint(
                "https://\(region == .us ? "" : "\(region.rawValue).")mixpanel.com", path: "/api/app/data-deletions/v3.0/",
                headers: [Header("Authorization", "Bearer \(token)")])
        }
        longTexts = LongTexts(of: "Mixpanel", most: 255, setup)
        maps = (
            setup.members(Mixpanel.members, into: "properties"), setup.members(Mixpanel.traits, at: "traits.", into: "traits"),
            setup.members(Mixpanel.traits, at: "context.traits.", into: "context.traits"),
            setup.members(Mixpanel.reserved, at: "properties.")
        )
        context = (setup.member("context.ip"), setup.member("context.traits"), setup.member("context.groupId"))
        own = (
            setup.member("properties.ip"), setup.member("properties.\(groupKey)"),
            Mixpanel.operations.map { setup.member("properties.\($0.name)") }
        )
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    // MARK: - Events

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard let id = event.messageId, !Mixpanel.ids.isPlaceholder(id) else {
            return wire.refuse("the event has no messageId by which Mixpanel recognizes an event that comes again")
        }
        // An anonymousId that is none, beside a userId, only goes to the rest.
        let user = event.userId
        let device = event.anonymousId.flatMap { user != nil && Mixpanel.ids.fault(of: $0) != nil ? nil : $0 }
        for id in [user, device, event.kind == .alias ? event.previousId : nil] {
            if let fault = id.flatMap(Mixpanel.ids.fault) { return wire.refuse(fault) }
        }
        for object in [event.properties, event.traits, event[context.traits]] {
            if let object, let fault = fault(of: object, &wire) { return wire.refuse(fault) }
        }
        let person = Person(user: user, device: device)
        profiles(of: event, person, &wire)

        wire.begin(events)
        wire.openObject()
        if let fault = name(event, person, &wire) { return wire.refuse(fault) }
        wire.openObject("properties")
        wire.member("time", timeOf: event, as: .milliseconds)
        write("distinct_id", person, &wire)
        wire.member("$insert_id", uuidOf: event)
        wire.member("$user_id", text: user)
        wire.member("$device_id", text: device)
        if identity == .original, let first = event.kind == .alias ? event.previousId : event.kind == .identify ? device : nil, user != nil
        {
            wire.openList("$distinct_ids")
            wire.element(text: first)
            wire.element(text: user)
            wire.closeList()
        }
        wire.members(maps.reserved, of: event)
        address(of: event, &wire)
        if let group = event.groupId ?? event[context.group], group.isIdentity, event[own.group] == nil {
            wire.member(key: groupKey, text: group)
        }
        wire.spliceRest(of: event.properties, in: event)
        wire.members(maps.members, of: event)
        wire.flatRest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// Writes the name of the event. Returns why there is none.
    private func name(_ event: CanonicalEvent, _ person: Person, _ wire: inout WireEvents) -> String? {
        switch event.kind {
        case .track, .other:
            guard let name = event.ownName else { return "the event has no name" }
            if name.isLonger(than: 255) { return "the name of the event has more than 255 characters, and Mixpanel would cut it" }
            wire.member("event", name)
        case .identify:
            guard person.user != nil || person.device != nil else { return "the identify has neither userId nor anonymousId" }
            if identity == .simplified {
                wire.member("event", constant: "$identify")
            } else {
                // Only two ids can be merged.
                wire.member("event", constant: person.user != nil && person.device != nil ? "$merge" : "Identify")
            }
        case .alias:
            guard identity == .original else { return "Simplified ID Merge has no aliases: a userId never changes" }
            guard event.previousId != nil, person.user != nil else { return "the alias has no previousId, or no userId" }
            wire.member("event", constant: "$merge")
        case .group:
            guard event.groupId != nil else { return "the group has no groupId" }
            wire.member("event", constant: "Group")
        case .page: wire.member("event", constant: "Loaded a Page")
        case .screen: wire.member("event", constant: "Loaded a Screen")
        }
        return nil
    }

    /// Writes the address by which Mixpanel looks up a place. Without one it would take the router's own.
    private func address(of event: CanonicalEvent, _ wire: inout WireEvents) {
        if let given = event[own.ip] {
            if given.isIdentity { return }
            wire.member("properties.ip", given)
        }
        if let ip = event[context.ip], ip.isText, ip.isIdentity { wire.member("ip", ip) } else { wire.member("ip", number: 0) }
    }

    // MARK: - Profiles

    private struct Person {
        let user: Value?
        let device: Value?
    }

    private func profiles(of event: CanonicalEvent, _ person: Person, _ wire: inout WireEvents) {
        if event.kind == .group, let id = event.groupId, let traits = event.traits {
            wire.begin(groups)
            wire.openObject()
            wire.member("$token", string: token)
            wire.member("$group_key", string: groupKey)
            wire.member("$group_id", text: id)
            wire.member("$set", traits)
            wire.closeObject()
            wire.end()
        }
        guard person.user != nil || person.device != nil else { return }
        if event.kind == .identify, let traits = event.traits ?? event[context.traits], traits.isObject {
            begin(person, event, &wire)
            wire.openObject("$set")
            wire.members(event.traits == nil ? maps.contextTraits : maps.traits, of: event)
            wire.spliceRest(of: traits, in: event)
            wire.closeObject()
            wire.closeObject()
            wire.end()
        }
        for (operation, member) in zip(Mixpanel.operations, own.operations) {
            guard let value = event[member], operation.takesList ? value.isList : value.isObject else { continue }
            begin(person, event, &wire)
            wire.member(operation.name, value)
            wire.closeObject()
            wire.end()
        }
    }

    private func begin(_ person: Person, _ event: CanonicalEvent, _ wire: inout WireEvents) {
        wire.begin(people)
        wire.openObject()
        wire.member("$token", string: token)
        write("$distinct_id", person, &wire)
        if let ip = event[context.ip], ip.isText, ip.isIdentity { wire.member("$ip", ip) }
    }

    private func write(_ key: StaticString, _ person: Person, _ wire: inout WireEvents) {
        if let user = person.user { return wire.member(key, text: user) }
        guard let device = person.device else { return wire.member(key, constant: "") }
        if identity == .original { return wire.member(key, text: device) }
        wire.write(key: key)
        wire.put("\"$device:")
        wire.put(bytes: device.isText ? UnsafeRawBufferPointer(device.body) : device.json)
        wire.put("\"")
    }

    // MARK: - Limits

    private static let ids = IDRules(
        of: "Mixpanel", longest: 247,
        placeholders: [
            "00000000-0000-0000-0000-000000000000", "anon", "anonymous", "nil", "none", "null", "n/a", "na", "undefined", "unknown",
            "<nil>", "0", "-1", "true", "false", "[]", "{}",
        ])

    /// Returns why Mixpanel would not take the members of an object.
    private func fault(of object: Value, _ wire: inout WireEvents) -> String? {
        // The bound keeps the check below from using up the stack.
        object.depth > 64 ? "the event has more than 64 objects and lists in one another" : fault(of: object, level: 0, &wire)
    }

    private func fault(of value: Value, level: Int, _ wire: inout WireEvents) -> String? {
        if value.isText { return longTexts.fault(of: value, &wire) }
        var count = 0
        for (_, member) in value.members {
            count += 1
            if level == 3, member.isObject { return "properties have more than three objects in one another, and Mixpanel takes three" }
            if let fault = fault(of: member, level: level + 1, &wire) { return fault }
        }
        for element in value.elements {
            count += 1
            if let fault = fault(of: element, level: level, &wire) { return fault }
        }
        return count > 254 ? "an object or a list has more than 254 members, and Mixpanel takes 254" : nil
    }

    // MARK: - Answers

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        reply.withJSON { answer in
            guard reply.status == 200 || reply.status == 400, let answer else { return .standard }
            var refused: [Int: Outcome] = [:]
            var isUnclear = false
            for record in answer["failed_records"].map({ Array($0.elements) }) ?? [] {
                guard let index = record["index"]?.event.integer, (0..<request.count).contains(index) else {
                    isUnclear = true
                    continue
                }
                let words = [record["field"]?.text, record["message"]?.text].compactMap { $0.map { String($0.prefix(150)) } }
                refused[index] = .rejected(code: reply.status, "Mixpanel refused it: " + words.joined(separator: ": "))
            }
            let imported = answer["num_records_imported"]?.event.integer
            // An answer that does not account for each event is no verdict: then the bad one is found by halving, and `$insert_id` keeps
            // what was taken from counting twice.
            if !refused.isEmpty, !isUnclear, refused.count + (imported ?? request.count) >= request.count {
                return .mixed(rest: .delivered, refused.map { (index: $0.key, outcome: $0.value) })
            }
            guard reply.status == 200 else { return .standard }
            if isUnclear || !refused.isEmpty || imported.map({ $0 < request.count }) ?? false {
                return .whole(.rejected(code: 200, "Mixpanel did not import all events"))
            }
            // /engage and /groups answer 200 also when they refuse.
            guard answer["status"]?.event.integer == 0 || answer.event.integer == 0 else { return .standard }
            let why = answer["error"]?.text.map { ": \($0.prefix(300))" } ?? ""
            return .whole(.rejected(code: 200, "Mixpanel refused changes of profiles" + why))
        }
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Mixpanel>.self) }
