import Admission
import Editing
import Judging
import Plans
import Testing

@testable import Models
@testable import Sampling

private let second: Int64 = 1_000_000_000
private func rate(_ perSecond: Int) -> EventRate { EventRate(perDay: perSecond * 86_400) }

@Suite struct NamedRateTests {
    private static func sample(_ rate: Double, _ rates: (String, Double)...) -> RoutePlan {
        route {
            $0.sample = SamplePlan(rate: rate, by: path("userId"))
            $0.sample?.rates = rates.map { (Glob($0.0), $0.1) }
            $0.sample?.annotation = path("sampleRate")
        }
    }

    @Test("the first glob that matches the name decides the rate; otherwise it is the usual one")
    func firstMatch() {
        let fixture = JudgeFixture(plan(NamedRateTests.sample(0, ("item_viewed", 1), ("item_*", 0), ("a*", 1), ("*", 0.5))))
        for user in 0..<50 {
            #expect(fixture.verdicts(#"{"event":"item_viewed","userId":\#(user)}"#) == [.admitted])
            #expect(fixture.verdicts(#"{"event":"item_bought","userId":\#(user)}"#) == [.sampledOut])
            #expect(fixture.verdicts(#"{"event":"ab","userId":\#(user)}"#) == [.admitted])
            #expect(fixture.verdicts(#"{"userId":\#(user)}"#) == [.sampledOut], "without a name no glob matches")
        }
        let half = (0..<1000).count { fixture.verdicts(#"{"event":"x","userId":\#($0)}"#) == [.admitted] }
        #expect((450...550).contains(half))
    }

    @Test("a user who is in at a lower rate is in at every higher one, whatever the names")
    func nested() {
        let fixture = JudgeFixture(plan(NamedRateTests.sample(0.5, ("few", 0.05), ("some", 0.1))))
        for user in 0..<2000 {
            let isIn = ["few", "some", "other"].map { fixture.verdicts(#"{"event":"\#($0)","userId":\#(user)}"#) == [.admitted] }
            #expect(!isIn[0] || isIn[1])
            #expect(!isIn[1] || isIn[2])
        }
    }

    @Test("each event carries the rate at which it passed, or 1 if it was kept")
    func annotated() {
        var route = NamedRateTests.sample(0.999999, ("few", 0.9999), ("all", 1))
        route.sample?.keep = [Glob("kept")]
        let fixture = JudgeFixture(plan(route))
        for name in ["few", "all", "other", "kept"] { fixture.take(#"{"userId":1,"event":"\#(name)"}"#) }
        #expect(
            fixture.lines() == [
                #"{"userId":1,"event":"few","sampleRate":0.9999}"#, #"{"userId":1,"event":"all","sampleRate":1}"#,
                #"{"userId":1,"event":"other","sampleRate":0.999999}"#, #"{"userId":1,"event":"kept","sampleRate":1}"#,
            ])
    }
}

@Suite struct AnnotationTests {
    private func annotated(_ line: String, at place: String, _ change: (inout RoutePlan) -> Void = { _ in }) -> String? {
        let fixture = JudgeFixture(
            plan(
                route {
                    $0.sample = SamplePlan(rate: 1)
                    $0.sample?.annotation = path(place)
                    change(&$0)
                }))
        fixture.take(line)
        return fixture.lines().first
    }

    @Test("the rate is set as a member, and the rest stays byte for byte")
    func places() {
        #expect(annotated(#"{ "a" : 1e1 }"#, at: "sampleRate") == #"{ "a" : 1e1,"sampleRate":1 }"#)
        #expect(annotated(#"{"sampleRate":0.5,"a":1}"#, at: "sampleRate") == #"{"sampleRate":1,"a":1}"#)
        #expect(annotated(#"{"context":{"x":[ ]}}"#, at: "context.rate") == #"{"context":{"x":[ ],"rate":1}}"#)
        #expect(annotated("{}", at: "context.rate") == #"{"context":{"rate":1}}"#)
    }

    @Test("the rate is written last, whatever the transforms do to its member")
    func last() {
        let dropped = annotated(#"{"context":{"x":1}}"#, at: "context.rate") { $0.transforms = [DropStep([path("context")])] }
        #expect(dropped == #"{"context":{"rate":1}}"#)
        #expect(annotated("{}", at: "r") { $0.transforms = [SetStep(constants: [(path("r"), "5")])] } == #"{"r":1}"#)
    }

    @Test("members that consent cuts stay cut on an annotated event, at every level")
    func cut() {
        var plan = plan(
            route {
                $0.consent = ConsentDemand(level: 0)
                $0.sample = SamplePlan(rate: 0.9)
                $0.sample?.keep = [Glob("kept")]
                $0.sample?.annotation = path("r")
            })
        plan.consent = ConsentPlan()
        plan.consent?.levels = [.init(name: "none", purposes: nil), .init(name: "some", purposes: nil), .init(name: "all", purposes: nil)]
        plan.consent?.unknown = .assume(0)
        plan.consent?.fields = [(path("a"), 1), (path("b"), 2)]
        let fixture = JudgeFixture(plan)
        for (name, rate) in [("kept", "1"), ("x", "0.9")] {
            for (level, members) in [("none", ""), ("some", #""a":1,"#), ("all", #""a":1,"b":2,"#)] {
                let context = #""messageId":"m","context":{"consent":{"level":"\#(level)"}}"#
                fixture.take(#"{"event":"\#(name)","a":1,"b":2,\#(context)}"#)
                #expect(fixture.lines().last == #"{"event":"\#(name)",\#(members)\#(context),"r":\#(rate)}"#)
            }
        }
    }
}

@Suite struct TargetTests {
    private nonisolated(unsafe) static let rates = Traffic.ladder.map(SampleRate.init)
    private static let oneUser = path("userId")

    /// Steady traffic. `run` sends so many events per second and returns how many would pass in each second, and the rates that were used.
    private struct Model {
        var traffic = Traffic()
        let rule: TargetRule
        var now: Int64 = 1_700_000_000 * second

        init(_ perSecond: Int) { rule = TargetRule(rate(perSecond)) }

        mutating func run(_ perSecond: Int, seconds: Int) -> (passing: [Double], rates: Set<Double>) {
            var passing: [Double] = []
            var used: Set<Double> = []
            for _ in 0..<seconds {
                var sum = 0.0
                for index in 0..<perSecond {
                    let at = now + second * Int64(index) / Int64(perSecond)
                    let value = TargetTests.rates.withUnsafeBufferPointer { $0[traffic.rung(at: at, rule, $0)].value }
                    used.insert(value)
                    sum += value
                }
                passing.append(sum)
                now += second
            }
            return (passing, used)
        }
    }

    @Test("the ladder falls from 1 to a millionth, each step by no more than a sixth")
    func ladder() {
        let ladder = Traffic.ladder
        #expect(ladder.first == 1 && ladder.last == 1e-6 && ladder.count == 145)
        for (above, below) in zip(ladder, ladder.dropFirst()) { #expect(below < above && below > above * 0.83) }
        #expect(ladder.allSatisfy { "\($0)".utf8.count <= 8 })
    }

    @Test("the rate follows the traffic up and down: between three quarters of the target and all of it passes")
    func follows() {
        var model = Model(200)
        for perSecond in [2000, 20_000, 700, 4000] {
            _ = model.run(perSecond, seconds: 60)
            let (passing, rates) = model.run(perSecond, seconds: 30)
            for count in passing { #expect((150...201).contains(count), "\(perSecond)/s: \(count)") }
            #expect(rates.count == 1, "steady traffic has one rate, and so the same users")
        }
        _ = model.run(100, seconds: 60)
        #expect(model.run(100, seconds: 10).rates == [1], "all events pass if the target is not reached")
    }

    @Test("steady traffic is limited to the target from the start", arguments: [1000, 2000, 20_000])
    func start(perSecond: Int) {
        var model = Model(200)
        let first = model.run(perSecond, seconds: 10).passing.reduce(0, +)
        #expect((1500...2200).contains(first), "\(perSecond)/s: \(first)")
        for count in model.run(perSecond, seconds: 20).passing { #expect((140...210).contains(count)) }
    }

    @Test("the rate reacts to a burst while the burst comes")
    func rush() {
        var model = Model(200)
        let (passing, _) = model.run(1_000_000, seconds: 1)
        // Ten seconds of the target pass, times the growth by the logarithm.
        #expect(passing[0] < 2000 * 8)
        // Afterwards the rate is 1 again.
        _ = model.run(100, seconds: 120)
        #expect(model.run(100, seconds: 1).rates == [1])
    }

    @Test("a clock that is set disturbs the rate only for a short time, and stops nothing")
    func clock() {
        var model = Model(200)
        _ = model.run(2000, seconds: 60)
        model.now -= 3600 * second
        let (passing, _) = model.run(2000, seconds: 10)
        for count in passing { #expect((150...201).contains(count)) }
        model.now += 3600 * second
        _ = model.run(2000, seconds: 60)
        for count in model.run(2000, seconds: 5).passing { #expect((150...201).contains(count)) }
    }

    private func fixture() -> JudgeFixture {
        JudgeFixture(
            plan(
                route {
                    $0.sample = SamplePlan(rate: 1, by: TargetTests.oneUser, keep: [Glob("kept")])
                    $0.sample?.target = rate(10)
                    $0.sample?.annotation = path("r")
                }))
    }

    @Test("the same hash as in any sample decides who is in at the rate, and the event carries the rate")
    func keyed() throws {
        let fixture = fixture()
        for user in 0..<3000 { fixture.take(#"{"userId":\#(user)}"#, arrival: second * Int64(user) / 100) }
        var last = 1.0
        for user in 3000..<4000 {
            let before = fixture.parcels[0].entries.count
            let line = #"{"userId":\#(user)}"#
            let found = try #require(fixture.findings(line, arrival: second * Int64(user) / 100).first?.sample)
            fixture.take(line, arrival: second * Int64(user) / 100)
            let isIn = fixture.parcels[0].entries.count > before
            #expect(isIn == (Double(found.hash) * 0x1p-64 < found.rate))
            if isIn { #expect(fixture.lines().last == #"{"userId":\#(user),"r":\#(found.rate)}"#) }
            last = found.rate
        }
        #expect((0.075...0.1).contains(last))
    }

    @Test("an event that is kept always passes at the rate 1, and does not count as traffic")
    func kept() {
        let fixture = fixture()
        for index in 0..<5000 { fixture.take(#"{"event":"kept","userId":\#(index)}"#) }
        #expect(fixture.tally[0, .admitted] == 5000)
        fixture.take(#"{"event":"x","userId":1}"#)
        #expect(fixture.lines().last == #"{"event":"x","userId":1,"r":1}"#)
    }
}
