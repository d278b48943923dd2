import Document
import Foundation
import Plans
import Platform
import Queueing
import Testing

@testable import PluginHost

/// A provider whose module, hostile.c, runs in a process of its own.
private struct Isolated {
    let provider: IsolatedInstance
    let lines: Mailbox<String>

    init(
        _ fixture: ModuleFixture, settings: String = "{}", deadline: Duration = .seconds(600), memory: Int? = nil, halfFrame: Int? = nil,
        variables: [IsolationPlan.Variable] = [], hiding hidden: [String] = [], clock: Clock = .system, lines: Mailbox<String> = Mailbox()
    ) throws(ModuleFault) {
        self.lines = lines
        guard let module = try fixture.folders.module("hostile") else { throw ModuleFault("no module") }
        var plan = ProviderPlan(name: "out", plugin: "hostile", settings: Secret(Array(settings.utf8)))
        plan.delivery.deadline = deadline
        plan.isolation = IsolationPlan()
        if let memory { plan.isolation?.memory = memory }
        plan.isolation?.environment = variables
        provider = try IsolatedInstance(
            module, plan, hiding: HiddenTexts(hidden), executable: ModuleFixture.router, clock: clock, halfFrame: halfFrame
        ) { level, line in
            lines.put("\(level) \(line)")
        }
    }

    func deliver(_ word: String, attempt: Int = 1) -> BatchOutcome {
        let outcomes = Mailbox<BatchOutcome>()
        provider.deliver(batch("{\"do\":\"\(word)\"}", "{}"), attempt: attempt) { outcomes.put($0) }
        return outcomes.wait()[0]
    }

    /// Delivers the word as a second attempt, and repeats it while the process is restarted. Returns the outcome.
    func deliverAgain(_ word: String) -> BatchOutcome {
        while true {
            let outcome = deliver(word, attempt: 2)
            guard case .retry(_, let after?) = outcome.batch else { return outcome }
            let until = Clock.system.now() + after
            Monitor(()).waitUntilReady { _ in Clock.system.now() >= until ? .ready(()) : .notBefore(until) }
        }
    }
}

@Suite("An isolated module", .timeLimit(.minutes(20)))
struct IsolationTests {
    let fixture: ModuleFixture
    init() throws {
        fixture = try ModuleFixture()
        try fixture.build("hostile.c", as: "hostile.so")
    }

