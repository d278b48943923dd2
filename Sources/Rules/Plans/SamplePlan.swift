// What a route's sample is, as the file says it.

public import Events
public import Expressions

public struct SamplePlan: Sendable {
    /// Where the rate is written when only that it is written is said.
    public static let usualAnnotation = Path(keys: ["sampleRate"])

    /// From 0 (none) to 1 (all).
    public var rate: Double
    /// Other rates for events whose name matches; the first that does counts.
    public var rates: [(glob: Glob, rate: Double)] = []
    /// How many are to pass; the rate is then made, and none of the above counts.
    public var target: EventRate?
    /// The member whose value decides; nil: the event's `messageId`, or else its bytes.
    public var by: Path?
    /// Events whose name matches are always in.
    public var keep: [Glob] = []
    /// Events of which it holds are always in.
    public var keepCondition: Expression?
    public var limit: LimitPlan?
    /// Where the rate is written on the event; nil: nowhere.
    public var annotation: Path?

    public init(rate: Double, by: Path? = nil, keep: [Glob] = []) {
        self.rate = rate
        self.by = by
        self.keep = keep
    }
}

/// So many events in a time.
public struct EventRate: Sendable, Hashable {
    /// At least one.
    public var perDay: Int
    public init(perDay: Int) { self.perDay = perDay }

    public var perSecond: Double { Double(perDay) / 86_400 }
}

/// How many events pass at most, whatever the rate of their sample.
public struct LimitPlan: Sendable, Equatable {
    public static let mostBurst = 100_000_000

    public var rate: EventRate
    /// How many pass at once after a pause.
    public var burst: Int

    /// By default as many pass at once as in a second, and at least one.
    public init(_ rate: EventRate, burst: Int? = nil) {
        self.rate = rate
        self.burst = burst ?? min(max(1, rate.perDay / 86_400), LimitPlan.mostBurst)
    }
}
