// The asks. A step does everything that is due at its time: it ends asks that are late, writes answers that could not be written before,
// and asks each provider that is free about its next job.

internal import Delivery
internal import Plans
internal import Platform
internal import Queueing

extension Erasures {
    /// The time after the end of an ask after which the module counts as late.
    static let grace = Duration.seconds(5)
    /// The time of an ask whose provider has no deadline.
    static let usualDeadline = Duration.seconds(60)
    /// The pause before a job is looked at again that could not be asked at its time.
    static let pause = Duration.seconds(1)
    /// The longest sleep of the thread while a job is open. The wall clock may be changed meanwhile.
    static let longest = Duration.seconds(60)
    /// The most jobs of a provider that are looked at in one step.
    private static let most = 20

    func step() {
        endLate()
        do throws(StorageFault) {
            try writeAgain()
            let now = clock.wall()
            try correct(at: now)
            for (provider, next) in try times() where next <= now { try ask(provider, at: now) }
            state.withLock { $0.fault = nil }
        } catch {
            note(error)
        }
    }

    /// Corrects jobs that wait longer than any pause. They were begun or asked under a clock that was ahead.
    private func correct(at now: Int64) throws(StorageFault) {
        let rules = rules
        let longest = max(rules.wait.nanoseconds, rules.first.nanoseconds, rules.most.nanoseconds, ErasureJob.pauses.upperBound)
        _ = try store.use { (file) throws(StorageFault) in
            try file.correct(after: now + longest, to: now + rules.wait.nanoseconds, at: now)
        }
    }

    /// When the next step is due. It is nil if no job is open.
    var next: Instant? {
        let times = (try? times()) ?? []
        let (now, wall) = (clock.now(), clock.wall())
        return state.withLock { state in
            var next = state.asks.values.filter { !$0.isLate }.map(\.due)
            if state.fault != nil || !state.unwritten.isEmpty { next.append(now + Erasures.pause * 10) }
            for (provider, time) in times where state.asks[provider]?.isLate ?? true {
                let pause = state.asks[provider] == nil ? Erasures.pause : Erasures.longest
                next.append(now + (time > wall ? min(.nanoseconds(time - wall), Erasures.longest) : pause))
            }
            return next.min()
        }
    }

    /// Returns when each provider with an open job is to be asked next.
    private func times() throws(StorageFault) -> [(provider: String, next: Int64)] {
        let times = try store.use { (file) throws(StorageFault) -> [(provider: String, next: Int64)] in try file.times() }
        return times ?? []
    }

    // MARK: - One provider

    /// Gives up the due jobs of a provider whose time is over. If the provider is free, asks it about the first job that can be asked now.
    private func ask(_ provider: String, at now: Int64) throws(StorageFault) {
        let jobs = try store.use { (file) throws(StorageFault) in try file.due(provider, at: now, most: Erasures.most) } ?? []
        for job in jobs where state.withLock({ $0.unwritten[job.number] == nil }) {
            if try giveUp(job, at: now) { continue }
            guard state.withLock({ $0.asks[provider] == nil && !$0.isOver }) else { continue }
            if try ask(job, at: now) { return }
        }
    }

    private func giveUp(_ job: ErasureJob, at now: Int64) throws(StorageFault) -> Bool {
        var job = job
        let isUnderWay = state.withLock { state in state.asks[job.provider].map { $0.job == job.number && !$0.isLate } ?? false }
        guard !isUnderWay, job.giveUp(at: now, rules) else { return false }
        try write(job)
        tell(job)
        return true
    }

