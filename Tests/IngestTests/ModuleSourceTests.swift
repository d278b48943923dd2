// A module source with its threads, a module of Swift and a sink that the test answers.

import Events
import Platform
import TestSupport
import Testing

@testable import Ingest

/// A module that notes its calls.
private final class FakeModule: SourceModule {
    struct State {
        var receiver: (any SourceReceiver)?
        var calls: [String] = []
        /// True while acknowledge must not return.
        var blocks = false
        var onStart: (@Sendable (any SourceReceiver) -> Void)?
    }
    let state = Monitor(State())

    func connect(_ receiver: any SourceReceiver) { state.withLock { $0.receiver = receiver } }
    func start() {
        let (receiver, body) = state.withLock { ($0.receiver!, $0.onStart) }
        body?(receiver)
        note("start")
    }
    func pause() { note("pause") }
    func resume() { note("resume") }
    func acknowledge(_ tokens: [UInt64]) {
        note("acknowledge \(tokens.map { "\($0)" }.joined(separator: " "))")
        state.wait(while: \.blocks)
    }
    func stop(within time: Duration) { note("stop") }
    func close() {
        note("close")
        state.withLock { $0.receiver = nil }
    }

    private func note(_ call: String) {
        state.withLock { $0.calls.append(call) }
        state.wake()
    }

    var calls: [String] { state.withLock { $0.calls } }
    func waitFor(_ call: String) { state.wait(while: { !$0.calls.contains(call) }) }

    func submit(_ text: String, token: UInt64, stream: UInt64 = 0, count: Int? = nil) -> BlockVerdict {
        let receiver = state.withLock { $0.receiver }
        return Array(text.utf8).withUnsafeBytes { bytes in
            receiver?.take(
                RawSourceBlock(
                    token: token, stream: stream, lines: bytes, count: count ?? bytes.count { $0 == 0x0A }, origin: "topic/\(stream)"))
                ?? .closing
        }
    }
}

/// A sink that keeps what it gets until the test answers.
private final class HoldingSink: EventSink {
    struct Held: Sendable {
        var text: String
        var submitter: Submitter
        var answer: @Sendable (Submission) -> Void
    }
    struct State {
        var held: [Held] = []
        var isFull = false
    }
    let state = Monitor(State())

    func submit(
        _ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let text = String(decoding: lines.bytes, as: UTF8.self)
        lines.removeAll()
        let isTaken = state.withLock { state in
            if state.isFull { return false }
            state.held.append(Held(text: text, submitter: submitter, answer: answer))
            return true
        }
        state.wake()
        return isTaken
    }

    /// Waits for the next submission and returns it.
    func next() -> Held { state.waitUntilReady { $0.held.isEmpty ? .notBefore(nil) : .ready($0.held.removeFirst()) } }
    var waiting: Int { state.withLock { $0.held.count } }
}

@Suite("A module source", .timeLimit(.minutes(5)))
final class ModuleSourceTests {
    private let module = FakeModule()
    private let sink = HoldingSink()
    private let said = Monitor<[String]>([])

    // What a test has not answered holds the source, which holds the sink. A thread of the source may still submit something.
    deinit {
        sink.state.withLock { ($0.held, $0.isFull) = ([], true) }
        module.state.withLock { ($0.receiver, $0.onStart) = (nil, nil) }
    }

    private func source(bound: Int = 1_000_000, onThrough: @escaping @Sendable () -> Void = {}) -> ModuleSource {
        ModuleSource(
            name: "log", index: 3, bound: bound, lineLimit: 1000, stopTime: .seconds(60), module: module, sink: sink,
            say: { [said] line in said.withLock { $0.append(line) } }, onThrough: onThrough)
    }

