// One provider of routes.json whose module runs in a process of its own. If the module crashes, exits, uses up its memory or does not
// answer, a new process replaces the old one. The deliveries that the old one held are unknown, so their events are sent again. Each
// `done` is called exactly once.
//
// The first delivery after the end of the process starts a new process, but not before a pause. The pause doubles with each end until a
// delivery is answered. There is one process at a time: the next one starts when nothing of the last one is left, and deliveries wait for
// that. A process that sends an invalid or an unexpected frame is killed. The settings are sent over the socket, never as arguments or
// environment variables.

public import Admission
internal import Configuration
public import Delivery
public import Document
internal import Glibc
public import Plans
internal import Platform

public final class IsolatedInstance: Provider, Sendable {
    private final class Child: Sendable {
        let process: Process
        let channel: Channel
        /// The pipe from its standard error. It is nil if the process has the router's standard error.
        let errors: ErrorPipe?
        init(_ process: Process, channel: Channel, errors: ErrorPipe?) {
            self.process = process
            self.channel = channel
            self.errors = errors
        }
    }

    private struct Pending {
        /// The number of its events; 0 for a flush.
        var count: Int
        var due: Instant?
        var done: @Sendable (BatchOutcome) -> Void
    }

    private enum Start { case none, starting, ready }

    private struct State {
        /// The process. It is nil if nothing of the last one is left and the next one does not run yet.
        var child: Child?
        /// The thread that sets it to `starting` starts the process. The initializer starts the first one.
        var start = Start.starting
        var pending: [UInt64: Pending] = [:]
        var lastToken: UInt64 = 0
        /// The number of ends of the process since the last answered delivery.
        var ends = 0
        var notBefore: Instant?
        var lastEnd: String?
        /// The reason why this side ended the process, or why the process refused the settings. It is nil if neither happened.
        var end: String?
        var handler: (@Sendable (Answer) -> Void)?
        var gone: Answer?
        var isClosing = false
    }

    private let executable: String
    private let hello: Frame.Hello
    private let module: ModuleDescription
    private let plan: IsolationPlan
    private let deadline: Duration
    private let clock: Clock
    private let log: @Sendable (LogLevel, String) -> Void
    private let state = Monitor(State())

    private let hidden: HiddenTexts
    private let gate: LogGate
    /// The maximum time in which a module must be made. A provider without a deadline has the same time for closing.
    private static let timeout = Duration.seconds(30)
    /// The maximum number of seconds from the beginning of a frame to its end.
    private let halfFrame: Int

    /// `hidden` is masked in all texts of the module before they are shown or stored.
    public convenience init(
        _ module: Module, _ plan: ProviderPlan, hiding hidden: HiddenTexts, log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) {
        try self.init(module, plan, hiding: hidden, executable: OwnProgram.link, clock: .system, log: log)
    }

    /// `executable` is the router's program, or a test program that takes the same argument. If `halfFrame` is nil, it is derived from the
    /// deadline.
    init(
        _ module: Module, _ plan: ProviderPlan, hiding hidden: HiddenTexts = HiddenTexts(), executable: String, clock: Clock,
        halfFrame: Int? = nil, log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) {
        self.hidden = hidden
        self.executable = executable
        self.module = module.description
        self.clock = clock
        self.log = log
        hello = Frame.Hello(path: module.path, provider: plan.name, settings: plan.settings.bytes)
        self.plan = plan.isolation ?? IsolationPlan()
        gate = LogGate(provider: plan.name, clock: clock, log: log)
        deadline = plan.delivery.deadline
        self.halfFrame = halfFrame ?? (deadline > .zero ? Int(min(10, max(1, deadline.components.seconds))) : 10)
        do throws(ModuleFault) {
            _ = try start()
        } catch {
            throw ModuleFault(hidden.masked(error.description))
        }
    }