    /// Returns true if the provider is asked now.
    private func ask(_ job: ErasureJob, at now: Int64) throws(StorageFault) -> Bool {
        var job = job
        guard !job.isUnreadable else { return try postpone(job, Erasures.unreadable, at: now) }
        guard let target = target(job.provider) else { return try postpone(job, Erasures.absent, at: now) }
        guard target.plugin == job.plugin else {
            return try postpone(job, "the provider has another module now, which must not get these ids", at: now)
        }
        // Everything that the provider had in its hands when the job began must have ended.
        let mark = state.withLock { $0.marks[job.number] }
        guard mark.map(target.hasEnded) ?? true else { return false }
        let deadline = target.deadline > .zero ? target.deadline : Erasures.usualDeadline
        let request = job.ask(at: now, within: deadline)
        // If the process is killed from here on, the next run asks again.
        try write(job)
        let number = state.withLock { state in
            assert(state.asks[job.provider] == nil, "a provider is asked twice at once")
            state.lastAsk += 1
            state.marks[job.number] = nil
            state.asks[job.provider] = Ask(number: state.lastAsk, job: job.number, due: clock.now() + deadline + Erasures.grace)
            return state.lastAsk
        }
        let provider = job.provider
        start("erase \(provider)") { [self] in
            target.erase(request) { answer in self.end(number, of: provider, answer) }
        }
        return true
    }

    private func postpone(_ job: ErasureJob, _ reason: String, at now: Int64) throws(StorageFault) -> Bool {
        var job = job
        let isNews = job.words != reason
        job.wait(reason, at: now, rules)
        try write(job)
        if isNews { say("\(job.provider): erasure \(job.number) waits: \(reason)") }
        return false
    }

    // MARK: - Answers

    /// Takes the answer to an ask, from any thread.
    private func end(_ number: UInt64, of provider: String, _ answer: ErasureAnswer) {
        let ask = state.withLock { state -> Ask? in
            guard let ask = state.asks[provider], ask.number == number else {
                state.strays += 1
                return nil
            }
            state.asks[provider] = nil
            if ask.isLate { state.strays += 1 }
            return ask.isLate ? nil : ask
        }
        if let ask { take(answer, ask.job) }
        wake()
    }

    /// Ends the asks whose time is over. Their providers stay busy.
    private func endLate() {
        let now = clock.now()
        let late = state.withLock { state in
            let late = state.asks.filter { !$0.value.isLate && $0.value.due <= now }
            for name in late.keys { state.asks[name]?.isLate = true }
            return late
        }
        for (provider, ask) in late.sorted(by: { $0.key < $1.key }) {
            say("\(provider): erasure \(ask.job) has no answer within its time; the provider is asked again after it has answered")
            take(ErasureAnswer(.unknown(Answer("no answer within the time of the call"))), ask.job)
        }
    }

    /// Notes what an answer makes of a job. The job is read again, since a person may have ended it meanwhile.
    private func take(_ answer: ErasureAnswer, _ number: Int64) {
        do throws(StorageFault) {
            guard var job = try job(number), job.phase.isOpen, job.contents != nil else { return }
            let before = job.words
            job.take(answer, at: clock.wall(), rules)
            if case .fault = answer.outcome.batch, job.words != before {
                say("\(job.provider): erasure \(number): the configuration is wrong: \(job.words)")
            }
            let taken = job
            do throws(StorageFault) {
                try write(taken)
            } catch {
                state.withLock { $0.unwritten[number] = taken }
                throw error
            }
            if !taken.phase.isOpen { tell(taken) }
        } catch {
            note(error)
        }
    }

    /// Writes the answers that could not be written when they came.
    private func writeAgain() throws(StorageFault) {
        for job in state.withLock({ Array($0.unwritten.values) }) {
            // A person may have ended the job meanwhile.
            if let known = try self.job(job.number), known.phase.isOpen {
                try write(job)
                if !job.phase.isOpen { tell(job) }
            }
            state.withLock { $0.unwritten[job.number] = nil }
        }
    }

    private func write(_ job: ErasureJob) throws(StorageFault) {
        _ = try store.use { (file) throws(StorageFault) in try file.update(job) }
    }

    /// Says that the file cannot be used, once for each fault in a row.
    func note(_ fault: StorageFault) {
        let isNews = state.withLock { state in
            defer { state.fault = fault }
            return state.fault == nil && !state.isOver
        }
        if isNews { say("erasures: \(fault); the router tries again") }
    }
}
