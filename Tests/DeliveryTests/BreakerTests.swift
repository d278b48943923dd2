import Plans
import Testing

@testable import Queueing

@Suite("A breaker")
struct BreakerTests {
    private var busy: BatchOutcome { BatchOutcome(.retry(Answer("busy"), after: nil)) }

    @Test("opens after a number of failures in a row, lets one batch probe at a time, and closes with the first success")
    func opens() {
        var plan = plan(events: 1, ordered: false)
        plan.breaker = 2
        let fixture = StateFixture(plan, concurrency: 3)
        fixture.take(["a", "b", "c", "d"], at: 0)
        for _ in 0..<3 { _ = fixture.step(at: 0) }
        #expect(fixture.complete(busy, index: 0, at: 1) == ["failing busy"])
        #expect(fixture.complete(busy, index: 1, at: 1) == ["opened 2"])
        #expect(fixture.complete(busy, index: 2, at: 1) == [], "told once")
        #expect(fixture.step(at: 1).hasPrefix("wait "))
        #expect(fixture.step(at: 50_000).hasPrefix("deliver"))
        #expect(fixture.step(at: 50_000) == "wait", "one at a time")
        #expect(fixture.complete(.init(.delivered), at: 50_001) == ["recovered 3"])
        for _ in 0..<3 { #expect(fixture.step(at: 50_001).hasPrefix("deliver")) }
    }

    @Test("is not opened by refused events")
    func ignoresRefusals() {
        var plan = plan(events: 1)
        plan.breaker = 1
        let fixture = StateFixture(plan)
        fixture.take(["a"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.rejected(Answer("no"))), at: 0)
        #expect(!fixture.isBreakerOpen)
    }

    @Test("that is open over an empty queue wakes no thread")
    func sleeps() {
        var plan = plan(events: 1)
        plan.breaker = 1
        plan.retry.total = .milliseconds(1)
        let fixture = StateFixture(plan)
        fixture.take(["a"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(busy, at: 0)
        _ = fixture.step(at: 60_000)
        _ = fixture.complete(busy, at: 60_000)
        fixture.buried()
        #expect(fixture.step(at: 60_000) == "wait")
    }
}
