// The description of a module, as values that render to the JSON text that `describe` returns.

internal import Encoding

public struct Description: Sendable {
    public struct Limits: Sendable {
        /// The largest number of events and of bytes in one batch. Nil means that there is no limit.
        public var events: Int?
        public var bytes: Int?
        public init(events: Int? = nil, bytes: Int? = nil) {
            self.events = events
            self.bytes = bytes
        }
    }

    /// The defaults for a lane of this module, which routes.json can override. A value is nil if the router's own default applies.
    public struct Delivery: Sendable {
        public var batchEvents: Int?
        public var batchBytes: String?
        public var batchWait: String?
        public var ordered: Bool?
        /// The longest time that a call may take. "0s" means no limit, for a destination that may legitimately make its writer wait.
        public var deadline: String?
        public init(
            batchEvents: Int? = nil, batchBytes: String? = nil, batchWait: String? = nil, ordered: Bool? = nil, deadline: String? = nil
        ) {
            self.batchEvents = batchEvents
            self.batchBytes = batchBytes
            self.batchWait = batchWait
            self.ordered = ordered
            self.deadline = deadline
        }
    }

    /// The name by which routes.json refers to the module. It matches `[a-z0-9_-]+`.
    public var name: String
    public var version: String
    public var summary: String
    /// The settings, in the order in which they are shown.
    public private(set) var settings: [(key: String, value: Schema)]
    public var limits: Limits
    /// The largest number of batches that may be active at once. More than 1 requires a `ConcurrentProvider`.
    public var concurrency: Int
    /// True if the destination recognizes a repeated event by its `messageId`. Then the router gives every event a `messageId`.
    public var deduplicates: Bool
    /// True if the provider itself writes to the router's standard output or standard error. An isolated provider then keeps both.
    public var writesToStreams: Bool
    /// True if the provider calls `Batch.mayBegin` before each request. Otherwise all events of a delivery count as in flight when it is
    /// handed over.
    public var asks: Bool
    public var delivery: Delivery
    /// What a person does to erase someone at the destination without the module, in one line.
    public var byHand: String?
    /// Where the members of an event go, and what of an event is refused or cut.
    public var mapping: [MappingRow] = []
    public var refuses: [LimitRow] = []
    public var cuts: [LimitRow] = []

    public init(
        name: String, version: String, summary: String, settings: KeyValuePairs<String, Schema> = [:], limits: Limits = Limits(),
        concurrency: Int = 1, deduplicates: Bool = false, writesToStreams: Bool = false, asks: Bool = false,
        delivery: Delivery = Delivery()
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = Array(settings)
        self.limits = limits
        self.concurrency = concurrency
        self.deduplicates = deduplicates
        self.writesToStreams = writesToStreams
        self.asks = asks
        self.delivery = delivery
        assert(concurrency >= 1 && !name.isEmpty, "a module has no name, or takes no batch")
    }

    /// Adds settings behind the others, such as those of a kit. A setting that is already there stays as it is.
    public mutating func add(_ settings: KeyValuePairs<String, Schema>) {
        self.settings += settings.filter { added in !self.settings.contains { $0.key == added.key } }
    }

    /// Returns the JSON text of `describe`.
    public func json(erase: Bool) -> String {
        let batch = JSONText.object([
            ("events", delivery.batchEvents.map { "\($0)" }),
            ("bytes", delivery.batchBytes.map(JSONText.string)),
            ("wait", delivery.batchWait.map(JSONText.string)),
        ])
        return JSONText.object([
            ("name", JSONText.string(name)),
            ("version", JSONText.string(version)),
            ("summary", JSONText.string(summary)),
            ("settings", Schema.object("", members: settings, others: nil).json),
            ("limits", JSONText.object([("events", limits.events.map { "\($0)" }), ("bytes", limits.bytes.map { "\($0)" })])),
            (
                "capabilities",
                JSONText.object([
                    ("erase", "\(erase)"), ("deduplicates", deduplicates ? "true" : nil), ("concurrency", "\(concurrency)"),
                    ("streams", writesToStreams ? "true" : nil), ("asks", asks ? "true" : nil),
                ])
            ),
            (
                "delivery",
                JSONText.object([
                    ("batch", batch == "{}" ? nil : batch), ("ordered", delivery.ordered.map { "\($0)" }),
                    ("deadline", delivery.deadline.map(JSONText.string)),
                ])
            ),
            ("by_hand", byHand.map(JSONText.string)),
            ("mapping", mapping.isEmpty ? nil : JSONText.list(mapping.map(\.json))),
            ("refuses", refuses.isEmpty ? nil : JSONText.list(refuses.map(\.json))),
            ("cuts", cuts.isEmpty ? nil : JSONText.list(cuts.map(\.json))),
        ])
    }
}

/// The JSON forms that a description needs.
enum JSONText {
    static func object(_ members: [(name: String, json: String?)]) -> String {
        "{" + members.compactMap { member in member.json.map { "\(string(member.name)):\($0)" } }.joined(separator: ",") + "}"
    }

    static func list(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    static func string(_ text: String) -> String { JSONString.quoted(text, as: .numeric) }
}
