// The process of an isolated module: its start, the frames that it sends, its deadlines and its end. One thread listens to a process, from
// its start until nothing of it is left. What the process held when it ended is unknown.

internal import Configuration
internal import Delivery
internal import Document
internal import Plans
internal import Platform
internal import Queueing

extension IsolatedInstance {
    private func spawn() throws(SystemFault) -> Child {
        let (channel, (errors, process)) = try Channel.pair(timeout: .seconds(halfFrame), clock: clock) {
            (socket) throws(SystemFault) -> (ErrorPipe?, Process) in
            func process(_ streams: [Int32], keeping names: [String]) throws(SystemFault) -> Process {
                try Process(
                    OwnProgram.found(executable), [HostedModule.command],
                    environment: Process.cleanEnvironment(
                        plan.environment.map { ($0.name, $0.value) }, keeping: Process.runtimeVariables + names),
                    memory: plan.memory, descriptors: streams + [socket])
            }
            if module.writesToStreams { return (nil, try process([-1, 1, 2], keeping: ["NO_COLOR", "TERM"])) }
            let (errors, started) = try ErrorPipe.open("isolated errors", hear: hear) { (theirs) throws(SystemFault) in
                try process([-1, -1, theirs], keeping: [])
            }
            return (errors, started)
        }
        return Child(process, channel: channel, errors: errors)
    }

    /// Logs the output on the standard error of the process.
    private func hear(_ heard: ErrorPipe.Output) {
        switch heard {
        case .line(let bytes):
            gate.say(.information) {
                bytes.withUnsafeBufferPointer { ForeignText.read($0, most: 4096, hiding: hidden, isCut: $0.count >= ErrorPipe.mostBytes) }
            }
        case .tooMany(let most):
            gate.say(.warning) { "writes more than \(most) lines a second to standard error; the others are left out and counted" }
        case .leftOut(let count): gate.say(.warning) { "\(grouped(count)) lines of its standard error were left out" }
        }
    }

    /// Starts the process and waits until the module is made, or until nothing of the process is left.
    func start() throws(ModuleFault) -> Child {
        let child: Child
        do throws(SystemFault) {
            child = try spawn()
        } catch {
            state.withLock { $0.start = .none }
            state.wake()
            throw ModuleFault("the process of the module \(module.name) cannot be started: \(error)")
        }
        let isClosing = state.withLock { state in
            assert(state.start == .starting && state.child == nil, "two processes of one module run at the same time")
            if state.isClosing { state.start = .none } else { state.child = child }
            state.end = nil
            return state.isClosing
        }
        guard !isClosing else { throw ModuleFault("the provider is closed") }
        try? child.channel.send(.hello, hello.encoded)
        Thread.start("isolated \(hello.provider)") {
            while self.listen(to: child) {}
            self.ended(child)
        }.detach()
        let until = clock.now() + Self.timeout
        let isMade: Bool? = state.waitUntilReady { state in
            if state.child !== child { return .ready(false) }
            if state.start == .ready { return .ready(true) }
            return clock.now() >= until ? .ready(nil) : .notBefore(until)
        }
        if isMade == nil {
            note("did not make the module within \(Self.timeout.configured)")
            end(child)
            state.wait { $0.child === child }
        }
        guard isMade == true else { throw ModuleFault(state.withLock { $0.lastEnd } ?? "the provider is closed") }
        return child
    }

    /// Handles the received frame and checks the deadlines. It returns false if the process is gone or must be ended.
    private func listen(to child: Child) -> Bool {
        let (hasFrame, hasNews) = child.channel.waitForFrame(or: child.process.news, untilDeadline())
        let hasEnded = hasNews && child.process.hasEnded
        // The frames that it sent before its end are read, and nothing more: its children may hold the channel.
        if hasEnded { child.channel.hangUp() }
        do throws(FrameFault) {
            if hasFrame {
                guard let frame = try child.channel.receive(most: Frame.mostToHost) else { return false }
                let said = try Frame.ToHost(frame.kind, frame.payload, hiding: hidden) { token in
                    state.withLock { $0.pending[token]?.count }
                }
                guard try hear(said) else { return false }
            }
        } catch {
            return giveUp(child, "sent \(error.what) and was ended")
        }
        // A process that sends frames without a pause gets no more time for its answer.
        return hasEnded || keepsDeadline(child)
    }

    private func giveUp(_ child: Child, _ reason: String) -> Bool {
        note(reason)
        child.process.kill()
        return false
    }

    /// Records the reason why the process is about to be ended.
    private func note(_ reason: String) { state.withLock { $0.end = "the process of the module \(module.name) \(reason)" } }

    /// Ends the process from a thread that is not the listening one. The listening thread notices it by the end of the channel.
    func end(_ child: Child) {
        child.process.kill()
        child.channel.hangUp()
    }

    /// Returns the milliseconds until the next deadline. A delivery that begins later is due after this wait, so it does not have to wake
    /// this thread.
    private func untilDeadline() -> Int32 {
        guard deadline > .zero else { return -1 }
        let now = clock.now()
        let due = state.withLock { $0.pending.values.compactMap(\.due).min() } ?? now + deadline
        return Int32(clamping: max(0, (due - now).nanoseconds / 1_000_000 + 1))
    }

