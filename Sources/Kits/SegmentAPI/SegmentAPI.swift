// The batch API that Segment and RudderStack share. An event that already has their shape passes byte for byte. Both answer 200 to most
// events that they then drop, so these are refused here, with the reason.

public import VendorKit

public struct SegmentAPI: Sendable {
    public static let mapping = [
        MappingRow("the whole event", "the event", note: "byte for byte, if no row below concerns it", isRest: true),
        MappingRow("type", "type", note: "of an event with any other type, track; the name is event, or else the type"),
        MappingRow("messageId, userId, anonymousId, previousId, groupId", "the same", note: "a number becomes a text"),
        MappingRow("timestamp, or else the arrival", "timestamp"),
        MappingRow("sentAt", "context.switchyard_unmapped.sentAt", note: "the timestamp would be moved by the time in the router"),
        MappingRow(
            "a type that is not the API's, with an event that is no text; a timestamp that is no time", "context.switchyard_unmapped",
            note: "under its own name"),
        MappingRow("writeKey", "none", note: "it is the key of another source"),
    ]

    public static func refuses(deepest: Int?) -> [LimitRow] {
        [
            .noPerson, .trackWithoutName, .groupWithoutID, .aliasWithoutPreviousID, LimitRow(.kind, "alias without userId"),
            .size(32 << 10), LimitRow(.other, most: longestMessageId, "a messageId of more than \(longestMessageId) characters"),
            LimitRow(
                .other, "properties, traits, context and integrations that are no objects, and ids that are neither texts nor numbers"),
            LimitRow(.other, "context with the member switchyard_unmapped, if the provider writes it"),
        ] + (deepest.map { [.depth($0)] } ?? [])
    }

    private static let objectNames = ["properties", "traits", "context", "integrations"]
    private static let idNames = ["userId", "anonymousId", "previousId", "groupId", "messageId"]
    private static let longestMessageId = 100

    /// The write key, for a probe.
    public let key: String
    /// The endpoint of the events, for a probe.
    public let empty: Endpoint
    private let endpoint: Endpoint.ID
    private let deepest: Int
    private let objects: [(member: Member, fault: String)]
    private let ids: [(member: Member, fault: String)]
    private let others:
        (type: Member, event: Member, timestamp: Member, sentAt: Member, writeKey: Member, context: Member, unmapped: Member)

    /// Reads the setting `write_key`, and declares the endpoint. `deepest` is the most objects and lists in one another.
    public init(_ setup: inout Setup, base: String, limits: Endpoint.Limits, deepest: Int = .max) throws(SettingsFault) {
        var endpoint = Endpoint(
            base, path: "/v1/batch", envelope: Envelope("{\"batch\":[", between: ",", after: "]}"), limits: limits)
        let key = try setup.secret("write_key")
        endpoint.headers = [try setup.basicAuthorization(user: key)]
        self.key = key
        empty = endpoint
        self.endpoint = setup.endpoint(endpoint)
        self.deepest = deepest
        setup.credentialsRemedy = "correct write_key"
        objects = SegmentAPI.objectNames.map { (setup.member($0), "\($0) is no object") }
        ids = SegmentAPI.idNames.map { (setup.member($0), "\($0) is neither a text nor a number") }
        others = (
            setup.member("type"), setup.member("event"), setup.member("timestamp"), setup.member("sentAt"), setup.member("writeKey"),
            setup.member("context"), setup.member("context.switchyard_unmapped")
        )
    }

    public func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        if let fault = fault(of: event) { return wire.refuse(fault) }
        let isUnmapped = event.kind == .other && event[others.type] != nil || event[others.sentAt] != nil || hasNoTime(event)
        if isUnmapped, event[others.unmapped] != nil {
            return wire.refuse("context has the member switchyard_unmapped, which the provider itself writes")
        }
        wire.begin(endpoint)
        if isUnmapped || hasToChange(event) {
            write(event, isUnmapped: isUnmapped, to: &wire)
        } else {
            wire.element(event.whole)
        }
        wire.end()
    }

    /// Returns why the API would not keep an event, or nil.
    private func fault(of event: CanonicalEvent) -> String? {
        for (member, fault) in objects {
            if let value = event[member], !value.isObject, !value.isNull { return fault }
        }
        for (member, fault) in ids {
            if let value = event[member], !value.isNull, !SegmentAPI.isID(value) { return fault }
        }
        let most = SegmentAPI.longestMessageId
        if let id = event.messageId, id.isLonger(than: most) || id.isNumber && id.count > most {
            return "messageId has more than \(most) characters"
        }
        // A short event cannot nest so deep. The body itself is two levels.
        if event.whole.count >= deepest, event.whole.depth > deepest - 2 { return "the event nests deeper than \(deepest - 2) levels" }
        if event.userId == nil, event.anonymousId == nil { return "the event has neither userId nor anonymousId" }
        switch event.kind {
        case .track: return event.event == nil ? "the event has no name" : nil
        case .other: return event.event == nil && event.type == nil ? "the event has no name" : nil
        case .alias:
            if event.userId == nil { return "the alias has no userId" }
            return event.previousId == nil ? "the alias has no previousId" : nil
        case .group: return event.groupId == nil ? "the group has no groupId" : nil
        case .identify, .page, .screen: return nil
        }
    }

    /// An empty text counts as absent, and a text that cannot be decoded is no id.
    private static func isID(_ value: Value) -> Bool { value.isNumber || value.isText && value.withText { $0 != nil } }

    /// True for a timestamp that is present, but no time.
    private func hasNoTime(_ event: CanonicalEvent) -> Bool {
        guard event.timestamp == nil, let own = event[others.timestamp] else { return false }
        return !own.isNull
    }

    private func hasToChange(_ event: CanonicalEvent) -> Bool {
        event.type == nil || event.kind == .other || event.timestamp == nil || event[others.writeKey] != nil
            || ids.contains { event[$0.member]?.isNumber ?? false }
    }

    /// Writes an event that differs from the shape of the API. What need not change passes byte for byte.
    private func write(_ event: CanonicalEvent, isUnmapped: Bool, to wire: inout WireEvents) {
        wire.openObject()
        switch event.kind {
        case .track, .other: wire.member("type", constant: "track")
        case .identify: wire.member("type", constant: "identify")
        case .alias: wire.member("type", constant: "alias")
        case .group: wire.member("type", constant: "group")
        case .page: wire.member("type", constant: "page")
        case .screen: wire.member("type", constant: "screen")
        }
        if event.kind == .other { wire.member("event", event.event ?? event.type) }
        wire.member("messageId", text: event.messageId)
        wire.member("userId", text: event.userId)
        wire.member("anonymousId", text: event.anonymousId)
        wire.member("previousId", text: event.previousId)
        wire.member("groupId", text: event.groupId)
        wire.member("timestamp", timeOf: event, as: .text)
        if isUnmapped {
            wire.openObject("context")
            wire.splice(event.context)
            wire.openObject("switchyard_unmapped")
            if event.kind == .other { wire.member("type", event[others.type]) }
            if event.kind == .other, event.event == nil { wire.member("event", event[others.event]) }
            if event.timestamp == nil { wire.member("timestamp", event[others.timestamp]) }
            wire.member("sentAt", event[others.sentAt])
            wire.closeObject()
            wire.closeObject()
            // It may be null.
            wire.take(event[others.context])
        }
        for member in [others.type, others.timestamp, others.writeKey] { wire.take(event[member]) }
        wire.spliceRest(of: event.whole, in: event)
        wire.closeObject()
    }
}
