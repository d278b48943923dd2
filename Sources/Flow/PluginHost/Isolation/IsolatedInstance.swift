// One provider of routes.json whose module runs in a process of its own. A module that crashes, exits, uses up its memory or does
// not answer costs a new process and a resend: what it held is unknown. Each `done` is called exactly once.
//
// The process is started anew by the first delivery after its end, and not before a pause that doubles with each end that no
// answered delivery preceded. There is one at a time: the next is started when nothing of the last is left, and what comes meanwhile waits.
// A process that sends what is no frame, or one that nobody waits for, is ended. Settings go over the socket, never by argument or
// environment.

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
        /// nil: its standard error is the router's.
        let errors: ErrorPipe?
        init(_ process: Process, _ channel: Channel, _ errors: ErrorPipe?) {
            self.process = process
            self.channel = channel
            self.errors = errors
        }
    }

    private struct Pending {
        /// How many events it has; 0 for a flush.
        var count: Int
        var due: Instant?
        var done: @Sendable (BatchOutcome) -> Void
    }

    private enum Start { case none, starting, ready }

    private struct State {
        /// nil: nothing is left of the last one, and the next one is not running yet.
        var child: Child?
        /// Whoever sets it to `starting` starts the process. The first is the initializer's.
        var start = Start.starting
        var pending: [UInt64: Pending] = [:]
        var lastToken: UInt64 = 0
        /// Ends of the process since a delivery was last answered.
        var ends = 0
        var notBefore: Instant?
        var lastEnd: String?
        /// Why this side ended it, or it the settings, as far as its own end does not say it.
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
    /// How long a module may take to be made, and to be closed, where no deadline says less.
    private static let patience = Duration.seconds(30)
    /// How many seconds the process may take from the beginning of a frame to its end.
    private let halfFrame: Int

    /// `hidden` is masked in everything that the module says, before anyone sees or keeps it.
    public convenience init(
        _ module: Module, _ plan: ProviderPlan, hiding hidden: HiddenTexts, log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) {
        try self.init(module, plan, hiding: hidden, executable: OwnProgram.link, clock: .system, log: log)
    }

    /// `executable` is the router's program, or in a test one that knows the same word. `halfFrame`: nil is as the deadline has it.
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

    // MARK: - What the lane asks

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        guard let child = ready(done) else { return }
        guard let token = begin(Pending(count: batch.count, due: due(), done: done), with: child) else { return }
        var head = FrameBody()
        head.put(token)
        head.put(UInt32(clamping: attempt))
        head.put(UInt32(clamping: batch.count))
        let bytes = head.bytes
        // What cannot be sent is ended, with everything else the process held, by the thread that sees it go.
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
        // A process that is started later opens everything anew by itself.
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
        let until = clock.now() + (deadline > .zero ? deadline : Self.patience)
        let isGone: Bool = state.waitUntilReady { state in
            if state.child == nil { return .ready(true) }
            return clock.now() >= until ? .ready(false) : .notBefore(until)
        }
        if !isGone { end(child) }
    }

    private func due() -> Instant? { deadline > .zero ? clock.now() + deadline : nil }

    /// nil when the process has ended meanwhile; then `done` has been called.
    private func begin(_ pending: Pending, with child: Child) -> UInt64? {
        let (token, lastEnd): (UInt64?, String?) = state.withLock { state in
            guard state.child === child else { return (nil, state.lastEnd) }
            state.lastToken += 1
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

    /// The process, started anew where there is none; nil when it cannot be now, and then `done` has been called. One that is being
    /// started or ended is waited for: neither takes longer than its patience.
    private func ready(_ done: @Sendable (BatchOutcome) -> Void) -> Child? {
        let now = clock.now()
        let next: Next = state.waitUntilReady { state in
            if state.isClosing { return .ready(.retry("the provider is closed", after: nil)) }
            if state.start == .ready, let child = state.child { return .ready(.use(child)) }
            if state.start == .starting || state.child != nil { return .notBefore(nil) }
            if let notBefore = state.notBefore, notBefore > now {
                return .ready(.retry(state.lastEnd ?? "its process is started anew", after: notBefore - now))
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
        let (channel, (errors, process)) = try Channel.pair(patience: .seconds(halfFrame), clock: clock) {
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
        return Child(process, channel, errors)
    }

    /// What is said on the standard error of the process.
    private func hear(_ heard: ErrorPipe.Heard) {
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
        let until = clock.now() + Self.patience
        let isMade: Bool? = state.waitUntilReady { state in
            if state.child !== child { return .ready(false) }
            if state.start == .ready { return .ready(true) }
            return clock.now() >= until ? .ready(nil) : .notBefore(until)
        }
        if isMade == nil {
            note("did not make the module within \(Self.patience.configured)")
            end(child)
            state.wait { $0.child === child }
        }
        guard isMade == true else { throw ModuleFault(state.withLock { $0.lastEnd } ?? "the provider is closed") }
        return child
    }

    /// Takes what has come, and looks at the time; false when the process is gone or has to go.
    private func listen(to child: Child) -> Bool {
        let (hasFrame, hasNews) = child.channel.waitForFrame(or: child.process.news, untilDeadline())
        let hasEnded = hasNews && child.process.hasEnded
        // What it has sent until then is heard, and nothing more: what it has started may hold the channel.
        if hasEnded { child.channel.hangUp() }
        do throws(FrameFault) {
            if hasFrame {
                guard let frame = try child.channel.receive(most: Frame.mostToHost) else { return false }
                let said = try Frame.ToHost(frame.kind, frame.payload.bytes, hiding: hidden) { token in
                    state.withLock { $0.pending[token]?.count }
                }
                guard try hear(said, from: child) else { return false }
            }
        } catch {
            return giveUp(child, "sent \(error.what) and was ended")
        }
        // Whoever talks on and on has no longer for an answer.
        return hasEnded || keepsDeadline(child)
    }

    private func giveUp(_ child: Child, _ reason: String) -> Bool {
        note(reason)
        child.process.kill()
        return false
    }

    /// Why the process is about to be ended.
    private func note(_ reason: String) { state.withLock { $0.end = "the process of the module \(module.name) \(reason)" } }

    /// Ends the process from another thread than the one that listens to it, which notices by the channel.
    private func end(_ child: Child) {
        child.process.kill()
        child.channel.hangUp()
    }

    /// A delivery that begins later is due later than the wait lasts, so that none has to wake this thread.
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

    /// Whether the process goes on. A frame that nobody waits for is a fault: what is believed of it would be of another start.
    private func hear(_ frame: Frame.ToHost, from child: Child) throws(FrameFault) -> Bool {
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

    /// What the process held is unknown, and it may be started anew after a pause.
    private func ended(_ child: Child) {
        // Whoever closes the socket without ending is of no use any more.
        if !state.withLock({ $0.isClosing }) { child.process.kill() }
        let end = child.process.wait()
        // What it has said of its end comes before the end.
        child.errors?.close()
        gate.end()
        let now = clock.now()
        let (pending, answer, isNews): ([Pending], Answer, Bool) = state.withLock { state in
            let words = state.end ?? "the process of the module \(module.name) \(end)"
            let isNews = state.start == .ready && !state.isClosing
            state.start = .none
            state.child = nil
            state.lastEnd = state.isClosing && state.end == nil ? state.lastEnd : words
            state.ends += 1
            state.notBefore = now + .milliseconds(min(60_000, 250 << min(state.ends - 1, 10)))
            defer { state.pending = [:] }
            return (state.pending.sorted { $0.key < $1.key }.map(\.value), Answer(words), isNews)
        }
        state.wake()
        if isNews { log(.warning, "\(hello.provider): \(answer.message); it is started anew when there is something to deliver") }
        for one in pending { one.done(BatchOutcome(.unknown(answer))) }
    }
}
