// The thread that rewrites the files for an erasure. A call waits for it until shortly before its deadline, and the next call of the job
// finds it at work, so files of any size can be rewritten. After a restart the work begins again; what it has done stays done.

internal import PluginKit

final class ErasureWork: Sendable {
    /// Tells the job of a call from every other job.
    private struct Job: Equatable {
        var subjects: [Erasure.Subject]
        var begun: Int64
    }

    private struct State: ~Copyable {
        /// The job whose work is under way or done.
        var job: Job?
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
        let job = Job(subjects: erasure.subjects, begun: erasure.begun)
        begin(job)
        let answer: Erasure.Answer = state.waitUntilReady { state in
            guard state.job == job else {
                return .ready(.askAgain("the files are being rewritten for another erasure", afterMilliseconds: 1000))
            }
            if let answer = state.answer {
                // The next call of the job does the work again, because there may be new files.
                state.job = nil
                return .ready(answer)
            }
            if state.isEnding { return .ready(Erasure.Answer(.retry("the provider was closed before its files were rewritten"))) }
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

    /// Begins the work, unless it is under way or has ended for this job. An answer that another job has not fetched is given up.
    private func begin(_ job: Job) {
        collect()
        state.withLock { state in
            guard state.thread == nil, state.job != job, !state.isEnding else { return }
            state.job = job
            state.answer = nil
            state.thread = Thread.start("file-erasure") { [self] in
                let answer = work(job.subjects) { self.state.withLock { $0.isEnding } }
                self.state.withLock { $0.answer = answer }
                self.state.wake()
            }
        }
    }

    /// Joins the thread if its work is done. If `waiting` is true, waits until it is.
    func collect(waiting: Bool = false) {
        let thread: Thread? = state.withLock { state in
            guard waiting || state.answer != nil else { return nil }
            return state.thread.take()
        }
        thread?.join()
    }
}
