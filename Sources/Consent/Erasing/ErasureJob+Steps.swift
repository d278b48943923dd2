// How a job goes on: when it is asked, what an answer makes of it, and when it is given up. Nothing that a provider answers can confirm an
// id that it was not asked about, or bring back a job that has ended.

internal import Delivery
internal import Plans
internal import Platform
internal import Queueing

extension ErasureJob {
    /// The shortest and the longest pause between two asks, whatever the provider wants.
    static let pauses: ClosedRange<Int64> = 1_000_000_000...(24 * 3600 * 1_000_000_000)
    /// The most bytes of an answer that are kept.
    static let mostWords = 1000

    /// Notes that the provider is asked now, and returns what it is asked. The note must be in the file before the ask. The job must have
    /// contents with an open id.
    mutating func ask(at now: Int64, within deadline: Duration) -> ErasureRequest {
        guard let contents else { preconditionFailure("a job without ids is asked") }
        precondition(phase.isOpen, "a job that has ended is asked")
        attempts += 1
        asked = now
        return ErasureRequest(
            subjects: contents.open.map { contents.subjects[$0].subject }, state: contents.state, attempt: attempts, begun: begun,
            deadlineMilliseconds: max(1, Int(deadline.nanoseconds / 1_000_000)))
    }

    /// Takes an answer to the present ask.
    mutating func take(_ answer: ErasureAnswer, at now: Int64, _ plan: ErasurePlan) {
        guard phase.isOpen, var contents else { return }
        let asked = contents.open
        for (place, index) in asked.enumerated() {
            switch answer.outcome.events[place] ?? answer.outcome.batch {
            case .delivered: contents.subjects[index].state = .confirmed
            case .rejected(let words), .closed(let words): contents.subjects[index].state = .refused(line(words.message))
            case .filtered, .untried, .retry, .unknown, .fault: break
            }
        }
        if let state = answer.state, state.count <= ErasureRequest.mostState { contents.state = state }
        // A job is given up in time, whatever pause the provider wants.
        let next = min(now + pause(after: answer.outcome, plan), max(now, begun + plan.total.nanoseconds))
        (code, words) = words(of: answer.outcome)
        self.contents = contents
        if contents.open.isEmpty { end(at: now) } else { (phase, self.next) = (.asked, next) }
    }

    /// Gives the job up if its time is over. Returns true if it did.
    mutating func giveUp(at now: Int64, _ plan: ErasurePlan) -> Bool {
        guard phase.isOpen, now - begun >= plan.total.nanoseconds else { return false }
        (phase, next, ended) = (.givenUp, nil, now)
        return true
    }

    /// Postpones the job, which cannot be asked now for this reason.
    mutating func wait(_ reason: String, at now: Int64, _ plan: ErasurePlan) {
        words = reason
        next = min(now + plan.most.nanoseconds, max(now, begun + plan.total.nanoseconds))
    }

    /// Notes that a person has erased the ids. They are forgotten.
    mutating func settle(at now: Int64) {
        (phase, next, ended, contents, isUnreadable) = (.done, nil, now, nil, false)
    }

    /// Asks again for what is not confirmed, as if the job began now. `subjects` are the ids as the provider knows them by the present plan.
    mutating func again(_ subjects: [SubjectID], plugin: String, at now: Int64) {
        guard var contents else { preconditionFailure("a job without ids is asked again") }
        let confirmed = Set(contents.subjects.filter { $0.state == .confirmed }.map(\.subject))
        contents.subjects = subjects.map { Subject($0, confirmed.contains($0) ? .confirmed : .open) }
        contents.state = []
        self.contents = contents
        (self.plugin, phase, begun, next, attempts, ended, words, code) = (plugin, .waiting, now, now, 0, nil, "", 0)
        if contents.open.isEmpty { end(at: now) }
    }

    /// Ends a job of which no id is open.
    private mutating func end(at now: Int64) {
        guard let contents else { return }
        let refusals = contents.subjects.compactMap { if case .refused(let words) = $0.state { words } else { nil } }
        (next, ended) = (nil, now)
        if refusals.isEmpty {
            (phase, self.contents) = (.confirmed, nil)
        } else {
            phase = .byHand
            words = line(refusals.unique.joined(separator: "; "))
        }
    }

    /// The pause that the answer names, or else one that doubles with each ask. Both stay within bounds.
    private func pause(after outcome: BatchOutcome, _ plan: ErasurePlan) -> Int64 {
        if case .retry(_, let after?) = outcome.batch {
            return min(max(after.nanoseconds, ErasureJob.pauses.lowerBound), ErasureJob.pauses.upperBound)
        }
        let doublings = min(max(0, attempts - 1), 30)
        return min(plan.first.nanoseconds << doublings, plan.most.nanoseconds)
    }

    private func words(of outcome: BatchOutcome) -> (Int, String) {
        switch outcome.batch {
        case .delivered: (0, "")
        case .filtered, .untried: (0, "the module gave an outcome that an erasure cannot have")
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer):
            (answer.code, line(answer.shown ?? answer.message))
        }
    }

    /// Returns words of a provider as they are kept: without the ids, which are kept encrypted only.
    private func line(_ words: String) -> String {
        let ids = (contents?.named.map(\.id) ?? []) + (contents?.subjects.map(\.subject.id) ?? [])
        let shown = printable(AnswerMask.text(words, hiding: ids.unique))
        return String(decoding: shown.utf8.prefix(ErasureJob.mostWords), as: UTF8.self)
    }
}

extension ErasureJob.Contents {
    /// The indices of the subjects that are still to be erased.
    var open: [Int] { subjects.indices.filter { subjects[$0].state == .open } }
}

extension Array where Element: Hashable {
    /// The elements without duplicates, in the order of their first places.
    var unique: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
