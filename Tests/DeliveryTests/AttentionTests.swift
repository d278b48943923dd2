// Tests when a batch leaves without a named wait, and when a lane's thread must be woken.

import Platform
import Testing

@testable import Delivery
@testable import Plans
@testable import Queueing

/// Returns a plan that names no wait.
private func atOnce(ordered: Bool = true) -> DeliveryPlan {
    var plan = plan(ordered: ordered)
    plan.batch.wait = nil
    return plan
}

@Suite("A lane")
struct AttentionTests {
    @Test("sends what is there at once while nothing is under way, and gathers batches otherwise")
    func sendsAtOnce() {
        let fixture = StateFixture(atOnce())
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        fixture.take(["b"], at: 1)
        #expect(fixture.step(at: 2) == "wait", "the end of the delivery wakes the lane")
        fixture.take(["c"], at: 2000)
        #expect(fixture.step(at: 2000) == "wait", "a batch that could not leave takes more events")
        _ = fixture.complete(.init(.delivered), at: 2001)
        #expect(fixture.step(at: 2001) == "deliver b c")
    }

    @Test("whose provider takes several batches lets events wait a second at most while one is under way")
    func waitsASecond() {
        let fixture = StateFixture(atOnce(ordered: false), concurrency: 2)
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        fixture.take(["b"], at: 10)
        #expect(fixture.step(at: 10) == "wait 1010")
        #expect(fixture.step(at: 1010) == "deliver b")
    }

    @Test("keeps a wait that the plan names, also while nothing is under way")
    func keepsNamedWait() {
        let fixture = StateFixture(plan(wait: .milliseconds(100)))
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "wait 100")
        #expect(fixture.step(at: 100) == "deliver a")
        fixture.take(["b"], at: 150)
        #expect(fixture.step(at: 300) == "wait")
        fixture.take(["c"], at: 350)
        _ = fixture.complete(.init(.delivered), at: 400)
        #expect(fixture.step(at: 400) == "deliver b c", "an old batch stays open while the provider is not free")
    }

    @Test("that pauses sends what has gathered when the pause ends")
    func endsPause() {
        let fixture = StateFixture(atOnce())
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        _ = fixture.complete(.init(Outcome.retry(Answer("busy"), after: .milliseconds(300))), at: 0)
        #expect(fixture.step(at: 0) == "wait 300")
        #expect(fixture.step(at: 300) == "deliver a attempt 2")
        _ = fixture.complete(.init(.delivered), at: 300)
        fixture.take(["b"], at: 300)
        #expect(fixture.step(at: 300) == "deliver b")
    }

    @Test("wakes its thread for a first event, for an earlier deadline and for a full batch, and for nothing else")
    func wakes() {
        let fixture = StateFixture(plan(events: 3, wait: .milliseconds(100)))
        #expect(!fixture.needsAttention(at: 0), "the thread has not looked yet, so it will")
        #expect(fixture.step(at: 0) == "wait")
        #expect(!fixture.needsAttention(at: 0), "nothing came in")
        fixture.take(["a"], at: 0)
        #expect(fixture.needsAttention(at: 0), "it sleeps without a limit")
        #expect(fixture.step(at: 0) == "wait 100")
        fixture.take(["b"], at: 50)
        #expect(!fixture.needsAttention(at: 50), "it wakes in time")
        fixture.take(["c"], at: 60)
        #expect(fixture.needsAttention(at: 60), "the batch is full")
        #expect(fixture.step(at: 60) == "deliver a b c")
        fixture.take(["d"], immediate: true, at: 70)
        #expect(!fixture.needsAttention(at: 70), "the thread is at work")
        #expect(fixture.step(at: 70) == "wait")
        fixture.take(["e"], immediate: true, at: 80)
        #expect(!fixture.needsAttention(at: 80), "the provider is not free, and its answer wakes the lane")
    }

    @Test("wakes its thread for each event that may leave at once")
    func wakesAtOnce() {
        let fixture = StateFixture(atOnce())
        #expect(fixture.step(at: 0) == "wait")
        fixture.take(["a"], at: 0)
        #expect(fixture.needsAttention(at: 0))
        fixture.state.isSourceBusy = true
        #expect(!fixture.needsAttention(at: 9), "a busy source looks again soon")
        #expect(fixture.needsAttention(at: 10))
        fixture.state.drain()
        #expect(fixture.mustLook(at: 9))
    }
}
