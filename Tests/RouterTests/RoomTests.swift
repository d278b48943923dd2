// Requests while a lane is full: each is answered by its deadline, and one that must be sent again has put nothing into any lane.

import Admission
import Delivery
import Events
import Glibc
import Plans
import Platform
import Queueing
import TestSupport
import Testing

@testable import Ingest
@testable import Router

/// A provider that collects its lines, and completes nothing before the test lets it go.
private final class HangingProvider: Provider {
    private let state = Monitor((lines: [String](), isFree: false, pending: [@Sendable (BatchOutcome) -> Void]()))
    var lines: [String] { state.withLock { $0.lines } }

    init(hangs: Bool) { state.withLock { $0.isFree = !hangs } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let isFree = state.withLock { state in
            for index in 0..<batch.count { state.lines.append(String(decoding: batch.event(index), as: UTF8.self)) }
            if !state.isFree { state.pending.append(done) }
            return state.isFree
        }
        state.wake()
        if isFree { done(BatchOutcome(.delivered)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}

    func wait(for count: Int) { state.wait { $0.lines.count < count } }
    func letGo() {
        let pending = state.withLock { state in
            state.isFree = true
            defer { state.pending = [] }
            return state.pending
        }
        for done in pending { done(BatchOutcome(.delivered)) }
    }
}

/// A router with a listener's source and two lanes. The first takes every event, and the second one, which hangs, only those that are not
/// called `ping`. Its queue has room for one event.
private final class RoomFixture {
    let time = ManualClock()
    let free = HangingProvider(hangs: false)
    let hanging = HangingProvider(hangs: true)
    let router: Router
    private let account = Monitor<Account?>(nil)
    private let folder = "/tmp/switchyard-room-\(UInt64.random(in: 0 ... .max))"

    init(workers: Int = 2) {
        mkdir(folder, 0o700)
        var plan = Plan()
        plan.providers = ["free", "hanging"].map { name in
            var provider = ProviderPlan(name: name, plugin: "taker", settings: Secret([]))
            provider.delivery.batch.events = 1
            provider.delivery.queue.memory = name == "hanging" ? 60 : 1 << 20
            return provider
        }
        plan.messageID.add = false
        plan.messageID.deduplicate = MessageIDPlan.Deduplication()
        var all = RoutePlan(name: "all")
        all.providers = [0]
        var some = RoutePlan(name: "some")
        some.providers = [1]
        some.events = [Glob("work")]
        plan.routes = [all, some]
        plan.namedSources = [SourcePlan(name: "in", plugin: "http")]
        var options = RouterOptions(deadLetters: folder + "/dead-letters.sqlite")
        options.clock = time.clock
        options.workers = workers
        options.drain = .seconds(60)
        router = Router(
            plan, outlets: [Outlet(provider: free, concurrency: 1), Outlet(provider: hanging, concurrency: 1)], options: options
        ) { _ in }
        let (router, account) = (router, account)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    deinit {
        unlink(folder + "/dead-letters.sqlite")
        rmdir(folder)
    }

    func submit(
        _ line: String, within time: Duration = .seconds(2), isThere: (@Sendable () -> Bool)? = nil, offers: Bool = false
    ) -> Monitor<Submission?> {
        let answer = Monitor<Submission?>(nil)
        var text = ByteBuffer()
        text.append(line + "\n")
        var submitter = Submitter(source: 0, deadline: self.time.clock.now() + time, isThere: isThere)
        submitter.offers = offers
        let isTaken = router.sink?.submit(text, from: submitter) { submission in
            answer.withLock { $0 = submission }
            answer.wake()
        }
        precondition(isTaken == true)
        return answer
    }

    /// Submits a line when a worker waits for lines, and lets this thread judge it. Returns what is known of the answer then.
    func offer(_ line: String) -> (answer: Monitor<Submission?>, atOnce: Submission?) {
        while router.input.inbox?.hasIdleWorker != true { sched_yield() }
        let answer = submit(line, offers: true)
        router.sink?.judgeOffers()
        return (answer, answer.withLock { $0 })
    }

    /// Fills the queue of the hanging lane.
    func fill() {
        #expect(submit(work(0)).result == .stored(invalid: []))
        hanging.wait(for: 1)
    }

    /// Waits until no submission waits for a worker.
    func waitUntilRead() { while router.status.inbox?.submissions != 0 { sched_yield() } }
    /// Waits until a worker waits for room in the hanging lane, for the events of a submission that has no answer until then. Returns false
    /// if it was answered.
    func waitsForRoom(_ answer: Monitor<Submission?>) -> Bool {
        while !router.readiness.troubles.contains("lane hanging is full") {
            if answer.withLock({ $0 != nil }) { return false }
            sched_yield()
        }
        return true
    }

    func finish() -> Account {
        hanging.letGo()
        router.stopReading()
        account.wait { $0 == nil }
        return account.withLock { $0! }
    }
}

extension Monitor where Value == Submission? {
    /// The answer, as soon as there is one.
    fileprivate var result: Submission? {
        wait { $0 == nil }
        return withLock { $0 }
    }
}

private func work(_ number: Int) -> String { #"{"type":"track","event":"work","messageId":"w\#(number)"}"# }
private func ping(_ id: String) -> String { #"{"type":"track","event":"ping","messageId":"\#(id)"}"# }
private let comeAgain = Submission.overloaded(retryAfter: 1)

@Suite("A request while a lane is full")
struct RoomTests {
    @Test("is given back at its deadline, and has put nothing into any lane")
    func deadline() {
        let fixture = RoomFixture()
        fixture.fill()
        let answer = fixture.submit(work(1))
        #expect(fixture.waitsForRoom(answer))
        #expect(answer.withLock { $0 } == nil)
        fixture.time.advance(.seconds(2))
        #expect(answer.result == comeAgain)
        #expect(fixture.free.lines == [work(0)])
        fixture.hanging.letGo()
        #expect(fixture.submit(work(1)).result == .stored(invalid: []), "an id that was given back may come again")
        let account = fixture.finish()
        #expect(account.balances && account.received == 2)
        #expect(fixture.free.lines == [work(0), work(1)])
        #expect(fixture.hanging.lines == [work(0), work(1)])
    }

    @Test("is given back at once if the lane refused one before, while others go to the lanes that have room")
    func refusing() {
        let fixture = RoomFixture(workers: 1)
        fixture.fill()
        let first = fixture.submit(work(1))
        #expect(fixture.waitsForRoom(first))
        fixture.time.advance(.seconds(2))
        #expect(first.result == comeAgain)
        #expect(fixture.submit(work(2)).result == comeAgain, "the time does not go on")
        #expect(fixture.submit(ping("a")).result == .stored(invalid: []))
        #expect(fixture.finish().balances)
        #expect(fixture.free.lines == [work(0), ping("a")])
    }

    @Test("is given back at its deadline even while the worker that holds it waits behind another")
    func behind() {
        let fixture = RoomFixture()
        fixture.fill()
        let patient = fixture.submit(work(1), within: .seconds(100))
        #expect(fixture.waitsForRoom(patient))
        let behind = fixture.submit(ping("b"), within: .seconds(2))
        fixture.waitUntilRead()
        let inInbox = fixture.submit(ping("c"), within: .seconds(3))
        fixture.time.advance(.seconds(2))
        #expect(behind.result == comeAgain)
        #expect(inInbox.withLock { $0 } == nil)
        fixture.time.advance(.seconds(1))
        #expect(inInbox.result == comeAgain)
        fixture.hanging.letGo()
        #expect(patient.result == .stored(invalid: []))
        #expect(fixture.finish().balances)
        #expect(fixture.free.lines == [work(0), work(1)])
    }

    @Test("is not taken if its client has left while it waited")
    func left() {
        let fixture = RoomFixture(workers: 1)
        fixture.fill()
        let isThere = Monitor(true)
        let waiting = fixture.submit(work(1), within: .seconds(100), isThere: { isThere.withLock { $0 } })
        #expect(fixture.waitsForRoom(waiting))
        let behind = fixture.submit(work(2), within: .seconds(100), isThere: { isThere.withLock { $0 } })
        let stays = fixture.submit(work(3), within: .seconds(100), isThere: { true })
        fixture.time.advance(.seconds(1))
        isThere.withLock { $0 = false }
        fixture.hanging.letGo()
        #expect(waiting.result == comeAgain)
        #expect(behind.result == comeAgain)
        #expect(stays.result == .stored(invalid: []))
        #expect(fixture.finish().balances)
        #expect(fixture.free.lines == [work(0), work(3)])
    }

    @Test("does not make a later event with its id a duplicate, if it is given back")
    func duplicates() {
        let fixture = RoomFixture()
        fixture.fill()
        let original = fixture.submit(work(1))
        #expect(fixture.waitsForRoom(original))
        let later = fixture.submit(ping("w1"), within: .seconds(100))
        fixture.waitUntilRead()
        fixture.time.advance(.seconds(2))
        #expect(original.result == comeAgain)
        #expect(later.result == .stored(invalid: []))
        #expect(fixture.finish().balances)
        #expect(fixture.free.lines == [work(0), ping("w1")])
    }

    @Test("is judged by the thread that offers it if nothing has to be waited for")
    func offered() {
        let fixture = RoomFixture()
        #expect(fixture.submit(ping("a")).result == .stored(invalid: []))
        // A worker may still be about to wait. Then its turn comes first, and another thread finishes what was offered.
        func offer(_ line: (Int) -> String) -> Submission? {
            for attempt in 0..<1000 {
                let (answer, atOnce) = fixture.offer(line(attempt))
                if let atOnce { return atOnce }
                #expect(answer.result == .stored(invalid: []))
            }
            return nil
        }
        #expect(offer { ping("b\($0)") } == .stored(invalid: []))
        #expect(offer { _ in ping("a") } == .stored(invalid: []), "a duplicate of what is safe")
        #expect(offer { _ in work(1) } == .stored(invalid: []))
        #expect(fixture.finish().balances)
        #expect(fixture.free.lines.count >= 3)
    }

    @Test("does not hold the thread that offers it, and is given back in time")
    func offeredToFullLane() {
        let fixture = RoomFixture()
        fixture.fill()
        let (answer, atOnce) = fixture.offer(work(1))
        #expect(atOnce == nil)
        #expect(fixture.waitsForRoom(answer))
        let behind = fixture.submit(ping("a"), offers: true)
        fixture.router.sink?.judgeOffers()
        fixture.time.advance(.seconds(2))
        #expect(answer.result == comeAgain)
        _ = behind.result
        #expect(fixture.offer("no event").answer.result != comeAgain, "a line that is no event is reported by another thread")
        let account = fixture.finish()
        #expect(account.balances)
        #expect(fixture.hanging.lines.count == 1)
    }
}
