// What a withdrawal destroys in a lane.

import Foundation
import Plans
import Platform
import Spool
import TestSupport
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Judging
@testable import Queueing

/// A check that allows a subject everything or nothing. Subjects differ in the length of their events' texts.
private final class Subjects {
    let records = ConsentRecords()
    let check: SecondCheck

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

    /// Withdraws with a receipt of its own.
    func withdraw(_ length: UInt64) { withdraw(length, receipt: 100 + Int64(length)) }
    func consent(_ length: UInt64) { records.set(SubjectKey(high: length, low: 7), [ConsentTerms(level: "all")]) }

    /// Notes that the events of a receipt of the first subject are destroyed.
    func finish(_ receipt: Int64) { check.finish(receipt, [SubjectKey(high: 1, low: 7)], until: 5) }

    /// Withdraws with a receipt that is not finished. The events of these tests came in at 5.
    func withdraw(_ length: UInt64, receipt: Int64, purposes: [String]? = nil, at time: Int64 = 5) {
        records.set(SubjectKey(high: length, low: 7), [.withdrawn])
        check.ban(receipt, [SubjectKey(high: length, low: 7)], purposes: purposes, until: time)
    }
}

@Suite("A sweep") struct SweepTests {
    private let subjects = Subjects()

    private func sweep(_ fixture: StateFixture, at time: Int64) -> [String] {
        fixture.describe(fixture.perform(.sweep { _ in }, at: time))
    }

    @Test("destroys all events that wait in memory, and counts those in flight")
    func memory() {
        let fixture = StateFixture(plan(events: 2), check: subjects.check)
        fixture.take(["a", "bb", "c", "dd", "e", "ff"], at: 0)
        fixture.take(["g"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 1) == ["swept 3, 1 in flight"])
        #expect(fixture.account() == "7 taken, 3 withdrawn, 4 waiting")
        #expect(fixture.complete(.init(.delivered), at: 2) == [])
        #expect(fixture.step(at: 2) == "deliver dd")
        _ = fixture.complete(.init(.delivered), at: 3)
        #expect(fixture.step(at: 3) == "deliver ff")
        _ = fixture.complete(.init(.delivered), at: 4)
        #expect(fixture.account() == "7 taken, 4 delivered, 3 withdrawn, 0 waiting")
        #expect(fixture.heldBytes == 0)
    }

    @Test("reaches events from before the withdrawal, even if the person has consented again, and no later events")
    func consentingAgain() {
        let fixture = StateFixture(plan(events: 2), check: subjects.check)
        fixture.take(["a", "bb"], at: 0)
        subjects.withdraw(1, receipt: 1)
        subjects.withdraw(2, receipt: 2, at: 4)
        subjects.consent(1)
        subjects.consent(2)
        #expect(sweep(fixture, at: 1) == ["swept 1"])
        #expect(fixture.step(at: 200) == "deliver bb")
        subjects.finish(1)
        fixture.take(["c"], arrival: 6, at: 300)
        _ = fixture.complete(.init(.delivered), at: 300)
        #expect(fixture.step(at: 400) == "deliver c")
    }

    @Test("leaves the ban of another withdrawal of the same person in force after it ends")
    func twoOfOnePerson() {
        let fixture = StateFixture(plan(events: 1), check: subjects.check)
        fixture.take(["a"], at: 0)
        for receipt in [1, 2] as [Int64] { subjects.withdraw(1, receipt: receipt) }
        subjects.consent(1)
        subjects.finish(1)
        #expect(fixture.step(at: 200) == "wait")
        #expect(fixture.account() == "1 taken, 1 withdrawn, 0 waiting")
    }

    @Test("for one purpose reaches only events that demand this purpose, even if it was granted again", arguments: ["p", "of no level"])
    func onePurpose(_ purpose: String) {
        let fixture = StateFixture(plan(events: 1), check: subjects.check)
        fixture.take(["a"], at: 0)
        subjects.withdraw(1, receipt: 1, purposes: [purpose])
        subjects.consent(1)
        #expect(sweep(fixture, at: 1) == ["swept \(purpose == "p" ? 1 : 0)"])
    }

    @Test("leads to the destruction of refused events that the provider gives back, and to no dead letter")
    func backFromTheProvider() {
        for outcome in [Outcome.rejected(Answer("no")), .retry(Answer("busy"), after: nil), .unknown(Answer("reset"))] {
            let subjects = Subjects()
            let fixture = StateFixture(plan(events: 2), check: subjects.check)
            fixture.take(["a", "bb"], at: 0)
            #expect(fixture.step(at: 0) == "deliver a bb")
            subjects.withdraw(1)
            #expect(sweep(fixture, at: 1) == ["swept 0, 1 in flight"])
            #expect(!fixture.complete(.init(outcome), at: 2).contains { $0.hasPrefix("bury a") })
            #expect(fixture.laneAccount.total(.withdrawn) == 1 && fixture.laneAccount.total(.delivered) == 0)
        }
    }

