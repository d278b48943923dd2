// A listener: one address, one thread that handles HTTP, and workers that pass events to the sink. It answers 2xx only after the sink has
// confirmed that the events are kept. A client never costs more than the limits allow. A stop answers every request that was received in
// full. A listener never answers 500 and never redirects.

internal import CMicrohttpd
internal import Events
internal import Glibc
public import Ingest
public import Plans
public import Platform

public final class HTTPListener: @unchecked Sendable {
    /// A refused body may be this many times as long as the limit before the connection is ended. Until then it is read and discarded, so
    /// that the client can read its answer.
    static let mostDiscarded = 10
    /// The time that `stop` gives the last replies to reach their clients.
    static let farewell = Duration.seconds(2)

    struct State {
        var daemon: cmicrohttpd_daemon?
        var socket: ListeningSocket?
        var threads: [ThreadHandle] = []
        /// The exchanges that are suspended until they are answered.
        var waiting: [ObjectIdentifier: Exchange] = [:]
        /// The number of exchanges that are being resumed.
        var resuming = 0
        /// The number of requests whose head was read and whose reply has not been sent yet.
        var active = 0
        var isClosing = false
        var requests = 0
    }

    let name: String
    let plan: HTTPSourcePlan
    let clock: Clock
    let watch: ConnectionWatch
    let pacing: Pacing
    let budget: MemoryBudget
    let keys: KeyRing
    let origins: Origins
    let endpoints: [String: any Service]
    let queue = WorkQueue()
    let state: Monitor<State>
    /// Counts the answers, and says what was refused.
    let tally: RequestTally
    let log: RefusalLog
    /// The heartbeat of the thread that handles HTTP.
    let heartbeat: Watchdog.Heartbeat
    private let watchdog: Watchdog
    private let handler: RequestHandler
    private let inherited: [ServiceManager.Inherited]
    private let calls: UnsafeMutablePointer<cmicrohttpd_calls>

    /// `source` is the index of the listener among the plan's sources. `services` replaces the services of the plan if it is given.
    /// `inherited` lists the sockets that systemd has handed over.
    public init(
        name: String, plan: HTTPSourcePlan, source: Int, services: [any Service]? = nil, sink: any EventSink,
        clock: Clock = .system, watchdog: Watchdog = Watchdog(), inherited: [ServiceManager.Inherited] = [],
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.name = name
        self.watchdog = watchdog
        heartbeat = watchdog.heartbeat("listener \(name)")
        self.plan = plan
        self.clock = clock
        self.inherited = inherited
        watch = ConnectionWatch(clock: clock, most: plan.limits.connections)
        pacing = Pacing(limits: plan.limits)
        budget = MemoryBudget(most: plan.limits.memory)
        keys = KeyRing(plan)
        origins = Origins(plan.origins)
        state = Monitor(State())
        calls = .allocate(capacity: 1)
        let services = services ?? Services.all(of: plan)
        var endpoints: [String: any Service] = [:]
        for service in services {
            for endpoint in service.endpoints {
                precondition(endpoints.updateValue(service, forKey: endpoint.path) == nil, "two services have the path \(endpoint.path)")
            }
        }
        self.endpoints = endpoints
        tally = RequestTally(services.map(\.name))
        log = RefusalLog(name: name, paths: services.flatMap { $0.endpoints.map(\.path) }, clock: clock, say: say)
        handler = RequestHandler(source: source, limits: plan.limits, keys: keys, budget: budget, sink: sink, log: log, clock: clock)
    }

    deinit { calls.deallocate() }

    /// The address at which it listens, with the port that the system chose if the configured port is 0. It is nil if it does not listen.
    public var address: ListenAddress? { state.withLock { $0.socket?.address } }

    /// The counts since the start.
    public var counts: ListenerCounts {
        let (open, cut, shed) = watch.counts
        let (requests, waiting) = state.withLock { ($0.requests, $0.waiting.count) }
        return ListenerCounts(
            connections: open, slowConnections: cut, shedConnections: shed, requests: requests, answers: tally.counts, waiting: waiting,
            memory: budget.inUse)
    }

    // MARK: - Start and stop

