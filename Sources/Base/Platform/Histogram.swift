// How values are spread: counts by upper bounds that never change, so that what several of them hold can be added up.

public struct Histogram: Sendable, Equatable {
    /// Rising; a value counts under the first bound that it does not exceed.
    public let bounds: [Int64]
    /// By bound, and behind them those beyond the last.
    public private(set) var counts: [Int]
    public private(set) var sum: Double = 0

    public init(bounds: [Int64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    public var total: Int { counts.reduce(0, +) }

    /// That many values came to so much.
    public mutating func note(_ value: Int64, count: Int = 1) {
        var index = 0
        while index < bounds.count, value > bounds[index] { index += 1 }
        counts[index] += count
        sum += Double(value) * Double(count)
    }
}

extension Histogram {
    /// Of times in nanoseconds, from a millisecond to a day.
    public static var times: Histogram {
        let millisecond: Int64 = 1_000_000
        let steps: [Int64] = [1, 5, 10, 50, 100, 500, 1000, 5000, 30_000, 60_000, 300_000, 3_600_000, 21_600_000, 86_400_000]
        return Histogram(bounds: steps.map { $0 * millisecond })
    }

    /// Of how many there are of something.
    public static var sizes: Histogram { Histogram(bounds: [1, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000]) }
}
