// Publishes the events of deliveries and waits for their acknowledgements, on one thread, which also makes the connection. It promises that
// an event is delivered only after a stream has acknowledged it; that an event whose connection was lost before counts as unknown, so that
// it is sent again with the same id; and that no event is given to a connection without a question to the router if it may leave.

internal import CNATS
internal import HTTPKit
internal import PluginKit
internal import StreamKit

final class Publisher: ConnectionListener, @unchecked Sendable {
    struct State {
        var waiting: [PendingBatch] = []
        /// The batches whose events were given to the connection, by their number.
        var inFlight: [UInt64: PendingBatch] = [:]
        var flushes: [Flush] = []
        var nextNumber: UInt64 = 1
        /// The number of the open connection, or 0.
        var connection: UInt = 0
        var isLost = false
        /// The subjects that the server does not permit, as it has reported them.
        var forbidden: [String] = []
        var isStarted = false
        var isClosed = false
        var hasEnded = false
    }

    /// A waiting flush. A completion is not copyable, so it cannot be an array element.
    final class Flush: @unchecked Sendable {
        private var completion: Completion?
        init(_ completion: consuming Completion) { self.completion = consume completion }
        func finish() { completion.take()?.finish(.delivered) }
    }

    /// How many events are given to the connection after one question to the router.
    static let asked = 256
    /// How long `close` waits for the thread. The library may keep it longer, for example in a handshake that a server does not continue.
    private static let patience = Duration.seconds(3)

    let rules: NATSRules
    private let clock: Clock
    private let library: NATSLibrary
    let state = Monitor(State())
    private let thread = Monitor<Thread?>(nil)
    /// What the thread wants to know about a change: work, or an end.
    private let work = Condition()

    init(_ rules: NATSRules, _ clock: Clock, _ library: NATSLibrary) {
        self.rules = rules
        self.clock = clock
        self.library = library
    }

    // MARK: - For any thread

    func publish(_ delivery: consuming Delivery) {
        let until = clock.now() + .milliseconds(rules.servers.totalTimeout)
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        let batch = PendingBatch(delivery, number: number, until: until)
        let isTaken = state.withLock { state in
            guard !state.isClosed else { return false }
            state.waiting.append(batch)
            if !state.isStarted {
                state.isStarted = true
                thread.withLock { $0 = Thread.start("nats") { self.run() } }
            }
            return true
        }
        if isTaken { return work.wake() }
        batch.settleRest(.retry("the provider is closed"))
        batch.finish()
    }

    /// Answers when no event waits for its acknowledgement.
    func flush(_ completion: consuming Completion) {
        let flush = Flush(completion)
        let waits = state.withLock { state in
            guard !state.isClosed, !state.waiting.isEmpty || !state.inFlight.isEmpty else { return false }
            state.flushes.append(flush)
            return true
        }
        if !waits { flush.finish() }
    }

    /// Ends the thread and the connection. What is not acknowledged is unknown, and what was not published is handed back.
    func close() {
        let isStarted = state.withLock { state in
            state.isClosed = true
            return state.isStarted
        }
        work.wake()
        guard isStarted else { return }
        let end = clock.now() + Publisher.patience
        let hasEnded = state.waitUntilReady { state in
            state.hasEnded || clock.now() >= end ? .ready(state.hasEnded) : .notBefore(end)
        }
        guard let thread = thread.withLock({ $0.take() }) else { return }
        if hasEnded { return thread.join() }
        thread.detach()
        finish(state.withLock { Publisher.takeAll(&$0, "the provider was closed") })
    }

    // MARK: - For the threads of libnats

    func received(by number: UInt, _ message: ConnectionMessage) {
        guard let (batch, event) = ReplyToken.read(message.token) else { return }
        let outcome = Acknowledgement.outcome(message.data, isNobody: message.status == 503)
        let done = state.withLock { state -> PendingBatch? in
            guard state.connection == number, let pending = state.inFlight[batch], event < pending.handed else { return nil }
            pending.settle(event, outcome)
            guard pending.isDone else { return nil }
            state.inFlight[batch] = nil
            return pending
        }
        if let done { finish([done]) }
    }

    func reported(by number: UInt, words: String) {
        guard let subject = Publisher.forbiddenSubject(in: words) else { return }
        state.withLock { state in
            guard state.connection == number, !state.forbidden.contains(subject) else { return }
            state.forbidden.append(subject)
        }
        work.wake()
    }

    func closed(_ number: UInt) {
        state.withLock { if $0.connection == number { $0.isLost = true } }
        work.wake()
    }

    /// Returns the subject in: Permissions Violation for Publish to "events.a". The library cuts long words, so it may be the beginning of one.
    static func forbiddenSubject(in words: String) -> String? {
        let parts = words.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count >= 2, holds(words.lowercased(), "permissions violation for publish") else { return nil }
        return String(parts[1])
    }

