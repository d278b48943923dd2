// Reads a stream on one thread: connects, prepares the consumer, asks for messages, hands blocks over, and acknowledges to the server what
// the router has acknowledged. Messages arrive on a thread of libnats, which puts them into the state.
//
// It promises that the thread never waits for the router: while there is no room it asks for nothing, and goes on to acknowledge messages
// and to tell the server that the others are still in work (+WPI), so that they are not given out again while the router has them.

internal import HTTPKit
internal import PluginKit

final class StreamReader: ConnectionListener, @unchecked Sendable {
    struct State {
        var held: HeldMessages
        /// What is to be acknowledged to the server.
        var ended: [Replies] = []
        var pull: PullRequest?
        var lastPull: UInt64 = 0
        /// The bytes that a request for messages allows.
        var pullBytes = 0
        /// Why the connection cannot be used any more.
        var broken: ConnectionFault?
        /// True if a message or a sign of the server has come on this connection.
        var hasHeard = false
        /// Answers about the consumer.
        var answers: [String] = []
        /// The number of the open connection, or 0.
        var connection: UInt = 0
        /// When a block that is not full is handed over.
        var handOverAt: Instant?
        /// True if more messages follow the last one at once, as far as the request allows.
        var hasMore = false
        /// When the stream has got the last message that came for the first time.
        var lastTime: Int64?

        var isPaused = false
        /// A block was refused since there was no room.
        var isRefused = false
        /// The number of calls of `resume`. One that comes while a block is refused counts for that block.
        var resumes = 0
        var isHandingOver = false
        var isStarted = false
        var isStopping = false
        /// Until then the messages of the open request are waited for, to give them back.
        var lastWait: Instant?
        var isClosing = false

        init(_ held: HeldMessages) { self.held = held }

        var mayHandOver: Bool { !isPaused && !isRefused && !isStopping }
    }

    /// How long messages that are under way are waited for at the end.
    private static let lastWait = Duration.seconds(1)

    let rules: SourceRules
    let host: SourceHost
    let clock: Clock
    let library: NATSLibrary
    let state: Monitor<State>
    private let work = Condition()
    private let thread = Monitor<Thread?>(nil)

    init(_ rules: SourceRules, _ host: SourceHost, _ clock: Clock, _ library: NATSLibrary) {
        self.rules = rules
        self.host = host
        self.clock = clock
        self.library = library
        state = Monitor(State(HeldMessages(mostLine: host.mostLine, origin: "stream \(rules.stream)")))
    }

    // MARK: - For the router

    func start() {
        state.withLock { $0.isStarted = true }
        thread.withLock { $0 = Thread.start("nats source") { self.run() } }
    }

    func pause() { state.withLock { $0.isPaused = true } }

    func resume() {
        state.withLock { state in
            (state.isPaused, state.isRefused) = (false, false)
            state.resumes += 1
        }
        work.wake()
    }

    func acknowledge(_ tokens: [UInt64]) {
        state.withLock { state in state.ended += tokens.compactMap { state.held.end($0) } }
        work.wake()
    }

    /// Hands over nothing more. It returns when no block is being handed over.
    func stop(within time: Duration) {
        state.withLock { $0.isStopping = true }
        work.wake()
        let until = clock.now() + time
        state.waitUntilReady { state in !state.isHandingOver || clock.now() >= until ? .ready(()) : .notBefore(until) }
    }

    func close() {
        let isStarted = state.withLock { state in
            (state.isStopping, state.isClosing) = (true, true)
            state.lastWait = clock.now() + StreamReader.lastWait
            return state.isStarted
        }
        work.wake()
        guard isStarted, let thread = thread.withLock({ $0.take() }) else { return }
        thread.join()
    }

    // MARK: - For the threads of libnats

    func received(by number: UInt, _ message: ConnectionMessage) {
        let now = clock.now()
        let isNews = state.withLock { state -> Bool in
            guard state.connection == number else { return false }
            if let reply = message.reply {
                guard let delivered = DeliveredMessage(reply: reply) else { return false }
                state.held.add(delivered, reply: reply, message.data)
                return state.note(delivered, now)
            }
            return state.note(message, now)
        }
        if isNews { work.wake() }
    }

    func reported(by number: UInt, words: String) {
        // The source goes on without the times at which the stream was made.
        guard holds(words.lowercased(), "permissions violation"), !holds(words, ".STREAM.INFO.") else { return }
        lose(number, ConnectionFault(words: "the server does not permit what is needed: \(printable(words))", isSetting: true))
    }