    /// Opens the socket and starts the threads. It must be called only once.
    public func start(workers: Int = 2) throws(ListenerFault) {
        assert(state.withLock { $0.daemon == nil && $0.threads.isEmpty }, "a listener was started twice")
        if let missing = cmicrohttpd_load() { throw ListenerFault("\(name): \(String(cString: missing))") }
        let (certificate, key, clients) = try credentials()
        let socket: ListeningSocket
        do throws(ListenerFault) {
            socket = try ListeningSocket.open(plan, inherited: inherited)
        } catch {
            throw ListenerFault("\(name): \(error)")
        }
        calls.initialize(to: HTTPListener.calls(Unmanaged.passUnretained(self).toOpaque()))
        var options = cmicrohttpd_options()
        options.socket = socket.descriptor
        options.connections = UInt32(plan.limits.connections)
        options.connections_by_address = UInt32(plan.limits.connectionsByAddress)
        // The library keeps the head and the current piece of the body in one pool.
        options.head_bytes = plan.limits.head + 2048
        var words = [CChar](repeating: 0, count: 300)
        let daemon = withPEM(certificate, key: key, clients: clients) { certificate, key, clients in
            "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2".withCString { priorities in
                options.certificate = certificate
                options.key = key
                options.clients = clients
                options.priorities = priorities
                return cmicrohttpd_start(&options, calls, &words, words.count)
            }
        }
        guard let daemon else {
            socket.shut()
            close(socket.descriptor)
            let said = words.withUnsafeBytes { printable($0.prefix { $0 != 0 && $0 != 0x0a }) }
            throw ListenerFault("\(name): cannot serve at \(socket.address)\(said.isEmpty ? "" : ": \(said)")")
        }
        // The callbacks hold an unretained pointer to the listener, so it is retained here. `stop` releases it.
        _ = Unmanaged.passRetained(self)
        var threads = (0..<max(1, workers)).map { number in
            let heartbeat = watchdog.heartbeat("listener \(name), worker \(number)")
            return ThreadHandle(
                Thread.start("\(name) work \(number)") { [self] in
                    let translator = RequestTranslator(handler.translation)
                    queue.run { exchange in heartbeat.beat { answer(exchange, at: translator) } }
                })
        }
        threads.append(ThreadHandle(Thread.start("\(name) watch") { [self] in watch.run { log.note(shedConnections: $0) } }))
        threads.append(ThreadHandle(Thread.start("\(name) log") { [self] in log.run() }))
        let started = threads
        state.withLock {
            $0.daemon = daemon
            $0.socket = socket
            $0.threads = started
        }
    }

    /// Accepts no more connections, and refuses new requests on open connections as `closing`.
    public func quiesce() {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing && state.daemon != nil
        }
        guard isFirst, let (daemon, socket) = state.withLock({ state in state.daemon.map { ($0, state.socket) } }) else { return }
        _ = cmicrohttpd_quiesce(daemon)
        socket?.shut()
    }

    /// Stops the listener. The sink has the time `timeout` to answer the accepted requests. Then the rest are refused as `closing`, which
    /// keeps the promise: a client may send again what was not answered with 2xx.
    public func stop(within timeout: Duration) {
        quiesce()
        guard let daemon = state.withLock({ $0.daemon }) else { return }
        waitWhileActive(until: clock.now() + timeout)
        for exchange in state.withLock({ Array($0.waiting.values) }) { finish(exchange, closingReply(exchange)) }
        waitWhileActive(until: clock.now() + HTTPListener.farewell)
        // The daemon must not be stopped while a connection is being resumed.
        state.wait { !$0.waiting.isEmpty || $0.resuming > 0 }
        cmicrohttpd_stop(daemon)
        queue.end()
        watch.end()
        log.end()
        let (threads, socket) = state.withLock { state in
            defer {
                state.daemon = nil
                state.threads = []
            }
            return (state.threads, state.socket)
        }
        for thread in threads { thread.join() }
        if let socket { close(socket.descriptor) }
        Unmanaged.passUnretained(self).release()
    }

    private func waitWhileActive(until deadline: Instant) {
        let clock = clock
        state.waitUntilReady { state -> Readiness<Void> in
            state.active == 0 || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    private func closingReply(_ exchange: Exchange) -> Reply {
        exchange.service?.answer(exchange.request, refused: .closing) ?? Refusal.closing.plainReply
    }

    // MARK: - Answers

    /// Works on a whole request. It runs on a worker.
    private func answer(_ exchange: Exchange, at translator: RequestTranslator) {
        guard let service = exchange.service else { return }
        handler.work(exchange, service, at: translator) { [self] reply in finish(exchange, reply) }
    }

    /// Answers a suspended exchange. Only the first answer counts.
    func finish(_ exchange: Exchange, _ reply: Reply) {
        let connection: cmicrohttpd_connection? = state.withLock { state in
            guard state.waiting.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return nil }
            exchange.reply = reply
            state.resuming += 1
            return exchange.connection
        }
        guard let connection else { return }
        cmicrohttpd_resume(connection)
        state.withLock { state in
            state.resuming -= 1
            assert(state.resuming >= 0, "a connection was resumed twice")
        }
        if state.withLock({ $0.isClosing }) { state.wake() }
    }
}

/// The counts of a listener.
public struct ListenerCounts: Sendable, Equatable {
    public var connections: Int
    /// The number of connections that were ended because their client was too slow.
    public var slowConnections: Int
    /// The number of connections that were ended while they waited for a request, because almost as many were open as may be.
    public var shedConnections: Int
    public var requests: Int
    /// The requests that have ended, by dialect and by the class of their answer.
    public var answers: [AnswerCount]
    /// The number of requests that wait for an answer.
    public var waiting: Int
    /// The number of bytes that all bodies hold together.
    public var memory: Int
}
