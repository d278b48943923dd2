// What a lane does with outcomes of single events, and with events that its provider leaves out.

import Plans
import Platform
import Spool
import Testing

@testable import Queueing

@Suite("A lane takes an outcome apart")
struct MixedOutcomeTests {
    private func rejected(_ words: String) -> Outcome { .rejected(Answer(code: 400, words)) }

    @Test("the refused rest of a mixed outcome is halved until the bad event is alone")
    func restIsHalved() {
        let fixture = StateFixture(plan(events: 6))
        fixture.take(["own", "a", "b", "X", "c", "d"], at: 0)
        var delivered: [String] = []
        var buried: [String] = []
        while true {
            let step = fixture.step(at: 0)
            guard step.hasPrefix("deliver ") else { break }
            let events = step.dropFirst(8).split(separator: " ").map(String.init)
            // The adapter refuses one event itself, and the vendor refuses every request that has the other bad event.
            let own = events.firstIndex(of: "own").map { [$0: rejected("own")] } ?? [:]
            if events.contains("X") {
                buried += fixture.complete(.init(rejected("bad"), events: own), at: 0)
            } else {
                delivered += events
                buried += fixture.complete(.init(.delivered, events: own), at: 0)
            }
        }
        #expect(delivered == ["a", "b", "c", "d"])
        #expect(buried == ["bury own rejected own 1", "bury X rejected bad 1"])
        #expect(fixture.account() == "6 taken, 4 delivered, 2 rejected, 0 waiting")
    }

    @Test("a refused rest is halved even if an event of its own was refused in the same words")
    func sameWords() {
        let fixture = StateFixture(plan(events: 3))
        fixture.take(["own", "a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(.init(rejected("no"), events: [0: rejected("no")]), at: 0) == ["bury own rejected no 1"])
        #expect(fixture.step(at: 0) == "deliver a")
    }

    @Test("a refused rest of one event is given up")
    func singleRest() {
        let fixture = StateFixture(plan(events: 2))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(.init(rejected("no"), events: [0: .delivered]), at: 0) == ["bury b rejected no 1"])
        #expect(fixture.account() == "2 taken, 1 delivered, 1 rejected, 0 waiting")
    }

    @Test(
        "a rest that must wait continues as one batch, in its order",
        arguments: [Outcome.retry(Answer("x"), after: nil), .unknown(Answer("x")), .fault(Answer("x"))])
    func restWaits(_ rest: Outcome) {
        let fixture = StateFixture(plan(events: 5))
        fixture.take(["a", "b", "c", "d", "e"], at: 0)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(rest, events: [1: .delivered, 3: rejected("no")]), at: 0)
        #expect(fixture.step(at: 10_000) == "deliver a c e attempt 2")
        #expect(fixture.account() == "5 taken, 1 delivered, 1 rejected, 3 waiting")
    }

    @Test("a rest that is closed ends the lane, after the events with outcomes of their own")
    func restIsClosed() {
        let fixture = StateFixture(plan(events: 5))
        fixture.take(["a", "b", "c", "d", "e"], at: 0)
        _ = fixture.step(at: 0)
        let own: [Int: Outcome] = [
            0: .delivered, 1: rejected("no"), 2: .retry(Answer("busy"), after: nil), 3: .unknown(Answer("who knows")),
        ]
        #expect(fixture.complete(.init(.closed(Answer("gone")), events: own), at: 0) == ["bury b rejected no 1", "closed gone"])
        #expect(fixture.step(at: 0) == "end")
        #expect(fixture.account() == "5 taken, 1 delivered, 1 rejected, 1 unknown, 2 undelivered, 0 waiting")
        #expect(fixture.heldBytes == 0)
    }

    @Test("a closed batch ends the lane even if every event has an outcome of its own")
    func closedWithoutRest() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b"], at: 0)
        _ = fixture.step(at: 0)
        #expect(fixture.complete(.init(.closed(Answer("gone")), events: [0: .delivered]), at: 0) == ["closed gone"])
        #expect(fixture.account() == "2 taken, 1 delivered, 1 undelivered, 0 waiting")
    }

    @Test("events on disk that are not settled stay there when the rest is closed")
    func restIsClosedOnDisk() {
        let fixture = StateFixture(plan(events: 3), contents: SpoolContents())
        fixture.take(["a", "b", "c"], at: 0)
        guard case .commit = fixture.state.diskStep(at: instant(0)) else { return #expect(Bool(false), "there is something to store") }
        _ = fixture.state.committed(at: instant(0))
        #expect(fixture.step(at: 0) == "deliver a b c")
        _ = fixture.complete(.init(.closed(Answer("gone")), events: [0: .delivered]), at: 1)
        #expect(fixture.account() == "3 taken, 1 delivered, 2 waiting")
        #expect(fixture.heldBytes == 0)
    }
}

