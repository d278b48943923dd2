import Plans
import Seeded
import Testing

@testable import Judging
@testable import Models
@testable import Sampling

private let second: Int64 = 1_000_000_000
private let minute = 60 * second
private func rate(_ perSecond: Int) -> EventRate { EventRate(perDay: perSecond * 86_400) }

/// A bucket that is asked for one event at a time.
private final class Flow {
    private var bucket = Bucket()
    var plan: LimitPlan
    init(_ plan: LimitPlan) { self.plan = plan }
    func takes(_ now: Int64) -> Bool { bucket.takes(at: now, LimitRule(plan)) }
}

@Suite struct LimitTests {
    /// Returns how many events pass if one comes at each of these moments.
    private func passing(_ plan: LimitPlan, _ moments: [Int64]) -> Int {
        let flow = Flow(plan)
        return moments.count { flow.takes($0) }
    }

    @Test("the burst passes at once, then as many events as the rate allows, to the microsecond")
    func exact() {
        let flow = Flow(LimitPlan(rate(10), burst: 3))
        let tenth = second / 10
        // A pause fills the bucket only up to the burst.
        let moments = [0, 0, 0, 0, tenth - 1000, tenth, tenth, minute, minute, minute, minute]
        #expect(moments.map(flow.takes) == [true, true, true, false, false, true, false, true, true, true, false])
    }

    @Test("an event that does not pass costs nothing")
    func refusedIsFree() {
        let plan = LimitPlan(rate(1), burst: 1)
        #expect(passing(plan, [0] + Array(repeating: second / 2, count: 1000) + [second]) == 2)
    }

    @Test("the default burst is the number of events in a second, and at least one")
    func usualBurst() {
        #expect(LimitPlan(rate(100)).burst == 100)
        #expect(LimitPlan(EventRate(perDay: 6000 * 1440)).burst == 100)
        #expect(LimitPlan(EventRate(perDay: 1)).burst == 1)
        #expect(LimitPlan(rate(1_000_000_000)).burst == LimitPlan.mostBurst)
    }

    @Test("the slowest and the fastest limits count without overflow, over a century too")
    func extremes() {
        let century = 36_525 * 86_400 * second
        let slow = LimitPlan(EventRate(perDay: 1), burst: LimitPlan.mostBurst)
        #expect(passing(slow, [0, century, .max]) == 3)
        #expect(passing(LimitPlan(EventRate(perDay: 1)), [0, 86_400 * second - 1000, 86_400 * second]) == 2)
        #expect(passing(LimitPlan(rate(1_000_000_000)), [0, 1, .max]) == 3)
    }

    @Test("in no period do more events pass than the rate and the burst allow, and never fewer than in a slow model")
    func model() {
        var random = Seeded(state: 7)
        for _ in 0..<40 {
            let plan = LimitPlan(rate(Int.random(in: 1...50, using: &random)), burst: Int.random(in: 1...40, using: &random))
            let flow = Flow(plan)
            var passed: [Int64] = []
            var now: Int64 = 0
            for _ in 0..<400 {
                now += Int64.random(in: 0...100_000, using: &random) * 1000 * (Int.random(in: 0..<20, using: &random) == 0 ? 30 : 1)
                let takes = flow.takes(now)
                #expect(takes == LimitTests.allows(now, after: passed, plan), "\(plan) at \(now)")
                if takes { passed.append(now) }
            }
        }
    }

    /// Returns true if one more event passes by the definition: no period that ends now has more events than the burst and the rate allow.
    private static func allows(_ now: Int64, after passed: [Int64], _ plan: LimitPlan) -> Bool {
        passed.indices.allSatisfy { first in
            let count = passed.count - first + 1
            let microseconds = (now - passed[first]) / 1000
            return (count - plan.burst) * 86_400_000_000 <= Int(microseconds) * plan.rate.perDay
        }
    }

    @Test("a clock that is set back gives no time twice, and stops nothing")
    func setBack() {
        let flow = Flow(LimitPlan(rate(1), burst: 1))
        let moments = [100 * minute, 100 * minute, minute, minute + second - 1000, minute + second]
        #expect(moments.map(flow.takes) == [true, false, false, false, true])
    }