    @Test("leads to no dead letter of a refused event when the lane is given up")
    func givenUp() {
        let fixture = StateFixture(plan(events: 1), check: subjects.check)
        fixture.take(["a", "bb", "c", "dd"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        subjects.withdraw(1)
        #expect(fixture.giveUp("time is up") == ["bury bb undelivered time is up 0", "bury dd undelivered time is up 0"])
        #expect(fixture.account() == "4 taken, 2 undelivered, 2 withdrawn, 0 waiting")
    }

    @Test("reports and destroys refused events that are on their way to the dead letters")
    func letterOnItsWay() throws {
        let path = FileManager.default.temporaryDirectory.path + "/switchyard-\(UUID().uuidString).sqlite"
        defer { for companion in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + companion) } }
        let letters = DeadLetters(path: path, clock: .system, check: subjects.check) { Issue.record("\($0)") }
        subjects.withdraw(1)
        let burial = letters.bury(
            Batch(parcel(["1", "22", "3"])), provider: "out", routes: ["a"], reason: .rejected, Answer("no"), attempts: 1, isLost: true)
        #expect(burial.lost == 0)
        let kept = deadLetters(in: path)
        #expect(kept.count == 1 && kept.allSatisfy { $0.hasSuffix(#""event":22}"#) })
        #expect(try letters.sweep(subjects.check, RunNames(["a", "b"])).destroyed[101].events == 2)
    }

