// The state of a durable lane while a full disk prevents writing.

import Plans
import Platform
import Spool
import Testing

@testable import Queueing

extension DurableStateTests {
    @Test("acknowledges nothing on a full disk, reports this once, and still removes delivered events to free space")
    func survivesFull() {
        let desk = Desk(durablePlan(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        desk.store.fail(SpoolFault(.full, "no room"))
        _ = desk.take(["b"])
        #expect(desk.disk() == "commit +b failed; storing no room")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1; storing again" || desk.store.events.isEmpty)
        #expect(desk.acknowledged == 1)
        desk.store.fail(nil)
        desk.settle(at: 100_000)
        #expect(desk.acknowledged == 2)
        #expect(desk.bench.step(at: 100_000) == "deliver b")
    }

    @Test("waits on its clock if a full disk prevents a record, even if it is woken often, and reports this once")
    func waitsToRecord() {
        let desk = Desk(durablePlan(events: 1))
        _ = desk.take(["a", "b"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.disk() == "wait")
        #expect(desk.disk(at: 100_000) == "commit -1 failed")
        #expect(!desk.disk(at: 100_000).hasPrefix("commit"))
        desk.store.fail(nil)
        #expect(desk.disk(at: 300_000) == "commit -1; storing again")
        #expect(desk.store.events == ["b"])
    }

    @Test("hands nothing over while a full disk prevents the record of deliveries, and continues afterwards")
    func handsNothingOver() {
        var plan = durablePlan(events: 1)
        plan.ordered = false
        let desk = Desk(plan, concurrency: 2)
        _ = desk.take(["a", "b", "c", "d"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        #expect(desk.bench.step(at: 0) == "deliver b")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.bench.step(at: 0) == "wait")
        _ = desk.bench.complete(.init(.delivered), index: 0, at: 0)
        #expect(desk.bench.step(at: 0) == "wait")
        #expect(desk.disk() == "wait", "a new record does not start another attempt")
        #expect(desk.disk(at: 100_000) == "commit -2 failed")
        #expect(desk.bench.step(at: 100_000) == "wait")
        desk.store.fail(nil)
        #expect(desk.disk(at: 300_000) == "commit -2; storing again")
        #expect(desk.bench.step(at: 300_000) == "deliver c")
    }

    @Test("does not try for ever if it ends while nothing can be recorded")
    func endsUnrecorded() {
        let desk = Desk(durablePlan(events: 1))
        _ = desk.take(["a", "b"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        _ = desk.bench.step(at: 0)
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        desk.giveUp()
        var steps: [String] = []
        for time in 1...10 where steps.last?.hasPrefix("close") != true { steps.append(desk.disk(at: Int64(time) * 100_000)) }
        #expect(steps.last?.hasPrefix("close") == true && steps.count <= 4, "\(steps)")
    }

    @Test("ends even if a full disk prevents records")
    func endsWithoutRecords() {
        let desk = Desk(durablePlan(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        desk.bench.state.drain()
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.bench.step(at: 0) == "flush")
        _ = desk.bench.state.flushed(.delivered)
        #expect(desk.bench.step(at: 0) == "end")
        desk.bench.state.providerClosed()
        #expect(desk.disk() == "wait")
        #expect(desk.disk(at: 100_000) == "commit -1 failed")
        desk.settle(at: 100_000)
        #expect(desk.disk(at: 300_000) == "commit -1 failed")
        #expect(desk.disk(at: 300_000).hasPrefix("close"))
    }
}
