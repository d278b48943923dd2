// The reasons for the decision of a route's sample on an event, for users who ask why.

public import Expressions

/// The text that was hashed for a sample.
public enum SampleBasis: Sendable { case member, messageID, wholeEvent }

public struct SampleFinding: Sendable {
    /// True if the event's name is one of those that are always in.
    public var isKept: Bool
    /// The decision of the expression for events that are always in. It is nil if there is no expression.
    public var keepCondition: Evaluator.Decision?
    public var rate: Double
    /// The index of this rate among the rates by name. It is nil if it is none of them.
    public var named: Int?
    /// True if the event is within the limit. It is nil if an earlier stage decided, or if there is no limit.
    public var isWithinLimit: Bool?
    /// The hash. The event is in if the hash, divided by 2 to the 64th, is below the rate.
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
