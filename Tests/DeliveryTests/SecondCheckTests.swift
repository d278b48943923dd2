// What waited is asked about once more at the hand-over.

import Plans
import Platform
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Judging

/// Two routes, for analytics and for operations, and a lane in front of which events of subjects wait.
private final class Yard {
    let records = ConsentRecords()
    let levels = RunNames()
    let bench: Bench
    private let check: SecondCheck
    /// Whether whoever looks at the clock finds it behind.
    let isClockBehind = Monitor(false)

    init(_ change: (inout ConsentPlan) -> Void = { _ in }) {
        check = SecondCheck(records, levels: levels) { [records, isClockBehind] in
            records.isClockBehind = isClockBehind.withLock { $0 }
        }
        bench = Bench(plan(events: 3), check: check)
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

    /// Subjects are told apart by the lengths of their events' texts.
    func say(_ length: UInt64, _ terms: ConsentTerms...) { records.set(SubjectKey(high: length, low: 7), terms) }
}

@Suite("The second check") struct SecondCheckTests {
    @Test("destroys what its subject has refused since, and hands over the rest")
    func refused() {
        let yard = Yard()
        yard.say(1, ConsentTerms(level: "standard"))
        yard.say(2, ConsentTerms(level: "standard"))
        yard.bench.take(["a", "bb", "c"], at: 0)
        yard.say(2, .withdrawn)
        #expect(yard.bench.step(at: 0) == "deliver a c")
        #expect(yard.bench.complete(.init(.delivered), at: 1) == [])
        #expect(yard.bench.account() == "3 taken, 2 delivered, 1 withdrawn, 0 waiting")
        #expect(yard.bench.heldBytes == 0)
    }

    @Test("goes by what the route demands: one purpose, or a level")
    func narrower() {
        let yard = Yard()
        yard.bench.take(["a", "b", "c"], route: 0, at: 0)
        yard.bench.take(["d", "e", "f"], route: 1, at: 0)
        yard.say(1, ConsentTerms(level: "standard", denied: ["analytics"]))
        #expect(yard.bench.step(at: 0) == "deliver d e f")
        #expect(yard.bench.account() == "6 taken, 3 withdrawn, 3 waiting")
    }

    @Test("is passed again before every retry")
    func retries() {
        let yard = Yard()
        yard.say(1, ConsentTerms(level: "standard"))
        yard.bench.take(["a", "b", "c"], at: 0)
        #expect(yard.bench.step(at: 0) == "deliver a b c")
        #expect(yard.bench.complete(.init(.retry(Answer("busy"), after: .milliseconds(10))), at: 1) == ["failing busy"])
        yard.say(1, .withdrawn)
        #expect(yard.bench.step(at: 100) == "wait")
        #expect(yard.bench.account() == "3 taken, 3 withdrawn, 0 waiting")
    }

    @Test("lets pass of whom nothing is on record, since they were admitted by what they said themselves")
    func unknown() {
        let yard = Yard()
        yard.bench.take(["a", "b", "c"], at: 0)
        #expect(yard.bench.step(at: 0) == "deliver a b c")
    }

    @Test("counts a refusal also where the consent beside it is too old to count")
    func oldRefusal() {
        let yard = Yard { $0.minimumVersion = "2" }
        yard.bench.take(["a", "bb", "ccc"], at: 0)
        yard.say(1, ConsentTerms(level: "standard", denied: ["analytics"], version: "1"))
        yard.say(2, ConsentTerms(level: "standard", version: "1"))
        #expect(yard.bench.step(at: 0) == "deliver bb ccc")
    }

    @Test("holds back, and destroys nothing, while nobody can tell")
    func unreadable() {
        let yard = Yard()
        yard.say(1, .withdrawn)
        yard.bench.take(["a", "bb", "c"], at: 0)
        yard.records.isUnreadable = true
        #expect(yard.bench.step(at: 0) == "wait 1000")
        #expect(yard.bench.account() == "3 taken, 3 waiting")
        yard.records.isUnreadable = false
        #expect(yard.bench.step(at: 1000) == "deliver bb")
    }

    @Test("looks at the clock each time, though no event comes in")
    func clock() {
        let yard = Yard()
        yard.say(1, .withdrawn)
        yard.bench.take(["a", "bb", "c"], at: 0)
        yard.isClockBehind.withLock { $0 = true }
        #expect(yard.bench.step(at: 0) == "wait 1000")
        yard.isClockBehind.withLock { $0 = false }
        #expect(yard.bench.step(at: 1000) == "deliver bb")
    }

    @Test("asks for the level that an event was admitted under, whatever its route demands")
    func raised() {
        let yard = Yard()
        yard.say(1, ConsentTerms(level: "essential"))
        yard.say(2, ConsentTerms(level: "standard"))
        var raised = parcel(["a", "bb"], route: 1, level: EntryLevel.entry(of: yard.levels.number(of: "standard")))
        _ = yard.bench.state.take(&raised, at: instant(0))
        yard.bench.take(["c"], route: 1, at: 0)
        #expect(yard.bench.step(at: 0) == "deliver bb c")
    }

    @Test("goes on asking for what a route demanded that a reload took away")
    func reloads() {
        let yard = Yard()
        yard.say(1, ConsentTerms(level: "essential"))
        yard.say(2, ConsentTerms(granted: ["analytics"]))
        yard.bench.take(["a", "bb", "ccc"], route: 0, at: 0)
        yard.adopt(["errors", "other"])
        #expect(yard.bench.step(at: 0) == "deliver bb ccc")
    }

    @Test("asks for all there is where the plan no longer has what the route demanded")
    func lostWords() {
        let yard = Yard()
        yard.say(1, ConsentTerms(level: "essential"))
        yard.say(2, ConsentTerms(level: "all"))
        yard.bench.take(["a", "bb", "ccc"], route: 0, at: 0)
        yard.adopt(["errors", "other"]) {
            $0.levels = [
                .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
                .init(name: "all", purposes: ["operations", "statistics"]),
            ]
        }
        #expect(yard.bench.step(at: 0) == "deliver bb ccc")
    }

    @Test("asks of a route that nobody knows any more for all that any route demands")
    func unknownRoute() {
        let yard = Yard()
        yard.say(1, ConsentTerms(granted: ["operations"]))
        yard.say(2, ConsentTerms(level: "standard"))
        yard.say(3, ConsentTerms(granted: ["analytics"]))
        yard.bench.take(["a", "bb", "ccc"], route: 9, at: 0)
        #expect(yard.bench.step(at: 0) == "deliver bb")
    }
}
