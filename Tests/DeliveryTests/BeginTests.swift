// The question of a provider whether events of a delivery may leave now.

import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Judging
@testable import Queueing

@Suite("Events that were handed over and have not begun to leave") struct BeginTests {
    private let records = ConsentRecords()
    private let check: SecondCheck

    init() {
        check = SecondCheck(records, levels: RunNames())
        var plan = Plan()
        plan.consent = ConsentPlan()
        plan.consent?.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["p"])]
        plan.routes = ["a", "b"].map { name in
            var route = RoutePlan(name: name)
            route.consent = ConsentDemand(level: 1)
            return route
        }
        check.adopt(Ruleset(plan, records: records).consent)
    }

    /// Subjects differ in the length of their events' texts.
    private func withdraw(_ length: UInt64, receipt: Int64 = 1) {
        let key = SubjectKey(high: length, low: 7)
        records.set(key, [.withdrawn])
        check.ban(receipt, [key], purposes: nil, until: 5)
    }

    private func fixture(_ plan: DeliveryPlan, concurrency: Int = 1) -> StateFixture {
        StateFixture(plan, concurrency: concurrency, check: check, asks: true)
    }

    private func sweep(_ fixture: StateFixture) -> [String] { fixture.describe(fixture.perform(.sweep { _ in }, at: 1)) }

    @Test("may leave while nobody has withdrawn")
    func allowed() {
        let fixture = fixture(plan(events: 2))
        fixture.take(["a", "bb"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        #expect(fixture.mayBegin([0]) && fixture.mayBegin([1]) && fixture.mayBegin())
    }

    @Test("may not leave after the withdrawal, even before the sweep, and the rest of the batch comes again at once as the same attempt")
    func refused() {
        let fixture = fixture(plan(events: 2))
        fixture.take(["a", "bb"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        withdraw(1)
        #expect(!fixture.mayBegin([0]) && !fixture.mayBegin() && fixture.mayBegin([1]))
        #expect(fixture.complete(.init(.untried), at: 0) == [])
        #expect(fixture.step(at: 0) == "deliver bb")
        #expect(fixture.complete(.init(.delivered), at: 0) == [])
        #expect(fixture.account() == "2 taken, 1 delivered, 1 withdrawn, 0 waiting")
        #expect(sweep(fixture) == ["swept 1"])
    }

    @Test("are destroyed by the sweep, and stay so after a new consent")
    func swept() {
        let fixture = fixture(plan(events: 3))
        fixture.take(["a", "bb", "c"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb c")
        #expect(fixture.mayBegin([0]))
        withdraw(1)
        #expect(fixture.state.refusedInFlight(at: check) == 1)
        #expect(sweep(fixture) == ["swept 1, 1 in flight"])
        records.set(SubjectKey(high: 1, low: 7), [ConsentTerms(level: "all")])
        #expect(!fixture.mayBegin([2]) && !fixture.mayBegin() && fixture.mayBegin([1]))
        #expect(fixture.complete(.init(.delivered), at: 2) == [])
        #expect(fixture.account() == "3 taken, 2 delivered, 1 withdrawn, 0 waiting")
        #expect(fixture.heldBytes == 0)
    }

    @Test("that are all destroyed leave a delivery without events, whose end changes nothing")
    func nothingLeft() {
        for outcome in [Outcome.untried, .delivered, .rejected(Answer("no")), .retry(Answer("busy"), after: nil)] {
            let fixture = BeginTests().fixture(plan(events: 2))
            fixture.take(["a", "b"], at: 0)
            #expect(fixture.step(at: 0) == "deliver a b")
            let key = SubjectKey(high: 1, low: 7)
            fixture.check?.ban(1, [key], purposes: nil, until: 5)
            #expect(sweep(fixture) == ["swept 2"])
            #expect(fixture.complete(.init(outcome), at: 2) == [])
            #expect(fixture.account() == "2 taken, 2 withdrawn, 0 waiting")
        }
    }

    @Test("get their own outcomes by the places that they had, although others were taken out")
    func places() {
        let fixture = fixture(plan(events: 4))
        fixture.take(["a", "bb", "ccc", "dddd"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb ccc dddd")
        withdraw(2)
        #expect(sweep(fixture) == ["swept 1"])
        let outcome = BatchOutcome(.delivered, events: [1: .rejected(Answer("gone")), 3: .rejected(Answer("bad"))])
        #expect(fixture.complete(outcome, at: 2) == ["bury dddd rejected bad 1"])
    }

    @Test("of a delivery that was given up at its deadline may not leave")
    func abandoned() {
        var plan = plan(events: 1)
        plan.deadline = .milliseconds(10)
        let fixture = fixture(plan)
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        _ = fixture.expire(at: 10)
        #expect(!fixture.mayBegin())
    }

    @Test("may not leave while the records cannot be read")
    func unreadable() {
        let fixture = fixture(plan(events: 1))
        fixture.take(["a"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        check.goBlind()
        #expect(!fixture.mayBegin())
        _ = fixture.complete(.init(.untried), at: 0)
        #expect(fixture.step(at: 0).hasPrefix("wait"))
    }

    @Test("came in before the withdrawal if their time is in the future, since the clock was wrong then")
    func future() {
        let fixture = fixture(plan(events: 1))
        fixture.take(["a"], arrival: .max, at: 0)
        fixture.take(["b"], arrival: 6, at: 0)
        withdraw(1)
        records.set(SubjectKey(high: 1, low: 7), [ConsentTerms(level: "all")])
        #expect(fixture.step(at: 200) == "deliver b")
    }

    @Test("are counted under the receipt of their own withdrawal")
    func attributed() {
        let fixture = fixture(plan(events: 1))
        fixture.take(["a", "bb", "b"], at: 0)
        withdraw(1, receipt: 3)
        withdraw(2, receipt: 4)
        var swept: Swept?
        for case .swept(let result, _) in fixture.perform(.sweep { _ in }, at: 1) { swept = result }
        #expect(swept?.destroyed[3] == .init(events: 2, bytes: 4) && swept?.destroyed[4] == .init(events: 1, bytes: 3))
    }
}

extension LaneState {
    fileprivate mutating func refusedInFlight(at check: SecondCheck) -> Int {
        var answers = ConsentAnswers()
        while true {
            switch refusedInFlight(answers, consentIs: check.version) {
            case .done(let count): return count
            case .ask(let batches): answers.ask(check, about: batches)
            }
        }
    }
}
