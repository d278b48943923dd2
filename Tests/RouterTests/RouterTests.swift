import Admission
import Delivery
import Expressions
import Foundation
import Glibc
import Judging
import Plans
import Platform
import Queueing
import Router
import TestSupport
import Testing

/// A provider that collects its lines. A test can make it hang, or report that its destination is gone.
private final class Store: Provider, @unchecked Sendable {
    private struct State {
        var lines: [String] = []
        var held: [@Sendable (BatchOutcome) -> Void] = []
        var closed: (@Sendable (Answer) -> Void)?
    }
    private let state = Monitor(State())
    private let outcome: BatchOutcome?

    /// Without an outcome it never answers.
    init(_ outcome: BatchOutcome? = BatchOutcome(.delivered)) { self.outcome = outcome }

    var lines: [String] { state.withLock { $0.lines } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { state in
            for index in 0..<batch.count { state.lines.append(String(decoding: batch.event(index), as: UTF8.self)) }
            if outcome == nil { state.held.append(done) }
        }
        state.wake()
        if let outcome { done(outcome) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { state.withLock { $0.closed = handler } }
    func close() {}

    func wait(for count: Int) { state.wait(while: { $0.lines.count < count }) }
    func leave() { state.withLock { $0.closed }?(Answer("left")) }
}

/// A router that reads a pipe to which the test writes.
final class RouterFixture: @unchecked Sendable {
    let router: Router
    let plan: Plan
    let said = Monitor<[String]>([])
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    private var ends: [Int32] = [0, 0]
    private let account = Monitor<Account?>(nil)

    /// `deadline` is the time that a delivery to the first provider may take, and the lane stops after the first one that takes longer.
    init(
        _ stores: [any Provider], routes: [RoutePlan]? = nil, memory: Int = 4_000_000, workers: Int = 2, drain: Duration = .seconds(60),
        shutdown: Duration = .seconds(10), watchdog: Watchdog = Watchdog(), emits: [EmitPlan] = [],
        deadline: Duration? = nil
    ) {
        pipe(&ends)
        var plan = Plan()
        plan.providers = stores.indices.map { index in
            var provider = ProviderPlan(name: "p\(index)", plugin: "store", settings: Secret([]))
            provider.delivery.batch.wait = .milliseconds(1)
            provider.delivery.queue.memory = memory
            if index == 0, let deadline { (provider.delivery.deadline, provider.delivery.abandon) = (deadline, 1) }
            return provider
        }
        var all = RoutePlan(name: "all")
        all.providers = Array(stores.indices)
        plan.routes = routes ?? [all]
        plan.emits = emits
        self.plan = plan
        var options = RouterOptions(deadLetters: folder + "/dead-letters.sqlite")
        options.input = ends[0]
        options.workers = workers
        options.drain = drain
        options.shutdown = shutdown
        options.blockSize = 4096
        options.watchdog = watchdog
        let said = said
        router = Router(plan, outlets: stores.map { Outlet(provider: $0, concurrency: 1) }, options: options) { line in
            said.withLock { $0.append(line) }
            said.wake()
        }
        let router = router
        let account = account
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    deinit {
        endInput()
        close(ends[0])
        try? FileManager.default.removeItem(atPath: folder)
    }

    var deadLetters: Int {
        TestSupport.deadLetters(in: folder + "/dead-letters.sqlite").count
    }
    func send(_ text: String) { Array(text.utf8).withUnsafeBytes { try? writeAll(ends[1], $0) } }
    func endInput() {
        if ends[1] >= 0 { close(ends[1]) }
        ends[1] = -1
    }
    func finish(endingInput: Bool = true) -> Account {
        if endingInput { endInput() }
        return account.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
    }
}

private func events(_ count: Int) -> [String] { (0..<count).map { #"{"n":\#($0),"pad":"\#(String(repeating: "x", count: $0 % 90))"}"# } }

@Suite("A router")
struct RouterTests {
    @Test("keeps the order of events in every lane with any number of workers", arguments: [1, 2, 5])
    func order(workers: Int) {
        let stores = [Store(), Store()]
        let fixture = RouterFixture(stores, workers: workers)
        let events = events(5000)
        fixture.send(events.joined(separator: "\n"))
        let account = fixture.finish()
        for store in stores { #expect(store.lines == events) }
        #expect(account.balances && account.isComplete)
        #expect(account.received == 5000)
    }

    @Test("does not let a provider that hangs delay the others, even if its full queue stops the source")
    func independence() {
        let hanging = Store(nil)
        let good = Store()
        let fixture = RouterFixture([hanging, good], memory: 300, drain: .zero)
        // The first event fills the queue of the hanging lane. The second event stops the source, before or after the good lane takes it.
        fixture.send(#"{"pad":"\#(String(repeating: "x", count: 280))"}"# + "\n")
        good.wait(for: 1)
        hanging.wait(for: 1)
        fixture.send("{\"n\":2}\n")
        fixture.router.hurry()
        let account = fixture.finish()
        #expect(account.balances)
        let lane = account.providers[0].lane
        #expect(lane.total(.unknown) == 1, "it may have been delivered")
        #expect(lane.total(.undelivered) == lane.totalTaken - 1)
        #expect(lane.lost == 0)
        #expect(fixture.deadLetters == account.providers.reduce(0) { $0 + $1.undelivered })
        #expect(account.lostSome)
    }

    @Test("ends when no lane is left although the input goes on, and logs one line for each lane")
    func endsWithoutLanes() {
        let stores = [Store(), Store()]
        let fixture = RouterFixture(stores)
        fixture.send("{\"n\":1}\n")
        for store in stores { store.wait(for: 1) }
        stores[0].leave()
        fixture.said.wait(while: { $0.isEmpty })
        stores[1].leave()
        let account = fixture.finish(endingInput: false)
        #expect(!account.isComplete)
        #expect(!account.lostSome)
        let said = fixture.said.withLock { $0 }
        #expect(said == ["p0: left; the lane is closed", "p1: left; no other provider is left, ending"])
    }

    @Test("that is stopped ends after the drain time, even if a worker waits for space in a full lane", arguments: [1, 2])
    func stopsWhileBlocked(workers: Int) {
        let hanging = Store(nil)
        let fixture = RouterFixture([hanging], memory: 100, workers: workers, drain: .zero, shutdown: .zero)
        fixture.send(String(repeating: #"{"pad":"\#(String(repeating: "x", count: 80))"}"# + "\n", count: 200))
        hanging.wait(for: 1)
        fixture.router.stopReading()
        let account = fixture.finish(endingInput: false)
        #expect(account.balances)
        #expect(account.providers[0].lane.lost == 0)
        #expect(fixture.deadLetters == account.providers[0].lane.totalTaken, "everything that was read is kept")
    }

    @Test("that is stopped while it drains after the end of its input has only the time of a stopped one")
    func stopsWhileDraining() {
        let hanging = Store(nil)
        let fixture = RouterFixture([hanging], drain: .seconds(36_000), shutdown: .zero)
        fixture.send("{\"n\":1}\n")
        hanging.wait(for: 1)
        fixture.endInput()
        while !fixture.router.readiness.troubles.contains("the router is ending") { sched_yield() }
        fixture.router.stopReading()
        let account = fixture.finish()
        #expect(account.balances && account.providers[0].undelivered == 1)
        #expect(fixture.deadLetters == 1)
    }

    /// Returns a route with a limit. Its rate is so low that it adds nothing during a test.
    private static func limited(to burst: Int) -> RoutePlan {
        var route = RoutePlan(name: "limited")
        route.providers = [0]
        route.sample = SamplePlan(rate: 1)
        route.sample?.limit = LimitPlan(EventRate(perDay: 1), burst: burst)
        return route
    }

    @Test("shares a limit between its workers, which let exactly the burst pass", arguments: [1, 2, 5])
    func sharedLimit(workers: Int) {
        let store = Store()
        let fixture = RouterFixture([store], routes: [Self.limited(to: 700)], workers: workers)
        fixture.send(events(5000).joined(separator: "\n"))
        let account = fixture.finish()
        #expect(account.balances)
        #expect(account.verdicts[0, .admitted] == 700 && account.verdicts[0, .limited] == 4300)
        #expect(store.lines.count == 700)
        if workers == 1 { #expect(store.lines == Array(events(5000).prefix(700))) }
    }

    @Test("keeps a limit used up over a reload")
    func limitOverReload() throws {
        let store = Store()
        let fixture = RouterFixture([store], routes: [Self.limited(to: 2)])
        fixture.send("{\"n\":1}\n{\"n\":2}\n")
        store.wait(for: 2)
        var next = fixture.plan
        next.routes = [Self.limited(to: 3)]
        try fixture.router.adopt(next, try fixture.router.changes(to: next), outlets: [:])
        fixture.send("{\"n\":3}\n{\"n\":4}\n")
        let account = fixture.finish()
        #expect(store.lines == ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"])
        #expect(account.balances && account.verdicts[0, .limited] == 1)
    }

    @Test("has a balanced account with emitted events, and each emitted event comes after its original")
    func emits() throws {
        let store = Store()
        var all = RoutePlan(name: "all")
        all.providers = [0]
        var made = RoutePlan(name: "made")
        made.providers = [0]
        made.events = [Glob("odd")]
        let rule = EmitPlan(condition: try .condition("n % 2 == 1"), members: [("event", [.json("\"odd\"")])])
        let fixture = RouterFixture([store], routes: [all, made], workers: 3, emits: [rule])
        fixture.send((1...2000).map { "{\"n\":\($0)}" }.joined(separator: "\n"))
        let account = fixture.finish()
        #expect(account.balances && account.isComplete)
        #expect(account.received == 2000 && account.valid == 2000 && account.emitted == 1000)
        #expect(account.verdicts[0, .admitted] == 3000 && account.verdicts[1, .admitted] == 1000)
        let expected = (1...2000).flatMap { number in
            let line = "{\"n\":\(number),\"context\":{\"switchyard\":{\"emitted\":true}},\"event\":\"odd\"}"
            return ["{\"n\":\(number)}"] + (number % 2 == 1 ? [line, line] : [])
        }
        #expect(store.lines == expected)
    }

    @Test("does not count a line that a stop cut off as invalid")
    func stopsInTheMiddle() {
        let store = Store()
        let fixture = RouterFixture([store])
        fixture.send("{\"n\":1}\n{\"n\":")
        store.wait(for: 1)
        fixture.router.stopReading()
        let account = fixture.finish(endingInput: false)
        #expect(account.received == 1)
        #expect(account.rejected == 0)
        #expect(fixture.said.withLock { $0 } == ["stdin: an unfinished line of 5 bytes was dropped"])
    }

    @Test("reports invalid lines in order, by their numbers in the whole input")
    func faultsInOrder() {
        let store = Store()
        let fixture = RouterFixture([store], workers: 3)
        let lines = (1...3000).map { $0 % 500 == 0 ? "bad" : "{\"n\":\($0)}" }
        fixture.send(lines.joined(separator: "\n"))
        let account = fixture.finish()
        #expect(account.rejected == 6)
        #expect(account.balances)
        let said = fixture.said.withLock { $0 }
        #expect(said.map { $0.prefix(while: { $0 != " " }) } == (1...6).map { "stdin:\($0 * 500):1:" })
    }

    @Test("that is stopped delivers the events that it has read")
    func stops() {
        let store = Store()
        let fixture = RouterFixture([store])
        fixture.send("{\"n\":1}\n")
        store.wait(for: 1)
        fixture.router.stopReading()
        let account = fixture.finish(endingInput: false)
        #expect(account.isComplete)
        #expect(store.lines == ["{\"n\":1}"])
    }
}
