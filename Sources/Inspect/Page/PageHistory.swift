// What each lane did over the last hours: a ring of samples for each lane, in memory. Pure: samples in, JSON out. Its memory is bounded: at
// most 64 lanes with 720 samples of 20 bytes, which is 0.9 MB, and 14 kB for one lane. At an interval of 30 seconds that is six hours.

internal import Platform

public struct PageHistory: Sendable {
    public static let interval = 30
    static let mostSamples = 720
    static let mostLanes = 64

    /// The state of a lane at one moment. Its counts have grown since the start of the router.
    public struct Reading: Sendable {
        public var lane: String
        public var waiting: Int
        /// The age of the oldest event that waits, in seconds. It is nil if none waits.
        public var age: Double?
        public var delivered: Int
        /// The deliveries that failed and the events that came to a bad end.
        public var errors: Int
        /// The ages of events at their delivery: upper bounds in seconds, and the count for each. The last count is of what is beyond.
        public var bounds: [Double]
        public var ages: [Int]

        public init(lane: String, waiting: Int, age: Double?, delivered: Int, errors: Int, bounds: [Double], ages: [Int]) {
            self.lane = lane
            self.waiting = waiting
            self.age = age
            self.delivered = delivered
            self.errors = errors
            self.bounds = bounds
            self.ages = ages
        }
    }

    /// One moment of a lane. What was not known is negative.
    private struct Sample {
        var waiting: Float
        var age: Float
        var delivered: Float
        var errors: Float
        /// The age within which half of the events of the interval were delivered, in seconds.
        var half: Float

        static let none = Sample(waiting: -1, age: -1, delivered: -1, errors: -1, half: -1)
    }

    private struct Ring {
        var name: String
        var samples: [Sample] = []
        var last: Reading
    }

    private var rings: [Ring] = []
    /// The number of samples so far. The last one has this number.
    public private(set) var count = 0

    public init() {}

    /// Adds a sample for each lane. A lane that is gone is forgotten when all its samples are.
    public mutating func add(_ readings: [Reading]) {
        count += 1
        for index in rings.indices {
            let reading = readings.first { $0.lane == rings[index].name }
            let sample = reading.map { PageHistory.sample($0, after: rings[index].last) } ?? .none
            if let reading { rings[index].last = reading }
            let place = (count - 1) % PageHistory.mostSamples
            if rings[index].samples.count > place { rings[index].samples[place] = sample } else { rings[index].samples.append(sample) }
        }
        rings.removeAll { ring in ring.samples.allSatisfy { $0.waiting < 0 } }
        for reading in readings where rings.count < PageHistory.mostLanes && !rings.contains(where: { $0.name == reading.lane }) {
            // Of the time before, nothing is known.
            var samples = [Sample](repeating: .none, count: min(count, PageHistory.mostSamples))
            samples.reserveCapacity(PageHistory.mostSamples)
            samples[(count - 1) % PageHistory.mostSamples] = PageHistory.sample(reading, after: nil)
            rings.append(Ring(name: reading.lane, samples: samples, last: reading))
        }
        assert(
            rings.count <= PageHistory.mostLanes && rings.allSatisfy { $0.samples.count <= PageHistory.mostSamples }, "the history grows")
    }

    private static func sample(_ now: Reading, after before: Reading?) -> Sample {
        var sample = Sample(waiting: Float(now.waiting), age: Float(now.age ?? 0), delivered: -1, errors: -1, half: -1)
        // A lane that was made anew counts from 0.
        guard let before, now.delivered >= before.delivered, now.errors >= before.errors, before.ages.count == now.ages.count else {
            return sample
        }
        sample.delivered = Float(now.delivered - before.delivered)
        sample.errors = Float(now.errors - before.errors)
        let ages = zip(now.ages, before.ages).map { max(0, $0 - $1) }
        let total = ages.reduce(0, +)
        var sum = 0
        for (index, age) in ages.enumerated() where total > 0 {
            sum += age
            guard sum * 2 >= total else { continue }
            sample.half = Float(now.bounds.isEmpty ? 0 : now.bounds[min(index, now.bounds.count - 1)])
            break
        }
        return sample
    }

    /// Returns the samples after the one with this number, from old to new, as JSON.
    public func json(after number: Int) -> String {
        let most = min(count, PageHistory.mostSamples)
        let first = max(count - most, min(max(0, number), count))
        let lanes = rings.map { ring in
            let samples = (first..<count).map { ring.samples[$0 % PageHistory.mostSamples] }
            func list(_ member: (Sample) -> Float) -> String { "[\(samples.map { PageHistory.text(member($0)) }.joined(separator: ","))]" }
            return "{\"provider\":\(jsonQuoted(ring.name)),\"events\":\(list(\.waiting)),\"oldest_age_s\":\(list(\.age)),"
                + "\"delivered\":\(list(\.delivered)),\"errors\":\(list(\.errors)),\"half_by_s\":\(list(\.half))}"
        }
        return
            "{\"every_s\":\(PageHistory.interval),\"first\":\(first + 1),\"last\":\(count),\"lanes\":[\(lanes.joined(separator: ","))]}\n"
    }

    private static func text(_ value: Float) -> String {
        if value < 0 { return "null" }
        if value == value.rounded() { return String(Int(value)) }
        let thousandths = Int((value * 1000).rounded())
        let rest = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
    }
}
