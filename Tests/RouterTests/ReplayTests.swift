import DeadLetterStore
import Delivery
import Editing
import Events
import Foundation
import Ledger
import Plans
import Platform
import Queueing
import TestSupport
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Replaying

/// A file of dead letters in a folder of its own.
private final class Letters {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    let path: String
    let file: DeadLetterFile

    /// `apart` is the number of nanoseconds between two arrivals.
    init(_ events: [String], subjects: [SubjectKey] = [], apart: Int64 = 1) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        path = folder + "/" + DeadLetterFile.name
        file = try DeadLetterFile(path)!
        var parcel = Parcel()
        for (index, event) in events.enumerated() {
            parcel.bytes.append(event + "\n")
            let first = UInt32(parcel.subjects.count)
            for subject in subjects { parcel.subjectColumn.append(subject) }
            parcel.entryColumn.append(
                Entry(
                    end: UInt32(parcel.bytes.count), route: 0, isImmediate: false, level: EntryLevel.none,
                    subjectCount: UInt8(subjects.count), firstSubject: first, messageIDOffset: 0, messageIDCount: 0,
                    arrival: 1_000 + Int64(index) * apart))
        }
        try file.bury(Batch(parcel), at: 5_000, provider: "out", routes: ["all"], reason: "rejected", code: 1, answer: "no", attempts: 1)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The events that another process finds in the file now.
    var left: [String] {
        guard let file = try? DeadLetterFile(path, makes: false) else { return ["cannot be opened"] }
        defer { file.close() }
        return (try? file.letters(.init(), most: 10_000).map { String(decoding: $0.event, as: UTF8.self) }) ?? ["cannot be read"]
    }
}

private final class AnsweringProvider: Provider {
    private let answer: @Sendable ([String], Int) -> BatchOutcome
    init(_ answer: @escaping @Sendable ([String], Int) -> BatchOutcome) { self.answer = answer }
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        done(answer((0..<batch.count).map { String(decoding: batch.event($0), as: UTF8.self) }, attempt))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

private func plan(_ change: (inout Plan) -> Void = { _ in }) -> Plan {
    var plan = Plan()
    plan.messageID.add = false
    plan.providers = [ProviderPlan(name: "out", plugin: "taking", settings: Secret([]))]
    plan.providers[0].delivery.retry.first = .milliseconds(1)
    plan.providers[0].delivery.retry.most = .milliseconds(1)
    var route = RoutePlan(name: "all")
    route.providers = [0]
    plan.routes = [route]
    change(&plan)
    return plan
}

@Suite("A replay")
struct ReplayTests {
    private func replay(
        _ plan: Plan, _ letters: Letters, _ options: ReplayOptions = ReplayOptions(),
        _ answer: @escaping @Sendable ([String], Int, Replay) -> BatchOutcome
    ) throws -> ReplayAccount {
        let replay = Replay(plan, letters.file, options: options) { _ in }
        return try replay.run { _ in Outlet(provider: AnsweringProvider { [unowned replay] in answer($0, $1, replay) }, concurrency: 1) }[0]
    }

    @Test("removes delivered letters before it sends the next group, and begins with one letter")
    func records() throws {
        let events = (0..<1200).map { "{\"n\":\($0)}" }
        let letters = try Letters(events)
        let groups = Monitor([(sent: [String], left: [String])]())
        let path = letters.path
        let account = try replay(plan(), letters) { sent, _, _ in
            let file = try? DeadLetterFile(path, makes: false)
            let left = (try? file?.letters(.init(), most: 10_000).map { String(decoding: $0.event, as: UTF8.self) }) ?? []
            groups.withLock { $0.append((sent, left)) }
            return BatchOutcome(.delivered)
        }
        #expect(account.delivered == 1200 && account.balances)
        let seen = groups.withLock { $0 }
        #expect(seen[0].sent.count == 1)
        var done = 0
        for group in seen {
            #expect(group.left == Array(events[done...]), "exactly the letters that were delivered before are gone")
            #expect(group.sent.count <= done + 1, "a group has at most one letter more than all groups before it")
            done += group.sent.count
        }
        #expect(letters.left.isEmpty)
    }

