import Admission
import Plans
import Platform
import PluginHost
import Queueing
import Testing

@Suite("An instance of a module", .timeLimit(.minutes(20)))
struct ModuleInstanceTests {
    let fixture: ModuleFixture

    init() throws {
        fixture = try ModuleFixture()
        try fixture.build("scripted.c", as: "scripted.so")
    }

    // MARK: Making

    @Test("the example provider counts its events and logs the sum when it is closed")
    func example() throws {
        try fixture.buildExample("count.c", as: "count.so")
        let module = try #require(try fixture.folders.module("count"))
        #expect(module.description.name == "count")
        let lines = Mailbox<String>()
        let provider = try module.make(settings: Secret(Array("{}".utf8)), name: "sum") { lines.put("\($0) \($1)") }
        let outcomes = Mailbox<BatchOutcome>()
        provider.deliver(batch("{}", "[]"), attempt: 1) { outcomes.put($0) }
        provider.deliver(batch("{\"a\":1}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.all == [BatchOutcome(.delivered), BatchOutcome(.delivered)])
        provider.flush { outcome in outcomes.put(BatchOutcome(outcome)) }
        #expect(outcomes.all.last == BatchOutcome(.delivered), "a module without flush has nothing to flush")
        provider.reopen()
        provider.close()
        #expect(lines.all == ["information sum: 3 events, 14 bytes"])
    }

    @Test("a refusal without a terminating zero byte is read only to the end of its buffer")
    func unterminatedRefusal() {
        let fault = #expect(throws: ModuleFault.self) { try Scripted(fixture, settings: "{\"refuse\":1}") }
        #expect(fault?.description == String(repeating: "x", count: 1024) + "…", "it may have been longer")
    }

    @Test("the message about a refusal without a reason says that there is none")
    func silentRefusal() {
        let fault = #expect(throws: ModuleFault.self) { try Scripted(fixture, settings: "{\"silent\":1}") }
        let path = fixture.folder + "/scripted.so"
        #expect(fault?.description == "the module scripted (\(path)) refuses the settings and gives no reason")
    }

    @Test("a refusal is escaped for a terminal")
    func refusalWithControls() {
        let fault = #expect(throws: ModuleFault.self) { try Scripted(fixture, settings: "{\"escape\":1}") }
        #expect(fault?.description == "\\u{1B}[31mred\\nline \u{FFFD}")
    }

    @Test("a hidden text is never in a refusal, a log line, an answer or the reason why a destination is gone")
    func hides() throws {
        let refusal = #expect(throws: ModuleFault.self) {
            try Scripted(fixture, settings: "{\"escape\":1}", hiding: ["31mred\nline"])
        }
        #expect(refusal?.description == "\\u{1B}[(secret) \u{FFFD}")
        let cut = #expect(throws: ModuleFault.self) {
            try Scripted(fixture, settings: "{\"refuse\":1}", hiding: [String(repeating: "x", count: 1000) + "y", "xxxxz"])
        }
        #expect(cut?.description.hasSuffix("x(secret)…") == true, "the module cut it in the middle")

        let one = try Scripted(fixture, hiding: ["odd", "too odd", "reader", "thread"])
        #expect(one.deliver("mixed").events[0] == .rejected(Answer(code: 422, "(secret)")))
        let gone = Mailbox<Answer>()
        one.provider.onClosed { gone.put($0) }
        #expect(one.deliver("thread") == BatchOutcome(.delivered))
        #expect(gone.wait()[0] == Answer("the (secret) left"))
        one.provider.close()
        #expect(one.lines.all == ["warning out: from a (secret)", "information out: destroyed"])
    }

    // MARK: Delivering

    @Test("the module gets the whole batch: bytes, ends, arrivals, attempt")
    func wholeBatch() throws {
        let out = try Scripted(fixture)
        #expect(out.deliver("attempt", attempt: 3) == BatchOutcome(.rejected(Answer(code: 3, "{\"do\":\"attempt\"}\\n{}\\n"))))
    }

    @Test("events whose outcome differs from that of their batch are named, in any order", arguments: ["mixed", "unsorted"])
    func mixedOutcomes(word: String) throws {
        let outcome = try Scripted(fixture).deliver(word)
        let rejected = Outcome.rejected(Answer(code: 422, "too odd"))
        let later = Outcome.retry(Answer(code: 429, ""), after: .milliseconds(1500))
        #expect(outcome == BatchOutcome(.delivered, events: word == "mixed" ? [0: rejected, 1: later] : [1: rejected, 0: later]))
    }

    @Test("a flush ends with the outcome that the module reports")
    func flush() throws {
        let outcomes = Mailbox<Outcome>()
        try Scripted(fixture).provider.flush { outcomes.put($0) }
        #expect(outcomes.all == [.fault(Answer(code: 28, "no space left"))])
    }

