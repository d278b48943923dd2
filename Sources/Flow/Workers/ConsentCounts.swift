// How many events spoke to the ledger, by what came of it.

/// What came of events that speak to the ledger. Each is one of these.
public struct ConsentCounts: Sendable, Equatable {
    /// All that it said was done.
    public var taken = 0
    /// It said what its source may not; what it refused was done.
    public var forbidden = 0
    /// It made no sense, or the ledger does not allow it.
    public var broken = 0
    /// The ledger could not be written; what it refused holds until the router ends.
    public var unwritten = 0
    public init() {}

    /// By the words that accounts and metrics use.
    public var named: [(name: String, count: Int)] {
        [("taken", taken), ("forbidden", forbidden), ("broken", broken), ("unwritten", unwritten)]
    }

    public mutating func add(_ other: ConsentCounts) {
        taken += other.taken
        forbidden += other.forbidden
        broken += other.broken
        unwritten += other.unwritten
    }
}