    // MARK: - Calls by the lane

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        guard let child = ready(done) else { return }
        guard let token = begin(Pending(count: batch.count, due: due(), done: done), with: child) else { return }
        var head = FrameBody()
        head.put(token)
        head.put(UInt32(clamping: attempt))
        head.put(UInt32(clamping: batch.count))
        let bytes = head.bytes
        assert(bytes.count % 8 == 0, "the process would get numbers that are not aligned")
        // If this fails, the process is gone. The thread that listens to it ends this delivery together with all others that it held.
        bytes.withUnsafeBytes { head in
            try? child.channel.send(
                .deliver, [head, UnsafeRawBufferPointer(batch.ends), UnsafeRawBufferPointer(batch.arrivals), batch.bytes])
        }
    }

    public func flush(_ done: @escaping @Sendable (Outcome) -> Void) {
        let (child, lastEnd) = state.withLock { ($0.start == .ready ? $0.child : nil, $0.lastEnd) }
        guard let child else {
            done(lastEnd.map { .unknown(Answer("what it had not flushed may be lost: \($0)")) } ?? .delivered)
            return
        }
        guard let token = begin(Pending(count: 0, due: due(), done: { done($0.batch) }), with: child) else { return }
        var body = FrameBody()
        body.put(token)
        try? child.channel.send(.flush, body)
    }

    public func reopen() {
        // A process that starts later opens its files anyway.
        try? state.withLock { $0.child }?.channel.send(.reopen, [])
    }

    public func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {
        let gone: Answer? = state.withLock { state in
            state.handler = handler
            return state.gone
        }
        if let gone { handler(gone) }
    }

    public func close() {
        let child: Child? = state.withLock { state in
            state.isClosing = true
            return state.child
        }
        state.wake()
        guard let child else { return }
        try? child.channel.send(.close, [])
        let until = clock.now() + (deadline > .zero ? deadline : Self.timeout)
        let isGone: Bool = state.waitUntilReady { state in
            if state.child == nil { return .ready(true) }
            return clock.now() >= until ? .ready(false) : .notBefore(until)
        }
        if !isGone { end(child) }
    }

    private func due() -> Instant? { deadline > .zero ? clock.now() + deadline : nil }

    /// Registers a delivery and returns its token. If the process has ended meanwhile, it calls `done` and returns nil.
    private func begin(_ pending: Pending, with child: Child) -> UInt64? {
        let (token, lastEnd): (UInt64?, String?) = state.withLock { state in
            guard state.child === child else { return (nil, state.lastEnd) }
            state.lastToken += 1
            assert(state.pending[state.lastToken] == nil, "two deliveries have the same token")
            state.pending[state.lastToken] = pending
            return (state.lastToken, nil)
        }
        if token == nil { pending.done(BatchOutcome(.retry(Answer(lastEnd ?? "its process has ended"), after: nil))) }
        return token
    }

    private enum Next {
        case use(Child)
        case start
        case retry(String, after: Duration?)
    }

    /// Returns the process, and starts one if there is none. If none can be started now, it calls `done` and returns nil. It waits for a
    /// process that is starting or ending; neither takes longer than its time limit.
    private func ready(_ done: @Sendable (BatchOutcome) -> Void) -> Child? {
        let now = clock.now()
        let next: Next = state.waitUntilReady { state in
            if state.isClosing { return .ready(.retry("the provider is closed", after: nil)) }
            if state.start == .ready, let child = state.child { return .ready(.use(child)) }
            if state.start == .starting || state.child != nil { return .notBefore(nil) }
            if let notBefore = state.notBefore, notBefore > now {
                return .ready(.retry(state.lastEnd ?? "its process is restarted", after: notBefore - now))
            }
            state.start = .starting
            return .ready(.start)
        }
        switch next {
        case .use(let child): return child
        case .start:
            do throws(ModuleFault) {
                return try start()
            } catch {
                done(BatchOutcome(.retry(Answer(hidden.masked(error.description)), after: nil)))
            }
        case .retry(let why, let after): done(BatchOutcome(.retry(Answer(why), after: after)))
        }
        return nil
    }

    // MARK: - The process

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
    private func start() throws(ModuleFault) -> Child {
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
                let said = try Frame.ToHost(frame.kind, frame.payload.bytes, hiding: hidden) { token in
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
    private func end(_ child: Child) {
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
            let pending: Pending? = state.withLock { state in
                let pending = state.pending.removeValue(forKey: token)
                if pending != nil { state.ends = 0 }
                return pending
            }
            pending?.done(outcome)
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