    @Test("removes the delivered letters of a group while its other letters are still retried")
    func recordsParts() throws {
        let letters = try Letters((0..<7).map { "{\"n\":\($0)}" })
        let leftAtRetry = Monitor([[String]]())
        let path = letters.path
        let account = try replay(plan(), letters) { sent, attempt, _ in
            guard let bad = sent.firstIndex(of: #"{"n":4}"#) else { return BatchOutcome(.delivered) }
            if attempt == 1 { return BatchOutcome(.delivered, events: [bad: .retry(Answer("not yet"), after: nil)]) }
            let file = try? DeadLetterFile(path, makes: false)
            let left = (try? file?.letters(.init(), most: 100).map { String(decoding: $0.event, as: UTF8.self) }) ?? []
            leftAtRetry.withLock { $0.append(left) }
            return BatchOutcome(attempt < 50 && left.count > 1 ? .retry(Answer("not yet"), after: nil) : .delivered)
        }
        #expect(account.delivered == 7 && account.failed == 0)
        #expect(leftAtRetry.withLock { $0.last } == [#"{"n":4}"#], "only the letter that is still retried is left")
        #expect(letters.left.isEmpty)
    }

    @Test("does not take a late answer to one letter for the answer to another with the same arrival time")
    func lateAnswer() throws {
        let letters = try Letters(["{\"n\":0}", "{\"n\":1}"], apart: 0)
        let late = Monitor<(@Sendable (BatchOutcome) -> Void)?>(nil)
        final class LateProvider: Provider {
            let late: Monitor<(@Sendable (BatchOutcome) -> Void)?>
            let time: ManualClock
            init(_ late: Monitor<(@Sendable (BatchOutcome) -> Void)?>, _ time: ManualClock) { (self.late, self.time) = (late, time) }
            func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
                let isFirst = String(decoding: batch.event(0), as: UTF8.self) == "{\"n\":0}"
                if isFirst, attempt == 1 {
                    late.withLock { $0 = done }
                    // The deadline passes.
                    return time.advance(.seconds(1))
                }
                if !isFirst { late.withLock { $0 }?(BatchOutcome(.delivered)) }
                done(BatchOutcome(.rejected(Answer("no"))))
            }
            func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
            func reopen() {}
            func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
            func close() {}
        }
        var impatient = plan()
        impatient.providers[0].delivery.deadline = .milliseconds(1)
        let time = ManualClock()
        var options = ReplayOptions()
        options.clock = time.clock
        // The message is the sign that the deadline has passed. Then the pause before the next attempt passes too.
        let replay = Replay(impatient, letters.file, options: options) { message in
            if message.contains("no answer") { time.advance(.milliseconds(1)) }
        }
        let account = try replay.run { _ in Outlet(provider: LateProvider(late, time), concurrency: 1) }[0]
        #expect(account.delivered == 0 && account.failed == 2 && account.balances)
        #expect(letters.left.count == 2)
    }

    @Test("makes groups larger while that reduces the time per letter, even if requests are slow, and otherwise smaller")
    func groups() {
        var size = GroupSize(most: 500)
        var sizes: [Int] = []
        func play(_ count: Int, _ time: (Int) -> Duration) {
            for _ in 0..<count {
                size.note(size.events, took: time(size.events))
                sizes.append(size.events)
            }
        }
        play(10) { _ in .seconds(3) }
        #expect(sizes == [2, 4, 8, 16, 32, 64, 128, 256, 500, 500])
        (size, sizes) = (GroupSize(most: 500), [])
        play(4) { .milliseconds(150 * $0) }
        #expect(sizes == [2, 2, 2, 2], "the time grows as fast as the group")
        play(1) { .milliseconds(300 * $0) }
        #expect(sizes.last == 1)
        size.note(0, took: .seconds(1))
        #expect(size.events == 1, "an incomplete last group of a page does not count")
    }

    @Test("that is told to end sends nothing more, records the group under way, and counts the remaining letters")
    func stops() throws {
        let events = (0..<100).map { "{\"n\":\($0)}" }
        let letters = try Letters(events)
        let sent = Monitor([String]())
        let account = try replay(plan(), letters) { group, _, replay in
            sent.withLock { $0 += group }
            if sent.withLock({ $0.count }) >= 10 { replay.stop(within: .seconds(600)) }
            return BatchOutcome(.delivered)
        }
        let done = sent.withLock { $0.count }
        #expect(done >= 10 && done < 100)
        #expect(account.delivered == done && account.left == 100 - done && account.failed == 0 && account.balances)
        #expect(letters.left == Array(events[done...]))
    }