    @Test("gets whole batches, and its answers are the same as in the router's process")
    func delivers() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver("plain") == BatchOutcome(.delivered))
        #expect(out.deliver("echo") == BatchOutcome(.rejected(Answer(code: 1, "{\"do\":\"echo\"}\\n{}\\n"))))
        #expect(
            out.deliver("mixed") == BatchOutcome(.delivered, events: [1: .retry(Answer(code: 429, "later"), after: .milliseconds(1500))]))
        let flushed = Mailbox<Outcome>()
        out.provider.flush { flushed.put($0) }
        #expect(flushed.wait() == [.fault(Answer(code: 28, "no space left"))])
    }

    @Test("runs in another process, which has only the standard descriptors and its own")
    func descriptors() throws {
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver("process") != BatchOutcome(.rejected(Answer(code: 1, "\(getpid())"))))
        #expect(out.deliver("descriptors") == BatchOutcome(.rejected(Answer(code: 1, "3 "))))
        #expect(out.deliver("streams") == BatchOutcome(.rejected(Answer(code: 1, "/dev/null /dev/null"))))
    }

    @Test("gets its settings in a way that no other process can read")
    func secrets() throws {
        let out = try Isolated(fixture, settings: "{\"password\":\"hunter2\"}")
        defer { out.provider.close() }
        #expect(out.deliver("settings") == BatchOutcome(.rejected(Answer(code: 1, "kept"))))
    }

    @Test(
        "gets a new process after it ended the old one, and the deliveries of the old one are unknown",
        arguments: [
            ("crash", "died of signal 6 (Aborted)"), ("exit", "ended with code 0"),
            ("garbage", "sent a frame of 4294967295 bytes and was ended"),
        ])
    func restarts(word: String, end: String) throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver(word) == BatchOutcome(.unknown(Answer("the process of the module hostile \(end)"))))
        #expect(out.deliverAgain(word) == BatchOutcome(.delivered))
        // The runtime may write a line about a crash to standard error.
        #expect(
            out.lines.all.filter { $0.hasPrefix("warning ") } == [
                "warning out: the process of the module hostile \(end); it is restarted for the next delivery"
            ])
    }

    @Test("gets a new process after it closed its socket, whether the old one ends or is killed")
    func hangsUp() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        let ends = ["ended with code 0", "died of signal 9 (Killed)"].map { end in
            BatchOutcome(.unknown(Answer("the process of the module hostile \(end)")))
        }
        let outcome = out.deliver("deaf")
        #expect(ends.contains(outcome), "\(outcome)")
        #expect(out.deliverAgain("deaf") == BatchOutcome(.delivered))
    }

    @Test("whose child holds its socket after a crash ends its deliveries at once, and the child has ended by then")
    func forks() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver("fork") == BatchOutcome(.unknown(Answer("the process of the module hostile died of signal 6 (Aborted)"))))
    }

    @Test("gets only a few of the router's variables, and those that its provider names")
    func variables() throws {
        setenv("SWITCHYARD_TEST_SECRET", "not yours", 1)
        let out = try Isolated(fixture, variables: [IsolationPlan.Variable(name: "MINE", value: "yours")])
        defer { out.provider.close() }
        #expect(out.deliver("variables") == BatchOutcome(.rejected(Answer(code: 1, "clean|yours|path"))))
    }

    @Test("has no standard output; its provider logs its standard error, escaped and with secrets masked")
    func prints() throws {
        let out = try Isolated(fixture, hiding: ["hunter2"])
        #expect(out.deliver("print") == BatchOutcome(.delivered))
        #expect(out.lines.wait() == ["information out: \\u{1B}[2J(secret) in a complaint"])
        out.provider.close()
    }

    @Test("never shows a hidden text, whatever it sends over the socket")
    func hides() throws {
        let refusal = #expect(throws: ModuleFault.self) {
            _ = try Isolated(fixture, settings: "{\"do\":\"refuse\"}", hiding: ["no\u{1B}[2J"])
        }
        #expect(refusal?.description == "(secret)")
        let out = try Isolated(fixture, hiding: ["hunter2", "destroyed", "gone", "lie!"])
        #expect(out.deliver("echo hunter2") == BatchOutcome(.rejected(Answer(code: 1, "{\"do\":\"echo (secret)\"}\\n{}\\n"))))
        #expect(out.deliver("forge") == BatchOutcome(.delivered))
        #expect(out.lines.wait()[0] == "information out: (secret)")
        let gone = Mailbox<String>()
        out.provider.onClosed { gone.put($0.message) }
        out.provider.reopen()
        #expect(gone.wait() == ["(secret)\\n"])
        out.provider.close()
        #expect(!out.lines.all.contains { $0.contains("destroyed") || $0.contains("lie!") })
    }

    @Test("never shows a part of a hidden text where its own text is cut")
    func hidesCut() throws {
        let refusal = #expect(throws: ModuleFault.self) {
            _ = try Isolated(fixture, settings: "{\"do\":\"refuse at length\"}", hiding: ["hunter2ää"])
        }
        #expect(refusal?.description.drop { $0 == "x" } == "(secret)…", "the module cut it in the middle of a character")
        let out = try Isolated(fixture, hiding: ["hunter2hunter2"])
        defer { out.provider.close() }
        let outcome = out.deliver("long")
        #expect(outcome.batch == .rejected(Answer(String(repeating: "y", count: 4090) + "(secret)…")))
        #expect(outcome.events == [1: .rejected(Answer(String(repeating: "x", count: 506) + "(secret)…"))])
        #expect(out.lines.all == ["information out: " + String(repeating: "x", count: 4090) + "(secret)…"])
    }

    @Test("never shows a hidden text when it refuses its settings at a restart")
    func hidesLater() throws {
        let starts = IsolationPlan.Variable(name: "STARTS", value: fixture.folder + "/starts")
        let out = try Isolated(fixture, settings: "{\"do\":\"refuse later\"}", variables: [starts], hiding: ["hunter2"])
        defer { out.provider.close() }
        _ = out.deliver("crash")
        #expect(out.deliverAgain("plain") == BatchOutcome(.retry(Answer("(secret) is wrong"), after: nil)))
        guard case .retry(Answer("(secret) is wrong"), _?) = out.deliver("plain").batch else {
            Issue.record("the refusal is followed by a pause and is the reason for it")
            return
        }
    }

    @Test(
        "logs a limited number of lines, over the socket, on standard error, or in forged frames", arguments: ["flood", "forge"])
    func floods(word: String) throws {
        let out = try Isolated(fixture, clock: Clock(now: { Instant(nanoseconds: 0) }, wall: { 0 }))
        #expect(out.deliver(word) == BatchOutcome(.delivered))
        out.provider.close()
        // There are 100 lines of information, and warnings about the dropped lines.
        let lines = out.lines.all
        #expect(lines.filter { $0.hasPrefix("information ") }.count == 100)
        #expect(lines.filter { $0.hasPrefix("warning ") }.count <= 102)
        #expect(lines.contains { $0.contains("were left out") })
    }

    @Test("gets a new process after it used up its memory", .enabled(if: !isSanitized, "a sanitizer maps more than any machine has"))
    func eats() throws {
        let out = try Isolated(fixture, memory: 500_000_000)
        defer { out.provider.close() }
        #expect(out.deliver("eat") == BatchOutcome(.unknown(Answer("the process of the module hostile died of signal 6 (Aborted)"))))
        #expect(out.deliverAgain("eat") == BatchOutcome(.delivered))
    }

    @Test("is ended if it does not answer within the deadline", arguments: ["hang", "silent"])
    func hangs(word: String) throws {
        let out = try Isolated(fixture, deadline: .milliseconds(200))
        defer { out.provider.close() }
        #expect(
            out.deliver(word)
                == BatchOutcome(.unknown(Answer("the process of the module hostile gave no answer within 200ms and was ended"))))
    }

    @Test("is ended if it sends half a frame")
    func half() throws {
        let out = try Isolated(fixture, halfFrame: 1)
        defer { out.provider.close() }
        #expect(
            out.deliver("half") == BatchOutcome(.unknown(Answer("the process of the module hostile sent half a frame and was ended"))))
    }

    @Test(
        "gets a new process after it sent an unexpected frame",
        arguments: [
            ("refuse", "a frame out of turn"), ("ready", "a frame out of turn"), ("closed", "a frame out of turn"),
            ("stray", "the outcome of a delivery that it does not have"),
        ])
    func outOfTurn(word: String, what: String) throws {
        let out = try Isolated(fixture, deadline: .seconds(10))
        defer { out.provider.close() }
        #expect(out.deliver(word) == BatchOutcome(.unknown(Answer("the process of the module hostile sent \(what) and was ended"))))
        #expect(out.deliverAgain(word) == BatchOutcome(.delivered))
    }

    @Test("is restarted only once for deliveries that come at the same time")
    func startsOnce() throws {
        let starts = fixture.folder + "/starts"
        let time = Monitor(Clock.system.now())
        let out = try Isolated(
            fixture, variables: [IsolationPlan.Variable(name: "STARTS", value: starts)],
            clock: Clock(now: { time.withLock { $0 } }, wall: { 0 }))
        defer { out.provider.close() }
        _ = out.deliver("crash")
        time.withLock { $0 = $0 + .seconds(1) }
        let outcomes = Mailbox<BatchOutcome>()
        let threads = (0..<4).map { _ in ReplayLane { out.provider.deliver(batch("{}"), attempt: 2) { outcomes.put($0) } } }
        for thread in threads { thread.join() }
        #expect(outcomes.wait(for: 4) == Array(repeating: BatchOutcome(.delivered), count: 4))
        #expect(try Data(contentsOf: URL(filePath: starts)).count == 2)
    }

    @Test("gets no more time for its answer if it logs without a pause")
    func chatters() throws {
        // The clock passes the deadline with the first of a thousand lines.
        let begin = Clock.system.now()
        let lines = Mailbox<String>()
        let clock = Clock(now: { lines.all.isEmpty ? begin : begin + .seconds(1000) }, wall: { 0 })
        let out = try Isolated(fixture, deadline: .seconds(600), clock: clock, lines: lines)
        defer { out.provider.close() }
        #expect(
            out.deliver("forge")
                == BatchOutcome(.unknown(Answer("the process of the module hostile gave no answer within 10m and was ended"))))
    }

    @Test("is ended if it sends a frame byte by byte and takes too long for the whole frame")
    func drips() throws {
        let out = try Isolated(fixture, halfFrame: 1)
        defer { out.provider.close() }
        #expect(
            out.deliver("drip") == BatchOutcome(.unknown(Answer("the process of the module hostile sent half a frame and was ended"))))
    }

    @Test("ends its deliveries when its process has ended, even if its children go on sending")
    func heir() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver("heir") == BatchOutcome(.unknown(Answer("the process of the module hostile died of signal 6 (Aborted)"))))
    }

    @Test("ends all its deliveries as unknown when its process ends")
    func concurrent() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        let outcomes = Mailbox<BatchOutcome>()
        for word in ["silent", "silent", "crash"] { out.provider.deliver(batch("{\"do\":\"\(word)\"}"), attempt: 1) { outcomes.put($0) } }
        let unknown = BatchOutcome(.unknown(Answer("the process of the module hostile died of signal 6 (Aborted)")))
        #expect(outcomes.wait(for: 3) == [unknown, unknown, unknown])
    }

    @Test("is not restarted at once, but after a pause that the lane is told")
    func pauses() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        _ = out.deliver("crash")
        guard case .retry(let answer, let after?) = out.deliver("plain").batch else {
            Issue.record("no pause")
            return
        }
        #expect(answer.message == "the process of the module hostile died of signal 6 (Aborted)")
        #expect(after <= .milliseconds(250))
    }

    @Test("is restarted after pauses that double if it ends again and again")
    func doubles() throws {
        let time = Monitor(Clock.system.now())
        let out = try Isolated(fixture, clock: Clock(now: { time.withLock { $0 } }, wall: { 0 }))
        defer { out.provider.close() }
        for milliseconds in [250, 500, 1000] {
            _ = out.deliver("crash")
            guard case .retry(_, let after?) = out.deliver("plain").batch else {
                Issue.record("no pause")
                return
            }
            #expect(after == .milliseconds(milliseconds))
            time.withLock { $0 = $0 + after }
        }
    }

    @Test("that completes a delivery twice has completed it once")
    func twice() throws {
        let out = try Isolated(fixture)
        defer { out.provider.close() }
        #expect(out.deliver("twice") == BatchOutcome(.delivered))
        #expect(out.deliver("plain") == BatchOutcome(.delivered))
    }

    @Test(
        "that cannot be made is a fault of the configuration, with its own message or the end of its process",
        arguments: [
            ("die", "the process of the module hostile ended with code 3"),
            ("crash", "the process of the module hostile died of signal 6 (Aborted)"),
        ])
    func refuses(word: String, message: String) throws {
        let fault = #expect(throws: ModuleFault.self) { _ = try Isolated(fixture, settings: "{\"do\":\"\(word)\"}") }
        #expect(fault?.description == message)
        let refusal = #expect(throws: ModuleFault.self) { _ = try Isolated(fixture, settings: "{\"do\":\"refuse\"}") }
        #expect(refusal?.description == "no\\u{1B}[2J", "it is the module's own message; the reader of the file adds the place")
    }

    @Test("reports that its destination is gone, and runs destroy when it is closed")
    func closes() throws {
        let out = try Isolated(fixture)
        let gone = Mailbox<String>()
        out.provider.onClosed { gone.put($0.message) }
        out.provider.reopen()
        #expect(gone.wait() == ["gone\\n"])
        out.provider.close()
        out.provider.close()
        #expect(out.lines.all == ["information out: destroyed"])
        #expect(out.deliver("plain") == BatchOutcome(.retry(Answer("the provider is closed"), after: nil)))
    }

    @Test("ends when the router is gone, whatever it is doing")
    func orphan() throws {
        let router = ModuleFixture.router
        // For the child, the end of the channel is the end of the router.
        let (ours, process) = try Channel.pair { (socket) throws(SystemFault) in
            try Platform.Process(router, [HostedModule.command], descriptors: [-1, 1, 2, socket])
        }
        var channel: Channel? = ours
        _ = consume ours
        try channel?.send(.hello, Frame.Hello(path: fixture.folder + "/hostile.so", provider: "out", settings: Array("{}".utf8)).encoded)
        let ready = try #require(try channel?.receive(most: 1000))
        #expect(ready.kind == Frame.Kind.ready.rawValue)
        let event = Array("{\"do\":\"hang\"}\n".utf8)
        var head = FrameBody()
        head.put(UInt64(1))
        for number in [UInt32(1), 1] { head.put(number) }
        for number in [UInt64(event.count), 7] { head.put(number) }
        try (head.bytes + event).withUnsafeBytes { try channel?.send(.deliver, [$0]) }
        channel = nil
        #expect(process.wait() == "ended with code 0")
    }

    @Test("is refused as soon as another version has replaced it")
    func replaced() throws {
        let module = try #require(try fixture.folders.module("hostile"))
        try fixture.build("table.c", as: "other.so")
        unlink(fixture.folder + "/hostile.so")
        try FileManager.default.moveItem(atPath: fixture.folder + "/other.so", toPath: fixture.folder + "/hostile.so")
        let plan = ProviderPlan(name: "out", plugin: "hostile", settings: Secret(Array("{}".utf8)))
        let fault = #expect(throws: ModuleFault.self) {
            _ = try IsolatedInstance(module, plan, executable: ModuleFixture.router, clock: .system) { _, _ in }
        }
        #expect(fault?.description.hasSuffix("hostile.so: was replaced by table 1.0.0; restart the router to load it") == true)
    }
}

/// A thread that can be kept in an array.
private final class ReplayLane {
    private var thread: Platform.Thread?
    init(_ body: @escaping @Sendable () -> Void) { thread = Platform.Thread.start("courier", body) }
    func join() { thread.take()?.join() }
}

private let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
