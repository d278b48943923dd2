// What a lane does with the pauses that a provider asks for, and with events that may have arrived.

import Plans
import Platform
import Spool
import Testing

@testable import Queueing

@Suite("A provider that asks for a pause")
struct PauseTests {
    private func busy(_ milliseconds: Int64) -> BatchOutcome { BatchOutcome(.retry(Answer("busy"), after: .milliseconds(milliseconds))) }

    private func lane(_ events: Int = 4) -> StateFixture {
        let fixture = StateFixture(plan(events: 1, ordered: false), concurrency: 2)
        fixture.take((0..<events).map(String.init), at: 0)
        return fixture
    }

    @Test("nothing is handed over before that time, neither the batch nor the batches after it")
    func pausesTheLane() {
        let fixture = lane()
        #expect(fixture.step(at: 0) == "deliver 0")
        _ = fixture.complete(busy(7000), at: 10)
        #expect(fixture.step(at: 10) == "wait 7010")
        #expect(fixture.step(at: 7009) == "wait 7010")
        #expect(fixture.step(at: 7010) == "deliver 0 attempt 2")
        #expect(fixture.step(at: 7010) == "deliver 1")
    }

    @Test("new events wait too, including immediate ones")
    func immediateWaits() {
        let fixture = lane(1)
        _ = fixture.step(at: 0)
        _ = fixture.complete(busy(7000), at: 10)
        fixture.take(["now"], immediate: true, at: 20)
        #expect(fixture.step(at: 20) == "wait 7010")
    }

    @Test("another delivery in flight neither ends nor shortens the pause, and counts as no further failure")
    func othersUnderWay() {
        var plan = plan(events: 1, ordered: false)
        plan.breaker = 2
        let fixture = StateFixture(plan, concurrency: 3)
        fixture.take(["0", "1", "2", "3"], at: 0)
        for event in 0..<3 { #expect(fixture.step(at: 0) == "deliver \(event)") }
        #expect(fixture.complete(busy(7000), index: 0, at: 10) == ["failing busy"])
        #expect(fixture.complete(busy(1000), index: 1, at: 11) == [], "the breaker stays closed")
        #expect(fixture.complete(.init(.delivered), index: 2, at: 12) == ["recovered 1"])
        #expect(fixture.step(at: 12) == "wait 7010")
        #expect(fixture.step(at: 7010).hasPrefix("deliver "))
    }

    @Test("a later answer can make it longer")
    func longer() {
        let fixture = lane()
        _ = (fixture.step(at: 0), fixture.step(at: 0))
        _ = fixture.complete(busy(1000), index: 0, at: 10)
        _ = fixture.complete(busy(7000), index: 1, at: 20)
        #expect(fixture.step(at: 1010) == "wait 7020")
    }

    @Test("a pause for single events delays only these events")
    func singleEvents() {
        let fixture = StateFixture(plan(events: 2, ordered: false))
        fixture.take(["a", "b", "c", "d"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.delivered, events: [1: .retry(Answer("later"), after: .milliseconds(7000))]), at: 10)
        #expect(fixture.step(at: 10) == "deliver c d")
        _ = fixture.complete(.init(.delivered), at: 11)
        #expect(fixture.step(at: 11) == "wait 7010")
        #expect(fixture.step(at: 7010) == "deliver b attempt 2")
    }

    @Test("a pause for a whole batch applies even if every event has an outcome of its own")
    func wholeBatchWithoutRest() {
        let fixture = StateFixture(plan(events: 1, ordered: false))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.retry(Answer("busy"), after: .milliseconds(7000)), events: [0: .delivered]), at: 10)
        #expect(fixture.step(at: 10) == "wait 7010")
        #expect(fixture.account() == "2 taken, 1 delivered, 1 waiting")
    }

    @Test("it lasts for an hour at most", arguments: [3_600_001, Int64.max / 1_000_000])
    func isBounded(_ milliseconds: Int64) {
        let fixture = lane()
        _ = fixture.step(at: 0)
        _ = fixture.complete(busy(milliseconds), at: 10)
        #expect(fixture.step(at: 10) == "wait 3600010")
        #expect(fixture.step(at: 3_600_010) == "deliver 0 attempt 2")
    }

    @Test("a new provider has no pause, neither an earlier one nor one that the old provider asks for late")
    func newProvider() {
        let fixture = lane()
        _ = (fixture.step(at: 0), fixture.step(at: 0))
        _ = fixture.complete(busy(7000), index: 0, at: 10)
        fixture.state.adopt(fixture.state.plan, concurrency: nil, isNewProvider: true)
        #expect(fixture.step(at: 20) == "deliver 0")
        _ = fixture.complete(busy(7000), index: 1, at: 30)
        #expect(fixture.step(at: 30) == "deliver 2")
        #expect(fixture.step(at: 2000) == "wait", "two batches are in flight")
        _ = fixture.complete(.init(.delivered), at: 2000)
        #expect(fixture.step(at: 2000) == "deliver 1 attempt 2")
    }

    @Test("a change of the plan alone does not change it")
    func samePlan() {
        let fixture = lane()
        _ = fixture.step(at: 0)
        _ = fixture.complete(busy(7000), at: 10)
        fixture.state.adopt(fixture.state.plan, concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 20) == "wait 7010")
    }

    @Test("the status has the remaining time")
    func status() {
        let fixture = lane()
        _ = fixture.step(at: 0)
        #expect(fixture.state.status(at: instant(0)).paused == nil)
        _ = fixture.complete(busy(7000), at: 10)
        #expect(fixture.state.status(at: instant(1010)).paused == .seconds(6))
        #expect(fixture.state.status(at: instant(7010)).paused == nil)
    }
}

