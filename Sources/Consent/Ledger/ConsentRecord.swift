// What the ledger keeps of a decision.

public import ConsentGate

/// A decision: what was said, when, and how it came here.
public struct ConsentRecord: Hashable, Sendable {
    public var terms: ConsentTerms
    /// When the person said so, in nanoseconds since 1970; never later than `received`.
    public var decided: Int64
    /// When it was written down; never goes back.
    public var received: Int64
    /// Such as `command`, `socket` or `source NAME`.
    public var origin: String

    public init(terms: ConsentTerms, decided: Int64, received: Int64, origin: String) {
        self.terms = terms
        self.decided = decided
        self.received = received
        self.origin = origin
    }
}
