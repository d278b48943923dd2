// Events that wait for too long are destroyed.

import Plans
import Platform
import Spool
import Testing

@testable import ConsentGate
@testable import Queueing

@Suite("Retention") struct RetentionTests {
    private func plan(_ most: Duration?, disk: Bool = false) -> DeliveryPlan {
        var plan = DeliveryTests.plan(events: 2, ordered: false)
        plan.retention = most
        plan.retry.total = .seconds(1_000_000)
        if disk {
            plan.queue.disk = 1_000_000
            plan.queue.memory = 8
        }
        return plan
    }

    /// Carries out the steps of the store's thread until it has nothing to do.
    private func work(_ fixture: StateFixture, _ store: MemoryStore, at time: Int64) {
        while true {
            switch fixture.state.diskStep(at: instant(time)) {
            case .commit(let work):
                try? store.commit(work)
                _ = fixture.state.committed(at: instant(time))
            case .read(let row, let most): _ = fixture.state.rowsRead((try? store.read(after: row, most: most)) ?? [], at: instant(time))
            case .sweep(let row, let order):
                guard let swept = try? store.sweep(after: row, order.sweep(fixture.check)) else { return }
                #expect(fixture.describe(fixture.perform(.rowsSwept(swept), at: time)) == [])
            case .tidy: _ = fixture.perform(.tidied(isDone: true), at: time)
            case .check, .wait, .close: return
            }
        }
    }

    @Test("destroys events when they are due, by the shorter time of provider and route, and none earlier")
    func memory() {
        let fixture = StateFixture(plan(.seconds(100)))
        fixture.state.adopt(routeRetention: [1: 10_000_000_000], at: instant(0))
        for (text, route) in [("a", 0), ("b", 1), ("c", 0), ("d", 1)] as [(String, UInt16)] {
            fixture.take([text], route: route, arrival: 0, at: 0)
        }
        #expect(fixture.step(at: 0) == "deliver a b")
        // The retry is for single events, so that the lane continues.
        let again = Outcome.retry(Answer("busy"), after: .seconds(1000))
        _ = fixture.complete(.init(.delivered, events: [0: again, 1: again]), at: 1)
        #expect(fixture.step(at: 1) == "deliver c d")
        _ = fixture.complete(.init(.delivered, events: [0: again, 1: again]), at: 2)
        #expect(fixture.step(at: 9_999) == "wait 10000")
        #expect(fixture.account() == "4 taken, 4 waiting")
        #expect(fixture.step(at: 10_000) == "wait 100000")
        #expect(fixture.account() == "4 taken, 2 aged, 2 waiting")
        #expect(fixture.step(at: 100_000) == "wait")
        #expect(fixture.account() == "4 taken, 4 aged, 0 waiting")
        #expect(fixture.heldBytes == 0)
    }

    @Test("hands over no event that is too old, even without a search before")
    func handOver() {
        let fixture = StateFixture(plan(.seconds(10)))
        fixture.take(["a"], arrival: 0, at: 0)
        fixture.take(["b"], arrival: 5_000_000_000, at: 5_000)
        #expect(fixture.step(at: 10_000) == "deliver b")
        #expect(fixture.account() == "2 taken, 1 aged, 1 waiting")
    }

    @Test("reaches events on disk, at the start and later, and leaves none of them there")
    func disk() {
        let store = MemoryStore()
        var fixture = StateFixture(plan(nil, disk: true), contents: store.contents)
        fixture.take(["aa", "bb", "cc", "dd"], arrival: 0, at: 0)
        fixture.take(["ee", "ff"], arrival: 60_000_000_000, at: 60_000)
        work(fixture, store, at: 60_000)
        #expect(store.events.count == 6)

        fixture = StateFixture(plan(.seconds(100), disk: true), contents: store.contents)
        fixture.state.adopt(routeRetention: [:], at: instant(100_000))
        work(fixture, store, at: 100_000)
        #expect(store.events == ["ee", "ff"])
        #expect(fixture.account() == "0 taken, 4 aged, 2 waiting")
        #expect(fixture.step(at: 100_000) == "deliver ee ff")
        _ = fixture.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 100_101)
        #expect(fixture.step(at: 159_999) == "wait 160000")
        #expect(fixture.step(at: 160_000) == "wait")
        work(fixture, store, at: 160_000)
        #expect(store.events == [] && store.contents.events == 0)
        #expect(fixture.account() == "0 taken, 6 aged, 0 waiting")
    }

    @Test("takes effect at once if a reload introduces or shortens it")
    func reload() {
        let fixture = StateFixture(plan(nil))
        fixture.take(["a", "b"], arrival: 0, at: 0)
        #expect(fixture.step(at: 0) == "deliver a b")
        _ = fixture.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 1)
        #expect(fixture.step(at: 50_000) == "wait 1000001")
        fixture.state.adopt(plan(.seconds(60)), concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 50_000) == "wait 60000")
        fixture.state.adopt(plan(.seconds(20)), concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 50_000) == "wait")
        #expect(fixture.account() == "2 taken, 2 aged, 0 waiting")
    }

    @Test("of a route stays in force when the provider's retention is removed")
    func routeStays() {
        let fixture = StateFixture(plan(.seconds(10)))
        fixture.state.adopt(routeRetention: [1: 50_000_000_000], at: instant(0))
        fixture.take(["a", "b"], route: 1, arrival: 0, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 1)
        fixture.state.adopt(plan(nil), concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 2) == "wait 50000")
        #expect(fixture.step(at: 50_000) == "wait")
        #expect(fixture.account() == "2 taken, 2 aged, 0 waiting")
    }

    @Test("searches at intervals of at least a hundredth of it, even if events are due one by one")
    func pauses() {
        let fixture = StateFixture(plan(.seconds(100)))
        fixture.take(["z", "z"], arrival: 0, at: 0)
        _ = fixture.step(at: 0)
        for text in 1...100 { fixture.take(["\(text)"], arrival: Int64(text) * 1_000_000, at: Int64(text)) }
        _ = fixture.step(at: 200)
        #expect(fixture.step(at: 100_000) == "wait 101000")
        #expect(fixture.step(at: 101_000) == "wait 102000")
        #expect(fixture.account() == "102 taken, 100 aged, 2 waiting", "two are in flight")
    }
}
