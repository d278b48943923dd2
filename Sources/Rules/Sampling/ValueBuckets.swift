// The limits of a route that limits each value of a member on its own. It promises bounded memory: only the buckets that are not full are
// kept, and at most a fixed number of them. Values beyond that number share one bucket, so that no value escapes the limit.

/// Which events share a limit.
public enum LimitShare: Sendable {
    /// All events of the route.
    case all
    /// The events whose member has the same value, as a hash. It is nil for events without a value; they share one limit.
    case value(UInt64?)
}

public struct ValueBuckets: Sendable, Equatable {
    /// The most values that have a bucket of their own. With 48 bytes for each, they take about 10 MB at most.
    static let most = 100_000
    /// The least time between two searches for full buckets, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    private var buckets: [UInt64: Bucket] = [:]
    /// The bucket of events without a value.
    private var ofNone = Bucket()
    /// The bucket that values share for which there is no space.
    private var ofOthers = Bucket()
    /// The time of the last search for full buckets. It is nil if there was none.
    private var searched: Int64?

    public init() {}

    /// The number of values that have a bucket of their own.
    var count: Int { buckets.count }

    /// Returns true if one more event with this value passes, and pays for it.
    public mutating func takes(at now: Int64, value: UInt64?, _ rule: LimitRule) -> Bool {
        guard let value else { return ofNone.takes(at: now, rule) }
        if buckets.count >= ValueBuckets.most, buckets[value] == nil {
            makeSpace(at: now, rule)
            guard buckets.count < ValueBuckets.most else { return ofOthers.takes(at: now, rule) }
        }
        assert(buckets.count <= ValueBuckets.most, "more values have a bucket than there is space for")
        return buckets[value, default: Bucket()].takes(at: now, rule)
    }

    /// Removes the buckets that are full again: a new bucket would decide the same.
    private mutating func makeSpace(at now: Int64, _ rule: LimitRule) {
        if let searched, abs(now &- searched) < ValueBuckets.pause { return }
        searched = now
        buckets = buckets.filter { !$0.value.isFull(at: now, rule) }
    }
}
