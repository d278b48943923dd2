import Plans
import Platform
import Testing

@testable import Queueing

@Suite("A lane decides")
struct LaneStateTests {
    private let busy = BatchOutcome(.retry(Answer("busy"), after: nil))
    private let bad = BatchOutcome(.rejected(Answer(code: 400, "bad")))

    @Test("a batch leaves when it has the maximum number of events")
    func leavesOnEvents() {
        let fixture = StateFixture(plan(events: 2))
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "wait 100")
        fixture.take(["b", "c"], at: 10)
        #expect(fixture.step(at: 10) == "deliver a")
        #expect(fixture.complete(.init(.delivered), at: 11) == [])
        #expect(fixture.step(at: 11) == "deliver b c")
        #expect(fixture.account() == "3 taken, 1 delivered, 2 waiting")
    }

    @Test("a batch leaves when it has the maximum number of bytes, and a single event may be larger")
    func leavesOnBytes() {
        let fixture = StateFixture(plan(bytes: 6))
        fixture.take(["aa", "bb", "cc", "dddddddd", "e"], at: 0)
        #expect(fixture.step(at: 0) == "deliver aa bb")
        _ = fixture.complete(.init(.delivered), at: 1)
        #expect(fixture.step(at: 1) == "deliver cc")
        _ = fixture.complete(.init(.delivered), at: 1)
        #expect(fixture.step(at: 1) == "deliver dddddddd")
        _ = fixture.complete(.init(.delivered), at: 1)
        #expect(fixture.step(at: 1) == "wait 100")
        #expect(fixture.step(at: 100) == "deliver e")
    }

    @Test("a batch leaves when its oldest event has waited long enough")
    func leavesOnAge() {
        let fixture = StateFixture()
        fixture.take(["a"], at: 5)
        fixture.take(["b"], at: 90)
        #expect(fixture.step(at: 104) == "wait 105")
        #expect(fixture.step(at: 105) == "deliver a b")
    }

    @Test("a batch with an immediate event leaves at once, with the events that came before it")
    func leavesAtOnce() {
        let fixture = StateFixture()
        fixture.take(["a"], at: 0)
        fixture.take(["error"], immediate: true, at: 1)
        #expect(fixture.step(at: 1) == "deliver a error")
    }

    @Test("in an ordered lane nothing passes a retry")
    func orderedWaitsForRetry() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.step(at: 0) == "wait", "one batch is in flight")
        #expect(fixture.complete(busy, at: 10) == ["failing busy"])
        let wait = fixture.step(at: 10)
        #expect(wait.hasPrefix("wait ") && wait != "wait")
        #expect(fixture.step(at: 1010) == "deliver a attempt 2")
        #expect(fixture.complete(.init(.delivered), at: 1011) == ["recovered 1"])
        #expect(fixture.step(at: 1011) == "deliver b")
    }

    @Test("in an unordered lane other batches continue during a retry, as many at once as the provider takes")
    func unorderedPassesRetry() {
        let fixture = StateFixture(plan(events: 1, ordered: false), concurrency: 2)
        fixture.take(["a", "b", "c"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.step(at: 0) == "deliver b")
        #expect(fixture.step(at: 0) == "wait")
        _ = fixture.complete(busy, index: 0, at: 1)
        #expect(fixture.step(at: 1) == "deliver c")
        _ = fixture.complete(.init(.delivered), index: 1, at: 2)
        #expect(fixture.step(at: 1200) == "deliver a attempt 2")
    }

    @Test("the wait between retries is random below a bound that doubles up to a maximum")
    func backoffGrows() {
        var random = RandomSource(seed: 3)
        let backoff = Backoff(plan: plan().retry)
        for (attempt, full) in [(1, 1000), (2, 2000), (3, 4000), (4, 8000), (5, 8000), (90, 8000)] {
            let waits = (0..<200).map { _ in backoff.wait(after: attempt, &random) }
            #expect(waits.allSatisfy { $0 > .zero && $0 <= .milliseconds(full) })
            #expect(waits.min()! < .milliseconds(full / 10) && waits.max()! > .milliseconds(full * 9 / 10))
        }
    }

    @Test("the provider's own time to wait is honoured")
    func honoursRetryAfter() {
        let fixture = StateFixture()
        fixture.take(["a"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.retry(Answer("busy"), after: .milliseconds(7000))), at: 10)
        #expect(fixture.step(at: 10) == "wait 7010")
    }

    @Test("the same failure is reported once, and another failure is reported again")
    func tellsOnce() {
        let fixture = StateFixture()
        fixture.take(["a"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(busy, at: 1) == ["failing busy"])
        _ = fixture.step(at: 20_000)
        #expect(fixture.complete(busy, at: 20_001) == [])
        _ = fixture.step(at: 40_000)
        #expect(fixture.complete(.init(.retry(Answer("full"), after: nil)), at: 40_001) == ["failing full"])
    }

    @Test("a batch that was tried for the time of retry.for becomes dead letters")
    func expires() {
        let fixture = StateFixture()
        fixture.take(["a", "b"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(busy, at: 1)
        _ = fixture.step(at: 59_000)
        #expect(fixture.complete(busy, at: 60_000) == ["bury a b expired busy 2"])
        #expect(fixture.account() == "2 taken, 2 expired, 0 waiting")
    }

    @Test("a fault of the configuration is probed for ever, and its events are kept")
    func faultsDoNotExpire() {
        let fixture = StateFixture()
        fixture.take(["a"], immediate: true, at: 0)
        var now: Int64 = 0
        for attempt in 1...30 {
            #expect(fixture.step(at: now) == (attempt == 1 ? "deliver a" : "deliver a attempt \(attempt)"))
            #expect(
                fixture.complete(.init(.fault(Answer(code: 401, "who are you"))), at: now).count == (attempt == 1 || attempt == 5 ? 1 : 0))
            now += 8000
        }
        #expect(fixture.account() == "1 taken, 1 waiting")
    }

    @Test("a refused batch is halved until the bad event is alone, and order is kept")
    func halves() {
        let fixture = StateFixture(plan(events: 5))
        fixture.take(["a", "b", "X", "c", "d"], at: 0)
        var delivered: [String] = []
        var buried: [String] = []
        while true {
            let step = fixture.step(at: 0)
            guard step.hasPrefix("deliver ") else { break }
            let events = step.dropFirst(8).split(separator: " ").map(String.init)
            if events.contains("X") {
                buried += fixture.complete(bad, at: 0)
            } else {
                delivered += events
                buried += fixture.complete(.init(.delivered), at: 0)
            }
        }
        #expect(delivered == ["a", "b", "c", "d"])
        #expect(buried == ["bury X rejected bad 1"])
        #expect(fixture.account() == "5 taken, 4 delivered, 1 rejected, 0 waiting")
    }

    @Test("single events have outcomes of their own: delivered, refused, and tried again in their order")
    func partialOutcomes() {
        let fixture = StateFixture(plan(events: 5))
        fixture.take(["a", "b", "c", "d", "e"], at: 0)
        _ = fixture.step(at: 0)
        let again = Outcome.retry(Answer("later"), after: .milliseconds(50))
        let effects = fixture.complete(
            .init(.delivered, events: [1: again, 2: .rejected(Answer(code: 422, "bad")), 4: again]), at: 1)
        #expect(effects.contains("bury c rejected bad 1"))
        #expect(fixture.step(at: 51) == "deliver b e attempt 2")
        _ = fixture.complete(.init(.delivered), at: 52)
        #expect(fixture.account() == "5 taken, 4 delivered, 1 rejected, 0 waiting")
    }

    @Test("a batch in which some events must wait is no recovery")
    func partialIsNoRecovery() {
        let fixture = StateFixture(plan(events: 2))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(busy, at: 1) == ["failing busy"])
        _ = fixture.step(at: 1001)
        #expect(fixture.complete(.init(.delivered, events: [1: .retry(Answer("busy"), after: nil)]), at: 1002) == [])
        _ = fixture.step(at: 4000)
        #expect(fixture.complete(.init(.delivered), at: 4001) == ["recovered 2"])
    }

    @Test("events that a provider refused individually are given up without halving")
    func eventVerdictsAreFinal() {
        let fixture = StateFixture(plan(events: 3))
        fixture.take(["a", "b", "c"], at: 0)
        _ = fixture.step(at: 0)
        let no = Outcome.rejected(Answer("no"))
        #expect(fixture.complete(.init(.delivered, events: [0: no, 2: no]), at: 0) == ["bury a c rejected no 1"])
    }

    @Test("a completion that comes twice changes nothing")
    func ignoresSecondCompletion() {
        let fixture = StateFixture()
        fixture.take(["a"], immediate: true, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered), at: 1)
        #expect(fixture.complete(busy, at: 2) == [])
        #expect(fixture.account() == "1 taken, 1 delivered, 0 waiting")
    }

    @Test("a destination that is gone ends the lane; later events are counted, not kept")
    func closes() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(.init(.closed(Answer("gone"))), at: 1) == ["closed gone"])
        fixture.take(["c"], at: 2)
        #expect(fixture.step(at: 2) == "end")
        #expect(fixture.account() == "3 taken, 3 undelivered, 0 waiting")
    }

    @Test("draining sends open batches without waiting for their age, then flushes, then ends")
    func drains() {
        let fixture = StateFixture()
        fixture.take(["a"], at: 0)
        fixture.state.drain()
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.step(at: 0) == "wait")
        _ = fixture.complete(.init(.delivered), at: 1)
        #expect(fixture.step(at: 1) == "flush")
        #expect(fixture.step(at: 1) == "wait")
        _ = fixture.state.flushed(.delivered)
        #expect(fixture.step(at: 1) == "end")
    }

    @Test("when time is up the rest becomes dead letters, including events in flight")
    func givesUp() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.giveUp("time is up") == ["bury a unknown time is up 1", "bury b undelivered time is up 0"])
        #expect(!fixture.isOver, "the burials are not carried out yet")
        fixture.buried()
        fixture.buried(lost: 1)
        #expect(fixture.isOver)
        #expect(fixture.complete(.init(.delivered), at: 5) == [], "a late completion changes nothing")
        #expect(fixture.account() == "2 taken, 1 unknown, 1 undelivered, 0 waiting")
        #expect(fixture.laneAccount.lost == 1)
    }

    @Test("a full queue asks the source to wait, but an empty one takes a parcel of any size")
    func blocksWhenFull() {
        var plan = plan()
        plan.queue.memory = 10
        let fixture = StateFixture(plan)
        #expect(fixture.hasSpace(for: 1000))
        fixture.take(["aaaa"], at: 0)
        #expect(fixture.hasSpace(for: 5))
        #expect(!fixture.hasSpace(for: 6))
    }

    @Test("drop_newest drops new events, and drop_oldest drops the oldest waiting events but not those in flight")
    func dropsWhenFull() {
        var newest = plan(events: 1)
        newest.queue.memory = 4
        newest.queue.full = .dropNewest
        let fixture = StateFixture(newest)
        #expect(["a", "b", "c", "c"].map { fixture.take([$0], at: 0) } == [[], [], ["dropping"], []], "told once")
        #expect(fixture.account() == "4 taken, 2 dropped, 2 waiting")
        #expect(fixture.step(at: 0) == "deliver a")

        var oldest = newest
        oldest.queue.full = .dropOldest
        let other = StateFixture(oldest)
        other.take(["a"], at: 0)
        _ = other.step(at: 0)
        for event in ["b", "c", "d"] { other.take([event], at: 0) }
        _ = other.complete(.init(.delivered), at: 1)
        #expect(other.step(at: 1) == "deliver d")
        #expect(other.account() == "4 taken, 1 delivered, 2 dropped, 1 waiting")
    }

    @Test("drop_oldest drops the first of several batches that wait, and keeps the others in order")
    func dropsTheOldest() {
        var plan = plan(events: 1)
        plan.queue.memory = 6
        plan.queue.full = .dropOldest
        let fixture = StateFixture(plan)
        for event in ["a", "b", "c", "d", "e"] { fixture.take([event], at: 0) }
        #expect(fixture.account() == "5 taken, 2 dropped, 3 waiting")
        for event in ["c", "d", "e"] {
            #expect(fixture.step(at: 0) == "deliver \(event)")
            _ = fixture.complete(.init(.delivered), at: 0)
        }
    }

    @Test("while the source is busy small batches gather until they are large enough, urgent or old")
    func gathers() {
        var plan = plan(events: 1)
        plan.queue.memory = 40
        let fixture = StateFixture(plan)
        _ = fixture.step(at: 0)
        fixture.take(["aaa"], at: 0)
        #expect(fixture.needsAttention(at: 0), "an idle source will not look at the lane again")
        fixture.state.isSourceBusy = true
        #expect(!fixture.needsAttention(at: 0))
        fixture.take(["bbbbb"], at: 0)
        #expect(fixture.needsAttention(at: 0), "ten bytes are a quarter of the queue")

        let slow = StateFixture()
        slow.state.isSourceBusy = true
        _ = slow.step(at: 0)
        slow.take(["a"], at: 0)
        #expect(!slow.needsAttention(at: 99))
        #expect(slow.needsAttention(at: 100))
        slow.take(["b"], immediate: true, at: 1)
        #expect(slow.needsAttention(at: 1))
    }

    @Test("an event that does not wait takes later events along if they come before the batch leaves")
    func urgentStays() {
        let fixture = StateFixture()
        fixture.take(["a"], immediate: true, at: 0)
        fixture.take(["b"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a b")
    }

    @Test("the account is kept by route")
    func accountsByRoute() {
        let fixture = StateFixture(plan(events: 2))
        fixture.take(["a"], route: 0, at: 0)
        fixture.take(["b"], route: 1, at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered, events: [1: .rejected(Answer("no"))]), at: 0)
        #expect(fixture.laneAccount.taken == [1, 1])
        #expect(fixture.laneAccount[.delivered] == [1, 0])
        #expect(fixture.laneAccount[.rejected] == [0, 1])
    }

    @Test("any order of events keeps the account balanced, and keeps order in an ordered lane", arguments: 0..<200)
    func interleavings(seed: UInt64) {
        var random = RandomSource(seed: seed)
        func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }
        var plan = plan(events: 1 + Int(roll(6)), ordered: roll(2) == 0)
        plan.queue.memory = 40
        plan.queue.full = [.block, .dropNewest, .dropOldest][Int(roll(3))]
        let fixture = StateFixture(plan, concurrency: 1 + Int(roll(3)))
        var inFlight: [(index: Int, events: [String])] = []
        var now: Int64 = 0
        var made = 0
        var buried = 0
        var delivered: [Int] = []
        for round in 0..<400 {
            now += Int64(roll(400))
            if roll(3) == 0, round < 300, fixture.hasSpace(for: 20) || plan.queue.full != .block {
                let count = 1 + Int(roll(7))
                fixture.take((made..<made + count).map(String.init), route: UInt16(roll(2)), immediate: roll(5) == 0, at: now)
                made += count
            }
            if round == 300 { fixture.state.drain() }
            let step = fixture.step(at: now)
            if step.hasPrefix("deliver ") {
                let words = step.split(separator: " ").dropFirst()
                let events = words.prefix { $0 != "attempt" }.map(String.init)
                inFlight.append((fixture.tokens.count - 1, events))
            } else if step == "flush" {
                _ = fixture.state.flushed(.delivered)
            }
            if !inFlight.isEmpty, roll(2) == 0 {
                let (index, events) = inFlight.remove(at: Int(roll(UInt64(inFlight.count))))
                var outcome = BatchOutcome(
                    [.delivered, .delivered, .retry(Answer("busy"), after: nil), .rejected(Answer("no"))][Int(roll(4))])
                if roll(3) == 0 { outcome.events[Int(roll(UInt64(events.count)))] = .rejected(Answer("no")) }
                for (place, event) in events.enumerated() where (outcome.events[place] ?? outcome.batch) == .delivered {
                    delivered.append(Int(event)!)
                }
                for effect in fixture.complete(outcome, index: index, at: now) where effect.hasPrefix("bury") {
                    fixture.buried()
                    buried += 1
                }
            }
            let account = fixture.laneAccount
            #expect(account.totalTaken == made)
            #expect(account.totalWaiting >= 0)
            #expect(account.total(.delivered) == delivered.count)
            #expect(fixture.heldBytes >= 0)
            if account.totalWaiting == 0 { #expect(fixture.heldBytes == 0) }
        }
        #expect(Set(delivered).count == delivered.count, "no event is delivered twice")
        if plan.ordered { #expect(delivered == delivered.sorted()) }
    }
}
