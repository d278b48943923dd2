import Admission
import ConsentGate
import Delivery
import Events
import Glibc
import Plans
import Platform
import Queueing
import TestSupport
import Testing

@testable import Router

/// A provider that does not answer for its first batch until the test releases it.
private final class SlowProvider: Provider, Sendable {
    private struct State {
        var lines: [String] = []
        var first: (@Sendable (BatchOutcome) -> Void)?
        var isReleased = false
    }
    private let state = Monitor(State())
    var lines: [String] { state.withLock { $0.lines } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let answers = state.withLock { state in
            for index in 0..<batch.count { state.lines.append(String(decoding: batch.event(index), as: UTF8.self)) }
            if !state.isReleased { state.first = done }
            return state.isReleased
        }
        state.wake()
        if answers { done(BatchOutcome(.delivered)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}

    func waitForFirst() { state.wait(while: { $0.first == nil }) }
    func release() {
        let first = state.withLock { state in
            state.isReleased = true
            return state.first
        }
        first?(BatchOutcome(.delivered))
    }
}

@Suite("Events that keep a field")
struct FieldTests {
    @Test("are destroyed in the queue when their subject no longer allows the field; the others, also of that subject, are delivered")
    func levelFalls() throws {
        let ledger = try StreamLedger()
        let provider = SlowProvider()
        let plan = streamPlan(writes: false) { plan in
            plan.routes[0].consent = ConsentDemand(level: 0)
            plan.consent?.fields = [(Path(keys: ["ip"]), 2)]
            plan.providers[0].delivery.batch.events = 1
        }
        for id in ["falls", "stays"] { try ledger.set(id, ConsentTerms(level: "standard")) }
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        var options = RouterOptions(deadLetters: ledger.folder + "/dead-letters.sqlite")
        options.input = ends[0]
        options.key = ledger.key
        options.registry = ledger.registry
        let router = Router(plan, outlets: [Outlet(provider: provider, concurrency: 1)], options: options) { _ in }
        let account = Monitor<Account?>(nil)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
        func line(_ id: String, _ name: String) -> String { event(id, name, #","ip":"192.0.2.1""#) }
        func send(_ lines: [String]) {
            Array(lines.map { $0 + "\n" }.joined().utf8).withUnsafeBytes { try? writeAll(ends[1], $0) }
        }

        send([event("nobody", "first")])
        provider.waitForFirst()
        send([line("falls", "a"), line("stays", "b"), line("nobody", "c"), event("falls", "d")])
        // All of them are judged now, and they wait behind the first event.
        while router.status.events < 5 { sched_yield() }
        try ledger.set("falls", ConsentTerms(level: "essential"))
        provider.release()
        close(ends[1])
        let result = account.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
        close(ends[0])
        #expect(provider.lines == [event("nobody", "first"), line("stays", "b"), event("nobody", "c"), event("falls", "d")])
        #expect(result.balances && result.providers[0].lane.total(.withdrawn) == 1)
    }
}
