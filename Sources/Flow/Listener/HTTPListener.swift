// A listener: one address, one thread that speaks HTTP, and workers that hand events to the sink. It promises that a request
// is answered 2xx only after the sink said its events are kept; that what a client does costs no more than the limits say;
// and that a stop leaves no request unanswered. It never answers 500, and never redirects.

internal import CMicrohttpd
internal import Events
internal import Glibc
public import Ingest
public import Plans
public import Platform

public final class HTTPListener: @unchecked Sendable {
    /// How often its limit a body that is not taken may be long before the connection ends: until then it is read and let go,
    /// so that the client can read its answer.
    static let mostDiscarded = 10
    /// How long replies may take on their way when everything else has ended.
    static let farewell = Duration.seconds(2)

    struct State {
        var daemon: cmicrohttpd_daemon?
        var socket: ListeningSocket?
        var threads: [ThreadHandle] = []
        /// Those that are suspended until they are answered.
        var waiting: [ObjectIdentifier: Exchange] = [:]
        /// Those that are being resumed at this moment.
        var resuming = 0
        /// Requests of which the head was read and the reply is not yet on its way.
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
    /// Of the thread that speaks HTTP.
    let heartbeat: Watchdog.Heartbeat
    private let watchdog: Watchdog
    private let handler: RequestHandler
    private let inherited: [ServiceManager.Inherited]
    private let calls: UnsafeMutablePointer<cmicrohttpd_calls>

    /// `source` is its index among the plan's sources, `services` are those of the plan unless others are given, and `inherited` is
    /// what systemd has handed over.
    public init(
        name: String, plan: HTTPSourcePlan, source: Int, services: [any Service]? = nil, sink: any EventSink,
        clock: Clock = .system, watchdog: Watchdog = Watchdog(), inherited: [ServiceManager.Inherited] = []
    ) {
        self.name = name
        self.watchdog = watchdog
        heartbeat = watchdog.heartbeat("listener \(name)")
        self.plan = plan
        self.clock = clock
        self.inherited = inherited
        watch = ConnectionWatch(clock: clock)
        pacing = Pacing(limits: plan.limits)
        budget = MemoryBudget(most: plan.limits.memory)
        keys = KeyRing(plan)
        origins = Origins(plan.origins)
        handler = RequestHandler(source: source, limits: plan.limits, keys: keys, budget: budget, sink: sink)
        state = Monitor(State())
        calls = .allocate(capacity: 1)
        var endpoints: [String: any Service] = [:]
        for service in services ?? Services.all(of: plan) {
            for endpoint in service.endpoints {
                precondition(endpoints.updateValue(service, forKey: endpoint.path) == nil, "two services have the path \(endpoint.path)")
            }
        }
        self.endpoints = endpoints
    }

    deinit { calls.deallocate() }

    /// Where it listens, with the port that the system chose when 0 was asked for; nil when it does not.
    public var address: ListenAddress? { state.withLock { $0.socket?.address } }

    /// What it has done so far.
    public var counts: ListenerCounts {
        let (open, cut) = watch.counts
        return state.withLock {
            ListenerCounts(connections: open, slowConnections: cut, requests: $0.requests, waiting: $0.waiting.count, memory: budget.inUse)
        }
    }

    // MARK: - Start and stop

    /// Listens. To be called once.
    public func start(workers: Int = 2) throws(ListenerFault) {
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
        // The library keeps the head and the piece of the body that it reads in one pool.
        options.head_bytes = plan.limits.head + 2048
        var words = [CChar](repeating: 0, count: 300)
        let daemon = withPEM(certificate, key, clients) { certificate, key, clients in
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
        // From here on the callbacks hold it; `stop` lets go.
        _ = Unmanaged.passRetained(self)
        var threads = (0..<max(1, workers)).map { number in
            let heartbeat = watchdog.heartbeat("listener \(name), worker \(number)")
            return ThreadHandle(
                Thread.start("\(name) work \(number)") { [self] in
                    let translator = RequestTranslator(handler.translation)
                    queue.run { exchange in heartbeat.beat { answer(exchange, at: translator) } }
                })
        }
        threads.append(ThreadHandle(Thread.start("\(name) watch") { [self] in watch.run() }))
        let started = threads
        state.withLock {
            $0.daemon = daemon
            $0.socket = socket
            $0.threads = started
        }
    }

    /// Accepts no more connections, and no more requests on those that are open: they are told to come back.
    public func quiesce() {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing && state.daemon != nil
        }
        guard isFirst, let (daemon, socket) = state.withLock({ state in state.daemon.map { ($0, state.socket) } }) else { return }
        _ = cmicrohttpd_quiesce(daemon)
        socket?.shut()
    }

    /// Stops. Requests that were taken have so long to be answered by the sink; then they are told to come back, which keeps
    /// the promise: what was not answered 2xx may be sent again.
    public func stop(within patience: Duration) {
        quiesce()
        guard let daemon = state.withLock({ $0.daemon }) else { return }
        waitWhileActive(until: clock.now() + patience)
        for exchange in state.withLock({ Array($0.waiting.values) }) { finish(exchange, closingReply(exchange)) }
        waitWhileActive(until: clock.now() + HTTPListener.farewell)
        // A connection that is being resumed may not meet the end of its daemon.
        state.wait { !$0.waiting.isEmpty || $0.resuming > 0 }
        cmicrohttpd_stop(daemon)
        queue.end()
        watch.end()
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

    /// On a worker: what is to be answered to a whole request.
    private func answer(_ exchange: Exchange, at translator: RequestTranslator) {
        guard let service = exchange.service else { return }
        handler.work(exchange, service, at: translator) { [self] reply in finish(exchange, reply) }
    }

    /// Answers a suspended exchange; the first answer stands.
    func finish(_ exchange: Exchange, _ reply: Reply) {
        let connection: cmicrohttpd_connection? = state.withLock { state in
            guard state.waiting.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return nil }
            exchange.reply = reply
            state.resuming += 1
            return exchange.connection
        }
        guard let connection else { return }
        cmicrohttpd_resume(connection)
        state.withLock { $0.resuming -= 1 }
        if state.withLock({ $0.isClosing }) { state.wake() }
    }
}

/// What a listener has done so far.
public struct ListenerCounts: Sendable, Equatable {
    public var connections: Int
    /// Connections that were ended because their client was too slow.
    public var slowConnections: Int
    public var requests: Int
    /// Requests that wait for the sink.
    public var waiting: Int
    /// The bytes of all bodies that are held.
    public var memory: Int
}
