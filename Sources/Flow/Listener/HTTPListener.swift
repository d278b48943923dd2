// A listener: one address, one thread that handles HTTP, and workers that pass events to the sink. It answers 2xx only after the sink has
// confirmed that the events are kept. A client never costs more than the limits allow. A stop answers every request that was received in
// full. A listener never answers 500 and never redirects.

internal import Events
internal import Glibc
internal import HTTPServer
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
        var server: HTTPServer?
        var socket: ListeningSocket?
        var threads: [ThreadHandle] = []
        /// The exchanges that a worker or the sink has until they are answered.
        var waiting: [ObjectIdentifier: Exchange] = [:]
        /// The number of requests whose head was read and whose reply has not been sent yet.
        var active = 0
        /// True if new requests are refused.
        var isClosing = false
        /// The last time at which the lack of descriptors was said.
        var saidShortage: Instant?
        /// True if no request is passed to a worker any more.
        var isEnding = false
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
    let say: @Sendable (String) -> Void
    /// The heartbeat of the thread that handles HTTP.
    let heartbeat: Watchdog.Heartbeat
    private let watchdog: Watchdog
    let handler: RequestHandler
    /// The translator of the server's thread.
    let translator: RequestTranslator
    /// What the server's thread translates itself. Only this thread uses it.
    var ownShare = OwnShare()
    private let inherited: [ServiceManager.Inherited]
    /// The server, for its own thread: it is set before the thread starts, and unset after its end.
    private(set) var server: HTTPServer?

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
        self.say = say
        watch = ConnectionWatch(clock: clock, most: plan.limits.connections)
        pacing = Pacing(limits: plan.limits)
        budget = MemoryBudget(most: plan.limits.memory)
        keys = KeyRing(plan)
        origins = Origins(plan.origins)
        state = Monitor(State())
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
        translator = RequestTranslator(handler.translation)
    }

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
        assert(state.withLock { $0.server == nil && $0.threads.isEmpty }, "a listener was started twice")
        let pem = try credentials()
        let socket: ListeningSocket
        do throws(ListenerFault) {
            socket = try ListeningSocket.open(plan, inherited: inherited)
        } catch {
            throw ListenerFault("\(name): \(error)")
        }
        let server: HTTPServer
        do throws(ListenerFault) {
            server = try serve(socket, pem)
        } catch {
            socket.shut()
            close(socket.descriptor)
            throw error
        }
        self.server = server
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
            $0.server = server
            $0.socket = socket
            $0.threads = started
        }
        server.start("\(name) http")
    }

    private func serve(_ socket: ListeningSocket, _ pem: PEMTexts?) throws(ListenerFault) -> HTTPServer {
        var options = HTTPServer.Options(socket: socket.descriptor)
        options.connections = plan.limits.connections
        options.connectionsByAddress = plan.limits.connectionsByAddress
        // The limits of the plan count neither the blanks nor the ends of lines.
        options.headBytes = plan.limits.head + 2048
        options.headFields = plan.limits.headers
        options.clock = clock
        func fault(_ why: String) -> ListenerFault { ListenerFault("\(name): cannot serve at \(socket.address): \(why)") }
        do throws(TLSServer.Fault) {
            options.tls = try pem.map { (pem) throws(TLSServer.Fault) in
                try TLSServer(certificate: pem.certificate, key: pem.key, clients: pem.clients)
            }
        } catch { throw fault(printable(error.message)) }
        do throws(SystemFault) {
            return try HTTPServer(options, handler: ServerCalls(self), heartbeat: heartbeat)
        } catch { throw fault("\(error)") }
    }

    /// Accepts no more connections, and refuses new requests on open connections as `closing`.
    public func quiesce() {
        let isFirst = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing && state.server != nil
        }
        guard isFirst, let (server, socket) = state.withLock({ state in state.server.map { ($0, state.socket) } }) else { return }
        server.quiesce()
        socket?.shut()
    }

    /// Stops the listener. The sink has the time `timeout` to answer the accepted requests. Then the rest are refused as `closing`, which
    /// keeps the promise: a client may send again what was not answered with 2xx.
    public func stop(within timeout: Duration) {
        quiesce()
        guard let server = state.withLock({ $0.server }) else { return }
        waitWhileActive(until: clock.now() + timeout)
        let unanswered = state.withLock { state in
            state.isEnding = true
            return Array(state.waiting.values)
        }
        for exchange in unanswered { finish(exchange, closingReply(exchange)) }
        waitWhileActive(until: clock.now() + HTTPListener.farewell)
        server.stop()
        queue.end()
        watch.end()
        log.end()
        let (threads, socket) = state.withLock { state in
            defer {
                state.server = nil
                state.threads = []
            }
            return (state.threads, state.socket)
        }
        for thread in threads { thread.join() }
        self.server = nil
        if let socket { close(socket.descriptor) }
    }

    private func waitWhileActive(until deadline: Instant) {
        let clock = clock
        state.waitUntilReady { state -> Readiness<Void> in
            state.active == 0 || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    func closingReply(_ exchange: Exchange) -> Reply {
        exchange.service?.answer(exchange.request, refused: .closing) ?? Refusal.closing.plainReply
    }

    // MARK: - Answers

    /// Works on a whole request. It runs on a worker, or on the server's thread, which then offers the events to the sink.
    func answer(_ exchange: Exchange, at translator: RequestTranslator, offers: Bool = false) {
        guard let service = exchange.service else { return }
        handler.work(exchange, service, at: translator, offers: offers) { [self] reply in finish(exchange, reply) }
    }

    /// Answers an exchange that waits. Only the first answer counts.
    func finish(_ exchange: Exchange, _ reply: Reply) {
        let (server, connection): (HTTPServer?, HTTPConnection?) = state.withLock { state in
            guard state.waiting.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return (nil, nil) }
            exchange.reply = reply
            return (state.server, exchange.connection)
        }
        if let server, let connection { server.resume(connection) }
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