    @Test("blocks that overtake each other gain no extra events")
    func overtaking() {
        // Two blocks, half a second apart, take turns. The half second between them must count only once.
        let moments = (0..<100).flatMap { _ in [minute, minute + second / 2] }
        #expect(passing(LimitPlan(rate(2), burst: 1), moments) == 2)
    }

    @Test("a bucket whose burst becomes smaller never lacks more than it now holds")
    func smaller() {
        let flow = Flow(LimitPlan(rate(10), burst: 100))
        for _ in 0..<100 { #expect(flow.takes(0)) }
        flow.plan = LimitPlan(rate(1), burst: 1)
        #expect([0, second - 1000, second].map(flow.takes) == [false, false, true])
    }

    // MARK: - On a route

    private func limited(_ count: Int, keep: [String] = [], rate share: Double = 1) -> RoutePlan {
        route {
            $0.sample = SamplePlan(rate: share, by: path("userId"), keep: keep.map(Glob.init))
            $0.sample?.limit = LimitPlan(EventRate(perDay: count * 86_400))
        }
    }

    @Test("an event over the limit counts as limited; an event that is kept passes and uses up nothing of the limit")
    func kept() {
        let fixture = JudgeFixture(plan(limited(2, keep: ["error_*"])))
        for _ in 0..<5 { fixture.take(#"{"event":"error_x"}"#, arrival: minute) }
        for _ in 0..<5 { fixture.take(#"{"event":"other"}"#, arrival: minute) }
        #expect(fixture.tally[0, .admitted] == 7 && fixture.tally[0, .limited] == 3)
        #expect(fixture.lines().count == 7)
    }

    @Test("only events in the sample use up the limit")
    func behindTheSample() {
        let fixture = JudgeFixture(plan(limited(10, rate: 0.5)))
        for user in 0..<100 { fixture.take(#"{"userId":"\#(user)"}"#, arrival: minute) }
        #expect(fixture.tally[0, .admitted] == 10)
        #expect(fixture.tally[0, .limited] + fixture.tally[0, .sampledOut] == 90)
        let all = JudgeFixture(plan(route { $0.sample = SamplePlan(rate: 0.5, by: path("userId")) }))
        for user in 0..<100 { all.take(#"{"userId":"\#(user)"}"#) }
        #expect(fixture.tally[0, .sampledOut] == all.tally[0, .sampledOut])
    }

    @Test("a request for verdicts and findings uses up nothing of the limit")
    func trial() {
        let fixture = JudgeFixture(plan(limited(1)))
        for _ in 0..<3 {
            #expect(fixture.verdicts("{}") == [.admitted])
            #expect(fixture.findings("{}")[0].sample?.isWithinLimit == true)
        }
        fixture.take("{}")
        #expect(fixture.verdicts("{}") == [.limited])
        #expect(fixture.findings("{}")[0].sample?.isWithinLimit == false)
    }

    @Test("each route has its own limit, and continues with it under the next plan that has its name")
    func handedOn() {
        let memories = RouteMemories()
        var first = plan(limited(2), limited(3))
        (first.routes[0].name, first.routes[1].name) = ("a", "b")
        let fixture = JudgeFixture(first, memories: memories)
        fixture.take("{}")
        #expect(fixture.verdicts("{}") == [.admitted, .admitted])
        fixture.take("{}")
        #expect(fixture.verdicts("{}") == [.limited, .admitted])
        var second = plan(limited(3), limited(2), limited(2))
        (second.routes[0].name, second.routes[1].name, second.routes[2].name) = ("b", "a", "c")
        let next = JudgeFixture(second, memories: memories)
        #expect(next.verdicts("{}") == [.admitted, .limited, .admitted])
        // The plan before may still judge blocks.
        fixture.take("{}")
        #expect(next.verdicts("{}") == [.limited, .limited, .admitted])
        // A route whose name was gone begins anew.
        _ = JudgeFixture(plan(route { $0.name = "b" }), memories: memories)
        #expect(JudgeFixture(second, memories: memories).verdicts("{}") == [.limited, .admitted, .admitted])
    }
}