@Suite("A lane whose provider leaves events out")
struct FilteredOutcomeTests {
    @Test("filtered events are settled with a fate and a reason of their own, beside every outcome of the others")
    func fates() {
        let own: [Int: Outcome] = [0: .filtered(.where), 2: .filtered(.withheld), 3: .filtered(.where)]
        for (outcome, next, account) in [
            (Outcome.delivered, "wait", "4 taken, 1 delivered, 3 filtered, 0 waiting"),
            (rejected, "wait", "4 taken, 3 filtered, 1 rejected, 0 waiting"),
            (.retry(Answer("x"), after: nil), "deliver b attempt 2", "4 taken, 3 filtered, 1 waiting"),
            (.unknown(Answer("x")), "deliver b attempt 2", "4 taken, 3 filtered, 1 waiting"),
            (.fault(Answer("x")), "deliver b attempt 2", "4 taken, 3 filtered, 1 waiting"),
            (.closed(Answer("x")), "end", "4 taken, 3 filtered, 1 undelivered, 0 waiting"),
        ] {
            let fixture = StateFixture(plan(events: 4))
            fixture.take(["a", "b", "c", "d"], at: 0)
            #expect(fixture.step(at: 0) == "deliver a b c d")
            _ = fixture.complete(.init(outcome, events: own), at: 0)
            #expect(fixture.step(at: 10_000) == next, "\(outcome)")
            #expect(fixture.account() == account, "\(outcome)")
            #expect(fixture.state.account.exclusions == [.where: 2, .withheld: 1])
        }
    }

    private let rejected = Outcome.rejected(Answer(code: 400, "no"))

    @Test("a batch that is filtered as a whole is settled, and says nothing about the provider")
    func whole() {
        let fixture = StateFixture(plan(events: 1))
        fixture.take(["a", "b", "c"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.complete(.init(.retry(Answer("down"), after: nil)), at: 0) == ["failing down"])
        #expect(fixture.step(at: 10_000) == "deliver a attempt 2")
        // The provider was not asked, so it has not recovered.
        #expect(fixture.complete(.init(.filtered(.events)), at: 10_000) == [])
        #expect(fixture.step(at: 10_000) == "deliver b")
        #expect(fixture.complete(.init(.filtered(.events), events: [0: .filtered(.not)]), at: 10_000) == [])
        #expect(fixture.step(at: 10_000) == "deliver c")
        #expect(fixture.complete(.init(.delivered), at: 10_000) == ["recovered 1"])
        #expect(fixture.account() == "3 taken, 1 delivered, 2 filtered, 0 waiting")
        #expect(fixture.heldBytes == 0)
    }

    @Test("events that were not handed over come next, in their order and as if they had not been tried")
    func untried() {
        let fixture = StateFixture(plan(events: 5))
        fixture.take(["a", "b", "c", "d", "e"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a b c d e")
        let rest: [Int: Outcome] = [2: .untried, 3: .untried, 4: .untried]
        #expect(fixture.complete(.init(.delivered, events: rest), at: 0) == [])
        #expect(fixture.step(at: 0) == "deliver c d e")
        #expect(fixture.complete(.init(.retry(Answer("busy"), after: nil), events: [1: .untried, 2: .untried]), at: 0) == ["failing busy"])
        #expect(fixture.step(at: 10_000) == "deliver c attempt 2")
        #expect(fixture.complete(.init(.delivered), at: 10_000) == ["recovered 1"])
        #expect(fixture.step(at: 10_000) == "deliver d e")
        #expect(fixture.complete(.init(.delivered, events: [1: .untried]), at: 10_000) == [])
        #expect(fixture.step(at: 10_000) == "deliver e")
        _ = fixture.complete(.init(.delivered), at: 10_000)
        #expect(fixture.account() == "5 taken, 5 delivered, 0 waiting")
        #expect(fixture.state.account.retries == 1 && fixture.heldBytes == 0)
    }
}
