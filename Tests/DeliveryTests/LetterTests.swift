// What a lane does with dead letters that cannot be kept, as its plan demands.

import Database
import Foundation
import Plans
import Platform
import Spool
import TestSupport
import Testing

@testable import Admission
@testable import Delivery
@testable import Queueing

private let refused = BatchOutcome(.rejected(Answer("no")))

private func blocking(memory: Int = 1000, full: DeliveryPlan.Queue.Full = .block) -> DeliveryPlan {
    var plan = plan(events: 1, wait: .zero)
    plan.deadLetters = .block
    plan.queue.memory = memory
    plan.queue.full = full
    return plan
}

/// Returns a fixture whose first event was refused and could not be kept.
private func heldFixture(_ plan: DeliveryPlan = blocking(), contents: SpoolContents? = nil) -> StateFixture {
    let fixture = StateFixture(plan, contents: contents)
    fixture.take(["a", "b"], at: 0)
    #expect(fixture.step(at: 0) == "deliver a")
    #expect(fixture.complete(refused, at: 0) == ["bury a rejected no 1"])
    fixture.buried(lost: 1, at: 0)
    return fixture
}

@Suite("A lane whose dead letters block")
struct LetterStateTests {
    @Test("hands nothing over until they are kept, and tries again on its clock")
    func holds() {
        let fixture = heldFixture()
        let step = fixture.step(at: 0)
        #expect(step.hasPrefix("wait "))
        #expect(fixture.account() == "2 taken, 2 waiting", "neither lost nor settled")
        let again = Int64(step.dropFirst("wait ".count))!
        #expect(again <= 1000)
        #expect(fixture.step(at: again - 1).hasPrefix("wait "))
        #expect(fixture.step(at: again + 1) == "bury a rejected no 1")
        fixture.buried(lost: 1, at: again + 1)
        #expect(fixture.step(at: again + 1).hasPrefix("wait "), "the event is not handed over again")
        #expect(fixture.step(at: 100_000) == "bury a rejected no 1")
        fixture.buried(at: 100_000)
        #expect(fixture.account() == "2 taken, 1 rejected, 1 waiting")
        #expect(fixture.laneAccount.lost == 0)
        #expect(fixture.step(at: 100_000) == "deliver b")
    }

    @Test("and that keeps order hands nothing over while a dead letter is being kept")
    func ordered() {
        var plan = blocking()
        plan.ordered = true
        let fixture = StateFixture(plan)
        fixture.take(["a", "b"], at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        #expect(fixture.complete(refused, at: 0) == ["bury a rejected no 1"])
        #expect(fixture.step(at: 0) == "wait")
        fixture.buried()
        #expect(fixture.step(at: 0) == "deliver b")
    }

    @Test("is full like any queue whose provider takes nothing, so that its source waits")
    func fills() {
        let fixture = heldFixture(blocking(memory: 4))
        #expect(fixture.heldBytes == 4)
        #expect(fixture.mustWait(for: 2))
        fixture.state.drain()
        #expect(fixture.step(at: 0).hasPrefix("wait "), "it does not end while it holds them")
    }

    @Test("tries once more when its time is up if its queue is in memory, and counts what cannot be kept as lost")
    func endsInMemory() {
        let fixture = heldFixture()
        #expect(fixture.giveUp("time is up") == ["bury a rejected no 1", "bury b undelivered time is up 0"])
        fixture.buried(lost: 1)
        fixture.buried(lost: 1)
        #expect(fixture.account() == "2 taken, 1 rejected, 1 undelivered, 0 waiting")
        #expect(fixture.laneAccount.lost == 2)
        #expect(fixture.step(at: 0) == "end")
        fixture.state.providerClosed()
        #expect(fixture.isOver)
        #expect(fixture.heldBytes == 0)
    }

    @Test("leaves them on disk when its time is up, also during an attempt to keep them")
    func endsOnDisk() {
        for isTrying in [false, true] {
            var plan = blocking()
            plan.queue.disk = 1 << 30
            let fixture = StateFixture(plan, contents: SpoolContents())
            fixture.take(["a"], at: 0)
            guard case .commit = fixture.state.diskStep(at: instant(0)) else {
                Issue.record("nothing is stored")
                return
            }
            _ = fixture.state.committed(at: instant(0))
            #expect(fixture.step(at: 0) == "deliver a")
            _ = fixture.complete(refused, at: 0)
            if !isTrying { fixture.buried(lost: 1) }
            #expect(fixture.giveUp("time is up") == [])
            if isTrying { fixture.buried(lost: 1) }
            #expect(fixture.account() == "1 taken, 1 waiting")
            #expect(fixture.laneAccount.lost == 0)
            #expect(fixture.heldBytes == 0)
            guard case .check = fixture.state.diskStep(at: instant(0)), case .close = fixture.state.diskStep(at: instant(0)) else {
                Issue.record("there is still something to store or remove")
                return
            }
        }
    }

    @Test("stores those that are only in memory when it ends, if it spills")
    func endsSpilling() {
        var plan = blocking(full: .spill)
        plan.queue.disk = 1 << 30
        let fixture = heldFixture(plan, contents: SpoolContents())
        #expect(fixture.giveUp("time is up") == [])
        guard case .commit(let work) = fixture.state.diskStep(at: instant(0)) else {
            Issue.record("nothing is stored")
            return
        }
        #expect(work.insert.flatMap { texts($0.batch) } == ["a", "b"])
        #expect(fixture.account() == "2 taken, 2 waiting")
    }

    @Test("loses them when a new plan demands it")
    func adopts() {
        let fixture = heldFixture()
        var plan = blocking()
        plan.deadLetters = .lose
        fixture.state.adopt(plan, concurrency: nil, isNewProvider: false)
        #expect(fixture.step(at: 100_000) == "bury a rejected no 1")
        fixture.buried(lost: 1, at: 100_000)
        #expect(fixture.laneAccount.lost == 1)
        #expect(fixture.step(at: 100_000) == "deliver b")
    }
}

@Suite("Dead letters that cannot be kept")
struct LetterWordsTests {
    private let said = Monitor<[String]>([])
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path

