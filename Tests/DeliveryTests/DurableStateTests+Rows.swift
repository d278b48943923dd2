// The state of a durable lane: rows that are rewritten, joined or cut again.

import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import Queueing

extension DurableStateTests {
    @Test("names the place of each event that is left of a rewritten row, also after a rewrite that failed")
    func placesOfWhatIsLeft() throws {
        let store = MemoryStore()
        let first = DurableFixture(durablePlan(events: 2), store: store)
        _ = first.take(["a", "b", "c", "d"])
        first.settle()
        let durable = DurableFixture(durablePlan(events: 4), store: store)
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver a b c d")
        _ = durable.fixture.complete(
            .init(.delivered, events: [1: .retry(Answer("busy"), after: nil), 3: .retry(Answer("busy"), after: nil)]), at: 0)
        func left(_ time: Int64, fails: Bool = false) throws -> [SpoolPlace] {
            guard case .commit(let work) = durable.fixture.state.diskStep(at: instant(time)) else { return [] }
            if fails {
                _ = durable.fixture.state.storeFailed(SpoolFault(.failed, "no disk"), at: instant(time))
            } else {
                try store.commit(work)
                _ = durable.fixture.state.committed(at: instant(time))
            }
            return try #require(work.left[1])
        }
        let places = [SpoolPlace(row: 1, index: 1), SpoolPlace(row: 2, index: 1)]
        #expect(try left(0, fails: true) == places)
        #expect(try left(100_000) == places)
        #expect(durable.fixture.step(at: 200_000) == "deliver b d attempt 2")
        _ = durable.fixture.complete(.init(.delivered, events: [1: .retry(Answer("busy"), after: nil)]), at: 200_000)
        #expect(try left(200_000) == [SpoolPlace(row: 1, index: 1)])
        #expect(store.events == ["d"])
    }

    @Test("restores all rows of a joined row when its rewriting fails")
    func rewritesAgain() {
        let store = MemoryStore()
        let first = DurableFixture(durablePlan(events: 1), store: store)
        _ = first.take(["a", "b", "c"])
        first.settle()
        let durable = DurableFixture(durablePlan(events: 3), store: store)
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver a b c")
        _ = durable.fixture.complete(.init(.delivered, events: [2: .retry(Answer("busy"), after: nil)]), at: 0)
        store.fail(SpoolFault(.failed, "no disk"))
        #expect(durable.disk() == "commit ~c !1 -2 failed; storing no disk")
        #expect(store.events == ["a", "b", "c"])
        _ = durable.fixture.step(at: 20_000)
        _ = durable.fixture.complete(.init(.delivered), at: 20_000)
        store.fail(nil)
        durable.settle(at: 100_000)
        #expect(store.events.isEmpty)
    }

    @Test("cuts a batch again that was cut to the limits of an earlier plan")
    func cutsAnew() {
        let durable = DurableFixture(durablePlan(events: 4))
        _ = durable.take(["a", "b", "c", "d"])
        durable.settle()
        durable.adopt(durablePlan(events: 1))
        let steps = (0..<4).map { _ in
            let step = durable.fixture.step(at: 0)
            _ = durable.fixture.complete(.init(.delivered), at: 0)
            return step
        }
        #expect(steps == ["deliver a", "deliver b", "deliver c", "deliver d"])
        durable.settle()
        #expect(durable.store.events.isEmpty)
    }

    @Test("gives up an event that is larger than the module takes, and continues")
    func givesUpLarge() {
        var plan = durablePlan(events: 5)
        plan.batch.bytes = 10
        plan.batch.largest = 10
        let durable = DurableFixture(plan)
        _ = durable.take(["a", "0123456789", "b"])
        durable.settle()
        let steps = (0..<3).map { _ in
            let step = durable.fixture.step(at: 0)
            if step.hasPrefix("deliver") { _ = durable.fixture.complete(.init(.delivered), at: 0) }
            return step
        }
        #expect(
            steps == [
                "deliver a", "bury 0123456789 rejected the event has 11 bytes, and the module takes 10 at most 0", "deliver b",
            ])
    }
}
