import Admission
import Delivery
import Foundation
import Glibc
import Judging
import Plans
import Platform
import Queueing
import Testing

@testable import Generations
@testable import Router

/// The calls of several providers, in order.
private final class Log: Sendable {
    private let lines = Monitor<[String]>([])
    func add(_ line: String) {
        lines.withLock { $0.append(line) }
        lines.wake()
    }
    var all: [String] { lines.withLock { $0 } }
    func wait(for line: String) { lines.wait(while: { !$0.contains(line) }) }
}

/// A provider that answers when the test says so.
private final class ControlledProvider: Provider, @unchecked Sendable {
    private struct State {
        var held: [@Sendable (BatchOutcome) -> Void] = []
        var left: (@Sendable (Answer) -> Void)?
    }
    private let name: String
    private let log: Log
    private let isHolding: Bool
    private let state = Monitor(State())

    init(_ name: String, _ log: Log, isHolding: Bool = false) {
        self.name = name
        self.log = log
        self.isHolding = isHolding
    }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        log.add("\(name) deliver")
        if isHolding { state.withLock { $0.held.append(done) } } else { done(BatchOutcome(.delivered)) }
    }
    func answer(_ outcome: Outcome) {
        let held = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for done in held { done(BatchOutcome(outcome)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) {
        log.add("\(name) flush")
        done(.delivered)
    }
    func reopen() { log.add("\(name) reopen") }
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { state.withLock { $0.left = handler } }
    func leave() { state.withLock { $0.left }?(Answer("left")) }
    func close() { log.add("\(name) close") }
}

private let batch = Batch(Parcel())

@Suite("A provider's slot in its lane")
struct ProviderSlotTests {
    @Test("ends what the old provider does, flushes it and closes it before it calls the new one")
    func inTurn() {
        let log = Log()
        let old = ControlledProvider("old", log, isHolding: true)
        // A thread that waits for its turn looks at the clock.
        let looks = Monitor(0)
        let clock = Clock(
            now: {
                looks.withLock { $0 += 1 }
                looks.wake()
                return Clock.system.now()
            }, wall: { 0 })
        let slot = ProviderSlot(old, clock: clock)
        let outcomes = Monitor<[BatchOutcome]>([])
        slot.deliver(batch, attempt: 1) { outcome in outcomes.withLock { $0.append(outcome) } }
        slot.change(to: ControlledProvider("new", log), within: .seconds(1000))
        looks.wait(while: { $0 < 2 })
        Foundation.Thread.detachNewThread {
            slot.deliver(batch, attempt: 1) { outcome in
                outcomes.withLock { $0.append(outcome) }
                outcomes.wake()
                looks.wake()
            }
        }
        looks.wait(while: { $0 < 3 && !log.all.contains("new deliver") })
        #expect(log.all == ["old deliver"])
        old.answer(.delivered)
        outcomes.wait(while: { $0.count < 2 })
        #expect(log.all == ["old deliver", "old flush", "old close", "new deliver"])
    }

    @Test("lets the old plan hand over a block that it judged, even if another plan has come meanwhile")
    func oneGeneration() throws {
        let log = Log()
        let out = ControlledProvider("out", log, isHolding: true)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        func plan(_ route: String) -> Plan {
            var plan = Plan()
            var provider = ProviderPlan(name: "out", plugin: "puppet", settings: Secret([]))
            provider.delivery.queue.memory = 100
            provider.delivery.batch.wait = .milliseconds(1)
            plan.providers = [provider]
            var all = RoutePlan(name: route)
            all.providers = [0]
            plan.routes = [all]
            return plan
        }
        var options = RouterOptions(deadLetters: "/nowhere/dead-letters")
        options.input = ends[0]
        options.workers = 3
        let router = Router(plan("old"), outlets: [Outlet(provider: out, concurrency: 1)], options: options) { _ in }
        let account = Monitor<Account?>(nil)
        Foundation.Thread.detachNewThread {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }
        // The first block is in flight, the second waits until its events fit, and the third waits for its turn.
        for n in 1...3 {
            let line = Array("{\"n\":\(n),\"pad\":\"\(String(repeating: "x", count: 90))\"}\n".utf8)
            #expect(write(ends[1], line, line.count) == line.count)
            if n == 1 { log.wait(for: "out deliver") }
            var left: Int32 = 1
            while left > 0 { _ = ioctl(ends[0], UInt(FIONREAD), &left) }
        }
        let next = plan("new")
        try router.adopt(next, try router.changes(to: next), outlets: [:])
        close(ends[1])
        let result = account.waitUntilReady { account -> Readiness<Account> in
            out.answer(.delivered)
            return account.map(Readiness.ready) ?? .notBefore(Clock.system.now() + .milliseconds(5))
        }
        close(ends[0])
        #expect(result.balances)
        #expect(result.routes == ["old", "new"])
        // The third block was read before the new plan came, and belongs to either plan.
        let admitted = (0..<2).map { result.verdicts[$0, .admitted] }
        #expect(admitted[0] >= 2 && admitted[0] + admitted[1] == 3)
    }

    @Test("waits for an old provider only until the grace period is over")
    func grace() {
        let log = Log()
        let slot = ProviderSlot(ControlledProvider("old", log, isHolding: true), clock: .system)
        slot.deliver(batch, attempt: 1) { _ in }
        slot.change(to: ControlledProvider("new", log), within: .zero)
        slot.deliver(batch, attempt: 1) { _ in }
        log.wait(for: "old close")
        #expect(log.all.contains("new deliver"))
        #expect(!log.all.contains("old flush"))
    }

    @Test("does not end the lane if the old provider reports that its destination is gone: the new one gets the batch")
    func goneWhileLeaving() {
        let log = Log()
        let old = ControlledProvider("old", log, isHolding: true)
        let slot = ProviderSlot(old, clock: .system)
        let left = Monitor(0)
        slot.onClosed { _ in left.withLock { $0 += 1 } }
        let outcomes = Monitor<[BatchOutcome]>([])
        slot.deliver(batch, attempt: 1) { outcome in outcomes.withLock { $0.append(outcome) } }
        let new = ControlledProvider("new", log)
        slot.change(to: new, within: .seconds(1000))
        old.answer(.closed(Answer("gone")))
        old.leave()
        log.wait(for: "old close")
        #expect(outcomes.withLock { $0 } == [BatchOutcome(.retry(Answer("gone"), after: .zero))])
        #expect(left.withLock { $0 } == 0)
        // The new provider takes over when it is called.
        slot.deliver(batch, attempt: 1) { _ in }
        new.leave()
        #expect(left.withLock { $0 } == 1)
    }

    @Test("lets only the last of several successors take over, and closes all others")
    func severalChanges() {
        let log = Log()
        let old = ControlledProvider("old", log, isHolding: true)
        let slot = ProviderSlot(old, clock: .system)
        slot.deliver(batch, attempt: 1) { _ in }
        slot.change(to: ControlledProvider("second", log), within: .seconds(1000))
        slot.change(to: ControlledProvider("third", log), within: .seconds(1000))
        log.wait(for: "second close")
        old.answer(.delivered)
        slot.deliver(batch, attempt: 1) { _ in }
        log.wait(for: "third deliver")
        #expect(!log.all.contains("second deliver"))
    }

    @Test("closes both providers if its lane ends during a change")
    func closedMeanwhile() {
        let log = Log()
        let slot = ProviderSlot(ControlledProvider("old", log, isHolding: true), clock: .system)
        slot.deliver(batch, attempt: 1) { _ in }
        slot.change(to: ControlledProvider("new", log), within: .seconds(1000))
        slot.close()
        #expect(log.all.contains("old close") && log.all.contains("new close"))
        let late = ControlledProvider("late", log)
        slot.change(to: late, within: .zero)
        #expect(log.all.last == "late close")
    }
}
