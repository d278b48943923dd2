// Counts the events that have a statement for the ledger, by result.

/// The numbers of events that have a statement for the ledger. Each event counts once.
public struct ConsentCounts: Sendable, Equatable {
    /// Everything that the event stated was done.
    public var taken = 0
    /// The event stated something that its source may not state. Its refusals were carried out.
    public var forbidden = 0
    /// The event made no sense, or the ledger does not allow what it stated.
    public var broken = 0
    /// The ledger could not be written. The event's refusals hold until the router ends.
    public var unwritten = 0
    public init() {}

    /// The counts with the words that accounts and metrics use.
    public var named: [(name: String, count: Int)] {
        [("taken", taken), ("forbidden", forbidden), ("broken", broken), ("unwritten", unwritten)]
    }

    public var total: Int { taken + forbidden + broken + unwritten }

    public mutating func add(_ other: ConsentCounts) {
        taken += other.taken
        forbidden += other.forbidden
        broken += other.broken
        unwritten += other.unwritten
    }
}
