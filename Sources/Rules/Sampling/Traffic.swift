// The rate of a sample that follows the traffic. It moves on a ladder of rates that lie a tenth apart, goes down as soon as too much
// would pass, and up only when there is room for more than a step: so it stays the same while the traffic does, and with it who is in.
// A rush is met while it comes, not after it: of events that all come in one moment there pass as many as the target lets pass in a
// span, and beyond that only as many more as their logarithm grows.

internal import Glibc
public import Plans

public struct TargetRule: BitwiseCopyable {
    /// Over how many microseconds the traffic is measured: ten seconds, or those in which twenty events are to pass.
    fileprivate let span: Double
    /// How many are to pass in a span.
    fileprivate let share: Double

    public init(_ target: EventRate) {
        let seconds = max(10, 20 / target.perSecond)
        span = seconds * 1e6
        share = seconds * target.perSecond
    }
}

public struct Traffic: Sendable, Equatable {
    /// How many events came, each counted for less the longer it is ago; divided by the span, the traffic.
    private var weight = 0.0
    private var timeline = Timeline()
    /// The present rate: an index into the ladder.
    private var rung = 0

    /// How much more room than the next rate up there must be.
    private static let hesitation = 1.1

    /// The rate for one more event: an index into the rates, which begin with 1 and fall.
    public mutating func rung(at now: Int64, _ rule: TargetRule, _ rates: UnsafeBufferPointer<SampleRate>) -> Int {
        let elapsed = timeline.advance(to: now)
        if elapsed > 0 { weight *= exp(-Double(elapsed) / rule.span) }
        weight += 1
        let fitting = rule.share / weight
        rung = min(rung, rates.count - 1)
        if fitting < rates[rung].value {
            while rung + 1 < rates.count, fitting < rates[rung].value { rung += 1 }
        } else {
            while rung > 0, fitting >= rates[rung - 1].value * Traffic.hesitation { rung -= 1 }
        }
        return rung
    }

    /// 1, 0.91, 0.82 … 0.1, 0.091 … 0.000001: numbers that are short to write.
    static let ladder: [Double] =
        [1] + (1...6).flatMap { decade in steps.map { Double("\($0)e-\(decade + 1)")! } }
    private static let steps = [
        91, 82, 75, 68, 62, 56, 51, 47, 43, 39, 36, 33, 30, 27, 24, 22, 20, 18, 16, 15, 13, 12, 11, 10,
    ]
}