@Suite("What may have arrived")
struct UnknownTests {
    private let busy = BatchOutcome(.retry(Answer("busy"), after: nil))
    private let lost = BatchOutcome(.unknown(Answer("reset")))
    private let bad = BatchOutcome(.rejected(Answer("bad")))

    /// Runs a lane whose only batch gets these outcomes, one after the other. Returns the effects of the last one as well.
    private func tried(_ outcomes: [BatchOutcome], events: [String] = ["a"], at times: [Int64]) -> (fixture: StateFixture, last: [String]) {
        let fixture = StateFixture(plan(events: events.count))
        fixture.take(events, at: 0)
        var last: [String] = []
        for (outcome, time) in zip(outcomes, times) {
            #expect(fixture.step(at: time).hasPrefix("deliver"))
            last = fixture.complete(outcome, at: time)
        }
        return (fixture, last)
    }

    @Test("an event that is given up after retry.for is unknown if any of its attempts was unknown")
    func expired() {
        #expect(tried([lost, lost], at: [0, 60_000]).last == ["bury a unknown reset 2"])
        #expect(tried([lost, busy], at: [0, 60_000]).last == ["bury a unknown busy 2"])
        #expect(tried([busy, lost], at: [0, 60_000]).last == ["bury a unknown reset 2"])
        #expect(tried([busy, busy], at: [0, 60_000]).last == ["bury a expired busy 2"])
    }

    @Test("an event that is left over when the lane ends is unknown if one of its attempts was unknown")
    func leftOver() {
        let (fixture, _) = tried([lost, busy], at: [0, 10_000])
        fixture.take(["b"], at: 10_000)
        #expect(fixture.giveUp("time is up") == ["bury a unknown busy 2", "bury b undelivered busy 0"])
        #expect(fixture.account() == "2 taken, 1 unknown, 1 undelivered, 0 waiting")
    }

    @Test("both halves of a halved batch stay unknown")
    func halved() {
        let (fixture, _) = tried([lost, bad], events: ["a", "b"], at: [0, 10_000])
        #expect(fixture.giveUp("time is up") == ["bury a unknown time is up 0", "bury b unknown time is up 0"])
    }

    @Test("in a mixed outcome only the events with that outcome become unknown")
    func mixed() {
        let fixture = StateFixture(plan(events: 3))
        fixture.take(["a", "b", "c"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.retry(Answer("busy"), after: nil), events: [1: .unknown(Answer("reset"))]), at: 1)
        #expect(Set(fixture.giveUp("time is up")) == ["bury a c undelivered busy 1", "bury b unknown busy 1"])
    }

