// One provider of routes.json whose module runs in a process of its own. A module that crashes, exits, uses up its memory or does
// not answer costs a new process and a resend: what it held is unknown. Each `done` is called exactly once.
//
// The process is started anew by the first delivery after its end, and not before a pause that doubles with each end that no
// answered delivery preceded. Settings go over the socket, never by argument or environment.

public import Configuration
public import Delivery
internal import Glibc
internal import Platform
public import Policy

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

    private enum Start: Equatable {
        case none, starting, ready
        case refused(String)
    }

    private struct State {
        var child: Child?
        var start = Start.none
        var pending: [UInt64: Pending] = [:]
        var lastToken: UInt64 = 0
        /// Ends of the process since a delivery was last answered.
        var ends = 0
        var notBefore: Instant?
        var lastEnd: String?
        /// Why this side ended it.
        var reason: String?
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
    /// How many seconds the process may take from one part of a frame to the next.
    private let halfFrame: Int

    /// `hidden` is masked in everything that the module says, before anyone sees or keeps it.
    public convenience init(
        _ module: Module, _ plan: ProviderPlan, hiding hidden: HiddenTexts, log: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ModuleFault) {
        // Also after the file was replaced by a newer one this leads to the program that runs.
        try self.init(module, plan, hiding: hidden, executable: "/proc/self/exe", clock: .system, log: log)
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
        if let fault = start() { throw ModuleFault(hidden.masked(fault)) }
    }

    // MARK: - What the lane asks

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        guard let child = ready(done) else { return }
        guard let token = begin(Pending(count: batch.count, due: due(), done: done)) else { return }
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
        guard let token = begin(Pending(count: 0, due: due(), done: { done($0.batch) })) else { return }
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
        guard let child else { return }
        try? child.channel.send(.close, [])
        let until = clock.now() + (deadline > .zero ? deadline : Self.patience)
        let isGone: Bool = state.waitUntilReady { state in
            if state.child == nil { return .ready(true) }
            return clock.now() >= until ? .ready(false) : .notBefore(until)
        }
        if !isGone { child.process.kill() }
    }

    private func due() -> Instant? { deadline > .zero ? clock.now() + deadline : nil }

    /// nil when the process has ended meanwhile; then `done` has been called.
    private func begin(_ pending: Pending) -> UInt64? {
        let (token, lastEnd): (UInt64?, String?) = state.withLock { state in
            guard state.child != nil else { return (nil, state.lastEnd) }
            state.lastToken += 1
            state.pending[state.lastToken] = pending
            return (state.lastToken, nil)
        }
        if token == nil { pending.done(BatchOutcome(.retry(Answer(lastEnd ?? "its process has ended"), after: nil))) }
        return token
    }

    /// The process, started anew where there is none; nil when it cannot be now, and then `done` has been called.
    private func ready(_ done: @Sendable (BatchOutcome) -> Void) -> Child? {
        let now = clock.now()
        let (child, notBefore, lastEnd, isClosing): (Child?, Instant?, String?, Bool) = state.withLock { state in
            (state.start == .ready ? state.child : nil, state.notBefore, state.lastEnd, state.isClosing)
        }
        if isClosing {
            done(BatchOutcome(.retry(Answer("the provider is closed"), after: nil)))
            return nil
        }
        if let child { return child }
        if let notBefore, notBefore > now {
            done(BatchOutcome(.retry(Answer(lastEnd ?? "its process is started anew"), after: notBefore - now)))
            return nil
        }
        if let fault = start() {
            done(BatchOutcome(.retry(Answer(hidden.masked(fault)), after: nil)))
            return nil
        }
        return state.withLock { $0.child }
    }

    // MARK: - The process

    private func spawn() throws(SystemFault) -> Child {
        let (channel, (errors, process)) = try Channel.pair(patience: halfFrame) {
            (socket) throws(SystemFault) -> (ErrorPipe?, Process) in
            func process(_ streams: [Int32], keeping names: [String]) throws(SystemFault) -> Process {
                try Process(
                    executable, [HostedModule.command],
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

    /// Starts the process and waits until the module is made; what went wrong.
    private func start() -> String? {
        let child: Child
        do throws(SystemFault) {
            child = try spawn()
        } catch {
            return "the process of the module \(module.name) cannot be started: \(error)"
        }
        state.withLock { state in
            state.child = child
            state.start = .starting
            state.reason = nil
        }
        try? child.channel.send(.hello, hello.encoded)
        Thread.start("isolated \(hello.provider)") {
            while self.listen(to: child) {}
            self.ended(child)
        }.detach()
        let until = clock.now() + Self.patience
        let result: Start = state.waitUntilReady { state in
            if state.start != .starting { return .ready(state.start) }
            return clock.now() >= until ? .ready(.starting) : .notBefore(until)
        }
        switch result {
        case .ready: return nil
        case .refused(let why):
            child.process.kill()
            return why
        case .none: return state.withLock { $0.lastEnd }
        case .starting:
            state.withLock { $0.reason = "did not make the module within \(Self.patience.configured)" }
            child.process.kill()
            return "the process of the module \(module.name) did not make it within \(Self.patience.configured)"
        }
    }

    /// Takes the next frame, or looks at the time; false when the process is gone or has to go.
    private func listen(to child: Child) -> Bool {
        switch child.channel.waitForFrame(or: child.process.news, untilDeadline()) {
        case .frame: break
        case .nothing: return keepsDeadline(child)
        // The channel may be held by what it has started.
        case .other: return !child.process.hasEnded
        }
        do throws(FrameFault) {
            guard let frame = try child.channel.receive(most: Frame.mostToHost) else { return false }
            let said = try Frame.ToHost(frame.kind, frame.payload.bytes, hiding: hidden) { token in
                state.withLock { $0.pending[token]?.count }
            }
            hear(said)
            return true
        } catch {
            return giveUp(child, "sent \(error.what) and was ended")
        }
    }

    private func giveUp(_ child: Child, _ reason: String) -> Bool {
        state.withLock { $0.reason = reason }
        child.process.kill()
        return false
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

    private func hear(_ frame: Frame.ToHost) {
        switch frame {
        case .ready(let name, let version):
            let isTheSame = name == module.name && version == module.version
            state.withLock {
                $0.start = isTheSame ? .ready : .refused("\(hello.path): was replaced by \(name) \(version); restart the router to load it")
            }
            state.wake()
        case .refused(let why):
            state.withLock { $0.start = .refused(why) }
            state.wake()
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
        case .closed: break
        }
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
            let words = "the process of the module \(module.name) \(state.reason ?? end)"
            let isNews = state.start == .ready && !state.isClosing
            if state.start == .starting || state.start == .ready { state.start = .none }
            state.child = nil
            state.lastEnd = state.isClosing && state.reason == nil ? state.lastEnd : words
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
