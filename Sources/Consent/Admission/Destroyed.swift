// What withdrawals have destroyed, counted by the number of their receipt.

/// The events that withdrawals destroyed.
public struct Destroyed: Sendable, Equatable {
    public struct Count: Sendable, Equatable {
        public var events: Int
        public var bytes: Int
        public init(events: Int = 0, bytes: Int = 0) {
            self.events = events
            self.bytes = bytes
        }
    }

    /// The counts by receipt.
    public private(set) var counts: [Int64: Count] = [:]

    public init() {}

    public var isEmpty: Bool { counts.isEmpty }
    public subscript(receipt: Int64) -> Count { counts[receipt] ?? Count() }

    /// Adds events of a receipt. The number 0 stands for none: the events were refused without a withdrawal, and no receipt counts them.
    public mutating func add(_ receipt: Int64, events: Int = 1, bytes: Int) {
        assert(events >= 0 && bytes >= 0, "a negative number of events was destroyed")
        if receipt == 0 { return }
        let known = self[receipt]
        counts[receipt] = Count(events: known.events + events, bytes: known.bytes + bytes)
    }

    public mutating func add(_ other: Destroyed) {
        for (receipt, count) in other.counts { add(receipt, events: count.events, bytes: count.bytes) }
    }
}