    @Test("a delivery that is given up at its deadline stays unknown")
    func deadline() {
        var plan = plan(events: 1)
        plan.deadline = .milliseconds(100)
        let fixture = StateFixture(plan)
        fixture.take(["a"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.expire(at: 100)
        #expect(fixture.step(at: 5000) == "deliver a attempt 2")
        _ = fixture.complete(busy, at: 5001)
        #expect(fixture.giveUp("time is up") == ["bury a unknown busy 2"])
    }

    @Test("after a provider's destination is gone, deliveries in flight end first and waiting events are not delivered")
    func closed() {
        for isOneRefused in [true, false] {
            let fixture = StateFixture(plan(events: 1, ordered: false), concurrency: 2)
            fixture.take(["a", "b", "c", "d"], at: 0)
            _ = (fixture.step(at: 0), fixture.step(at: 0))
            if isOneRefused {
                #expect(fixture.complete(.init(.closed(Answer("gone"))), index: 0, at: 1) == [])
            } else {
                #expect(fixture.destinationGone("gone") == [])
                #expect(fixture.complete(.init(.retry(Answer("busy"), after: nil)), index: 0, at: 1) == ["failing busy"])
            }
            #expect(fixture.step(at: 100_000) == "wait", "nothing more is handed over")
            #expect(fixture.complete(.init(.delivered), index: 1, at: 1).last == "closed gone")
            #expect(fixture.step(at: 1) == "end")
            #expect(fixture.account() == "4 taken, 1 delivered, 3 undelivered, 0 waiting")
        }
    }

    @Test("a delivery in flight to a destination that is gone ends at its deadline at the latest")
    func closedWhileHanging() {
        var plan = plan(events: 1)
        plan.deadline = .milliseconds(100)
        let fixture = StateFixture(plan)
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.destinationGone("gone") == [])
        #expect(fixture.expire(at: 100).last == "closed gone")
        #expect(fixture.account() == "2 taken, 1 unknown, 1 undelivered, 0 waiting")
    }

    @Test("a destination that is gone does not end the lane if another provider has taken its place")
    func closedAndReplaced() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.destinationGone("gone") == [])
        fixture.state.adopt(fixture.state.plan, concurrency: nil, isNewProvider: true)
        #expect(fixture.complete(.init(.delivered), at: 1) == [])
        #expect(fixture.step(at: 1) == "deliver b")
    }

    @Test("refused events are refused, and taken events are delivered, whatever happened before")
    func settled() {
        #expect(tried([lost, bad], at: [0, 10_000]).last.first == "bury a rejected bad 2")
        #expect(tried([lost, .init(.delivered)], at: [0, 10_000]).fixture.account() == "1 taken, 1 delivered, 0 waiting")
    }

    @Test("a new provider does not change that an event is unknown")
    func newProvider() {
        let (fixture, _) = tried([lost], at: [0])
        fixture.state.adopt(fixture.state.plan, concurrency: nil, isNewProvider: true)
        #expect(fixture.giveUp("time is up") == ["bury a unknown time is up 0"])
    }

    @Test("in a lane that spills, events that could not be stored at the end are also told apart")
    func unstored() {
        var spilling = plan(events: 1, ordered: false)
        spilling.queue.full = .spill
        let fixture = StateFixture(spilling, contents: SpoolContents())
        fixture.take(["a", "b"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        _ = fixture.giveUp("time is up")
        var told: [String] = []
        for attempt in 0..<4 {
            guard case .commit = fixture.state.diskStep(at: instant(Int64(attempt) * 1000)) else { break }
            told += fixture.describe(fixture.state.storeFailed(SpoolFault(.full, "full"), at: instant(Int64(attempt) * 1000)))
        }
        #expect(told.contains { $0.hasPrefix("bury a unknown") })
        #expect(told.contains { $0.hasPrefix("bury b undelivered") })
    }
}
