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
    private func work(_ bench: Bench, _ store: MemoryStore, at time: Int64) {
        while true {
            switch bench.state.diskStep(at: instant(time)) {
            case .commit(let work):
                try? store.commit(work)
                _ = bench.state.committed(at: instant(time))
            case .read(let row, let most): _ = bench.state.rowsRead((try? store.read(after: row, most: most)) ?? [], at: instant(time))
            case .sweep(let row, let order):
                guard let swept = try? store.sweep(after: row, order.sweep(bench.check)) else { return }
                #expect(bench.describe(bench.perform(.rowsSwept(swept), at: time)) == [])
            case .tidy: _ = bench.perform(.tidied(isDone: true), at: time)
            case .check, .wait, .close: return
            }
        }
    }

    @Test("destroys events when they are due, by the shorter time of provider and route, and none earlier")
    func memory() {
        let bench = Bench(plan(.seconds(100)))
        bench.state.adopt(routeRetention: [1: 10_000_000_000], at: instant(0))
        for (text, route) in [("a", 0), ("b", 1), ("c", 0), ("d", 1)] as [(String, UInt16)] {
            bench.take([text], route: route, arrival: 0, at: 0)
        }
        #expect(bench.step(at: 0) == "deliver a b")
        // The retry is for single events, so that the lane continues.
        let again = Outcome.retry(Answer("busy"), after: .seconds(1000))
        _ = bench.complete(.init(.delivered, events: [0: again, 1: again]), at: 1)
        #expect(bench.step(at: 1) == "deliver c d")
        _ = bench.complete(.init(.delivered, events: [0: again, 1: again]), at: 2)
        #expect(bench.step(at: 9_999) == "wait 10000")
        #expect(bench.account() == "4 taken, 4 waiting")
        #expect(bench.step(at: 10_000) == "wait 100000")
        #expect(bench.account() == "4 taken, 2 aged, 2 waiting")
        #expect(bench.step(at: 100_000) == "wait")
        #expect(bench.account() == "4 taken, 4 aged, 0 waiting")
        #expect(bench.heldBytes == 0)
    }

    @Test("hands over no event that is too old, even without a search before")
    func handOver() {
        let bench = Bench(plan(.seconds(10)))
        bench.take(["a"], arrival: 0, at: 0)
        bench.take(["b"], arrival: 5_000_000_000, at: 5_000)
        #expect(bench.step(at: 10_000) == "deliver b")
        #expect(bench.account() == "2 taken, 1 aged, 1 waiting")
    }

    @Test("reaches events on disk, at the start and later, and leaves none of them there")
    func disk() {
        let store = MemoryStore()
        var bench = Bench(plan(nil, disk: true), contents: store.contents)
        bench.take(["aa", "bb", "cc", "dd"], arrival: 0, at: 0)
        bench.take(["ee", "ff"], arrival: 60_000_000_000, at: 60_000)
        work(bench, store, at: 60_000)
        #expect(store.events.count == 6)

        bench = Bench(plan(.seconds(100), disk: true), contents: store.contents)
        bench.state.adopt(routeRetention: [:], at: instant(100_000))
        work(bench, store, at: 100_000)
        #expect(store.events == ["ee", "ff"])
        #expect(bench.account() == "0 taken, 4 aged, 2 waiting")
        #expect(bench.step(at: 100_000) == "deliver ee ff")
        _ = bench.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 100_101)
        #expect(bench.step(at: 159_999) == "wait 160000")
        #expect(bench.step(at: 160_000) == "wait")
        work(bench, store, at: 160_000)
        #expect(store.events == [] && store.contents.events == 0)
        #expect(bench.account() == "0 taken, 6 aged, 0 waiting")
    }

    @Test("takes effect at once if a reload introduces or shortens it")
    func reload() {
        let bench = Bench(plan(nil))
        bench.take(["a", "b"], arrival: 0, at: 0)
        #expect(bench.step(at: 0) == "deliver a b")
        _ = bench.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 1)
        #expect(bench.step(at: 50_000) == "wait 1000001")
        bench.state.adopt(plan(.seconds(60)), concurrency: nil, isNewProvider: false)
        #expect(bench.step(at: 50_000) == "wait 60000")
        bench.state.adopt(plan(.seconds(20)), concurrency: nil, isNewProvider: false)
        #expect(bench.step(at: 50_000) == "wait")
        #expect(bench.account() == "2 taken, 2 aged, 0 waiting")
    }

    @Test("of a route stays in force when the provider's retention is removed")
    func routeStays() {
        let bench = Bench(plan(.seconds(10)))
        bench.state.adopt(routeRetention: [1: 50_000_000_000], at: instant(0))
        bench.take(["a", "b"], route: 1, arrival: 0, at: 0)
        _ = bench.step(at: 0)
        _ = bench.complete(.init(.retry(Answer("busy"), after: .seconds(1000))), at: 1)
        bench.state.adopt(plan(nil), concurrency: nil, isNewProvider: false)
        #expect(bench.step(at: 2) == "wait 50000")
        #expect(bench.step(at: 50_000) == "wait")
        #expect(bench.account() == "2 taken, 2 aged, 0 waiting")
    }

    @Test("searches at intervals of at least a hundredth of it, even if events are due one by one")
    func pauses() {
        let bench = Bench(plan(.seconds(100)))
        bench.take(["z", "z"], arrival: 0, at: 0)
        _ = bench.step(at: 0)
        for text in 1...100 { bench.take(["\(text)"], arrival: Int64(text) * 1_000_000, at: Int64(text)) }
        _ = bench.step(at: 200)
        #expect(bench.step(at: 100_000) == "wait 101000")
        #expect(bench.step(at: 101_000) == "wait 102000")
        #expect(bench.account() == "102 taken, 100 aged, 2 waiting", "two are in flight")
    }
}