    private func bury(_ letters: DeadLetters, _ events: [String], isLost: Bool) -> Int {
        letters.bury(
            Batch(parcel(events)), provider: "out", routes: ["first", "second"], reason: .rejected, Answer("no"), attempts: 1,
            isLost: isLost
        ).lost
    }

    @Test("are reported once as lost or held, and once more with the number of lost ones when they can be kept again")
    func tells() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/dead-letters.sqlite"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let letters = DeadLetters(path: path, clock: .system, warn: { line in said.withLock { $0.append(line) } })
        #expect(bury(letters, ["a"], isLost: false) == 1)
        #expect(bury(letters, ["a"], isLost: false) == 1)
        #expect(bury(letters, ["b", "c"], isLost: true) == 2)
        #expect(bury(letters, ["d"], isLost: true) == 1)
        try FileManager.default.removeItem(atPath: path)
        #expect(bury(letters, ["e"], isLost: true) == 0)
        let lines = said.withLock { $0 }
        #expect(lines.count == 3)
        #expect(
            lines[0].hasSuffix(
                "its lane holds them and hands nothing over until they are kept (dead_letters: block); make room on the disk"))
        #expect(lines[1].hasSuffix("events lost: 2, and more may follow"))
        #expect(lines[2] == "dead letters of out can be kept again; events lost meanwhile: 3")
    }

    private func letters(_ path: String) -> DeadLetters {
        DeadLetters(path: path, clock: .system, warn: { line in said.withLock { $0.append(line) } })
    }

    @Test("are no loss if a person removes them during a run, but a missing or empty file at the start is reported")
    func takenAway() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/dead-letters.sqlite"
        let first = letters(path)
        first.begin()
        #expect(!FileManager.default.fileExists(atPath: path))
        for event in ["a", "b"] {
            #expect(bury(first, [event], isLost: true) == 0)
            try FileManager.default.moveItem(atPath: path, toPath: path + "-" + event)
        }
        // It does not matter which call notices the removal first.
        first.checkPlace()
        #expect(bury(first, ["c", "d"], isLost: true) == 0)
        #expect(!first.damage.isFound && said.withLock { $0 } == [])
        #expect(deadLetters(in: path).count == 2)
        for event in ["a", "b"] { #expect(deadLetters(in: path + "-" + event).count == 1, "the removed file holds all its letters") }
        first.reopen()
        for isThere in [true, false] {
            if isThere {
                #expect(truncate(path, 0) == 0)
            } else {
                try FileManager.default.removeItem(atPath: path)
            }
            try? FileManager.default.removeItem(atPath: path + "-wal")
            let next = letters(path)
            next.begin()
            #expect(next.damage == (true, isThere ? 2 : 1))
            #expect(said.withLock { $0.count == 1 && $0[0].contains("dead letters are lost") }, "\(said.withLock { $0 })")
            said.withLock { $0 = [] }
            #expect(bury(next, ["e"], isLost: true) == 0)
        }
    }

    @Test("are set aside and reported if their file turns out to be damaged in a run, and new ones are kept at once")
    func damagedInARun() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/dead-letters.sqlite"
        let letters = letters(path)
        #expect(bury(letters, ["a"], isLost: true) == 0 && bury(letters, ["b"], isLost: true) == 0)
        let shell = try Database(path, makes: false)
        try shell.run("UPDATE letters SET route = 'a' WHERE id = 1")
        shell.close()
        #expect(try letters.expire { _, _ in 0 }.events == 1, "the undamaged letter is too old")
        #expect(letters.damage == (true, 1) && said.withLock { $0.count == 1 && $0[0].contains("1 of 2 dead letters are lost") })
        #expect(bury(letters, ["c"], isLost: true) == 0)
        #expect(deadLetters(in: path).count == 1)
    }

    @Test("are reported while no lock is held, so that the handler can ask for the state")
    func reportsWithoutLock() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/dead-letters.sqlite"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let later = Monitor<DeadLetters?>(nil)
        let said = said
        let letters = DeadLetters(path: path, clock: .system) { line in
            // This takes the lock of the dead letters. The test would hang here if the message were sent under it.
            let lost = later.withLock { $0 }?.damage.lost
            said.withLock { $0.append("\(lost ?? -1): \(line)") }
        }
        later.withLock { $0 = letters }
        #expect(bury(letters, ["a"], isLost: true) == 1)
        #expect(said.withLock { $0.count == 1 && $0[0].hasPrefix("0: dead letters of out cannot be kept") })
        later.withLock { $0 = nil }
    }
}
