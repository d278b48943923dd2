// The state of a durable lane: the bounds of its queue, and a queue that spills.

import Plans
import Testing

@testable import Queueing

extension DurableStateTests {
    @Test("makes events wait for disk space, or drops them with drop_newest", arguments: [DeliveryPlan.Queue.Full.block, .dropNewest])
    func fullBudget(full: DeliveryPlan.Queue.Full) {
        let desk = Desk(durablePlan(events: 1, disk: 6, full: full))
        for event in ["aa", "bb"] {
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.bench.mustWait(for: 3) == (full == .block))
        guard full == .dropNewest else { return }
        #expect(desk.take(["cc"]) == ["dropping"])
        #expect(desk.bench.account() == "3 taken, 1 dropped, 2 waiting")
        #expect(desk.acknowledged == 3, "a drop is a fate that the plan demands")
    }

    @Test("drop_oldest drops the oldest events on disk")
    func dropsOldest() {
        let desk = Desk(durablePlan(events: 1, memory: 4, disk: 9, full: .dropOldest))
        for event in ["aa", "bb", "cc", "dd", "ee"] {
            while desk.bench.mustWait(for: 3) { desk.settle() }
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.store.events == ["cc", "dd", "ee"])
        #expect(desk.bench.account() == "5 taken, 2 dropped, 3 waiting")
    }

    @Test("leaves everything on disk when time is up, and the next run has it")
    func leaves() {
        let store = MemoryStore()
        let desk = Desk(durablePlan(events: 1), store: store)
        _ = desk.take(["a", "b"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        _ = desk.take(["c"])
        desk.giveUp()
        #expect(desk.disk() == "commit +c")
        #expect(desk.disk() == "check")
        #expect(desk.disk() == "close; left 3")
        #expect(desk.bench.isOver)
        #expect(store.events == ["a", "b", "c"])
    }

    @Test("that spills uses memory while it has space, and at its end stores what it has there, in order")
    func spills() {
        let store = MemoryStore()
        let desk = Desk(durablePlan(events: 1, memory: 8, full: .spill), store: store)
        for event in ["a", "b", "c", "d"] { _ = desk.take([event]) }
        #expect(desk.disk() == "wait", "eight bytes are in memory")
        _ = desk.take(["e"])
        #expect(desk.disk() == "commit +e")
        #expect(store.events == ["e"])
        _ = desk.take(["f"])
        #expect(desk.disk() == "commit +f", "after the events on disk")
        desk.giveUp()
        desk.settle()
        #expect(store.events == ["a", "b", "c", "d", "e", "f"])
        #expect(desk.bench.laneAccount.totalWaiting == 6)
    }

    @Test("that spills never lets events from disk pass an open batch in memory")
    func spillKeepsOrder() {
        let desk = Desk(durablePlan(events: 3, memory: 8, full: .spill))
        _ = desk.take(["a", "b", "c", "d"])
        #expect(desk.bench.step(at: 0) == "deliver a b c")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        _ = desk.take(["eeeeeeee"])
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver d")
    }

    @Test("that spills delivers events in memory before later events on disk, even if their batch is young")
    func memoryGoesFirst() {
        var plan = durablePlan(events: 3, memory: 8, full: .spill)
        plan.batch.wait = .seconds(1000)
        let desk = Desk(plan)
        _ = desk.take(["a", "b"])
        _ = desk.take(["c", "d", "e"])
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver a b")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver c d e")
    }
}
