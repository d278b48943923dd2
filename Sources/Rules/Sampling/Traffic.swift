// The rate of a sample that follows the traffic. It moves on a ladder of rates, each about a tenth below the one before. It goes down as
// soon as too many events would pass. It goes up only if more than one step would fit. So steady traffic has a steady rate, and the same
// users stay in. The rate reacts to a burst while the burst comes. At the start the traffic is measured over the time since the first event,
// so that steady traffic is limited to the target from the first second on.

internal import Glibc
public import Plans

public struct TargetRule: BitwiseCopyable {
    /// The microseconds over which the traffic is measured: ten seconds, or longer until twenty events should pass.
    fileprivate let span: Double
    /// The number of events that should pass in a span.
    fileprivate let share: Double

    public init(_ target: EventRate) {
        let seconds = max(10, 20 / target.perSecond)
        span = seconds * 1e6
        share = seconds * target.perSecond
        assert(span > 0 && share > 0, "a target lets no event pass")
    }
}

public struct Traffic: Sendable, Equatable {
    /// The number of events, each of which counts less the older it is. Divided by the span, it is the traffic.
    private var weight = 0.0
    private var timeline = Timeline()
    /// The microseconds since the first event.
    private var age: Int64 = 0
    /// The index of the present rate in the ladder.
    private var rung = 0

    /// The rate goes up only if the rate that fits exceeds the next one by this factor.
    private static let hesitation = 1.1

    /// Returns the rate for one more event, as an index into the rates. These begin with 1 and fall.
    public mutating func rung(at now: Int64, _ rule: TargetRule, _ rates: UnsafeBufferPointer<SampleRate>) -> Int {
        let elapsed = timeline.advance(to: now)
        assert(elapsed >= 0 && weight >= 0, "the traffic is negative")
        if elapsed > 0 {
            weight *= exp(-Double(elapsed) / rule.span)
            age += elapsed
        }
        weight += 1
        let fitting = rule.share * seen(rule) / weight
        rung = min(rung, rates.count - 1)
        if fitting < rates[rung].value {
            while rung + 1 < rates.count, fitting < rates[rung].value { rung += 1 }
        } else {
            while rung > 0, fitting >= rates[rung - 1].value * Traffic.hesitation { rung -= 1 }
        }
        assert(rates.indices.contains(rung), "the rate is not on the ladder")
        return rung
    }

    /// The least part of a span that counts as seen, and the least number of events that pass in it.
    private static let leastSeen = (part: 0.01, events: 5.0)

    /// The part of the weight of steady traffic that can have been seen since the first event. Without it, the traffic would seem small at
    /// the start, and more than the target would pass.
    private func seen(_ rule: TargetRule) -> Double {
        let spans = Double(age) / rule.span
        let least = min(1, max(Traffic.leastSeen.part, Traffic.leastSeen.events / rule.share))
        return spans > 40 ? 1 : max(least, 1 - exp(-spans))
    }

    /// The rates 1, 0.91, 0.82 … 0.1, 0.091 … 0.000001, which are short to write.
    static let ladder: [Double] =
        [1] + (1...6).flatMap { decade in steps.map { Double("\($0)e-\(decade + 1)")! } }
    private static let steps = [
        91, 82, 75, 68, 62, 56, 51, 47, 43, 39, 36, 33, 30, 27, 24, 22, 20, 18, 16, 15, 13, 12, 11, 10,
    ]
}
