// The state of a durable lane while a full disk prevents writing.

import Plans
import Platform
import Spool
import Testing

@testable import Queueing

extension DurableStateTests {
    @Test("acknowledges nothing on a full disk, reports this once, and still removes delivered events to free space")
    func survivesFull() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a"])
        durable.settle()
        _ = durable.fixture.step(at: 0)
        durable.store.fail(SpoolFault(.full, "no room"))
        _ = durable.take(["b"])
        #expect(durable.disk() == "commit +b failed; storing no room")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1; storing again" || durable.store.events.isEmpty)
        #expect(durable.acknowledged == 1)
        durable.store.fail(nil)
        durable.settle(at: 100_000)
        #expect(durable.acknowledged == 2)
        #expect(durable.fixture.step(at: 100_000) == "deliver b")
    }

    @Test("waits on its clock if a full disk prevents a record, even if it is woken often, and reports this once")
    func waitsToRecord() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a", "b"])
        durable.settle()
        durable.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(durable.fixture.step(at: 0) == "deliver a")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1 failed; storing no room")
        #expect(durable.disk() == "wait")
        #expect(durable.disk(at: 100_000) == "commit -1 failed")
        #expect(!durable.disk(at: 100_000).hasPrefix("commit"))
        durable.store.fail(nil)
        #expect(durable.disk(at: 300_000) == "commit -1; storing again")
        #expect(durable.store.events == ["b"])
    }

    @Test("hands nothing over while a full disk prevents the record of deliveries, and continues afterwards")
    func handsNothingOver() {
        var plan = durablePlan(events: 1)
        plan.ordered = false
        let durable = DurableFixture(plan, concurrency: 2)
        _ = durable.take(["a", "b", "c", "d"])
        durable.settle()
        durable.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(durable.fixture.step(at: 0) == "deliver a")
        #expect(durable.fixture.step(at: 0) == "deliver b")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1 failed; storing no room")
        #expect(durable.fixture.step(at: 0) == "wait")
        _ = durable.fixture.complete(.init(.delivered), index: 0, at: 0)
        #expect(durable.fixture.step(at: 0) == "wait")
        #expect(durable.disk() == "wait", "a new record does not start another attempt")
        #expect(durable.disk(at: 100_000) == "commit -2 failed")
        #expect(durable.fixture.step(at: 100_000) == "wait")
        durable.store.fail(nil)
        #expect(durable.disk(at: 300_000) == "commit -2; storing again")
        #expect(durable.fixture.step(at: 300_000) == "deliver c")
    }

    @Test("does not try for ever if it ends while nothing can be recorded")
    func endsUnrecorded() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a", "b"])
        durable.settle()
        durable.store.fail(SpoolFault(.full, "no room"), records: true)
        _ = durable.fixture.step(at: 0)
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1 failed; storing no room")
        durable.giveUp()
        var steps: [String] = []
        for time in 1...10 where steps.last?.hasPrefix("close") != true { steps.append(durable.disk(at: Int64(time) * 100_000)) }
        #expect(steps.last?.hasPrefix("close") == true && steps.count <= 4, "\(steps)")
    }

    @Test("ends even if a full disk prevents records")
    func endsWithoutRecords() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a"])
        durable.settle()
        durable.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(durable.fixture.step(at: 0) == "deliver a")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        durable.fixture.state.drain()
        #expect(durable.disk() == "commit -1 failed; storing no room")
        #expect(durable.fixture.step(at: 0) == "flush")
        _ = durable.fixture.state.flushed(.delivered)
        #expect(durable.fixture.step(at: 0) == "end")
        durable.fixture.state.providerClosed()
        #expect(durable.disk() == "wait")
        #expect(durable.disk(at: 100_000) == "commit -1 failed")
        durable.settle(at: 100_000)
        #expect(durable.disk(at: 300_000) == "commit -1 failed")
        #expect(durable.disk(at: 300_000).hasPrefix("close"))
    }
}
