// Tests the queue between the sources and the workers: its order, its limits, and that every submitter is answered.

import Events
import Platform
import TestSupport
import Testing

@testable import Ingest

private func buffer(_ text: String) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.append(text)
    return buffer
}

/// Records the texts that it receives.
private final class Log: Sendable {
    private let all = Monitor<[String]>([])
    func add(_ text: String) {
        all.withLock { $0.append(text) }
        all.wake()
    }
    var entries: [String] { all.withLock { $0 } }
    func wait(for count: Int) { all.wait { $0.count < count } }
}

@Suite("An inbox")
struct InboxTests {
    private struct Taken: Equatable {
        var intake: Intake
        var text: String
        var source: Int
        var lines: [Int]
    }

    private func take(_ inbox: Inbox) -> Taken {
        var block = Block()
        let (intake, submissions) = inbox.next(&block)
        let portions = submissions?.portions ?? []
        #expect(submissions?.take() != false)
        let text = String(decoding: block.text.bytes, as: UTF8.self)
        for portion in portions { portion.answer(.stored(invalid: [])) }
        return Taken(intake: intake, text: text, source: block.source, lines: portions.map(\.lines))
    }

    private func submit(
        _ inbox: Inbox, _ text: String, source: Int = 0, key: Int = 0, offers: Bool = false, _ log: Log, as name: String
    ) -> Bool {
        var submitter = Submitter(source: source, key: key)
        submitter.offers = offers
        return inbox.submit(buffer(text), from: submitter) { submission in log.add("\(name): \(submission)") }
    }

    @Test("joins waiting submissions of one source into a block, each on its own lines, and answers each")
    func joins() {
        let inbox = Inbox()
        let log = Log()
        #expect(submit(inbox, "1\n2\n", log, as: "a"))
        #expect(submit(inbox, "3", log, as: "b"))
        #expect(submit(inbox, "4\n", log, as: "c"))
        #expect(submit(inbox, "5\n", source: 1, log, as: "d"))
        #expect(take(inbox) == Taken(intake: .lines, text: "1\n2\n3\n4\n", source: 0, lines: [2, 1, 1]))
        #expect(take(inbox) == Taken(intake: .lines, text: "5\n", source: 1, lines: [1]))
        #expect(log.entries == ["a", "b", "c", "d"].map { "\($0): stored(invalid: [])" })
    }