    private func keepsDeadline(_ child: Child) -> Bool {
        let now = clock.now()
        let isOver = state.withLock { $0.pending.values.contains { $0.due.map { $0 <= now } ?? false } }
        return isOver ? giveUp(child, "gave no answer within \(deadline.configured) and was ended") : true
    }

    /// Handles a frame and returns true if the process goes on. An unexpected frame is a fault, since it would be taken for a frame of
    /// another start.
    private func hear(_ frame: Frame.ToHost) throws(FrameFault) -> Bool {
        let outOfTurn = FrameFault(what: "a frame out of turn")
        switch frame {
        case .ready(let name, let version):
            let isTheSame = name == module.name && version == module.version
            let replaced = hidden.masked("\(hello.path): was replaced by \(name) \(version); restart the router to load it")
            let isInTurn = state.withLock { state in
                guard state.start == .starting else { return false }
                if isTheSame { state.start = .ready } else { state.end = replaced }
                return true
            }
            guard isInTurn else { throw outOfTurn }
            state.wake()
            return isTheSame
        case .refused(let why):
            let isInTurn = state.withLock { state in
                guard state.start == .starting else { return false }
                state.end = why
                return true
            }
            guard isInTurn else { throw outOfTurn }
            return false
        case .ended(let token, let outcome):
            let delivery: (Pending, Void)? = answered(token) { if case .outcome = $0 { () } else { nil } }
            guard let (pending, _) = delivery else { throw outOfTurn }
            pending.done(pending.isRefused ? outcome : outcome.withoutUntried(of: "the module \(module.name)"))
        case .erased(let token, let answer):
            guard let (_, done) = answered(token, { if case .erasure(let done) = $0 { done } else { nil } }) else { throw outOfTurn }
            done(answer)
        case .previewed(let token, let preview):
            guard let (_, done) = answered(token, { if case .preview(let done) = $0 { done } else { nil } }) else { throw outOfTurn }
            done(preview)
        case .probed(let token, let finding):
            guard let (_, done) = answered(token, { if case .finding(let done) = $0 { done } else { nil } }) else { throw outOfTurn }
            done(finding)
        case .ask(let question, let token, let events): answer(question, about: token, events)
        case .log(let level, let line): gate.say(level) { line }
        case .gone(let why):
            let handler: (@Sendable (Answer) -> Void)? = state.withLock { state in
                guard state.gone == nil, !state.isClosing else { return nil }
                state.gone = Answer(why)
                return state.handler
            }
            handler?(Answer(why))
        case .closed: guard state.withLock({ $0.isClosing }) else { throw outOfTurn }
        }
        return true
    }

    /// Takes what the process has answered. `matching` returns nil if the answer is not of the expected kind. Then this returns nil too.
    private func answered<T>(_ token: UInt64, _ matching: (Expected) -> T?) -> (Pending, T)? {
        state.withLock { state in
            guard let pending = state.pending[token], let done = matching(pending.expected) else { return nil }
            state.pending[token] = nil
            state.ends = 0
            return (pending, done)
        }
    }

    /// Answers the question whether events of a delivery may leave. A delivery that the process does not have may not.
    private func answer(_ question: UInt64, about token: UInt64, _ events: [UInt64]?) {
        let (child, asking) = state.withLock { ($0.child, $0.pending[token]?.asking) }
        // The lane is asked while no lock is held here, since it takes locks of its own.
        let mayLeave = asking.map { asking in events.map { $0.withUnsafeBufferPointer { asking($0) } } ?? asking(nil) } ?? false
        if !mayLeave { state.withLock { $0.pending[token]?.isRefused = true } }
        var body = FrameBody()
        body.put(question)
        body.put(UInt32(mayLeave ? 1 : 0))
        try? child?.channel.send(.allow, body)
    }

    /// Ends the deliveries that the process held as unknown. After a pause, a new process may be started.
    private func ended(_ child: Child) {
        // A process that has closed the socket without ending cannot be used any more.
        if !state.withLock({ $0.isClosing }) { child.process.kill() }
        let end = child.process.wait()
        // Log its last output before its end.
        child.errors?.close()
        gate.end()
        let now = clock.now()
        let (pending, answer, isNews): ([Pending], Answer, Bool) = state.withLock { state in
            let words = state.end ?? "the process of the module \(module.name) \(end)"
            let isNews = state.start == .ready && !state.isClosing
            assert(state.child === child || state.child == nil, "the end of one process ends another one")
            state.start = .none
            state.child = nil
            state.lastEnd = state.isClosing && state.end == nil ? state.lastEnd : words
            state.ends += 1
            state.notBefore = now + .milliseconds(min(60_000, 250 << min(state.ends - 1, 10)))
            defer { state.pending = [:] }
            return (state.pending.sorted { $0.key < $1.key }.map(\.value), Answer(words), isNews)
        }
        state.wake()
        if isNews { log(.warning, "\(hello.provider): \(answer.message); it is restarted for the next delivery") }
        for one in pending { one.done(BatchOutcome(.unknown(answer))) }
    }
}