    // MARK: - Ends

    /// Answers deliveries that have been taken from the state, and the flushes that waited for them.
    func finish(_ batches: [PendingBatch]) {
        guard !batches.isEmpty else { return }
        for batch in batches { batch.finish() }
        let flushes = state.withLock { state -> [Flush] in
            guard state.waiting.isEmpty, state.inFlight.isEmpty else { return [] }
            defer { state.flushes = [] }
            return state.flushes
        }
        for flush in flushes { flush.finish() }
    }

    /// Ends all waits, and takes out what can be answered.
    static func takeAll(_ state: inout State, _ words: String) -> [PendingBatch] {
        takeInFlight(&state, words) + takeWaiting(&state, .retry(words))
    }

    static func takeInFlight(_ state: inout State, _ words: String) -> [PendingBatch] {
        for batch in state.inFlight.values { batch.giveUp(words) }
        return takeDone(&state)
    }

    static func takeWaiting(_ state: inout State, _ outcome: Outcome) -> [PendingBatch] {
        defer { state.waiting = [] }
        for batch in state.waiting { batch.settleRest(outcome) }
        return state.waiting
    }

    /// Takes out the batches whose events all have an outcome.
    static func takeDone(_ state: inout State) -> [PendingBatch] {
        let done = state.inFlight.values.filter(\.isDone)
        for batch in done { state.inFlight[batch.number] = nil }
        return done
    }

    // MARK: - The thread

    private enum Step {
        case close
        case lost
        case forbidden([String])
        case late
        case publish(PendingBatch)
    }

    private func run() {
        var writer: EventWriter?
        var server = 0
        loop: while true {
            switch nextStep() {
            case .close: break loop
            case .lost:
                let words = "the connection to \(writer?.origin ?? "the server") ended before the acknowledgement"
                finish(
                    state.withLock { state in
                        (state.connection, state.isLost) = (0, false)
                        return Publisher.takeInFlight(&state, words)
                    })
                writer = nil
                server += 1
            case .forbidden(let subjects): settle(forbidden: subjects)
            case .late:
                let words = "no acknowledgement within \(rules.servers.totalTimeout) ms"
                finish(
                    state.withLock { state in
                        let now = clock.now()
                        for batch in state.inFlight.values where batch.until <= now { batch.giveUp(words) }
                        return Publisher.takeDone(&state)
                    })
            case .publish(let batch):
                if writer == nil {
                    do throws(ConnectionFault) {
                        writer = try connect(first: server)
                    } catch {
                        server += 1
                        // What waits meanwhile would fail in the same way.
                        finish(
                            state.withLock { state in
                                batch.settleRest(error.outcome)
                                batch.isPublishing = false
                                return Publisher.takeDone(&state) + Publisher.takeWaiting(&state, error.outcome)
                            })
                        continue
                    }
                }
                writer?.write(batch)
                finish(
                    state.withLock { state in
                        batch.isPublishing = false
                        return Publisher.takeDone(&state)
                    })
            }
        }
        finish(state.withLock { Publisher.takeAll(&$0, "the provider was closed") })
        state.withLock { $0.connection = 0 }
        writer = nil
        state.withLock { $0.hasEnded = true }
        state.wake()
    }

    /// Waits for what is to be done next. A batch to publish is in flight from here on.
    private func nextStep() -> Step {
        state.waitUntilReady(for: work) { state in
            if state.isClosed { return .ready(.close) }
            if state.isLost { return .ready(.lost) }
            if !state.forbidden.isEmpty {
                defer { state.forbidden = [] }
                return .ready(.forbidden(state.forbidden))
            }
            let first = state.inFlight.values.map(\.until).min()
            if let first, first <= clock.now() { return .ready(.late) }
            guard !state.waiting.isEmpty else { return .notBefore(first) }
            let batch = state.waiting.removeFirst()
            batch.isPublishing = true
            state.inFlight[batch.number] = batch
            return .ready(.publish(batch))
        }
    }

    private func connect(first: Int) throws(ConnectionFault) -> EventWriter {
        if let reason = library.load() { throw ConnectionFault(words: reason, isSetting: true) }
        let connection = try Connection.open(rules.servers, first: first, name: "switchyard", listener: self)
        state.withLock { ($0.connection, $0.isLost, $0.forbidden) = (connection.number, false, []) }
        // It may have ended before its number was known here.
        if !connection.isOpen { state.withLock { $0.isLost = true } }
        return EventWriter(self, connection)
    }

    /// Gives the events that wait on these subjects an outcome: no answer comes for them.
    private func settle(forbidden subjects: [String]) {
        let names = SubjectNames(rules)
        finish(
            state.withLock { state in
                for batch in state.inFlight.values { batch.settle(on: subjects, names, origin: rules.servers.servers[0].origin) }
                return Publisher.takeDone(&state)
            })
    }
}
