// A token bucket: so many events in a time, and a burst after a pause. It is exact: in no stretch of time do more pass than the rate
// lets come and the burst holds.

public import Plans

public struct LimitRule: BitwiseCopyable {
    /// What a microsecond brings.
    fileprivate let income: Int
    /// What the bucket holds.
    fileprivate let capacity: Int

    public init(_ plan: LimitPlan) {
        income = plan.rate.perDay
        capacity = plan.burst * Bucket.price
    }
}

public struct Bucket: Sendable, Equatable {
    /// What an event costs: the microseconds of a day, so that the events that a day brings are what a microsecond brings.
    fileprivate static let price = 86_400_000_000

    /// What it lacks to be full.
    private var missing = 0
    private var timeline = Timeline()

    /// Whether one more event passes at this time; if so, it is paid for.
    public mutating func takes(at now: Int64, _ rule: LimitRule) -> Bool {
        let (income, isMuch) = Int(timeline.advance(to: now)).multipliedReportingOverflow(by: rule.income)
        // A smaller bucket may have taken over from a larger one.
        missing = isMuch ? 0 : max(0, min(missing, rule.capacity) - income)
        guard missing <= rule.capacity - Bucket.price else { return false }
        missing += Bucket.price
        return true
    }
}
