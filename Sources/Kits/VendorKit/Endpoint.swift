// Where a vendor's events go: the URL, the headers, the limits, and what stands around the events in a body.

public import HTTPKit

public struct Endpoint: Sendable {
    /// Names an endpoint in `map` and `judge`.
    public struct ID: Sendable, Equatable {
        let index: Int
        package init(index: Int) { self.index = index }
    }

    /// What a body and an event may have at most.
    public struct Limits: Sendable {
        /// The wire events of a body.
        public var events: Int
        /// The bytes of a body before it is compressed.
        public var body: Int
        /// The bytes of one wire event. A larger one is refused.
        public var event: Int

        public init(events: Int = .max, body: Int = .max, event: Int = .max) {
            self.events = events
            self.body = body
            self.event = event
        }
    }

    /// The scheme and the host, such as `https://api.example.com`. The setting `url` takes its place.
    public var base: String
    /// The path, and the query if there is one. Values of a query are never shown.
    public var path: String
    public var method = Target.Method.post
    public var contentType = "application/json"
    /// True if the wire events are JSON. In JSON an escape for a single half of a surrogate pair, which many parsers refuse together with
    /// the whole body, becomes U+FFFD.
    public var isJSON = true
    /// False if the vendor takes no compressed body at this endpoint. Then the setting `compression` does not hold for it.
    public var takesCompression = true
    public var headers: [Header] = []
    public var envelope: Envelope
    public var limits: Limits
    /// The names of the headers of an answer that `judge` reads, in lower case.
    public var keptHeaders: [String] = []

    public init(_ base: String, path: String, envelope: Envelope, limits: Limits) {
        self.base = base
        self.path = path
        self.envelope = envelope
        self.limits = limits
    }
}

/// What stands before, between and behind the wire events of a body.
public struct Envelope: Sendable {
    /// What is known about a body before its first byte is written.
    public struct Contents {
        /// The bytes that the events of the body share: see `WireEvents.endGroup`.
        public let group: UnsafeRawBufferPointer
        public let events: Int
        /// The bytes of all events and of what stands between them.
        public let bytes: Int
    }

    let before: @Sendable (Contents) -> [UInt8]
    let between: [UInt8]
    let after: [UInt8]
    /// The most bytes of the envelope in a body of one event, without its group.
    let overhead: Int

    /// The same bytes around every body.
    public init(_ before: String = "", between: String = "", after: String = "") {
        self.init(before, group: "", between: between, after: after)
    }

    /// The bytes before the events are `before`, the group of the body, and `group`.
    public init(_ before: String, group: String, between: String = ",", after: String) {
        let (first, second) = (Array(before.utf8), Array(group.utf8))
        self.init(most: first.count + second.count, between: Array(between.utf8), after: Array(after.utf8)) { contents in
            first + contents.group + second
        }
    }

    /// The bytes before the events depend on the body: lengths, counts. `most` is the largest number of them, without the group.
    public init(most: Int, between: [UInt8] = [], after: [UInt8] = [], before: @escaping @Sendable (Contents) -> [UInt8]) {
        self.before = before
        self.between = between
        self.after = after
        overhead = most + after.count
    }
}