    @Test("counts a refused event once, however often the letters that it came with could not be kept")
    func heldLetters() throws {
        let path = FileManager.default.temporaryDirectory.path + "/switchyard-\(UUID().uuidString).sqlite"
        defer { for companion in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + companion) } }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let letters = DeadLetters(path: path, clock: .system, check: subjects.check) { _ in }
        subjects.withdraw(1)
        func bury() -> Int {
            letters.bury(
                Batch(parcel(["1", "22"])), provider: "out", routes: ["a"], reason: .rejected, Answer("no"), attempts: 1, isLost: false
            ).lost
        }
        #expect(bury() == 1 && bury() == 1, "the lane holds them")
        try FileManager.default.removeItem(atPath: path)
        #expect(bury() == 0)
        #expect(try letters.sweep(subjects.check, RunNames(["a", "b"])).destroyed[101].events == 1)
    }

    @Test("reports events that were destroyed at their hand-over, once")
    func reportedOnce() {
        let fixture = StateFixture(plan(events: 1), check: subjects.check)
        fixture.take(["a", "bb"], at: 0)
        subjects.withdraw(1)
        #expect(fixture.step(at: 200) == "deliver bb")
        #expect(sweep(fixture, at: 201) == ["swept 1"])
        #expect(sweep(fixture, at: 202) == ["swept 0"])
    }

    @Test("ends at once if there is no ledger")
    func noLedger() {
        let fixture = StateFixture()
        fixture.take(["a"], at: 0)
        #expect(sweep(fixture, at: 0) == ["swept 0"])
    }

    // MARK: - With a spool

    private func durable() -> DeliveryPlan {
        var plan = plan(events: 2)
        plan.queue.disk = 1_000_000
        plan.queue.memory = 8
        return plan
    }

    /// Carries out the steps of the store's thread until it has nothing to do. Returns the effects.
    private func work(_ fixture: StateFixture, _ store: MemoryStore, at time: Int64) -> [String] {
        var log: [String] = []
        while true {
            switch fixture.state.diskStep(at: instant(time)) {
            case .commit(let work):
                try? store.commit(work)
                log += fixture.describe(fixture.state.committed(at: instant(time)))
            case .read(let row, let most):
                log += fixture.describe(fixture.state.rowsRead((try? store.read(after: row, most: most)) ?? [], at: instant(time)))
            case .sweep(let row, let order):
                guard let swept = try? store.sweep(after: row, order.sweep(fixture.check)) else { return log + ["a sweep failed"] }
                log += fixture.describe(fixture.perform(.rowsSwept(swept), at: time))
            case .tidy: log += fixture.describe(fixture.perform(.tidied(isDone: true), at: time))
            case .check, .wait, .close: return log
            }
        }
    }

    @Test("reaches events that are stored, are not stored yet or came back, and ends when the disk has none of them")
    func disk() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        fixture.take(["a", "bb", "c", "dd", "e", "ff"], at: 0)
        _ = work(fixture, store, at: 0)
        fixture.take(["g", "hh"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 1) == [], "the disk is asked first")
        #expect(work(fixture, store, at: 1) == ["swept 3, 1 in flight"])
        #expect(Set(store.events).isDisjoint(with: ["c", "e", "g"]))
        _ = fixture.complete(.init(.delivered), at: 2)
        for expected in ["deliver dd", "deliver ff", "deliver hh"] {
            _ = work(fixture, store, at: 200)
            var step = fixture.step(at: 200)
            if step.hasPrefix("wait") { step = fixture.step(at: 400) }
            #expect(step == expected)
            _ = fixture.complete(.init(.delivered), at: 400)
        }
        _ = work(fixture, store, at: 400)
        #expect(fixture.account() == "8 taken, 5 delivered, 3 withdrawn, 0 waiting")
        #expect(store.contents.events == 0 && fixture.heldBytes == 0)
    }

    @Test("settles the receipts of destroyed events, even if none of their events is left to be stored")
    func receipts() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        var parcel = parcel(["a", "b"])
        let receipt = Receipt {}
        receipt.add()
        _ = fixture.state.take(&parcel, receipt, at: instant(0))
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 0) == [])
        fixture.take(["cc"], at: 0)
        #expect(work(fixture, store, at: 0).contains("acknowledge 1"))
    }

    @Test("leaves no events on disk that are in flight, or that were read and wait for their batch to fill")
    func inFlight() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        fixture.take(["a", "bb"], at: 0)
        _ = work(fixture, store, at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        fixture.take(["c"], at: 0)
        _ = work(fixture, store, at: 0)
        #expect(Set(store.events) == ["a", "bb", "c"])
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 1) == [])
        #expect(work(fixture, store, at: 1) == ["swept 1, 1 in flight"])
        #expect(store.events == ["bb"])
        _ = fixture.complete(.init(.retry(Answer("busy"), after: nil)), at: 2)
        _ = work(fixture, store, at: 3)
        #expect(store.events == ["bb"] && fixture.account() == "3 taken, 2 withdrawn, 1 waiting")
    }

    @Test("does not end with the store's answer to an earlier request")
    func staleAnswer() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        fixture.take(["a", "bb"], at: 0)
        _ = work(fixture, store, at: 0)
        func asksToSweep(at time: Int64) -> Bool {
            if case .sweep = fixture.state.diskStep(at: instant(time)) { true } else { false }
        }
        _ = sweep(fixture, at: 0)
        #expect(asksToSweep(at: 0))
        _ = sweep(fixture, at: 1)
        #expect(fixture.perform(.rowsSwept(SpoolSwept()), at: 1).isEmpty)
        #expect(asksToSweep(at: 1))
    }

    @Test("is not needed for refused events that were read and wait for their batch to fill: the end of the lane destroys them")
    func gatheredAtTheEnd() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        fixture.take(["a"], at: 0)
        _ = work(fixture, store, at: 0)
        subjects.withdraw(1)
        #expect(fixture.giveUp("time is up") == [])
        _ = work(fixture, store, at: 1)
        #expect(store.events == [] && fixture.heldBytes == 0)
        #expect(fixture.account() == "1 taken, 1 withdrawn, 0 waiting")
    }

    @Test("reaches what was in memory and stays on disk when the lane was given up", arguments: [DeliveryPlan.Queue.Full.block, .spill])
    func leftAtTheEnd(_ full: DeliveryPlan.Queue.Full) {
        let store = MemoryStore()
        var plan = durable()
        plan.queue.full = full
        let fixture = StateFixture(plan, contents: store.contents, check: subjects.check)
        fixture.take(["a", "bb", "c"], at: 0)
        _ = work(fixture, store, at: 0)
        #expect(fixture.step(at: 0) == "deliver a bb")
        #expect(fixture.giveUp("time is up") == [])
        _ = work(fixture, store, at: 1)
        #expect(Set(store.events) == ["a", "bb", "c"] && fixture.heldBytes == 0)
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 1) == [])
        #expect(work(fixture, store, at: 1) == ["swept 2"])
        #expect(store.events == ["bb"] && fixture.heldBytes == 0)
        #expect(fixture.account() == "3 taken, 2 withdrawn, 1 waiting")
    }

    @Test("reaches events that were stored at the end of the lane, in front of others that had come back from disk")
    func storedInFront() {
        let store = MemoryStore()
        var plan = durable()
        (plan.queue.full, plan.batch.events) = (.spill, 1)
        let fixture = StateFixture(plan, contents: store.contents, check: subjects.check)
        for event in ["a", "b", "c", "d", "e"] { fixture.take([event], at: 0) }
        _ = work(fixture, store, at: 0)
        for delivered in ["a", "b", "c"] {
            #expect(fixture.step(at: 0) == "deliver \(delivered)")
            _ = fixture.complete(.init(.delivered), at: 0)
            _ = work(fixture, store, at: 0)
        }
        #expect(store.events == ["e"])
        fixture.take(["f"], at: 0)
        #expect(fixture.giveUp("time is up") == [])
        _ = work(fixture, store, at: 1)
        #expect(Set(store.events) == ["d", "e", "f"])
        subjects.withdraw(1)
        #expect(sweep(fixture, at: 1) == [])
        #expect(work(fixture, store, at: 1) == ["swept 3"])
        #expect(store.events == [] && fixture.heldBytes == 0)
        #expect(fixture.account() == "6 taken, 3 delivered, 3 withdrawn, 0 waiting")
    }

    @Test("that is cut off by the end of the lane is reported as such")
    func cutOff() {
        let store = MemoryStore()
        let fixture = StateFixture(durable(), contents: store.contents, check: subjects.check)
        fixture.take(["a"], at: 0)
        subjects.withdraw(1)
        nonisolated(unsafe) var told: Swept?
        _ = fixture.perform(.sweep { told = $0 })
        for case .swept(let swept, let done) in fixture.perform(.storeClosed) { for done in done { done(swept) } }
        #expect(told?.isCut == true)
    }
}