    @Test("a delivery may end on another thread after deliver has returned, and its batch lives until then")
    func lateEnd() throws {
        let out = try Scripted(fixture)
        let outcomes = Mailbox<BatchOutcome>()
        out.provider.deliver(batch("{\"do\":\"keep\"}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.all.isEmpty)
        out.provider.reopen()
        #expect(outcomes.all == [BatchOutcome(.rejected(Answer("{\"do\":\"keep\"}\\n")))])
    }

    @Test("a thread of the module may call log, closed and complete")
    func fromThread() throws {
        let out = try Scripted(fixture, name: "archive")
        let gone = Mailbox<Answer>()
        out.provider.onClosed { gone.put($0) }
        #expect(out.deliver("thread") == BatchOutcome(.delivered))
        #expect(gone.all == [Answer("the reader left")], "closed is passed on once")
        out.provider.close()
        #expect(out.lines.all == ["warning archive: from a thread", "information archive: destroyed"])
    }

    @Test("a handler learns of a destination that was gone before the handler was set")
    func closedBeforeHandler() throws {
        let out = try Scripted(fixture, settings: "{\"gone\":1}")
        let gone = Mailbox<Answer>()
        out.provider.onClosed { gone.put($0) }
        #expect(gone.all == [Answer("gone before anyone asked")])
    }

    @Test("log lines have the provider's name, a valid level, and no control characters")
    func logging() throws {
        let out = try Scripted(fixture, name: "archive")
        _ = out.deliver("levels")
        #expect(
            out.lines.all == [
                "debug archive: debug", "error archive: error\\n\\u{1B}[0m", "error archive: too high", "debug archive: too low",
            ])
    }

    @Test("a flood of lines is limited, the dropped lines are counted and reported, and an error is still logged")
    func flood() throws {
        let time = Monitor(Instant(nanoseconds: 0))
        let out = try Scripted(fixture, clock: Clock(now: { time.withLock { $0 } }, wall: { 0 }))
        _ = out.deliver("flood")
        let said = Array(repeating: "information out: chatter", count: 100)
        let notice = "warning out: logs more than 10 lines a second; the others are left out and counted"
        #expect(out.lines.all == said + [notice, "error out: an error in between"])
        // After half a second there is no new budget; after a whole second there is.
        time.withLock { $0 = Instant(nanoseconds: 500_000_000) }
        _ = out.deliver("flood")
        #expect(out.lines.all.count == 103)
        time.withLock { $0 = Instant(nanoseconds: 1_000_000_000) }
        _ = out.deliver("flood")
        let more = Array(out.lines.all.dropFirst(103))
        #expect(
            more == ["warning out: 1,900 of its lines were left out"] + said.prefix(10) + [notice, "error out: an error in between"])
        out.provider.close()
        // The line from destroy is dropped too.
        #expect(out.lines.all.last == "warning out: 991 of its lines were left out")
    }

    // MARK: Unexpected completions