    @Test("that is told to end does not wait for the next attempt of a failed letter")
    func stopsRetrying() throws {
        let letters = try Letters((0..<3).map { "{\"n\":\($0)}" })
        var slow = plan()
        slow.providers[0].delivery.retry.first = .seconds(600)
        slow.providers[0].delivery.retry.most = .seconds(600)
        var options = ReplayOptions()
        options.timeout = .seconds(600)
        let account = try replay(slow, letters, options) { _, _, replay in
            replay.stop(within: .seconds(600))
            return BatchOutcome(.retry(Answer("not yet"), after: nil))
        }
        #expect(account.failed == 1 && account.left == 2 && account.balances)
        #expect(letters.left.count == 3)
    }

    @Test("checks consent again at box-over, so that a change after the judgement holds")
    func asksAtHandOver() throws {
        let ledger = try StreamLedger()
        let subject = SubjectKey(of: Array("ann".utf8), under: ledger.key)
        try ledger.set("ann", ConsentTerms(level: "standard"))
        let letters = try Letters([#"{"userId":"ann"}"#], subjects: [subject])
        var options = ReplayOptions()
        options.ledger = try ledger.view()
        defer { options.ledger?.close() }
        let attempts = Monitor(0)
        let registry = ledger.registry
        let withdraw: @Sendable () throws -> Void = {
            try registry.use { (file) throws(StorageFault) in ((), try file.withdraw(LedgerID("ann"), origin: "test").changes) }
        }
        let account = try replay(streamPlan { $0.providers[0].delivery = plan().providers[0].delivery }, letters, options) { _, _, _ in
            attempts.withLock { $0 += 1 }
            // The letter was judged and handed over. The subject withdraws before the next attempt.
            try? withdraw()
            return BatchOutcome(attempts.withLock { $0 } == 1 ? .retry(Answer("not yet"), after: nil) : .delivered)
        }
        #expect(attempts.withLock { $0 } == 1, "the letter is not handed over again")
        #expect(account.delivered == 0 && account.failed == 1)
        #expect(letters.left.count == 1)
    }

    @Test("sends a letter whose event demanded nothing, though its subject withdrew later and now allows a field that it may have had")
    func withoutField() throws {
        let ledger = try StreamLedger()
        let subject = SubjectKey(of: Array("ann".utf8), under: ledger.key)
        let letters = try Letters([#"{"userId":"ann"}"#], subjects: [subject])
        try ledger.registry.use { (file) throws(StorageFault) in ((), try file.withdraw(LedgerID("ann"), origin: "test").changes) }
        try ledger.set("ann", ConsentTerms(level: "standard"))
        var options = ReplayOptions()
        options.ledger = try ledger.view()
        defer { options.ledger?.close() }
        let today = streamPlan { today in
            today.providers[0].delivery = plan().providers[0].delivery
            today.routes[0].consent = ConsentDemand(level: 0)
            today.consent?.fields = [(Path(keys: ["ip"]), 2)]
        }
        let account = try replay(today, letters, options) { _, _, _ in BatchOutcome(.delivered) }
        #expect(account.delivered == 1 && account.balances)
        #expect(letters.left.isEmpty)
    }

    @Test("removes a letter only when each of its copies was delivered")
    func copies() throws {
        // The route of the letter is gone, and two other routes have its provider.
        let two = plan { plan in
            plan.routes.append(plan.routes[0])
            (plan.routes[0].name, plan.routes[1].name) = ("one", "two")
        }
        let letters = try Letters([#"{"n":1}"#])
        let account = try replay(two, letters) { sent, _, _ in
            guard sent.count == 2 else { return BatchOutcome(.delivered) }
            return BatchOutcome(.delivered, events: [0: .rejected(Answer("no")), 1: .retry(Answer("not yet"), after: nil)])
        }
        #expect(account.delivered == 0 && account.failed == 1 && account.balances)
        #expect(letters.left.count == 1)
    }

    @Test("does not hash a value again if a route has hashed it before, with a key name and fewer digits")
    func hashedBefore() throws {
        let hashing = plan { plan in
            plan.keys = [Key(name: "ids", secret: Secret(Array("secret".utf8)))]
            plan.routes[0].transforms = [HashStep([Path(keys: ["u"])], key: 0, named: "ids", digits: 16)]
        }
        let hashed = #"{"u":"ids:0123456789abcdef"}"#
        let letters = try Letters([hashed, #"{"u":"ann"}"#])
        let sent = Monitor([String]())
        let account = try replay(hashing, letters) { group, _, _ in
            sent.withLock { $0 += group }
            return BatchOutcome(.delivered)
        }
        let lines = sent.withLock { $0 }
        #expect(account.delivered == 2 && lines.first == hashed)
        #expect(lines.last?.hasPrefix(#"{"u":"ids:"#) == true && lines.last?.contains("ann") == false)
    }
}
