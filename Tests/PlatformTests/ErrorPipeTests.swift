// Tests the pipe of a program's standard error: what it reports, and that its end never waits for another process.

import Glibc
import Platform
import Testing

private final class Recorder: Sendable {
    private let heard = Monitor<[String]>([])
    var all: [String] { heard.withLock { $0 } }

    func hear(_ one: ErrorPipe.Output) {
        let text =
            switch one {
            case .line(let bytes): printable(bytes)
            case .tooMany(let perSecond): "more than \(perSecond)"
            case .leftOut(let count): "\(count) left out"
            }
        heard.withLock { $0.append(text) }
        heard.wake()
    }

    func wait(for count: Int) { heard.wait { $0.count < count } }
}

private func say(_ text: String, to descriptor: Int32) throws(SystemFault) {
    try withBytes(Array(text.utf8)) { (bytes) throws(SystemFault) in try writeAll(descriptor, bytes) }
}

@Suite("The pipe of a program's errors")
struct ErrorPipeTests {
    @Test("reports the lines while they are written, and the rest when it is closed")
    func lines() throws {
        let recorder = Recorder()
        let (pipe, other) = try ErrorPipe.open("errors", hear: recorder.hear) { (number) throws(SystemFault) in
            #expect(isPrivate(number))
            return dup(number)
        }
        let writing = Descriptor(owning: other)
        try say("one\ntwo\r\n", to: writing.number)
        recorder.wait(for: 2)
        #expect(recorder.all == ["one", "two"])
        try say("three\nhal", to: writing.number)
        try say("f", to: writing.number)
        pipe.close()
        #expect(recorder.all == ["one", "two", "three", "half"])
    }

    @Test("ends by itself when the last writer has gone, and can be closed then")
    func ended() throws {
        let recorder = Recorder()
        let (pipe, _) = try ErrorPipe.open("errors", hear: recorder.hear) { (number) throws(SystemFault) in try say("a\nb", to: number) }
        recorder.wait(for: 2)
        pipe.close()
        pipe.close()
        #expect(recorder.all == ["a", "b"])
    }

    @Test("reads everything of a writer that waits for space")
    func large() throws {
        let recorder = Recorder()
        let budget = LineBudget(burst: 1, perSecond: 1)
        let clock = Clock(now: { Instant(nanoseconds: 0) }, wall: { 0 })
        let (pipe, number) = try ErrorPipe.open("errors", budget: budget, clock: clock, hear: recorder.hear) { dup($0) }
        let writing = Descriptor(owning: number)
        for _ in 0..<100 { try say(String(repeating: "0123456789\n", count: 500), to: writing.number) }
        pipe.close()
        #expect(recorder.all == ["0123456789", "more than 1", "49999 left out"])
    }

    @Test("is closed if the program cannot be started")
    func failed() throws {
        let copy = Monitor<Int32>(-1)
        func start(_ number: Int32) throws(SystemFault) {
            // A write to the copy shows whether anybody still holds the reading end.
            copy.withLock { $0 = dup(number) }
            throw SystemFault(code: ENOENT)
        }
        #expect(throws: SystemFault(code: ENOENT)) { _ = try ErrorPipe.open("errors", hear: { _ in }, start: start) }
        signal(SIGPIPE, SIG_IGN)
        let writing = Descriptor(owning: copy.withLock { $0 })
        #expect(throws: SystemFault(code: EPIPE)) { while true { try say("x", to: writing.number) } }
    }
}