    @Test("a second completion is counted and changes nothing")
    func twice() throws {
        let out = try Scripted(fixture)
        let outcomes = Mailbox<BatchOutcome>()
        out.provider.deliver(batch("{\"do\":\"twice\"}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.all == [BatchOutcome(.delivered)])
        #expect(out.provider.strayCompletions == 1)
        #expect(out.deliver("nothing special") == BatchOutcome(.delivered))
    }

    @Test("a completion ends only the delivery that it names")
    func oneOfTwo() throws {
        let out = try Scripted(fixture)
        let (first, second) = (Mailbox<BatchOutcome>(), Mailbox<BatchOutcome>())
        out.provider.deliver(batch("{\"do\":\"late\"}"), attempt: 1) { first.put($0) }
        out.provider.deliver(batch("{\"do\":\"nothing special\"}"), attempt: 1) { second.put($0) }
        #expect(first.all.isEmpty && second.all == [BatchOutcome(.delivered)])
        out.provider.close()
    }

    @Test("unknown tokens are counted, unknown contexts are ignored, and the delivery under way goes on")
    func strangers() throws {
        let out = try Scripted(fixture)
        #expect(out.deliver("strangers") == BatchOutcome(.delivered))
        #expect(out.provider.strayCompletions == 2)
    }

    @Test("a delivery that never ends is unknown when the provider is closed, and a later completion is counted")
    func afterDestroy() throws {
        let old = try Scripted(fixture)
        let outcomes = Mailbox<BatchOutcome>()
        old.provider.deliver(batch("{\"do\":\"late\"}"), attempt: 1) { outcomes.put($0) }
        #expect(outcomes.all.isEmpty)
        old.provider.close()
        #expect(outcomes.all == [BatchOutcome(.unknown(Answer("the provider was closed before the module answered")))])

        let new = try Scripted(fixture)
        new.provider.reopen()
        new.provider.reopen()
        #expect(old.provider.strayCompletions == 2)
        #expect(new.provider.strayCompletions == 0, "the late completion was the old instance's")
        #expect(outcomes.all.count == 1)
    }

    @Test("a delivery that ends in destroy has ended properly")
    func inDestroy() throws {
        let out = try Scripted(fixture)
        let outcomes = Mailbox<BatchOutcome>()
        out.provider.deliver(batch("{\"do\":\"destroy\"}"), attempt: 1) { outcomes.put($0) }
        out.provider.close()
        #expect(outcomes.all == [BatchOutcome(.delivered)])
    }

    @Test("close does not wait for a call that hangs; the instance is destroyed, and its batch freed, when the call returns")
    func hanging() throws {
        let out = try Scripted(fixture)
        let provider = out.provider
        let outcomes = Mailbox<BatchOutcome>()
        let thread = Thread.start("delivers") {
            provider.deliver(batch("{\"do\":\"hang\"}"), attempt: 1) { outcomes.put($0) }
        }
        #expect(out.lines.wait() == ["information out: inside"])
        provider.close()
        #expect(outcomes.all == [BatchOutcome(.unknown(Answer("the provider was closed before the module answered")))])
        // The reopen of another instance of the same module releases the hanging call.
        let other = try Scripted(fixture)
        other.provider.reopen()
        thread.join()
        #expect(provider.strayCompletions == 1)
        #expect(outcomes.all.count == 1)
        #expect(out.lines.all == ["information out: inside"], "a closed provider logs nothing")
    }

    @Test("a delivery whose call had begun when another thread closed the provider is unknown")
    func beginsDuringClose() throws {
        let out = try Scripted(fixture)
        let outcomes = Mailbox<BatchOutcome>()
        // The first look at the batch comes after the beginning of the call, and before the delivery is noted.
        let closing = ClosingBatch(batch("{\"do\":\"late\"}")) { Thread.start("closes") { out.provider.close() }.join() }
        out.provider.deliver(lent: closing, attempt: 1) { outcomes.put($0) }
        #expect(outcomes.all == [BatchOutcome(.unknown(Answer("the provider was closed before the module answered")))])
    }

    @Test("a closed provider is not called again")
    func closed() throws {
        let out = try Scripted(fixture)
        out.provider.close()
        out.provider.close()
        out.provider.reopen()
        #expect(out.deliver("mixed") == BatchOutcome(.retry(Answer("the provider is closed"), after: nil)))
        #expect(out.lines.all == ["information out: destroyed"])
    }

    // MARK: Invalid outcomes

    @Test(
        "an invalid outcome counts as unknown, and the message names the module",
        arguments: [
            ("nothing", "ended a delivery without an outcome"),
            ("range", "named the event 2 of a batch of 2"),
            ("duplicate", "named the event 0 of a batch twice"),
            ("absurd", "named 18446744073709551615 single events of a batch of 2"),
            ("list", "named 2 single events, but gave no list of them"),
            ("kind", "reported an outcome of the unknown kind 99"),
        ])
    func senseless(word: String, message: String) throws {
        #expect(try Scripted(fixture).deliver(word) == BatchOutcome(.unknown(Answer("the module scripted " + message))))
    }

    @Test("an invalid outcome of a single event affects only that event")
    func senselessSingle() throws {
        let expected = BatchOutcome(
            .delivered,
            events: [
                0: .unknown(Answer("the module scripted reported an outcome of the unknown kind 77")),
                1: .unknown(Answer("the module scripted called the destination closed for a single event")),
            ])
        #expect(try Scripted(fixture).deliver("event kind") == expected)
    }

    @Test("a message with an absurd size is not read, and a long one is cut to 4 KiB")
    func longMessages() throws {
        let out = try Scripted(fixture)
        #expect(out.deliver("endless") == BatchOutcome(.rejected(Answer(code: 422, "(a message of 18446744073709551615 bytes, not read)"))))
        #expect(out.deliver("long") == BatchOutcome(.rejected(Answer(code: 422, String(repeating: "y", count: 4096) + "…"))))
        #expect(out.deliver("no message") == BatchOutcome(.rejected(Answer(code: 422, ""))))
    }

    @Test("messages are repaired where they are not UTF-8, and control and direction characters are escaped")
    func hostileMessages() throws {
        #expect(
            try Scripted(fixture).deliver("escape")
                == BatchOutcome(.rejected(Answer(code: 422, "a\\u{1B}[2Jb\\nc\u{FFFD}d\\u{202E}e"))))
    }
}

/// A batch that runs a body before its bytes are read.
private final class ClosingBatch: BorrowedBatch {
    private let batch: Batch
    private let close: @Sendable () -> Void

    init(_ batch: Batch, _ close: @escaping @Sendable () -> Void) {
        self.batch = batch
        self.close = close
    }

    var bytes: UnsafeRawBufferPointer {
        close()
        return batch.bytes
    }
    var ends: UnsafeBufferPointer<UInt64> { batch.ends }
    var arrivals: UnsafeBufferPointer<Int64> { batch.arrivals }
}
