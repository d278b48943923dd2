// A decision as the ledger stores it.

public import ConsentGate

/// A decision: its terms, its times and its origin.
public struct ConsentRecord: Hashable, Sendable {
    public var terms: ConsentTerms
    /// The time when the person decided, in nanoseconds since 1970. It is never later than `received`.
    public var decided: Int64
    /// The time when the decision was written. It never decreases from one write to the next.
    public var received: Int64
    /// The origin, such as `command`, `socket` or `source NAME`.
    public var origin: String

    public init(terms: ConsentTerms, decided: Int64, received: Int64, origin: String) {
        self.terms = terms
        self.decided = decided
        self.received = received
        self.origin = origin
    }
}
