import Admission
import Delivery
import Events
import Foundation
import Glibc
import Ingest
import Plans
import Platform
import Queueing
import TestSupport
import Testing
import TrackingPlans

@testable import Router

/// A provider that answers a delivery when the test says so.
private final class PatientProvider: Provider, Sendable {
    private struct Open {
        var lines: [String]
        var done: @Sendable (BatchOutcome) -> Void
    }
    private let open = Monitor<[Open]>([])

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        let lines = (0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) }
        open.withLock { $0.append(Open(lines: lines, done: done)) }
        open.wake()
    }
    /// Ends the next delivery, which is waited for. Returns its lines.
    func end(_ outcome: BatchOutcome) -> [String] {
        let next = open.waitUntilReady { open -> Readiness<Open> in
            open.isEmpty ? .notBefore(nil) : .ready(open.removeFirst())
        }
        next.done(outcome)
        return next.lines
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

/// A router whose events come from submitters that wait for their end.
private final class EndsFixture {
    let provider = PatientProvider()
    let router: Router
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    private let account = Monitor<Account?>(nil)
    private let answers = Monitor<[Submission?]>([])

    init(deduplicates: Bool = false, _ change: (inout Plan) -> Void = { _ in }) throws {
        mkdir(folder, 0o700)
        var plan = Plan()
        plan.providers = [ProviderPlan(name: "out", plugin: "patient", settings: Secret([]))]
        plan.messageID.add = false
        if deduplicates { plan.messageID.deduplicate = MessageIDPlan.Deduplication() }
        plan.namedSources = [SourcePlan(name: "in", plugin: "http")]
        var route = RoutePlan(name: "all")
        route.providers = [0]
        plan.routes = [route]
        plan.providers[0].delivery.batch.wait = .milliseconds(1)
        plan.providers[0].delivery.retry.first = .milliseconds(1)
        change(&plan)
        var options = RouterOptions(deadLetters: folder + "/dead-letters.sqlite")
        options.workers = 2
        if deduplicates { options.seen = folder + "/seen" }
        router = Router(plan, outlets: [Outlet(provider: provider, concurrency: 8)], options: options) { _ in }
        let (router, account) = (router, account)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Submits an event, and waits until it is taken. Returns the number of the submission.
    func submit(_ line: String, awaitsEnd: Bool = true) -> Int {
        let number = answers.withLock { answers in
            answers.append(nil)
            return answers.count - 1
        }
        let taken = Monitor(false)
        var submitter = Submitter(source: 0)
        submitter.awaitsEnd = awaitsEnd
        submitter.taken = {
            taken.withLock { $0 = true }
            taken.wake()
        }
        var text = ByteBuffer()
        text.append(line + "\n")
        let isTaken = router.sink?.submit(text, from: submitter) { [answers] submission in
            answers.withLock { answers in
                precondition(answers[number] == nil, "a submission is answered twice")
                answers[number] = submission
            }
            answers.wake()
        }
        precondition(isTaken == true)
        taken.wait(while: { !$0 })
        return number
    }

    func answer(_ number: Int) -> Submission? { answers.withLock { $0[number] } }
    func waitForAnswer(_ number: Int) -> Submission {
        answers.waitUntilReady { $0[number].map(Readiness.ready) ?? .notBefore(nil) }
    }

    @discardableResult func finish() -> Account {
        router.stopReading()
        return account.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
    }
}

private let stored = Submission.stored(invalid: [])
private func event(_ name: String, id: String? = nil) -> String {
    id.map { #"{"event":"\#(name)","messageId":"\#($0)"}"# } ?? #"{"event":"\#(name)"}"#
}

@Suite("A source that waits for the end of its events")
struct BlockEndsTests {
    @Test("is answered when they are delivered, and not when they are in a queue in memory")
    func delivered() throws {
        let fixture = try EndsFixture()
        let quick = fixture.submit(event("quick"), awaitsEnd: false)
        #expect(fixture.waitForAnswer(quick) == stored)
        #expect(fixture.provider.end(BatchOutcome(.delivered)) == [event("quick")])
        let first = fixture.submit(event("first"))
        // The next answer to another source shows that the router is past the block.
        let later = fixture.submit(event("later"), awaitsEnd: false)
        #expect(fixture.waitForAnswer(later) == stored)
        #expect(fixture.answer(first) == nil)
        var lines = fixture.provider.end(BatchOutcome(.retry(Answer("busy"), after: nil)))
        #expect(lines.first == event("first") && fixture.answer(first) == nil)
        var left = 2
        while left > 0 {
            lines = fixture.provider.end(BatchOutcome(.delivered))
            left -= lines.count
        }
        #expect(fixture.waitForAnswer(first) == stored)
        #expect(fixture.finish().balances)
    }

    @Test("is answered at once if no route takes them, and with the lines that are no events")
    func leftOut() throws {
        let fixture = try EndsFixture { $0.routes[0].events = [Glob("wanted")] }
        #expect(fixture.waitForAnswer(fixture.submit(event("other"))) == stored)
        guard case .stored(let invalid) = fixture.waitForAnswer(fixture.submit("{")) else {
            Issue.record("an invalid line is no loss")
            return
        }
        #expect(invalid.map(\.line) == [0])
        fixture.finish()
    }

    @Test("is answered when they are kept as dead letters")
    func letters() throws {
        let fixture = try EndsFixture()
        let first = fixture.submit(event("bad"))
        _ = fixture.provider.end(BatchOutcome(.rejected(Answer("no"))))
        #expect(fixture.waitForAnswer(first) == stored)
        #expect(fixture.finish().providers[0].lane.total(.rejected) == 1)
    }

    @Test("is told that they are lost if they cannot be kept as dead letters")
    func lost() throws {
        let fixture = try EndsFixture()
        // A folder in the place of the file cannot be opened as one.
        mkdir(fixture.folder + "/dead-letters.sqlite", 0o700)
        let first = fixture.submit(event("bad"))
        _ = fixture.provider.end(BatchOutcome(.rejected(Answer("no"))))
        #expect(fixture.waitForAnswer(first) == .lost)
        fixture.finish()
    }

    @Test("is told that they are lost if the tracking plan rejects them and their letters cannot be kept")
    func rejectedByPlan() throws {
        let tracking = #"{"violation":"reject","events":{"known":{"properties":{"required":["total"]}}}}"#
        let fixture = try EndsFixture { $0.trackingPlan = try? PlanFile.read(Array(tracking.utf8)).get() }
        mkdir(fixture.folder + "/dead-letters.sqlite", 0o700)
        #expect(fixture.waitForAnswer(fixture.submit(event("known"))) == .lost)
        rmdir(fixture.folder + "/dead-letters.sqlite")
        #expect(fixture.waitForAnswer(fixture.submit(event("known"))) == stored)
        fixture.finish()
    }

    @Test("is told that they are lost if the destination goes away for good")
    func unkept() throws {
        let fixture = try EndsFixture()
        let first = fixture.submit(event("first"))
        _ = fixture.provider.end(BatchOutcome(.closed(Answer("gone"))))
        #expect(fixture.waitForAnswer(first) == .lost)
        fixture.finish()
    }

    @Test("gets its answer about a duplicate only when the original has come to its end")
    func duplicate() throws {
        let fixture = try EndsFixture(deduplicates: true)
        let original = fixture.submit(event("a", id: "1"))
        let copy = fixture.submit(event("a", id: "1"))
        let other = fixture.submit(event("b", id: "2"), awaitsEnd: false)
        #expect(fixture.waitForAnswer(other) == stored)
        #expect(fixture.answer(copy) == nil)
        var lines: [String] = []
        while lines.count < 2 { lines += fixture.provider.end(BatchOutcome(.delivered)) }
        #expect(lines == [event("a", id: "1"), event("b", id: "2")])
        #expect(fixture.waitForAnswer(copy) == stored)
        #expect(fixture.answer(original) == stored)
        #expect(fixture.finish().duplicates == 1)
    }

    @Test("may bring an event again whose original was lost")
    func lostOriginal() throws {
        let fixture = try EndsFixture(deduplicates: true)
        mkdir(fixture.folder + "/dead-letters.sqlite", 0o700)
        let original = fixture.submit(event("a", id: "1"))
        let copy = fixture.submit(event("a", id: "1"))
        _ = fixture.provider.end(BatchOutcome(.rejected(Answer("no"))))
        #expect(fixture.waitForAnswer(original) == .lost && fixture.waitForAnswer(copy) == .lost)
        rmdir(fixture.folder + "/dead-letters.sqlite")
        let again = fixture.submit(event("a", id: "1"))
        let next = fixture.submit(event("b", id: "2"))
        var lines: [String] = []
        while lines.last != event("b", id: "2") { lines += fixture.provider.end(BatchOutcome(.delivered)) }
        #expect(lines == [event("a", id: "1"), event("b", id: "2")])
        #expect(fixture.waitForAnswer(again) == stored && fixture.waitForAnswer(next) == stored)
        #expect(fixture.finish().duplicates == 1)
    }
}

@Suite("The order of blocks that end")
struct BlockOrderTests {
    @Test("lets a block that waits pass when all before it have ended, whatever their order")
    func waits() {
        var order = BlockOrder()
        var given: [String] = []
        func end(_ turn: Int, _ name: String, isLost: Bool = false, waits: Bool = false) {
            for give in order.end(turn, isLost: isLost, waits: waits, answer: { given.append($0 ? "\(name) lacks" : name) }) { give() }
        }
        let turns = (0..<4).map { _ in order.enter() }
        end(turns[3], "d", waits: true)
        end(turns[1], "b", waits: true)
        #expect(given == [])
        end(turns[0], "a")
        #expect(given == ["a", "b"])
        end(turns[2], "c", isLost: true)
        #expect(given == ["a", "b", "c", "d lacks"])
        end(order.enter(), "e", waits: true)
        #expect(given.last == "e", "no block was open when it came")
    }
}