    @Test("submits blocks with their source and origin, and acknowledges them when the sink has stored them")
    func submits() {
        let source = source()
        #expect(module.submit("{}\n", token: 1) == .closing, "it was not started")
        source.start()
        module.waitFor("start")
        #expect(module.submit("{}\n{\"a\":1}\n", token: 9, stream: 4) == .taken)
        let held = sink.next()
        #expect(held.text == "{}\n{\"a\":1}\n")
        #expect(held.submitter.source == 3 && held.submitter.awaitsEnd && held.submitter.origin?.name == "topic/4")
        held.submitter.taken?()
        held.answer(.stored(invalid: []))
        module.waitFor("acknowledge 9")
        source.stop()
        #expect(module.calls == ["start", "acknowledge 9", "stop", "close"])
        #expect(module.submit("{}\n", token: 1) == .closing)
    }

    @Test("does not acknowledge a block of which events were lost, says so once, and goes on")
    func lost() {
        let source = source()
        source.start()
        module.waitFor("start")
        for token in 1...3 as ClosedRange<UInt64> {
            #expect(module.submit("{}\n", token: token) == .taken)
            let held = sink.next()
            held.submitter.taken?()
            held.answer(token < 3 ? .lost : .stored(invalid: []))
        }
        module.waitFor("acknowledge 3")
        #expect(said.withLock { $0 }.count { $0.contains("were lost") } == 1)
        source.stop()
        // The bytes of a block that is acknowledged are free when the call has returned.
        #expect(source.condition.lost == 2 && source.condition.openBytes == 0)
        #expect(module.calls == ["start", "acknowledge 3", "stop", "close"])
    }

