// Measures what a lane delivers: the rate of the last ten seconds, the ages of events and the sizes of batches. A pure value. It changes
// nothing that the lane decides.

internal import Admission
internal import Platform

struct DeliveryMeasures {
    private(set) var rate = Rate()
    /// The ages of events at their delivery.
    private(set) var ages = Histogram.times
    /// The numbers of events in delivered batches.
    private(set) var sizes = Histogram.sizes

    /// Notes the delivery of a batch at `now`, which is `wall` in nanoseconds since 1970.
    mutating func note(_ batch: Batch, at now: Instant, wall: Int64) {
        assert(batch.count > 0, "a batch without events was delivered")
        rate.note(batch.count, at: now)
        sizes.note(Int64(batch.count))
        // The events of one block have the same arrival.
        var first = 0
        for index in 1...batch.count where index == batch.count || batch.arrivals[index] != batch.arrivals[first] {
            ages.note(max(0, wall - batch.arrivals[first]), count: index - first)
            first = index
        }
    }
}

/// Counts the events that were delivered in the last ten seconds, in one box for each second.
struct Rate {
    private static let seconds = 10
    private var boxes = Array(repeating: 0, count: Rate.seconds)
    /// The second that belongs to the newest box.
    private var newest: Int64?

    mutating func note(_ count: Int, at now: Instant) {
        let second = now.nanoseconds / 1_000_000_000
        let passed = newest.map { min(max(0, second - $0), Int64(Rate.seconds)) } ?? Int64(Rate.seconds)
        for step in 0..<passed { boxes[Rate.box(second - step)] = 0 }
        newest = max(newest ?? second, second)
        boxes[Rate.box(second)] += count
    }

    /// Returns the average over the last ten seconds, including the current one.
    func perSecond(at now: Instant) -> Double {
        guard let newest else { return 0 }
        let second = now.nanoseconds / 1_000_000_000
        let sum = (0..<Int64(Rate.seconds)).reduce(0) { sum, age in
            let then = second - age
            return then <= newest && then > newest - Int64(Rate.seconds) ? sum + boxes[Rate.box(then)] : sum
        }
        return Double(sum) / Double(Rate.seconds)
    }

    private static func box(_ second: Int64) -> Int { Int(((second % Int64(seconds)) + Int64(seconds)) % Int64(seconds)) }
}
