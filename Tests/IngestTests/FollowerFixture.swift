// A sink and a folder for followed files, with a clock that only the test advances. The test takes each step itself.

import Events
import Glibc
import Plans
import Platform
import TestSupport
import Testing

@testable import Ingest

/// A sink that records what it takes, and answers at once or when it is told to.
final class Sink: EventSink {
    struct State {
        var taken: [String] = []
        var answers: [@Sendable (Submission) -> Void] = []
        var isFull = false
        var holds = false
        var submission = Submission.stored(invalid: [])
    }
    let state = Monitor(State())
    var taken: [String] { state.withLock { $0.taken } }

    func submit(
        _ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let bytes = Array(lines.bytes)
        lines.removeAll()
        let now: Submission? = state.withLock { state in
            if state.isFull { return nil }
            state.taken += bytes.split(separator: 0x0a, omittingEmptySubsequences: false).dropLast().map {
                String(decoding: $0, as: UTF8.self)
            }
            if state.holds {
                state.answers.append(answer)
                return nil
            }
            return state.submission
        }
        state.wake()
        if let now { answer(now) }
        return !state.withLock { $0.isFull }
    }

    func answer(_ submission: Submission) {
        let answers = state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
        for answer in answers { answer(submission) }
    }
}

/// A folder, a sink and a clock for one test.
final class FollowerFixture {
    let folder: String
    let sink = Sink()
    let messages = Monitor<[String]>([])
    let overlong = Monitor<[Int]>([])
    private let time = Monitor(Int64(1_000_000_000_000))
    var plan = FileSourcePlan()
    var lineLimit = 1000
    private(set) lazy var follower = began()

    init(drains: Bool = false) {
        var name = Array("/tmp/files-tests-XXXXXX".utf8CString)
        folder = String(cString: mkdtemp(&name))
        plan.paths = [folder + "/*.ndjson"]
        plan.drains = drains
    }

    deinit {
        for name in names { unlink(folder + "/" + name) }
        rmdir(folder)
    }

    func make(_ places: String?) throws(FilePlacesFault) -> FileFollower {
        let (time, messages, overlong) = (time, messages, overlong)
        let clock = Clock(now: { Instant(nanoseconds: time.withLock { $0 }) }, wall: { 7_000_000_000 })
        return try FileFollower(
            "logs", plan: plan,
            around: FileFollower.Dependencies(
                source: 1, lineLimit: lineLimit, places: places, clock: clock,
                say: { text in messages.withLock { $0.append(text) } }, overlong: { bytes in overlong.withLock { $0.append(bytes) } }),
            sink: sink)
    }

    private func began() -> FileFollower {
        do {
            return try make(path("places"))
        } catch {
            Issue.record("\(error.message)")
            // Without a file of places nothing can fail.
            return try! make(nil)
        }
    }

    /// Creates a new follower, as after a kill and a restart of the process.
    func restart() { follower = began() }

    var now: Instant { Instant(nanoseconds: time.withLock { $0 }) }
    func advance(_ duration: Duration) { time.withLock { $0 += duration.nanoseconds } }

    /// Steps until there is nothing more to do at this time.
    @discardableResult func step() -> Instant {
        for _ in 0..<20 { _ = follower.step(names: true) }
        return follower.step(names: true)
    }

    /// Advances the clock several times by more than the idle time of a file, and steps each time.
    func rest() {
        for _ in 0..<3 {
            advance(.seconds(11))
            step()
        }
    }

    func path(_ name: String) -> String { folder + "/" + name }

    /// Rewrites a file, which keeps its identity.
    func rewrite(_ bytes: [UInt8], _ name: String = "a.ndjson") {
        let number = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        precondition(write(number, bytes, bytes.count) == bytes.count)
        close(number)
    }

    var reported: [String] { messages.withLock { $0 } }

    func add(_ text: String, to name: String = "a.ndjson") {
        let number = open(path(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        precondition(write(number, text, text.utf8.count) == text.utf8.count)
        close(number)
    }

    var names: [String] { fileNames(in: folder) }
}
