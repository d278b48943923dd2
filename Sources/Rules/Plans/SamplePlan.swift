// The sample of a route, as the file defines it.

public import Events
public import Expressions

public struct SamplePlan: Sendable {
    /// The member that gets the rate if the file names no other.
    public static let usualAnnotation = Path(keys: ["sampleRate"])

    /// The rate, from 0 (none) to 1 (all).
    public var rate: Double
    /// Other rates for events whose name matches. The first match decides.
    public var rates: [(glob: Glob, rate: Double)] = []
    /// The number of events that should pass. If it is set, the rate follows the traffic, and `rate` and `rates` are not used.
    public var target: EventRate?
    /// The member whose value decides. If it is nil, the event's `messageId` decides, or else its bytes.
    public var by: Path?
    /// Samples with different salts draw independently. It is nil if the hash has no salt.
    public var salt: String?
    /// Events whose name matches always pass.
    public var keep: [Glob] = []
    /// Events for which it is true always pass.
    public var keepCondition: Expression?
    public var limit: LimitPlan?
    /// The member that gets the rate. It is nil if the rate is not written.
    public var annotation: Path?

    public init(rate: Double, by: Path? = nil, keep: [Glob] = []) {
        self.rate = rate
        self.by = by
        self.keep = keep
    }
}

/// A number of events per unit of time.
public struct EventRate: Sendable, Hashable {
    /// The number of events per day, at least one.
    public var perDay: Int
    public init(perDay: Int) { self.perDay = perDay }

    public var perSecond: Double { Double(perDay) / 86_400 }
}

/// The most events that pass, whatever the rate of their sample.
public struct LimitPlan: Sendable, Equatable {
    public static let mostBurst = 100_000_000

    public var rate: EventRate
    /// The number of events that pass at once after a pause.
    public var burst: Int
    /// The member each of whose values has a limit of its own. If it is nil, all events share one.
    public var by: Path?

    /// By default the burst is the number of events per second, but at least one.
    public init(_ rate: EventRate, burst: Int? = nil, by: Path? = nil) {
        self.rate = rate
        self.by = by
        self.burst = burst ?? min(max(1, rate.perDay / 86_400), LimitPlan.mostBurst)
    }
}
