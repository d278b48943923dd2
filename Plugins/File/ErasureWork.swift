// The thread that rewrites the files for an erasure. A call waits for it until shortly before its deadline, and the next call of the job
// finds it at work, so files of any size can be rewritten. After a restart the work begins again; what it has done stays done.

internal import PluginKit

final class ErasureWork: Sendable {
    private struct State: ~Copyable {
        /// The subjects of the work that is under way or done.
        var subjects: [Erasure.Subject] = []
        var thread: Thread?
        var answer: Erasure.Answer?
        var isEnding = false
    }

    private let state = Monitor(State())
    private let work: @Sendable ([Erasure.Subject], _ isStopped: @escaping () -> Bool) -> Erasure.Answer

    init(_ work: @escaping @Sendable ([Erasure.Subject], _ isStopped: @escaping () -> Bool) -> Erasure.Answer) { self.work = work }

    /// Begins the work for these subjects, or waits for it.
    func answer(_ erasure: Erasure) -> Erasure.Answer {
        // A quarter of the time is left for the answer.
        let until = Clock.system.now() + .milliseconds(erasure.deadlineMilliseconds - erasure.deadlineMilliseconds / 4)
        begin(erasure.subjects)
        let answer: Erasure.Answer = state.waitUntilReady { state in
            guard state.subjects == erasure.subjects else {
                return .ready(.askAgain("the files are being rewritten for another erasure", afterMilliseconds: 1000))
            }
            if let answer = state.answer { return .ready(answer) }
            guard Clock.system.now() < until else {
                return .ready(.askAgain("the files are being rewritten", afterMilliseconds: 1000))
            }
            return .notBefore(until)
        }
        collect()
        return answer
    }

    /// Stops the work. The files are old or new.
    func end() {
        state.withLock { $0.isEnding = true }
        collect(waiting: true)
    }

    private func begin(_ subjects: [Erasure.Subject]) {
        // An answer that nobody has asked for again is for an older job.
        collect()
        state.withLock { state in
            guard state.thread == nil, !state.isEnding else { return }
            state.subjects = subjects
            state.answer = nil
            state.thread = Thread.start("file-erasure") { [self] in
                let answer = work(subjects) { self.state.withLock { $0.isEnding } }
                self.state.withLock { $0.answer = answer }
                self.state.wake()
            }
        }
    }

    /// Joins the thread if its work is done.
    private func collect(waiting: Bool = false) {
        let thread: Thread? = state.withLock { state in
            guard waiting || state.answer != nil else { return nil }
            return state.thread.take()
        }
        thread?.join()
    }
}
