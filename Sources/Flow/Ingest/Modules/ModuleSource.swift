// A source that a module brings. It takes the module's blocks, submits them to the sink in the order of their streams, submits again what
// the sink gives back, and acknowledges each block after its end. It tells the module to pause when it holds too much.
//
// Two threads work for it: one submits blocks, the other calls the module. So a call of the module that does not return delays only other
// calls of that module, and the blocks that it has handed over go their way. What is not acknowledged counts as held, so the router holds
// no more than the bound for a module that hangs.
//
// Use it as follows. Create it for a plan. Call `start` before or while the workers run. Call `quiesce` when no more may be taken. Call
// `stop` after the sink has answered everything that it took.

internal import Events
internal import Glibc
public import Platform

public final class ModuleSource: SourceReceiver, Sendable {
    /// The pause before a block is submitted again to a full sink.
    private static let pause = Duration.milliseconds(100)

    private struct State {
        var flow: SourceFlow
        var condition = SourceCondition()
        /// True if the run has ended, so that nothing more happens to the blocks.
        var isOver = false
        var wasThrough = false
        /// True if the thread that calls the module has closed it.
        var isClosed = false
        var isRunning = false
        var hasStarted = false
        /// The faults of blocks that were reported. Each is reported once.
        var reported: Set<String> = []
        /// Limits how many changes of the module's state are reported.
        var budget = LineBudget(burst: 20, perSecond: 1)
    }

    public let name: String
    private let index: Int
    private let lineLimit: Int
    private let stopTime: Duration
    private let module: any SourceModule
    private let sink: any EventSink
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let onThrough: @Sendable () -> Void
    private let state: Monitor<State>
    /// What the two threads wait for.
    private let submissions = Condition()
    private let calls = Condition()

    /// `bound` is the number of bytes that the source holds at most. `stopTime` is the time that the module gets to stop. `onThrough` is
    /// called once when the module has ended and all its blocks are with the workers.
    public init(
        name: String, index: Int, bound: Int, lineLimit: Int, stopTime: Duration, module: any SourceModule, sink: any EventSink,
        clock: Clock = .system, say: @escaping @Sendable (String) -> Void, onThrough: @escaping @Sendable () -> Void = {}
    ) {
        self.name = name
        self.index = index
        self.lineLimit = lineLimit
        self.stopTime = stopTime
        self.module = module
        self.sink = sink
        self.clock = clock
        self.say = say
        self.onThrough = onThrough
        state = Monitor(State(flow: SourceFlow(bound: bound)))
        module.connect(self)
    }

    public var condition: SourceCondition {
        state.withLock { state in
            var condition = state.condition
            condition.openBlocks = state.flow.openBlocks
            condition.openBytes = state.flow.openBytes
            condition.waitingBlocks = state.flow.waitingBlocks
            condition.isPaused = state.flow.isPaused
            condition.hasEnded = state.flow.hasEnded
            condition.acknowledged = state.flow.acknowledged
            return condition
        }
    }

    /// True if the module's call of start has returned.
    var hasStarted: Bool { state.withLock { $0.hasStarted } }

    // MARK: - The run

    public func start() {
        state.withLock { state in
            assert(!state.isRunning, "a source was started twice")
            state.isRunning = true
        }
        Thread.start("source") { self.submitAll() }.detach()
        Thread.start("source calls") { self.callModule() }.detach()
    }

    /// Takes nothing more, and tells the module to stop. It never waits.
    public func quiesce() {
        state.withLock { $0.flow.stop() }
        calls.wake()
    }

    /// Acknowledges what has ended, and closes the module. Returns when the module is closed, or when it does not return from a call in
    /// time. Then it is left as it is.
    public func stop() { ModuleSource.stop([self]) }

    /// Does so for all of these sources at once, so that several modules which do not return cost the time of one.
    public static func stop(_ sources: [ModuleSource]) {
        for source in sources { source.end() }
        let ends = sources.map { $0.clock.now() + $0.stopTime + .seconds(5) }
        for (source, until) in zip(sources, ends) { source.waitForClose(until: until) }
    }

    private func end() {
        let isRunning = state.withLock { state in
            state.flow.stop()
            state.isOver = true
            // A module that was never started has no thread that could close it.
            if !state.isRunning { state.isClosed = true }
            return state.isRunning
        }
        guard isRunning else { return module.close() }
        submissions.wake()
        calls.wake()
    }

    private func waitForClose(until: Instant) {
        let isClosed: Bool = state.waitUntilReady { state in
            if state.isClosed { return .ready(true) }
            return clock.now() >= until ? .ready(false) : .notBefore(until)
        }
        if !isClosed { say("\(name): the module does not return from a call, and is left as it is") }
    }