    @Test("does not join submissions with different keys")
    func keys() {
        let inbox = Inbox()
        let log = Log()
        for (text, key) in [("1", 0), ("2", 1), ("3", 1), ("4", 0)] { #expect(submit(inbox, text, key: key, log, as: text)) }
        inbox.close()
        #expect((0..<3).map { _ in take(inbox) }.map(\.text) == ["1\n", "2\n3\n", "4\n"])
    }

    @Test("fills no block beyond its size, but takes a larger submission as a whole")
    func blockSize() {
        var limits = Inbox.Limits()
        limits.block = 6
        let inbox = Inbox(limits: limits)
        let log = Log()
        for text in ["123\n", "45\n", "6\n", "789012345\n"] { #expect(submit(inbox, text, log, as: "x")) }
        #expect(take(inbox).text == "123\n")
        #expect(take(inbox).text == "45\n6\n")
        #expect(take(inbox).text == "789012345\n")
    }

    @Test("refuses submissions beyond its limit, and takes one that is too large if nothing else waits")
    func room() {
        var limits = Inbox.Limits()
        limits.bytes = 4
        let inbox = Inbox(limits: limits)
        let log = Log()
        #expect(submit(inbox, "12345678\n", log, as: "large"))
        #expect(!submit(inbox, "1\n", log, as: "refused"))
        #expect(take(inbox).text == "12345678\n")
        #expect(submit(inbox, "1\n", log, as: "small"))
        #expect(submit(inbox, "2\n", log, as: "small"))
        #expect(!submit(inbox, "3\n", log, as: "refused"))
        #expect(log.entries.count == 1, "a submitter that was refused at once gets no further answer")
    }

    @Test("refuses new submissions after the closing, delivers the waiting ones, and then ends")
    func closing() {
        let inbox = Inbox()
        let log = Log()
        #expect(submit(inbox, "1\n", log, as: "a"))
        inbox.close()
        #expect(submit(inbox, "2\n", log, as: "b"))
        #expect(log.entries == ["b: closing"])
        #expect(take(inbox).text == "1\n")
        #expect(take(inbox).intake == .end)
        #expect(take(inbox).intake == .end)
    }

    @Test("does not end before every joined source has left")
    func feeders() {
        let inbox = Inbox()
        inbox.join()
        inbox.close()
        inbox.put(buffer("1\n"), source: 2)
        inbox.put(overlong: 99, source: 2)
        #expect(take(inbox) == Taken(intake: .lines, text: "1\n", source: 2, lines: []))
        #expect(take(inbox).intake == .overlong(bytes: 99))
        let log = Log()
        Thread.start("leaves") {
            log.add("leaves")
            inbox.leave()
        }.detach()
        #expect(take(inbox).intake == .end)
        #expect(log.entries == ["leaves"])
    }

    @Test("makes a source wait in put while it is full")
    func backpressure() {
        var limits = Inbox.Limits()
        limits.bytes = 4
        let inbox = Inbox(limits: limits)
        inbox.put(buffer("123\n"), source: 0)
        let log = Log()
        Thread.start("puts") {
            inbox.put(buffer("456\n"), source: 0)
            log.add("put")
        }.detach()
        #expect(inbox.waiting.submissions == 1)
        #expect(take(inbox).text == "123\n")
        log.wait(for: 1)
        #expect(take(inbox).text == "456\n")
    }

    @Test("gives back submissions that no worker took in time, and keeps put lines and later submissions")
    func timeout() {
        let time = ManualClock()
        let inbox = Inbox(clock: time.clock)
        let log = Log()
        inbox.put(buffer("0\n"), source: 0)
        #expect(submit(inbox, "1\n", log, as: "early"))
        time.advance(.seconds(6))
        #expect(submit(inbox, "2\n", log, as: "late"))
        time.advance(.seconds(5))
        inbox.giveBackLate()
        #expect(log.entries == ["early: overloaded(retryAfter: 1)"])
        #expect(inbox.waiting.bytes == 4)
        #expect(take(inbox).text == "0\n2\n")
        #expect(log.entries.count == 2)
    }

    @Test("gives back what a worker holds but has not taken in time, and the worker cannot take it any more")
    func lateInWork() {
        let time = ManualClock()
        let inbox = Inbox(clock: time.clock)
        let log = Log()
        #expect(submit(inbox, "1\n", log, as: "a"))
        var block = Block()
        let submissions = inbox.next(&block).submissions
        #expect(submit(inbox, "2\n", log, as: "b"))
        let taken = inbox.next(&block).submissions
        #expect(taken?.take() == true)
        time.advance(.seconds(10))
        inbox.giveBackLate()
        inbox.giveBackLate()
        #expect(log.entries == ["a: overloaded(retryAfter: 1)"])
        #expect(submissions?.take() == false)
        submissions?.giveBack(retryAfter: 1)
        #expect(log.entries.count == 1)
    }

    @Test("drops a submission whose submitter has left while it waited, and asks none that came just now")
    func left() {
        let time = ManualClock()
        let inbox = Inbox(clock: time.clock)
        let log = Log()
        func submit(_ text: String, isThere: Bool) {
            let submitter = Submitter(source: 0, isThere: { isThere })
            #expect(inbox.submit(buffer(text + "\n"), from: submitter) { submission in log.add("\(text): \(submission)") })
        }
        submit("1", isThere: false)
        submit("2", isThere: true)
        submit("3", isThere: false)
        submit("4", isThere: true)
        time.advance(.milliseconds(101))
        submit("5", isThere: false)
        #expect(take(inbox).text == "2\n")
        #expect(take(inbox).text == "4\n5\n")
        #expect(log.entries.filter { $0.contains("overloaded") } == ["1: overloaded(retryAfter: 1)", "3: overloaded(retryAfter: 1)"])
    }

    @Test("gives each submission a block of its own for a second after a lane was full")
    func separate() {
        let time = ManualClock()
        let inbox = Inbox(clock: time.clock)
        let log = Log()
        for text in ["1", "2", "3"] { #expect(submit(inbox, text, log, as: text)) }
        inbox.separate()
        #expect(take(inbox).text == "1\n")
        time.advance(.seconds(1))
        #expect(take(inbox).text == "2\n3\n")
    }

    @Test("watches waiting submissions on its own, and stops when it is closed and empty")
    func watch() {
        var limits = Inbox.Limits()
        limits.timeout = .milliseconds(1)
        let inbox = Inbox(limits: limits)
        let log = Log()
        let ended = Log()
        Thread.start("watch") {
            inbox.keepWatch()
            ended.add("over")
        }.detach()
        for number in 1...3 {
            #expect(submit(inbox, "1\n", log, as: "\(number)"))
            log.wait(for: number)
        }
        #expect(log.entries.last == "3: overloaded(retryAfter: 1)")
        inbox.close()
        #expect(take(inbox).intake == .end)
        ended.wait(for: 1)
    }

    @Test("reports when workers have nothing to do, and when they have work again")
    func pauses() {
        let log = Log()
        let inbox = Inbox(onPause: { log.add("\($0)") })
        let answers = Log()
        #expect(submit(inbox, "1\n", answers, as: "a"))
        _ = take(inbox)
        #expect(log.entries == ["false"], "it counts as paused at first")
        Thread.start("waits") {
            log.wait(for: 2)
            _ = self.submit(inbox, "2\n", answers, as: "b")
        }.detach()
        _ = take(inbox)
        #expect(log.entries == ["false", "true", "false"])
    }

    private func takeHere(_ inbox: Inbox, most: Int = 100) -> String? {
        var block = Block()
        var hasEntered = false
        let submissions = inbox.takeHere(&block, most: most) { hasEntered = true }
        #expect(hasEntered == (submissions != nil))
        guard let submissions else { return nil }
        #expect(submissions.take())
        for portion in submissions.portions { portion.answer(.stored(invalid: [])) }
        return String(decoding: block.text.bytes, as: UTF8.self)
    }

    @Test("lets the thread that offers submissions judge them while a worker waits, and joins those of one source and key")
    func offers() {
        let inbox = Inbox()
        let log = Log()
        for (text, key) in [("1", 0), ("2", 0), ("3", 1)] { #expect(submit(inbox, text, key: key, offers: true, log, as: text)) }
        inbox.judgeOffers(by: { [weak inbox] in
            while let inbox, let text = takeHere(inbox) { log.add(text) }
        })
        inbox.judgeOffers()
        #expect(log.entries == ["1: stored(invalid: [])", "2: stored(invalid: [])", "1\n2\n", "3: stored(invalid: [])", "3\n"])
        #expect(takeHere(inbox) == nil)
    }

    @Test(
        "calls the judge of offers at the same depth of the stack each time",
        .disabled(if: isSanitized, "the address sanitizer keeps local variables outside of the stack"))
    func depth() {
        let inbox = Inbox()
        let log = Log()
        let depths = Monitor<Set<UInt>>([])
        inbox.judgeOffers(by: { [weak inbox] in
            _ = inbox.map { takeHere($0) }
            depths.withLock { _ = $0.insert(stackAddress()) }
        })
        for number in 0..<100 {
            #expect(submit(inbox, "1", offers: true, log, as: "\(number)"))
            inbox.judgeOffers()
        }
        #expect(log.entries.count == 100)
        #expect(depths.withLock { $0.count } == 1)
    }

    @Test("leaves offers to the workers that come behind others, that are large, or that come while lanes are full")
    func leavesOffers() {
        let time = ManualClock()
        let inbox = Inbox(clock: time.clock)
        let log = Log()
        #expect(submit(inbox, "1", log, as: "a"))
        #expect(take(inbox).text == "1\n")
        #expect(submit(inbox, "2", offers: true, log, as: "b"))
        #expect(takeHere(inbox) == nil, "the worker has not come back, so its block may have no place in the order yet")
        #expect(take(inbox).text == "2\n")

        let other = Inbox(clock: time.clock)
        #expect(submit(other, "12345", offers: true, log, as: "c"))
        #expect(takeHere(other, most: 4) == nil)
        other.separate()
        #expect(takeHere(other) == nil)
        time.advance(.seconds(2))
        #expect(takeHere(other) == nil, "its submitter may have left since")
        other.close()
        #expect(takeHere(other) == nil)
    }
}
