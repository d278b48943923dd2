// Events that waited are checked again at their hand-over.

import Plans
import Platform
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Judging
@testable import Queueing

/// Two routes, for analytics and for operations, and a lane in which the events of subjects wait.
private final class SecondCheckFixture {
    let records = ConsentRecords()
    let levels = RunNames()
    let lane: StateFixture
    let check: SecondCheck
    /// True if the clock is found to be behind.
    let isClockBehind = Monitor(false)

    init(_ change: (inout ConsentPlan) -> Void = { _ in }) {
        check = SecondCheck(records, levels: levels) { [records, isClockBehind] in
            records.isClockBehind = isClockBehind.withLock { $0 }
        }
        lane = StateFixture(plan(events: 3), check: check)
        adopt(["product", "errors"], change)
    }

    func adopt(_ names: [String], _ change: (inout ConsentPlan) -> Void = { _ in }) {
        var plan = Plan()
        plan.consent = ConsentPlan()
        plan.consent?.levels = [
            .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
            .init(name: "standard", purposes: ["operations", "analytics"]),
        ]
        change(&plan.consent!)
        let demands = ["product": ConsentDemand(level: 0, purposes: ["analytics"]), "errors": ConsentDemand(level: 1)]
        plan.routes = names.map { name in
            var route = RoutePlan(name: name)
            route.consent = demands[name] ?? ConsentDemand(level: 0)
            return route
        }
        let numbers = names.map { ["product": 0, "errors": 1][$0] ?? 2 } as [UInt16]
        check.adopt(Ruleset(plan, numbers: numbers, records: records, levels: levels).consent)
    }

    /// Sets what is on record of a subject. Subjects differ in the length of their events' texts.
    func say(_ length: UInt64, _ terms: ConsentTerms...) { records.set(SubjectKey(high: length, low: 7), terms) }
}

