// The distribution of values: counts for fixed upper bounds, so that several histograms can be added.

public struct Histogram: Sendable, Equatable {
    /// The bounds in ascending order. A value counts under the first bound that it does not exceed.
    public let bounds: [Int64]
    /// The counts for each bound, followed by the count of values beyond the last bound.
    public private(set) var counts: [Int]
    public private(set) var sum: Double = 0

    public init(bounds: [Int64]) {
        self.bounds = bounds
        assert(zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }, "the bounds of a histogram do not rise")
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    public var total: Int { counts.reduce(0, +) }

    /// Adds `count` occurrences of a value.
    public mutating func note(_ value: Int64, count: Int = 1) {
        assert(count >= 0, "a value occurs a negative number of times")
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += count
        sum += Double(value) * Double(count)
    }
}

extension Histogram {
    /// An empty histogram for times in nanoseconds, from a millisecond to a day.
    public static var times: Histogram {
        let millisecond: Int64 = 1_000_000
        let steps: [Int64] = [1, 5, 10, 50, 100, 500, 1000, 5000, 30_000, 60_000, 300_000, 3_600_000, 21_600_000, 86_400_000]
        return Histogram(bounds: steps.map { $0 * millisecond })
    }

    /// An empty histogram for numbers of items.
    public static var sizes: Histogram { Histogram(bounds: [1, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000]) }
}
