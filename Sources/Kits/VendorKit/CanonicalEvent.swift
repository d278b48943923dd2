// An event in the shape that the router's sources and most client libraries share: Segment's. It holds only places in the memory of the
// batch. A member that has not the type of that shape, such as properties that are a list, counts as absent here. Nothing is lost by that:
// `WireEvents.rest` writes every member that a vendor has not written.

internal import Events

/// What an event says.
public enum Kind: Sendable {
    case track
    case identify
    case alias
    case group
    case page
    case screen
    /// Any other type, or none.
    case other
}

/// A member that a vendor has named in its `init`.
public struct Member: Sendable {
    let index: Int
}

public struct CanonicalEvent {
    let block: Bytes
    let slots: UnsafePointer<Slot>
    private let places: UnsafePointer<Int32>
    public let kind: Kind
    /// The arrival of the event, in nanoseconds since 1970.
    public let arrival: Int64
    /// The time of the delivery, in nanoseconds since 1970. It may decide the request that an event becomes part of, but nothing that is
    /// written for the event: an event that is sent again must be the same bytes.
    public let now: Int64

    /// The members of the shape, each at its slot.
    enum Place {
        static let type = 2
        static let event = 3
        static let name = 4
        static let messageId = 5
        static let anonymousId = 6
        static let userId = 7
        static let previousId = 8
        static let groupId = 9
        static let timestamp = 10
        static let properties = 11
        static let traits = 12
        static let context = 13
        static let paths = [
            "type", "event", "name", "messageId", "anonymousId", "userId", "previousId", "groupId", "timestamp", "properties", "traits",
            "context",
        ].map { Path(keys: [$0]) }
    }

    init(_ scanned: ScannedEvent, places: UnsafePointer<Int32>, arrival: Int64, now: Int64) {
        block = scanned.block
        slots = scanned.slots
        self.places = places
        self.arrival = arrival
        self.now = now
        kind = CanonicalEvent.kind(slots[Place.type], block, hasName: slots[Place.event].isPresent)
    }

    private static func kind(_ slot: Slot, _ block: Bytes, hasName: Bool) -> Kind {
        guard slot.isPresent else { return hasName ? .track : .other }
        let type = Value(block + Int(slot.start), count: Int(slot.end - slot.start))
        if type.isText("track") { return .track }
        if type.isText("page") { return .page }
        if type.isText("screen") { return .screen }
        if type.isText("identify") { return .identify }
        if type.isText("group") { return .group }
        if type.isText("alias") { return .alias }
        return .other
    }

    // MARK: - Members

    /// The whole event.
    public var whole: Value { value(PathTrie.root).unsafelyUnwrapped }
    /// The type, if it is a text.
    public var type: Value? { text(Place.type) }
    /// The name of a track event.
    public var event: Value? { text(Place.event) }
    /// The name of an event that is none of identify, alias, group, page and screen: `event`, or else a type of its sender's own.
    public var ownName: Value? { event ?? (kind == .other ? type : nil) }
    /// The name of a page or a screen.
    public var name: Value? { text(Place.name) }
    public var messageId: Value? { identity(Place.messageId) }
    public var anonymousId: Value? { identity(Place.anonymousId) }
    public var userId: Value? { identity(Place.userId) }
    public var previousId: Value? { identity(Place.previousId) }
    public var groupId: Value? { identity(Place.groupId) }
    public var properties: Value? { object(Place.properties) }
    public var traits: Value? { object(Place.traits) }
    public var context: Value? { object(Place.context) }
    /// The timestamp, if it is the text of a time.
    public var timestamp: Value? { parsedTimestamp == nil ? nil : value(Place.timestamp) }

    /// The member that a vendor has named, whatever its type.
    public subscript(member: Member) -> Value? { value(Int(places[member.index])) }

    /// Returns the first of these members that is a text and not empty.
    public func text(of members: [Member]) -> Value? {
        for member in members {
            if let value = self[member], value.isText, value.isIdentity { return value }
        }
        return nil
    }

    /// The number of members of an object that the reader noted: properties, traits, context and every object that a vendor has named.
    public func count(of object: Value) -> Int { object.slot == 0 ? 0 : Int(slots[object.slot].members) }

    /// The time of the event, in nanoseconds since 1970: its timestamp, or else its arrival.
    public var time: Int64 { parsedTimestamp ?? arrival }

    /// How old the event is at the delivery, in nanoseconds. It is negative for a time in the future.
    public var age: Int64 {
        let (age, isTooFar) = now.subtractingReportingOverflow(time)
        return isTooFar ? (now < time ? .min : .max) : age
    }

    var parsedTimestamp: Int64? { text(Place.timestamp)?.time }

    func value(_ slot: Int) -> Value? {
        let place = slots[slot]
        guard place.isPresent else { return nil }
        return Value(block + Int(place.start), count: Int(place.end - place.start), slot: slot)
    }

    private func text(_ slot: Int) -> Value? { value(slot).flatMap { $0.isText && $0.count > 2 ? $0 : nil } }
    /// A text that cannot be decoded is no id: when it is written, several of them would become one.
    private func identity(_ slot: Int) -> Value? {
        value(slot).flatMap { $0.isIdentity && (!$0.isText || $0.withText { $0 != nil }) ? $0 : nil }
    }
    private func object(_ slot: Int) -> Value? { value(slot).flatMap { $0.isObject ? $0 : nil } }
}
