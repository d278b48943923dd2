import Foundation
import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import Delivery
@testable import Queueing

/// A provider that keeps what it gets. If it is holding, it gives no answers.
private final class Sink: Provider, Sendable {
    private struct State {
        var lines: [String] = []
        var isHolding: Bool
        var held: [@Sendable (BatchOutcome) -> Void] = []
    }
    private let state: Monitor<State>
    init(holds: Bool = false) { state = Monitor(State(isHolding: holds)) }

    var lines: [String] { state.withLock { $0.lines } }
    func wait(for count: Int) { state.wait(while: { $0.lines.count < count }) }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let isHolding = state.withLock { state in
            state.lines += texts(batch)
            if state.isHolding { state.held.append(done) }
            return state.isHolding
        }
        state.wake()
        if !isHolding { done(BatchOutcome(.delivered)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

private func lane(_ provider: any Provider, _ store: MemoryStore, memory: Int = 4000, said: Monitor<[String]> = Monitor([])) -> Lane {
    var plan = plan(events: 10, wait: .zero)
    plan.queue.disk = 1 << 30
    plan.queue.memory = memory
    plan.retry.first = .milliseconds(1)
    plan.retry.most = .milliseconds(1)
    let lane = Lane(
        name: "out", provider: provider, plan: plan, concurrency: 1, routes: RunNames(["first", "second"]), store: store,
        deadLetters: DeadLetters(path: "/nonexistent/dead-letters.db", clock: .system, warn: { _ in }), clock: .system,
        random: RandomSource(seed: 1),
        news: { _, news in
            said.withLock { $0.append("\(news)") }
            said.wake()
        })
    lane.start()
    return lane
}

private final class Counter: Sendable {
    private let count = Monitor(0)
    func receipt() -> Receipt {
        let receipt = Receipt { [self] in
            count.withLock { $0 += 1 }
            count.wake()
        }
        receipt.add()
        receipt.settle()
        return receipt
    }
    var value: Int { count.withLock { $0 } }
    func wait(for value: Int) { count.wait(while: { $0 < value }) }
}

@Suite("A durable lane")
struct DurableLaneTests {
    @Test("delivers everything in order from a queue that is larger than memory, and leaves an empty spool")
    func delivers() {
        let store = MemoryStore()
        let sink = Sink()
        let lane = lane(sink, store, memory: 100)
        let counter = Counter()
        for number in 0..<500 {
            var parcel = parcel(["\(number)"])
            lane.waitAndTake(&parcel, counter.receipt())
        }
        counter.wait(for: 500)
        lane.drain()
        lane.waitForEnd()
        #expect(sink.lines == (0..<500).map(String.init))
        #expect(store.events.isEmpty)
        #expect(lane.account.total(.delivered) == 500)
    }

    @Test("acknowledges nothing before it is stored")
    func acknowledges() {
        let store = MemoryStore()
        store.hold(true)
        let lane = lane(Sink(holds: true), store)
        let counter = Counter()
        var events = parcel(["a", "b"])
        lane.waitAndTake(&events, counter.receipt())
        #expect(counter.value == 0)
        store.hold(false)
        counter.wait(for: 1)
        #expect(store.events == ["a", "b"])
        lane.giveUp(Answer("time is up"))
        lane.waitForEnd()
    }

    @Test("that is given up leaves its waiting events to the next lane, which delivers them first")
    func resumes() {
        let store = MemoryStore()
        let first = lane(Sink(holds: true), store)
        var events = parcel(["a", "b"])
        first.waitAndTake(&events)
        store.wait(until: { $0.count == 2 })
        first.giveUp(Answer("time is up"))
        first.waitForEnd()
        #expect(first.account.totalWaiting == 2)

        let sink = Sink()
        let second = lane(sink, store)
        var more = parcel(["c"])
        second.waitAndTake(&more)
        second.drain()
        second.waitForEnd()
        #expect(sink.lines == ["a", "b", "c"])
        #expect(second.account.totalResumed == 2)
        #expect(store.events.isEmpty)
    }

    @Test("survives a disk that fails: it reports this once, and acknowledges when it can store again")
    func survives() {
        let store = MemoryStore()
        store.fail(SpoolFault(.failed, "no disk"))
        let said = Monitor<[String]>([])
        let sink = Sink()
        let lane = lane(sink, store, said: said)
        let counter = Counter()
        var events = parcel(["a"])
        lane.waitAndTake(&events, counter.receipt())
        said.wait(while: { !$0.contains { $0.contains("no disk") } })
        #expect(counter.value == 0)
        store.fail(nil)
        counter.wait(for: 1)
        sink.wait(for: 1)
        lane.drain()
        lane.waitForEnd()
        #expect(said.withLock { $0.filter { $0.contains("no disk") }.count } == 1)
    }
}
