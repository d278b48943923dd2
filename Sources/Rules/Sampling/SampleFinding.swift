// What a route's sample decided about an event, for those who ask.

public import Expressions

/// What was hashed for a sample.
public enum SampleBasis: Sendable { case member, messageID, wholeEvent }

public struct SampleFinding: Sendable {
    /// The event's name is one of those that are always in.
    public var isKept: Bool
    /// What decided over the expression of those that are always in; nil: there is none.
    public var keepCondition: Evaluator.Decision?
    public var rate: Double
    /// Which of the rates by name that is: an index into them; nil: none of them.
    public var named: Int?
    /// Whether the event is within the limit; nil: the event did not come as far, or there is no limit.
    public var isWithinLimit: Bool?
    /// In when the hash, taken for a fraction of 2 to the 64th, is below the rate.
    public var hash: UInt64
    public var basis: SampleBasis

    public init(
        isKept: Bool, keepCondition: Evaluator.Decision?, rate: Double, named: Int?, isWithinLimit: Bool?, hash: UInt64, basis: SampleBasis
    ) {
        self.isKept = isKept
        self.keepCondition = keepCondition
        self.rate = rate
        self.named = named
        self.isWithinLimit = isWithinLimit
        self.hash = hash
        self.basis = basis
    }
}
