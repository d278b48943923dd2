// How a lane collects the answers of the second check, and how often it asks.

import Plans
import Platform
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Judging
@testable import Queueing

/// A check that allows a subject everything or nothing. Subjects differ in the length of their events' texts.
private final class Subjects: Sendable {
    let records = ConsentRecords()
    let check: SecondCheck

    init(look: @escaping @Sendable () -> Void = {}) {
        check = SecondCheck(records, levels: RunNames(), look: look)
        var plan = Plan()
        plan.consent = ConsentPlan()
        plan.consent?.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["p"])]
        var route = RoutePlan(name: "first")
        route.consent = ConsentDemand(level: 1)
        plan.routes = [route]
        check.adopt(Ruleset(plan, records: records).consent)
    }

    func withdraw(_ length: UInt64) { records.set(SubjectKey(high: length, low: 7), [.withdrawn]) }
}

@Suite("Asking for consent") struct AskingTests {
    @Test("forgets the answers of an older version when it asks again")
    func older() {
        let subjects = Subjects()
        let (first, second) = (Batch(parcel(["a"])), Batch(parcel(["bb"])))
        var answers = ConsentAnswers()
        answers.ask(subjects.check, about: [first])
        #expect(answers.has(first, at: subjects.check.version))
        subjects.withdraw(1)
        #expect(!answers.has(first, at: subjects.check.version))
        answers.ask(subjects.check, about: [second])
        #expect(answers.has(second, at: subjects.check.version))
        #expect(!answers.has(first, at: subjects.check.version), "its answer is older than the withdrawal")
        answers.ask(subjects.check, about: [first])
        #expect(answers.has(first, at: subjects.check.version) && answers.has(second, at: subjects.check.version))
        #expect(answers[first] == .refused([0]) && answers[second] == .pass)
    }

    @Test("a batch without an answer passes, because it was made of one with an answer")
    func withoutAnswer() {
        #expect(ConsentAnswers()[Batch(parcel(["a"]))] == .pass)
    }

    @Test("the answer for a part of a batch counts the events of the part")
    func part() {
        let answer = SecondCheck.Answer.refused([1, 3])
        #expect(answer.part([1, 2, 3]) == .refused([0, 2]))
        #expect(answer.part([0, 2]) == .pass)
        #expect(answer.part([2, 3]) == .refused([1]))
        #expect(SecondCheck.Answer.unreadable.part([0]) == .unreadable)
        #expect(SecondCheck.Answer.pass.part([0]) == .pass)
    }

    private func lane(_ check: SecondCheck, _ provider: any Provider = Taker(), clock: Clock = .system) -> Lane {
        Lane(
            name: "out", provider: provider, plan: plan(events: 1, wait: .zero), concurrency: 1, routes: RunNames(["first"]),
            deadLetters: DeadLetters(path: "/nowhere/letters", clock: .system) { _ in }, clock: clock, random: RandomSource(seed: 1),
            check: check, news: { _, _ in })
    }

    @Test("an act whose answers are always stale asks without the lock a few times, and then once more with the lock")
    func act() {
        let asked = Monitor(0)
        let subjects = Subjects { asked.withLock { $0 += 1 } }
        let lane = lane(subjects.check)
        let batch = Batch(parcel(["a"]))
        var runs = 0
        let isAnswered = lane.decide { _, answers, version -> LaneState.Reply<Bool> in
            runs += 1
            return runs <= Lane.mostAsks + 3 ? .ask([batch]) : .done(answers.has(batch, at: version))
        }
        #expect(isAnswered)
        // Only a thread without the lock lets the check look at the clock, because that may write a message.
        #expect(asked.withLock { $0 } == Lane.mostAsks)
    }

    @Test("a batch leaves although consent changes during every question, after a few questions")
    func endlessChanges() {
        let asked = Monitor(0)
        let subjects = Subjects { asked.withLock { $0 += 1 } }
        // Every look at the clock changes consent. A lane that asked for ever would stop at a thousand changes, and this test would fail.
        let changes = Monitor(0)
        let clock = Clock(
            now: {
                let count = changes.withLock { count -> Int in
                    count += 1
                    return count
                }
                if count < 1000 { subjects.withdraw(UInt64(100 + count)) }
                return Clock.system.now()
            }, wall: Clock.system.wall)
        let taker = Taker()
        let lane = lane(subjects.check, taker, clock: clock)
        var parcel = parcel(["a"])
        let isTaken = lane.take(&parcel)
        #expect(isTaken)
        lane.start()
        lane.drain()
        lane.waitForEnd()
        #expect(taker.events.withLock { $0 } == ["a"])
        // The provider asks once more, since consent has changed again when the batch is to leave.
        #expect(asked.withLock { $0 } == Lane.mostAsks + 1)
    }

    @Test("a batch does not leave with an answer that was stale when the lane had its lock again")
    func staleAtTheLock() {
        let asked = Monitor(0)
        let subjects = Subjects { asked.withLock { $0 += 1 } }
        // After the first question, the lane reads its clock when it has the lock. Then the subject withdraws.
        let isWithdrawn = Monitor(false)
        let clock = Clock(
            now: {
                if asked.withLock({ $0 }) > 0, !isWithdrawn.withLock({ $0 }) {
                    isWithdrawn.withLock { $0 = true }
                    subjects.withdraw(1)
                }
                return Clock.system.now()
            }, wall: Clock.system.wall)
        let taker = Taker()
        let lane = lane(subjects.check, taker, clock: clock)
        var parcel = parcel(["a"])
        let isTaken = lane.take(&parcel)
        #expect(isTaken)
        lane.start()
        lane.drain()
        lane.waitForEnd()
        #expect(taker.events.withLock { $0 } == [])
        #expect(lane.status.account.total(.withdrawn) == 1)
    }

