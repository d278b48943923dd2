// The state of a durable lane: the bounds of its queue, and a queue that spills.

import Plans
import Testing

@testable import Queueing

extension DurableStateTests {
    @Test("makes events wait for disk space, or drops them with drop_newest", arguments: [DeliveryPlan.Queue.Full.block, .dropNewest])
    func fullBudget(full: DeliveryPlan.Queue.Full) {
        let durable = DurableFixture(durablePlan(events: 1, disk: 6, full: full))
        for event in ["aa", "bb"] {
            _ = durable.take([event])
            durable.settle()
        }
        #expect(durable.fixture.mustWait(for: 3) == (full == .block))
        guard full == .dropNewest else { return }
        #expect(durable.take(["cc"]) == ["dropping"])
        #expect(durable.fixture.account() == "3 taken, 1 dropped, 2 waiting")
        #expect(durable.acknowledged == 3, "a drop is a fate that the plan demands")
    }

    @Test("drop_oldest drops the oldest events on disk")
    func dropsOldest() {
        let durable = DurableFixture(durablePlan(events: 1, memory: 4, disk: 9, full: .dropOldest))
        for event in ["aa", "bb", "cc", "dd", "ee"] {
            while durable.fixture.mustWait(for: 3) { durable.settle() }
            _ = durable.take([event])
            durable.settle()
        }
        #expect(durable.store.events == ["cc", "dd", "ee"])
        #expect(durable.fixture.account() == "5 taken, 2 dropped, 3 waiting")
    }

    @Test("leaves everything on disk when time is up, and the next run has it")
    func leaves() {
        let store = MemoryStore()
        let durable = DurableFixture(durablePlan(events: 1), store: store)
        _ = durable.take(["a", "b"])
        durable.settle()
        _ = durable.fixture.step(at: 0)
        _ = durable.take(["c"])
        durable.giveUp()
        #expect(durable.disk() == "commit +c")
        #expect(durable.disk() == "check")
        #expect(durable.disk() == "close; left 3")
        #expect(durable.fixture.isOver)
        #expect(store.events == ["a", "b", "c"])
    }

    @Test("that spills uses memory while it has space, and at its end stores what it has there, in order")
    func spills() {
        let store = MemoryStore()
        let durable = DurableFixture(durablePlan(events: 1, memory: 8, full: .spill), store: store)
        for event in ["a", "b", "c", "d"] { _ = durable.take([event]) }
        #expect(durable.disk() == "wait", "eight bytes are in memory")
        _ = durable.take(["e"])
        #expect(durable.disk() == "commit +e")
        #expect(store.events == ["e"])
        _ = durable.take(["f"])
        #expect(durable.disk() == "commit +f", "after the events on disk")
        durable.giveUp()
        durable.settle()
        #expect(store.events == ["a", "b", "c", "d", "e", "f"])
        #expect(durable.fixture.laneAccount.totalWaiting == 6)
    }

    @Test("that spills never lets events from disk pass an open batch in memory")
    func spillKeepsOrder() {
        let durable = DurableFixture(durablePlan(events: 3, memory: 8, full: .spill))
        _ = durable.take(["a", "b", "c", "d"])
        #expect(durable.fixture.step(at: 0) == "deliver a b c")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        _ = durable.take(["eeeeeeee"])
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver d")
    }

    @Test("that spills delivers events in memory before later events on disk, even if their batch is young")
    func memoryGoesFirst() {
        var plan = durablePlan(events: 3, memory: 8, full: .spill)
        plan.batch.wait = .seconds(1000)
        let durable = DurableFixture(plan)
        _ = durable.take(["a", "b"])
        _ = durable.take(["c", "d", "e"])
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver a b")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver c d e")
    }
}
