import Plans
import Platform
import Testing

@testable import Queueing

extension Bench {
    func status(at time: Int64) -> LaneStatus { state.status(at: instant(time)) }
}

@Suite("The status of a lane")
struct LaneStatusTests {
    @Test("has the rate of the last ten seconds, and forgets earlier events")
    func rate() {
        var rate = Rate()
        #expect(rate.perSecond(at: instant(0)) == 0)
        rate.note(50, at: instant(500))
        rate.note(50, at: instant(1500))
        #expect(rate.perSecond(at: instant(1600)) == 10)
        #expect(rate.perSecond(at: instant(9900)) == 10)
        #expect(rate.perSecond(at: instant(10_100)) == 5, "the first second is too long ago")
        #expect(rate.perSecond(at: instant(30_000)) == 0)
        rate.note(20, at: instant(60_000))
        #expect(rate.perSecond(at: instant(60_001)) == 2, "no count of an earlier round is left")
    }

    @Test("has what waits, what is in flight, the last failure and its time, and the state of the breaker")
    func failing() {
        var plan = plan()
        plan.breaker = 2
        let bench = Bench(plan)
        bench.take(["a", "b"], at: 0)
        _ = bench.step(at: 100)
        #expect(bench.status(at: 100).underWay == 1)
        _ = bench.complete(BatchOutcome(.retry(Answer(code: 3, "busy"), after: .milliseconds(500))), at: 200)
        var status = bench.status(at: 300)
        #expect(status.events == 2 && status.memory == 4 && status.underWay == 0 && status.attempts == 1)
        #expect(status.oldest == 5)
        #expect(status.breaker == .closed)
        #expect(status.lastError == Answer(code: 3, "busy") && status.lastErrorAge == .milliseconds(100))
        _ = bench.step(at: 700)
        _ = bench.complete(BatchOutcome(.retry(Answer("busy"), after: .milliseconds(500))), at: 700)
        #expect(bench.status(at: 701).breaker == .open)
        #expect(bench.status(at: 1200).breaker == .probing)
        _ = bench.step(at: 1200)
        _ = bench.complete(BatchOutcome(.delivered), at: 1300)
        status = bench.status(at: 1300)
        #expect(status.events == 0 && status.breaker == .closed && status.attempts == 0 && status.oldest == nil)
        #expect(status.lastError == Answer("busy"), "the last error stays in the status")
        #expect(status.rate == 0.2)
    }

    @Test("a new provider starts without failures: waiting events are sent to it at once")
    func newProvider() {
        var plan = plan()
        plan.breaker = 1
        let bench = Bench(plan)
        bench.take(["a"], at: 0)
        #expect(bench.step(at: 100) == "deliver a")
        _ = bench.complete(BatchOutcome(.retry(Answer("down"), after: .seconds(50))), at: 100)
        #expect(bench.step(at: 200) == "wait 50100")
        bench.state.adopt(plan, concurrency: nil, isNewProvider: false)
        #expect(bench.step(at: 200) == "wait 50100", "a change of the plan is no change of the provider")
        bench.state.adopt(plan, concurrency: 1, isNewProvider: true)
        #expect(bench.step(at: 200) == "deliver a")
        #expect(bench.status(at: 200).breaker == .closed)
    }

    @Test("a new plan applies to events that come after it")
    func newPlan() {
        let bench = Bench(plan(events: 2))
        bench.take(["a", "b"], at: 0)
        bench.state.adopt(plan(events: 3), concurrency: nil, isNewProvider: false)
        bench.take(["c", "d", "e"], at: 0)
        #expect(bench.step(at: 0) == "deliver a b")
        _ = bench.complete(BatchOutcome(.delivered), at: 0)
        #expect(bench.step(at: 0) == "deliver c d e")
    }
}