    func closed(_ number: UInt) { lose(number, ConnectionFault(words: "the connection ended", isSetting: false)) }

    func lose(_ number: UInt, _ fault: ConnectionFault) {
        state.withLock { if $0.connection == number { $0.broken = $0.broken ?? fault } }
        work.wake()
    }

    // MARK: - The thread

    private enum Step {
        case connect, close, look, pull, inWork
        case broken(ConnectionFault)
        case acknowledge([Replies])
        case answer(String)
        case handOver(SourceBlock)
    }

    /// What the thread knows.
    struct Session {
        var connection: Connection?
        var consumer: ConsumerInfo?
        var place: StreamPlace?
        var server = 0
        /// The attempts that failed since the last message or sign of the server.
        var failures = 0
        var nextAttempt = Instant(nanoseconds: 0)
        var nextSign = Instant(nanoseconds: 0)
        var nextLook = Instant(nanoseconds: 0)
        /// How many messages that came again were shown, and when they may be shown next.
        var shownRedelivered = 0
        var nextState = Instant(nanoseconds: 0)
    }

    private func run() {
        var session = Session()
        host.state(.connecting, "connects to \(rules.servers.servers[0].origin)")
        while true {
            switch nextStep(session) {
            case .close: return end(&session)
            case .connect: connect(&session)
            case .broken(let fault): drop(&session, fault)
            case .acknowledge(let replies): acknowledge(replies, session)
            case .inWork:
                session.nextSign = clock.now() + .nanoseconds(Int64(session.consumer?.ackWait ?? 0) / 3)
                send("+WPI", to: state.withLock { $0.held.all }, session)
            case .look: look(&session)
            case .answer(let answer): take(answer, &session)
            case .pull: pull(session)
            case .handOver(let block): handOver(block)
            }
        }
    }

    private func nextStep(_ session: Session) -> Step {
        state.waitUntilReady(for: work) { state in
            let now = clock.now()
            guard session.connection != nil else {
                if state.isClosing { return .ready(.close) }
                if now >= session.nextAttempt { return .ready(.connect) }
                if let step = nextBlock(&state, now) { return .ready(step) }
                return .notBefore([session.nextAttempt, state.mayHandOver ? state.handOverAt : nil].compactMap { $0 }.min())
            }
            if let fault = state.broken { return .ready(.broken(fault)) }
            if !state.ended.isEmpty { return .ready(.acknowledge(state.ended)) }
            if state.isClosing, let end = state.lastWait {
                // What is under way now would come again only after the time that the consumer waits for its acknowledgement.
                return state.pull != nil && state.hasMore && now < end ? .notBefore(end) : .ready(.close)
            }
            if !state.answers.isEmpty { return .ready(.answer(state.answers.removeFirst())) }
            if now >= session.nextSign { return .ready(.inWork) }
            if let step = nextBlock(&state, now) { return .ready(step) }
            if now >= session.nextLook { return .ready(.look) }
            if let pull = state.pull {
                if now >= pull.end {
                    return .ready(.broken(ConnectionFault(words: "the server is silent about a request for messages", isSetting: false)))
                }
            } else if state.mayHandOver, !state.held.hasWaiting {
                return .ready(.pull)
            }
            let times = [session.nextSign, session.nextLook, state.pull?.end, state.mayHandOver ? state.handOverAt : nil]
            return .notBefore(times.compactMap { $0 }.min())
        }
    }

    /// Returns the next block to hand over, if it is full or nothing is added to it soon.
    private func nextBlock(_ state: inout State, _ now: Instant) -> Step? {
        guard state.mayHandOver, state.held.hasFull || state.handOverAt.map({ $0 <= now }) ?? false else { return nil }
        guard let block = state.held.take() else {
            state.handOverAt = nil
            return nil
        }
        if !state.held.hasWaiting { state.handOverAt = nil }
        state.isHandingOver = true
        return .handOver(block)
    }

    private func handOver(_ block: SourceBlock) {
        let resumes = state.withLock { $0.resumes }
        let verdict = host.submit(block)
        state.withLock { state in
            state.isHandingOver = false
            switch verdict {
            case .taken: break
            case .full:
                state.held.giveBack(block)
                (state.isRefused, state.handOverAt) = (state.resumes == resumes, clock.now())
            case .closing:
                state.held.giveBack(block)
                state.isStopping = true
            case .wrong: state.held.drop(block.token)
            }
        }
        state.wake()
    }
}
