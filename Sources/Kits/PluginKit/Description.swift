// What a module says of itself, as values that render to the JSON text which `describe` returns.

public struct Description: Sendable {
    public struct Limits: Sendable {
        /// The most events, and the most bytes, in one batch; nil: no limit.
        public var events: Int?
        public var bytes: Int?
        public init(events: Int? = nil, bytes: Int? = nil) {
            self.events = events
            self.bytes = bytes
        }
    }

    /// What a lane of this module does unless routes.json says otherwise; nil: what the router does by itself.
    public struct Delivery: Sendable {
        public var batchEvents: Int?
        public var batchBytes: String?
        public var batchWait: String?
        public var ordered: Bool?
        /// How long a call may take; "0s": for ever, for a destination that may rightly keep its writer waiting.
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

    /// `[a-z0-9_-]+`; what routes.json calls the module by.
    public var name: String
    public var version: String
    public var summary: String
    public var settings: KeyValuePairs<String, Schema>
    public var limits: Limits
    /// The most batches that may be under way at once; more than 1 is for a `ConcurrentProvider`.
    public var concurrency: Int
    /// Whether the destination can tell by `messageId` that an event comes again; then every event is given one.
    public var deduplicates: Bool
    /// Whether the provider writes to the router's standard output or standard error by itself; isolated, it then keeps both.
    public var writesToStreams: Bool
    public var delivery: Delivery

    public init(
        name: String, version: String, summary: String, settings: KeyValuePairs<String, Schema> = [:], limits: Limits = Limits(),
        concurrency: Int = 1, deduplicates: Bool = false, writesToStreams: Bool = false, delivery: Delivery = Delivery()
    ) {
        self.name = name
        self.version = version
        self.summary = summary
        self.settings = settings
        self.limits = limits
        self.concurrency = concurrency
        self.deduplicates = deduplicates
        self.writesToStreams = writesToStreams
        self.delivery = delivery
    }

    /// The text of `describe`.
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
            ("settings", Schema.object("", settings).json),
            ("limits", JSONText.object([("events", limits.events.map { "\($0)" }), ("bytes", limits.bytes.map { "\($0)" })])),
            (
                "capabilities",
                JSONText.object([
                    ("erase", "\(erase)"), ("deduplicates", deduplicates ? "true" : nil), ("concurrency", "\(concurrency)"),
                    ("streams", writesToStreams ? "true" : nil),
                ])
            ),
            (
                "delivery",
                JSONText.object([
                    ("batch", batch == "{}" ? nil : batch), ("ordered", delivery.ordered.map { "\($0)" }),
                    ("deadline", delivery.deadline.map(JSONText.string)),
                ])
            ),
        ])
    }
}

/// The few forms of JSON that a description needs.
enum JSONText {
    static func object(_ members: [(name: String, json: String?)]) -> String {
        "{" + members.compactMap { member in member.json.map { "\(string(member.name)):\($0)" } }.joined(separator: ",") + "}"
    }

    static func list(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    static func string(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\u{0}"..."\u{1f}":
                let hex = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }
}
