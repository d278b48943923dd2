import Plans
import Platform
import Testing

@testable import Queueing

extension StateFixture {
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
        let fixture = StateFixture(plan)
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 100)
        #expect(fixture.status(at: 100).underWay == 1)
        _ = fixture.complete(BatchOutcome(.retry(Answer(code: 3, "busy"), after: .milliseconds(500))), at: 200)
        var status = fixture.status(at: 300)
        #expect(status.events == 2 && status.memory == 4 && status.underWay == 0 && status.attempts == 1)
        #expect(status.oldest == 5)
        #expect(status.breaker == .closed)
        #expect(status.lastError == Answer(code: 3, "busy") && status.lastErrorAge == .milliseconds(100))
        _ = fixture.step(at: 700)
        _ = fixture.complete(BatchOutcome(.retry(Answer("busy"), after: .milliseconds(500))), at: 700)
        #expect(fixture.status(at: 701).breaker == .open)
        #expect(fixture.status(at: 1200).breaker == .probing)
        _ = fixture.step(at: 1200)
        _ = fixture.complete(BatchOutcome(.delivered), at: 1300)
        status = fixture.status(at: 1300)
        #expect(status.events == 0 && status.breaker == .closed && status.attempts == 0 && status.oldest == nil)
        #expect(status.lastError == Answer("busy"), "the last error stays in the status")
        #expect(status.rate == 0.2)
    }

    @Test("a new provider starts without failures: waiting events are sent to it at once")
    func newProvider() {
        var plan = plan()
        plan.breaker = 1
        let fixture = StateFixture(plan)
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 100) == "deliver a")
        _ = fixture.complete(BatchOutcome(.retry(Answer("down"), after: .seconds(50))), at: 100)
        #expect(fixture.step(at: 200) == "wait 50100")
        fixture.state.adopt(plan, concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 200) == "wait 50100", "a change of the plan is no change of the provider")
        fixture.state.adopt(plan, concurrency: 1, isNewProvider: true)
        #expect(fixture.step(at: 200) == "deliver a")
        #expect(fixture.status(at: 200).breaker == .closed)
    }

    @Test("a new plan applies to events that come after it")
    func newPlan() {
        let fixture = StateFixture(plan(events: 2))
        fixture.take(["a", "b"], at: 0)
        fixture.state.adopt(plan(events: 3), concurrency: nil, isNewProvider: false)
        fixture.take(["c", "d", "e"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a b")
        _ = fixture.complete(BatchOutcome(.delivered), at: 0)
        #expect(fixture.step(at: 0) == "deliver c d e")
    }
}