    @Test("a block that the sink gives back comes again from the router's own copy, before the next of its stream")
    func givenBack() {
        let source = source()
        source.start()
        module.waitFor("start")
        for token in 1...2 as ClosedRange<UInt64> { #expect(module.submit("{\"n\":\(token)}\n", token: token) == .taken) }
        sink.next().answer(.overloaded(retryAfter: 0))
        let again = sink.next()
        #expect(again.text == "{\"n\":1}\n" && sink.waiting == 0)
        again.submitter.taken?()
        #expect(sink.next().text == "{\"n\":2}\n")
        again.answer(.stored(invalid: []))
        module.waitFor("acknowledge 1")
        source.stop()
    }

    @Test("a block that breaks a rule is refused, and each rule is reported once")
    func wrong() {
        let source = source()
        source.start()
        module.waitFor("start")
        #expect(module.submit("{}", token: 1, count: 1) == .wrong)
        #expect(module.submit("{}", token: 1, count: 1) == .wrong)
        #expect(module.submit("{}\n", token: 1, count: 2) == .wrong)
        #expect(module.submit("{}\n", token: 1) == .taken)
        #expect(module.submit("{}\n", token: 1) == .wrong, "its token is in use")
        #expect(source.condition.wrong == 4 && source.condition.openBlocks == 1)
        let words = said.withLock { $0 }
        #expect(words.count == 3 && words[0].contains("its last line does not end in a newline"))
        source.stop()
    }

    @Test("a module may hand over blocks inside its calls, and from several threads")
    func inside() {
        let module = module
        module.state.withLock { state in
            state.onStart = { _ in #expect(module.submit("{}\n", token: 1) == .taken) }
        }
        let source = source()
        source.start()
        module.waitFor("start")
        let left = Monitor(4)
        for thread in 0..<4 as Range<UInt64> {
            Thread.start("submit") {
                for number in 0..<25 as Range<UInt64> {
                    #expect(module.submit("{}\n", token: 100 + 25 * thread + number, stream: thread) == .taken)
                }
                left.withLock { $0 -= 1 }
                left.wake()
            }.detach()
        }
        for _ in 0..<101 {
            let held = sink.next()
            held.submitter.taken?()
            held.answer(.stored(invalid: []))
        }
        left.wait(while: { $0 > 0 })
        source.stop()
        let acknowledged = module.calls.filter { $0.hasPrefix("acknowledge") }.flatMap { $0.split(separator: " ").dropFirst() }
        #expect(acknowledged.count == 101 && Set(acknowledged).count == 101)
    }

    @Test("an acknowledge that does not return delays other calls, not the blocks, and what it holds counts against the bound")
    func blocked() {
        let source = source(bound: 30)
        source.start()
        module.waitFor("start")
        module.state.withLock { $0.blocks = true }
        #expect(module.submit("{\"n\":123}\n", token: 1, stream: 1) == .taken)
        sink.next().answer(.stored(invalid: []))
        module.waitFor("acknowledge 1")
        #expect(module.submit("{\"n\":123}\n", token: 2, stream: 2) == .taken)
        sink.next().answer(.stored(invalid: []))
        #expect(module.submit("{\"n\":123}\n", token: 3, stream: 3) == .taken)
        #expect(module.submit("{\"n\":123}\n", token: 4, stream: 4) == .full)
        #expect(source.condition.isPaused && source.condition.openBytes == 30)
        module.state.withLock { $0.blocks = false }
        module.state.wake()
        module.waitFor("resume")
        #expect(module.submit("{\"n\":123}\n", token: 4, stream: 4) == .taken)
        source.stop()
    }

    @Test("when the module has ended and all its blocks are with the workers, the run is told")
    func ends() {
        let told = Monitor(0)
        let source = source {
            told.withLock { $0 += 1 }
            told.wake()
        }
        source.start()
        module.waitFor("start")
        #expect(module.submit("{}\n", token: 1) == .taken)
        module.state.withLock { $0.receiver }?.end("that was all")
        #expect(module.submit("{}\n", token: 2) == .closing)
        let held = sink.next()
        #expect(told.withLock { $0 } == 0)
        held.submitter.taken?()
        told.wait(while: { $0 == 0 })
        held.answer(.stored(invalid: []))
        module.waitFor("acknowledge 1")
        source.stop()
        #expect(said.withLock { $0 } == ["log: ended: that was all"])
        #expect(source.condition.hasEnded)
    }

    @Test("its condition has what the module reports")
    func condition() {
        let source = source()
        source.start()
        module.waitFor("start")
        let receiver = module.state.withLock { $0.receiver }
        receiver?.note(behind: 12, .seconds(3))
        receiver?.note(.connected, "to broker 1")
        receiver?.note(.connected, "to broker 1")
        let condition = source.condition
        #expect(condition.state == .connected && condition.message == "to broker 1")
        #expect(condition.eventsBehind == 12 && condition.timeBehind == .seconds(3))
        #expect(said.withLock { $0 } == ["log: connected: to broker 1"])
        source.stop()
    }

    @Test("a module that does not return from a call does not delay the end of others")
    func endsTogether() {
        let hanging = source()
        hanging.start()
        module.waitFor("start")
        #expect(module.submit("{}\n", token: 1) == .taken)
        module.state.withLock { $0.blocks = true }
        let held = sink.next()
        held.submitter.taken?()
        held.answer(.stored(invalid: []))
        module.waitFor("acknowledge 1")
        let other = FakeModule()
        let quick = ModuleSource(
            name: "quick", index: 4, bound: 1000, lineLimit: 1000, stopTime: .seconds(60), module: other, sink: sink, say: { _ in })
        quick.start()
        other.waitFor("start")
        let stopped = Monitor(false)
        Thread.start("stop") {
            ModuleSource.stop([hanging, quick])
            stopped.withLock { $0 = true }
            stopped.wake()
        }.detach()
        other.waitFor("close")
        #expect(!stopped.withLock { $0 })
        module.state.withLock { $0.blocks = false }
        module.state.wake()
        stopped.wait(while: { !$0 })
        #expect(module.calls.last == "close")
    }

    @Test("a source that was never started is only closed")
    func unstarted() {
        let source = source()
        source.stop()
        #expect(module.calls == ["close"])
    }
}