    @Test("an act asks about every event that it may settle or keep, and about no other")
    func acts() {
        let subjects = Subjects()
        func asks(_ fixture: StateFixture, _ act: LaneState.Act, at time: Int64 = 0) -> [String] {
            let reply = fixture.state.perform(act, ConsentAnswers(), consentIs: subjects.check.version, at: instant(time))
            guard case .ask(let batches) = reply else { return [] }
            return batches.flatMap { texts($0) }.sorted()
        }
        func fixture(abandon: Int = 9) -> StateFixture {
            var plan = plan(events: 1)
            plan.deadline = .milliseconds(10)
            plan.abandon = abandon
            let fixture = StateFixture(plan, check: subjects.check)
            fixture.take(["a", "bb"], at: 0)
            return fixture
        }
        let all = ["a", "bb"]
        let answer = Answer("gone")
        #expect(asks(fixture(), .destinationGone(answer)) == all)
        #expect(asks(fixture(), .giveUp(answer)) == all)
        #expect(asks(fixture(), .stop(answer, isInDelivery: true)) == all)
        let busy = fixture()
        #expect(busy.step(at: 0) == "deliver a")
        #expect(asks(busy, .completed(busy.tokens[0], BatchOutcome(.unknown(answer)))) == ["a"])
        #expect(asks(busy, .completed(busy.tokens[0], BatchOutcome(.delivered, events: [0: .closed(answer)]))) == all)
        #expect(asks(busy, .expire, at: 20) == ["a"])
        guard case .ask(let inFlight) = busy.state.refusedInFlight(ConsentAnswers(), consentIs: subjects.check.version) else {
            return #expect(Bool(false), "nothing is asked")
        }
        #expect(inFlight.flatMap { texts($0) } == ["a"])
        // The state carries out an act for which it needs no answer, so each of these is the last one of its fixture.
        #expect(asks(busy, .completed(busy.tokens[0], BatchOutcome(.delivered))) == [])
        let closing = fixture()
        #expect(closing.step(at: 0) == "deliver a")
        #expect(asks(closing, .destinationGone(answer)) == [], "the delivery ends first")
        let stopping = fixture(abandon: 1)
        #expect(stopping.step(at: 0) == "deliver a")
        #expect(asks(stopping, .expire, at: 20) == all)
    }

    // MARK: - Dead letters that the lane holds

    @Test("the fault of dead letters is in the status until they can be kept, and the next pause is short again")
    func faultOfLetters() {
        let fixture = holding(nil)
        fixture.take(["a", "bb", "ccc"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb ccc")
        _ = fixture.complete(.init(.delivered, events: [1: no]), at: 0)
        fixture.buried(lost: 1, at: 0)
        #expect(fixture.state.letters.fault != nil && fixture.state.letters.retry.failures == 1)
        #expect(fixture.step(at: 10_000_000) == "bury bb rejected no 1")
        fixture.buried(at: 10_000_000)
        #expect(fixture.state.letters.fault == nil && fixture.state.letters.retry.failures == 0)
        #expect(fixture.account() == "3 taken, 2 delivered, 1 rejected, 0 waiting")
    }

    private func holding(_ check: SecondCheck?, retention: Duration? = nil) -> StateFixture {
        var plan = plan(events: 3)
        plan.deadLetters = .block
        plan.retention = retention
        plan.retry.first = .seconds(1000)
        plan.retry.most = .seconds(8000)
        return StateFixture(plan, check: check)
    }

    private let no = Outcome.rejected(Answer("no"))

    @Test("is done about dead letters that could not be kept, when the lane ends")
    func heldAtTheEnd() {
        let subjects = Subjects()
        let fixture = holding(subjects.check)
        fixture.take(["a", "bb", "ccc"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb ccc")
        #expect(fixture.complete(.init(.delivered, events: [0: no, 1: no]), at: 0) == ["bury a bb rejected no 1"])
        fixture.buried(lost: 2, at: 0)
        subjects.withdraw(2)
        #expect(fixture.giveUp("time is up") == ["bury a rejected no 1"])
        fixture.buried()
        #expect(fixture.account() == "3 taken, 1 delivered, 1 rejected, 1 withdrawn, 0 waiting")
    }

    @Test("dead letters that could not be kept are destroyed when they are too old, each at its time")
    func heldTooLong() {
        let fixture = holding(nil, retention: .milliseconds(100))
        fixture.take(["a"], arrival: 0, at: 0)
        fixture.take(["b", "c"], arrival: 50_000_000, at: 50)
        #expect(fixture.step(at: 50) == "deliver a b c")
        #expect(fixture.complete(.init(.delivered, events: [0: no, 1: no]), at: 50) == ["bury a b rejected no 1"])
        fixture.buried(lost: 2, at: 50)
        #expect(fixture.step(at: 50) == "wait 100", "before the letters are tried again")
        #expect(fixture.step(at: 100) == "wait 150")
        #expect(fixture.account() == "3 taken, 1 delivered, 1 aged, 1 waiting")
        #expect(fixture.step(at: 150) == "wait")
        #expect(fixture.account() == "3 taken, 1 delivered, 2 aged, 0 waiting")
    }

    @Test("an inquiry finds the events of dead letters that could not be kept")
    func heldInMemory() {
        let fixture = holding(nil)
        fixture.take(["a", "bb", "ccc"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb ccc")
        _ = fixture.complete(.init(.delivered, events: [1: no]), at: 0)
        fixture.buried(lost: 1, at: 0)
        let found = fixture.state.inMemory(at: instant(0))
        #expect(found.flatMap { texts($0) } == ["bb"])
    }
}

/// A provider that takes everything.
private final class Taker: Provider, Sendable {
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