@Suite("The second check") struct SecondCheckTests {
    @Test("destroys events whose subject has refused since, and hands over the rest")
    func refused() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(level: "standard"))
        fixture.say(2, ConsentTerms(level: "standard"))
        fixture.lane.take(["a", "bb", "c"], at: 0)
        fixture.say(2, .withdrawn)
        #expect(fixture.lane.step(at: 0) == "deliver a c")
        #expect(fixture.lane.complete(.init(.delivered), at: 1) == [])
        #expect(fixture.lane.account() == "3 taken, 2 delivered, 1 withdrawn, 0 waiting")
        #expect(fixture.lane.heldBytes == 0)
    }

    @Test("demands what the route demands: one purpose, or a level")
    func narrower() {
        let fixture = SecondCheckFixture()
        fixture.lane.take(["a", "b", "c"], route: 0, at: 0)
        fixture.lane.take(["d", "e", "f"], route: 1, at: 0)
        fixture.say(1, ConsentTerms(level: "standard", denied: ["analytics"]))
        #expect(fixture.lane.step(at: 0) == "deliver d e f")
        #expect(fixture.lane.account() == "6 taken, 3 withdrawn, 3 waiting")
    }

    @Test("is made again before every retry")
    func retries() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(level: "standard"))
        fixture.lane.take(["a", "b", "c"], at: 0)
        #expect(fixture.lane.step(at: 0) == "deliver a b c")
        #expect(fixture.lane.complete(.init(.retry(Answer("busy"), after: .milliseconds(10))), at: 1) == ["failing busy"])
        fixture.say(1, .withdrawn)
        #expect(fixture.lane.step(at: 100) == "wait")
        #expect(fixture.lane.account() == "3 taken, 3 withdrawn, 0 waiting")
    }

    @Test("lets events pass if nothing is on record, since they were admitted by their own statement")
    func unknown() {
        let fixture = SecondCheckFixture()
        fixture.lane.take(["a", "b", "c"], at: 0)
        #expect(fixture.lane.step(at: 0) == "deliver a b c")
    }

    @Test("counts a refusal even if the consent on record with it is too old")
    func oldRefusal() {
        let fixture = SecondCheckFixture { $0.minimumVersion = "2" }
        fixture.lane.take(["a", "bb", "ccc"], at: 0)
        fixture.say(1, ConsentTerms(level: "standard", denied: ["analytics"], version: "1"))
        fixture.say(2, ConsentTerms(level: "standard", version: "1"))
        #expect(fixture.lane.step(at: 0) == "deliver bb ccc")
    }

    @Test("holds events back, and destroys none, while the records cannot be read")
    func unreadable() {
        let fixture = SecondCheckFixture()
        fixture.say(1, .withdrawn)
        fixture.lane.take(["a", "bb", "c"], at: 0)
        fixture.records.isUnreadable = true
        #expect(fixture.lane.step(at: 0) == "wait 1000")
        #expect(fixture.lane.account() == "3 taken, 3 waiting")
        fixture.records.isUnreadable = false
        #expect(fixture.lane.step(at: 1000) == "deliver bb")
    }

    @Test("checks the clock each time, even if no event comes in")
    func clock() {
        let fixture = SecondCheckFixture()
        fixture.say(1, .withdrawn)
        fixture.lane.take(["a", "bb", "c"], at: 0)
        fixture.isClockBehind.withLock { $0 = true }
        #expect(fixture.lane.step(at: 0) == "wait 1000")
        fixture.isClockBehind.withLock { $0 = false }
        #expect(fixture.lane.step(at: 1000) == "deliver bb")
    }

    @Test("demands the level under which an event was admitted, whatever its route demands")
    func raised() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(level: "essential"))
        fixture.say(2, ConsentTerms(level: "standard"))
        var raised = parcel(["a", "bb"], route: 1, level: EntryLevel.entry(of: fixture.levels.number(of: "standard")))
        _ = fixture.lane.state.take(&raised, at: instant(0))
        fixture.lane.take(["c"], route: 1, at: 0)
        #expect(fixture.lane.step(at: 0) == "deliver bb c")
    }

    @Test("still demands what a route demanded that a reload removed")
    func reloads() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(level: "essential"))
        fixture.say(2, ConsentTerms(granted: ["analytics"]))
        fixture.lane.take(["a", "bb", "ccc"], route: 0, at: 0)
        fixture.adopt(["errors", "other"])
        #expect(fixture.lane.step(at: 0) == "deliver bb ccc")
    }

    @Test("demands everything if the plan no longer has what the route demanded")
    func lostWords() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(level: "essential"))
        fixture.say(2, ConsentTerms(level: "all"))
        fixture.lane.take(["a", "bb", "ccc"], route: 0, at: 0)
        fixture.adopt(["errors", "other"]) {
            $0.levels = [
                .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
                .init(name: "all", purposes: ["operations", "statistics"]),
            ]
        }
        #expect(fixture.lane.step(at: 0) == "deliver bb ccc")
    }

    @Test("demands what all routes together demand if a route is unknown")
    func unknownRoute() {
        let fixture = SecondCheckFixture()
        fixture.say(1, ConsentTerms(granted: ["operations"]))
        fixture.say(2, ConsentTerms(level: "standard"))
        fixture.say(3, ConsentTerms(granted: ["analytics"]))
        fixture.lane.take(["a", "bb", "ccc"], route: 9, at: 0)
        #expect(fixture.lane.step(at: 0) == "deliver bb")
    }

    // MARK: - Between the check and the hand-over

    /// Lets the lane ask for consent, changes something, and describes what the lane does with the older answers.
    private func hands(_ fixture: SecondCheckFixture, over change: () -> Void) -> String {
        var answers = ConsentAnswers()
        guard case .ask(let batches) = fixture.lane.state.next(at: instant(0), answers, consentIs: fixture.check.version) else {
            return "no question"
        }
        fixture.lane.ask(&answers, batches)
        change()
        switch fixture.lane.state.next(at: instant(0), answers, consentIs: fixture.check.version) {
        case .ask: return "asks again, then " + fixture.lane.step(at: 0)
        case .deliver(_, let batch, _): return "delivers " + texts(batch).joined(separator: " ")
        default: return "something else"
        }
    }

    @Test("uses an answer if nothing has changed since")
    func freshAnswer() {
        let fixture = SecondCheckFixture()
        fixture.lane.take(["a", "bb", "c"], at: 0)
        #expect(hands(fixture) {} == "delivers a bb c")
    }

    @Test("never uses an answer that is older than a refusal, a withdrawal or another plan")
    func staleAnswer() {
        let subject = SubjectKey(high: 2, low: 7)
        let changes: [(SecondCheckFixture) -> Void] = [
            { $0.say(2, .withdrawn) }, { $0.check.ban(1, [subject], purposes: nil, until: 5) },
            { $0.adopt(["errors", "product"]) { $0.levels[0].purposes = [] } }, { $0.records.isUnreadable = true },
        ]
        let expected = ["deliver a c", "deliver a c", "deliver a bb c", "wait 1000"]
        for (change, expected) in zip(changes, expected) {
            let fixture = SecondCheckFixture()
            fixture.lane.take(["a", "bb", "c"], at: 0)
            #expect(hands(fixture) { change(fixture) } == "asks again, then \(expected)")
        }
    }

    @Test("never lets a refused event wait again by an answer that is older than the refusal")
    func staleAfterDelivery() {
        let fixture = SecondCheckFixture()
        fixture.lane.take(["a", "bb", "c"], at: 0)
        guard case .deliver(let token, let batch, _) = fixture.lane.next(at: 0) else { return #expect(Bool(false), "nothing is delivered") }
        var answers = ConsentAnswers()
        fixture.lane.ask(&answers, [batch])
        fixture.say(2, .withdrawn)
        let act = LaneState.Act.completed(token, BatchOutcome(.retry(Answer("busy"), after: nil)))
        guard case .ask = fixture.lane.state.perform(act, answers, consentIs: fixture.check.version, at: instant(1)) else {
            return #expect(Bool(false), "the state uses a stale answer")
        }
        _ = fixture.lane.perform(act, at: 1)
        #expect(fixture.lane.account() == "3 taken, 1 withdrawn, 2 waiting")
    }

    @Test("asks about every event in memory before the lane ends")
    func end() {
        let fixture = SecondCheckFixture()
        fixture.lane.take(["a", "bb", "c"], at: 0)
        #expect(fixture.lane.step(at: 0) == "deliver a bb c")
        fixture.lane.take(["d", "ee"], at: 0)
        fixture.say(2, .withdrawn)
        let outcome = BatchOutcome(.closed(Answer("gone")), events: [0: .rejected(Answer("no"))])
        #expect(fixture.lane.complete(outcome, at: 1).contains("closed gone"))
        #expect(fixture.lane.laneAccount.total(.withdrawn) == 2)
        #expect(fixture.lane.laneAccount.totalWaiting == 0)
    }

    @Test("holds no lock of the lane, however long it takes")
    func slow() {
        let gate = Monitor((isAsked: false, isOpen: false))
        let check = SecondCheck(ConsentRecords(), levels: RunNames()) {
            gate.withLock { $0.isAsked = true }
            gate.wake()
            gate.wait(while: { !$0.isOpen })
        }
        let provider = Sink()
        let lane = Lane(
            name: "out", provider: provider, plan: plan(events: 1, wait: .zero), concurrency: 1, routes: RunNames(["first"]),
            deadLetters: DeadLetters(path: "/nowhere/letters", clock: .system) { _ in }, clock: .system, random: RandomSource(seed: 1),
            check: check, news: { _, _ in })
        lane.start()
        var first = parcel(["a"])
        let isFirstTaken = lane.take(&first)
        gate.wait(while: { !$0.isAsked })
        // Each of these takes the lock of the lane. The test would hang here if the second check ran under it.
        var second = parcel(["b"])
        let isSecondTaken = lane.take(&second)
        #expect(isFirstTaken && isSecondTaken)
        #expect(lane.status.events == 2 && lane.status.underWay == 0)
        lane.drain()
        #expect(!lane.isOver)
        gate.withLock { $0.isOpen = true }
        gate.wake()
        lane.waitForEnd()
        #expect(provider.events.withLock { $0 } == ["a", "b"])
    }
}

/// A provider that takes everything.
private final class Sink: Provider, Sendable {
    let events = Monitor<[String]>([])
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        events.withLock { $0 += texts(batch) }
        done(BatchOutcome(.delivered))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}
