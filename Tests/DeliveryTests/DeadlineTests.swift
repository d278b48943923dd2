import Plans
import Platform
import Testing

@testable import Queueing

@Suite("The deadline of a delivery")
struct DeadlineTests {
    private func hasty(_ events: Int = 1, abandon: Int = 3, ordered: Bool = true) -> DeliveryPlan {
        var plan = plan(events: events, ordered: ordered)
        plan.deadline = .milliseconds(5000)
        plan.abandon = abandon
        plan.retry.first = .milliseconds(1)
        plan.retry.most = .milliseconds(1)
        return plan
    }

    @Test("makes the batch unknown, and the batch is sent again")
    func expires() {
        let fixture = StateFixture(hasty())
        fixture.take(["a", "b"], at: 0)
        #expect(fixture.deadline == nil, "nothing is in flight")
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.deadline == 5000)
        #expect(fixture.expire(at: 4999) == [])
        #expect(fixture.expire(at: 5000) == ["failing no answer within 5s"])
        #expect(fixture.laneAccount.abandoned == 1)
        #expect(fixture.step(at: 5001) == "deliver a attempt 2")
        #expect(fixture.complete(.init(.delivered), at: 5002) == ["recovered 1"])
        #expect(fixture.account() == "2 taken, 1 delivered, 1 waiting")
    }

    @Test("does nothing if the call ends in time")
    func inTime() {
        let fixture = StateFixture(hasty())
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered), at: 4999)
        #expect(fixture.step(at: 4999) == "wait")
        #expect(fixture.deadline == nil)
        #expect(fixture.expire(at: 6000) == [])
        #expect(fixture.laneAccount.abandoned == 0)
    }

    @Test("does not exist if it is zero")
    func none() {
        var plan = hasty()
        plan.deadline = .zero
        let fixture = StateFixture(plan)
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.deadline == nil)
        #expect(fixture.expire(at: .max / 1_000_000) == [])
    }

    @Test("a late completion is counted and changes nothing, whatever it says")
    func late() {
        let fixture = StateFixture(hasty())
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.expire(at: 5000)
        #expect(fixture.complete(.init(.rejected(Answer("no"))), index: 0, at: 5001) == [])
        #expect(fixture.laneAccount.late == 1)
        #expect(fixture.complete(.init(.delivered), index: 0, at: 5001) == [], "and only once")
        #expect(fixture.laneAccount.late == 1)
        #expect(fixture.account() == "1 taken, 1 waiting")
        #expect(fixture.step(at: 5001) == "deliver a attempt 2")
        _ = fixture.complete(.init(.delivered), at: 5002)
        #expect(fixture.account() == "1 taken, 1 delivered, 0 waiting")
    }

    @Test("order is kept when several pass it at once")
    func order() {
        let fixture = StateFixture(hasty(ordered: false), concurrency: 2)
        fixture.take(["a", "b", "c"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.expire(at: 5000)
        #expect(fixture.step(at: 5001) == "deliver a attempt 2")
        #expect(fixture.step(at: 5001) == "deliver b attempt 2")
    }

    @Test("after a number of calls that never end the lane stops, and its events are kept, including later ones")
    func stops() {
        let fixture = StateFixture(hasty(abandon: 2))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.expire(at: 5000)
        _ = fixture.step(at: 5001)
        let stopped = "the module holds 2 calls beyond the deadline of 5s (delivery.deadline) and is not called again"
        #expect(
            fixture.expire(at: 10_001) == [
                "bury a unknown \(stopped) 2", "bury b undelivered \(stopped) 0", "stopped \(stopped)",
            ])
        #expect(fixture.step(at: 10_001) == "wait", "the provider is not even closed, since it may still end what it holds")
        #expect(fixture.take(["c"], at: 20_000) == ["bury c undelivered \(stopped) 0"])
        #expect(fixture.hasSpace(for: 1 << 40), "a stopped lane makes no source wait")
        #expect(fixture.complete(.init(.delivered), index: 1, at: 20_001) == [])
        #expect(fixture.account() == "3 taken, 1 unknown, 2 undelivered, 0 waiting")
        #expect(fixture.laneAccount.abandoned == 2 && fixture.laneAccount.late == 1)
        #expect(!fixture.isOver, "the burials are not carried out yet")
        for _ in 0..<3 { fixture.buried() }
        #expect(fixture.isOver)
        fixture.state.drain()
        #expect(fixture.step(at: 20_002) == "end")
    }

    @Test("a call that ends late no longer counts against its lane")
    func forgives() {
        let fixture = StateFixture(hasty(abandon: 2))
        fixture.take(["a"], at: 0)
        var now: Int64 = 0
        for attempt in 0..<5 {
            _ = fixture.step(at: now)
            #expect(fixture.expire(at: now + 5000).filter { $0.hasPrefix("stopped") } == [])
            _ = fixture.complete(.init(.delivered), index: attempt, at: now + 5000)
            now += 5001
        }
        #expect(fixture.laneAccount.abandoned == 5 && fixture.laneAccount.late == 5)
    }

    @Test("a call that does not return stops its lane after the same number of deadlines, and no other call joins it")
    func stuck() {
        let fixture = StateFixture(hasty())
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.expire(at: 5000) == ["failing no answer within 5s"])
        #expect(fixture.deadline == 10_000)
        #expect(fixture.expire(at: 10_000) == [])
        #expect(fixture.expire(at: 15_000).last?.hasPrefix("stopped the module holds 3 calls") == true)
        #expect(fixture.laneAccount.abandoned == 1, "the events were handed to it once")
    }

    @Test("a call that ends its delivery but does not return also stops its lane")
    func stuckAfterwards() {
        let fixture = StateFixture(hasty())
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered), at: 1)
        for time: Int64 in [5000, 10_000] { #expect(fixture.expire(at: time) == []) }
        #expect(fixture.expire(at: 15_000).last?.hasPrefix("stopped") == true)
        #expect(fixture.account() == "2 taken, 1 delivered, 1 undelivered, 0 waiting")
    }

    @Test("a call that returned in time does not count, even if nothing follows for a long time")
    func returned() {
        let fixture = StateFixture(hasty())
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered), at: 1)
        _ = fixture.step(at: 2)
        for time: Int64 in [5000, 10_000, 15_000, 20_000] { #expect(fixture.expire(at: time) == []) }
    }

    @Test("a batch past retry.for becomes a dead letter and does not return to the queue")
    func expiresForGood() {
        var plan = hasty()
        plan.retry.total = .milliseconds(5000)
        let fixture = StateFixture(plan)
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.expire(at: 5000) == ["bury a unknown no answer within 5s 1"])
    }

    @Test("a flush that does not end delays the end of the lane only until the deadline")
    func flush() {
        let fixture = StateFixture(hasty())
        fixture.state.drain()
        #expect(fixture.step(at: 100) == "flush")
        #expect(fixture.deadline == 5100)
        #expect(fixture.expire(at: 5100) == ["failing it did not flush within 5s"])
        #expect(fixture.isOver)
        #expect(fixture.step(at: 5100) == "end")
    }

    @Test("a delivery that ends because its stopped provider is closed is no late answer")
    func closing() {
        let fixture = StateFixture(hasty(abandon: 1))
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.expire(at: 5000)
        fixture.state.drain()
        _ = fixture.step(at: 5000)
        _ = fixture.complete(.init(.unknown(Answer("closed"))), at: 5001)
        #expect(fixture.laneAccount.late == 0)
    }
}
