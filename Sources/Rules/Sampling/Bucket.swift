// A token bucket: a number of events per unit of time, and a burst after a pause. It promises to be exact: in no period do more events pass
// than the rate and the burst allow.

public import Plans

public struct LimitRule: BitwiseCopyable {
    /// The amount that a microsecond adds.
    fileprivate let income: Int
    /// The amount that a full bucket holds.
    fileprivate let capacity: Int

    public init(_ plan: LimitPlan) {
        income = plan.rate.perDay
        capacity = plan.burst * Bucket.price
        assert(income > 0 && capacity >= Bucket.price, "a limit lets no event pass")
    }
}

public struct Bucket: Sendable, Equatable {
    /// The amount that an event costs: the number of microseconds in a day. So a microsecond adds a whole number: the events per day.
    fileprivate static let price = 86_400_000_000

    /// The amount that is missing until the bucket is full.
    private var missing = 0
    private var timeline = Timeline()

    /// Returns true if nothing is missing at this time.
    func isFull(at now: Int64, _ rule: LimitRule) -> Bool {
        var later = self
        later.fill(until: now, rule)
        return later.missing == 0
    }

    /// Returns true if one more event passes at this time, and pays for it.
    public mutating func takes(at now: Int64, _ rule: LimitRule) -> Bool {
        fill(until: now, rule)
        guard missing <= rule.capacity - Bucket.price else { return false }
        missing += Bucket.price
        return true
    }

    private mutating func fill(until now: Int64, _ rule: LimitRule) {
        let (income, isMuch) = Int(timeline.advance(to: now)).multipliedReportingOverflow(by: rule.income)
        // After a reload the bucket may be smaller than before.
        missing = isMuch ? 0 : max(0, min(missing, rule.capacity) - income)
        assert((0...rule.capacity).contains(missing), "a bucket holds more than it can, or less than nothing")
    }
}
