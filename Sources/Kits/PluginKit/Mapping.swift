// What a description says about events, for people who compare destinations: where each member goes, and what is refused or cut. The router
// prints it (`switchyard providers NAME --mapping`, `switchyard check --swap`) and never acts on it.

/// Where a member of an event goes.
public struct MappingRow: Sendable {
    public let from: String
    public let to: String
    public let note: String
    /// True for the row of all members that no other row names.
    public let isRest: Bool

    public init(_ from: String, _ to: String, note: String = "", isRest: Bool = false) {
        self.from = from
        self.to = to
        self.note = note
        self.isRest = isRest
    }

    var json: String {
        JSONText.object([
            ("from", JSONText.string(from)), ("to", JSONText.string(to)), ("note", note.isEmpty ? nil : JSONText.string(note)),
            ("rest", isRest ? "true" : nil),
        ])
    }
}

/// What of an event is refused or cut.
public struct LimitRow: Sendable {
    /// What a limit is about. The raw values are in the header of the C interface.
    public enum Topic: String, Sendable {
        case nameLength = "name_length"
        case reservedName = "reserved_name"
        case propertyCount = "property_count"
        case propertyName = "property_name"
        case valueLength = "value_length"
        case depth
        case id
        case kind
        case age
        case size
        case other
    }

    public let topic: Topic
    /// The limit, if there is one: characters, members, levels, seconds of age or bytes.
    public let most: Int?
    /// What is refused or cut, such as "names of events of more than 40 characters".
    public let what: String

    public init(_ topic: Topic, most: Int? = nil, _ what: String) {
        self.topic = topic
        self.most = most
        self.what = what
    }

    var json: String {
        JSONText.object([
            ("topic", JSONText.string(topic.rawValue)), ("most", most.map { "\($0)" }), ("what", JSONText.string(what)),
        ])
    }
}