    private func submitAll() {
        enum Work {
            case submit(Int, SourceBlock)
            case through, over
        }
        while true {
            let clock = clock
            let work = state.waitUntilReady(for: submissions) { state -> Readiness<Work> in
                if let (serial, block) = state.flow.nextSubmission(now: clock.now()) { return .ready(.submit(serial, block)) }
                if state.isOver { return .ready(.over) }
                if state.flow.isThrough, !state.wasThrough {
                    state.wasThrough = true
                    return .ready(.through)
                }
                return .notBefore(state.flow.nextTime)
            }
            switch work {
            case .submit(let serial, let block): submit(block, serial)
            case .through: onThrough()
            case .over: return
            }
        }
    }

    private func submit(_ block: SourceBlock, _ serial: Int) {
        var submitter = Submitter(source: index)
        submitter.reasons = block.reasons
        submitter.origin = block.origin
        submitter.awaitsEnd = true
        submitter.taken = { [self] in
            state.withLock { $0.flow.taken(serial) }
            submissions.wake()
        }
        let isAccepted = sink.submit(block.copyLines(), from: submitter) { [self] submission in
            switch submission {
            case .stored:
                state.withLock { $0.flow.ended(serial) }
                submissions.wake()
                calls.wake()
            case .overloaded(let seconds): giveBack(serial, for: .seconds(seconds))
            case .closing: state.withLock { $0.flow.closeSink() }
            case .lost: lose(serial)
            }
        }
        if !isAccepted { giveBack(serial, for: ModuleSource.pause) }
    }

    private func lose(_ serial: Int) {
        let isFirst = state.withLock { state in
            state.flow.lost(serial)
            state.condition.lost += 1
            return state.condition.lost == 1
        }
        if isFirst { say("\(name): events of a block were lost; it is not acknowledged, so that the source brings them again") }
        submissions.wake()
        calls.wake()
    }

    private func giveBack(_ serial: Int, for time: Duration) {
        let until = clock.now() + time
        state.withLock { $0.flow.givenBack(serial, until: until) }
        submissions.wake()
    }

    private func callModule() {
        while true {
            let call = state.waitUntilReady(for: calls) { state -> Readiness<SourceFlow.Call?> in
                if let call = state.flow.nextCall() { return .ready(call) }
                return state.isOver ? .ready(nil) : .notBefore(nil)
            }
            switch call {
            case .start:
                module.start()
                state.withLock { $0.hasStarted = true }
            case .pause: module.pause()
            case .resume: module.resume()
            case .stop: module.stop(within: stopTime)
            case .acknowledge(let tokens):
                module.acknowledge(tokens)
                state.withLock { $0.flow.acknowledgedAll() }
            case nil:
                module.close()
                state.withLock { $0.isClosed = true }
                return state.wake()
            }
        }
    }

    // MARK: - From the module

    public func take(_ raw: RawSourceBlock) -> BlockVerdict {
        if state.withLock({ $0.flow.isClosing }) { return .closing }
        let block: SourceBlock
        do throws(SourceBlock.Fault) {
            block = try SourceBlock(copying: raw, lineLimit: lineLimit)
        } catch {
            return refuse(error.words)
        }
        let verdict = state.withLock { $0.flow.take(block) }
        switch verdict {
        case .wrong: return refuse("its token is that of a block that is not acknowledged yet")
        case .taken:
            submissions.wake()
            // What fills the room makes the module pause.
            if state.withLock({ $0.flow.isPaused }) { calls.wake() }
        case .full: calls.wake()
        case .closing: break
        }
        return verdict
    }

    private func refuse(_ words: String) -> BlockVerdict {
        let isNew = state.withLock { state in
            state.condition.wrong += 1
            return state.reported.count < 100 && state.reported.insert(words).inserted
        }
        if isNew { say("\(name): the module handed over a block that breaks a rule, and nothing of it was taken: \(words)") }
        return .wrong
    }

    public func note(behind events: UInt64?, _ time: Duration?) {
        state.withLock { state in
            state.condition.eventsBehind = events
            state.condition.timeBehind = time
        }
    }

    public func note(_ new: SourceState, _ message: String) {
        let now = clock.now()
        let isNews = state.withLock { state in
            defer { (state.condition.state, state.condition.message) = (new, message) }
            guard state.condition.state != new || state.condition.message != message else { return false }
            if case .said = state.budget.take(at: now) { return true }
            return false
        }
        guard isNews else { return }
        say("\(name): \(new.rawValue)\(message.isEmpty ? "" : ": \(message)")")
    }

    public func end(_ message: String) {
        let isFirst = state.withLock { state in
            defer { state.flow.end() }
            return !state.flow.hasEnded
        }
        guard isFirst else { return }
        submissions.wake()
        if !message.isEmpty { say("\(name): ended: \(message)") }
    }
}
