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
public import Queueing

public final class IsolatedInstance: Provider, Sendable {
    final class Child: Sendable {
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

    struct Pending {
        /// The number of its events, or of the subjects of an erasure; 0 for a flush and a probe.
        var count: Int
        var due: Instant?
        /// Asks whether events may leave. It is nil for anything but a delivery.
        var asking: Asking?
        /// True if a question about this delivery was answered with no.
        var isRefused = false
        /// Ends a delivery and a flush, and everything that the process leaves unanswered.
        var done: @Sendable (BatchOutcome) -> Void
        var expected = Expected.outcome
    }

    /// What the process answers.
    enum Expected: Sendable {
        case outcome
        case erasure(@Sendable (ErasureAnswer) -> Void)
        case preview(@Sendable (WirePreview?) -> Void)
        case finding(@Sendable (ProbeFinding?) -> Void)
    }

    enum Start { case none, starting, ready }

    struct State {
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

    let executable: String
    let hello: Frame.Hello
    let module: ModuleDescription
    let plan: IsolationPlan
    let deadline: Duration
    let clock: Clock
    let log: @Sendable (LogLevel, String) -> Void
    let state = Monitor(State())

    let hidden: HiddenTexts
    let gate: LogGate
    /// The maximum time in which a module must be made. A provider without a deadline has the same time for closing.
    static let timeout = Duration.seconds(30)
    /// The maximum number of seconds from the beginning of a frame to its end.
    let halfFrame: Int

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
        deliver(batch, attempt: attempt, asking: { _ in true }, done)
    }

    public func deliver(
        _ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        guard let child = ready(done) else { return }
        // A module that does not ask has begun with all events when it gets them.
        guard module.asks || asking(nil) else { return done(BatchOutcome(.untried)) }
        guard let token = begin(Pending(count: batch.count, due: due(), asking: asking, done: done), with: child) else { return }
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

    public func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {
        let unstated: @Sendable (BatchOutcome) -> Void = { done(ErasureAnswer($0)) }
        guard let child = ready(unstated) else { return }
        let pending = Pending(count: request.subjects.count, due: due(), done: unstated, expected: .erasure(done))
        guard let token = begin(pending, with: child) else { return }
        try? child.channel.send(.erase, request.encoded(token: token))
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
    func begin(_ pending: Pending, with child: Child) -> UInt64? {
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
    func ready(_ done: @Sendable (BatchOutcome) -> Void) -> Child? {
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
}
