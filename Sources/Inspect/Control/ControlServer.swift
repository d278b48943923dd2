// Serves requests for a router: on its control socket, which is a Unix socket for its owner alone, or at an address. One thread serves all
// connections. Each client has a limited time to send its request and to read the answer, and the number of connections is limited, so that
// no client can block others for long. The thread never waits for a handler: an answer may come later, from any thread.

internal import Glibc
public import Platform

public final class ControlServer: Sendable {
    /// Handles a request. It calls `answer` exactly once, from any thread.
    public typealias Handler = @Sendable (Request, _ answer: @escaping @Sendable (Response) -> Void) -> Void

    /// What the thread of the server does from time to time. It must not wait.
    public struct Ticks: Sendable {
        var interval: Duration
        var run: @Sendable () -> Void

        public init(every interval: Duration, run: @escaping @Sendable () -> Void) {
            assert(interval > .zero, "the thread of a server would only tick")
            self.interval = interval
            self.run = run
        }
    }

    /// Refuses a request whose head has come, before its body is read. It gets the length of the body. It must not wait.
    public typealias Screen = @Sendable (_ head: Request, _ bodyBytes: Int) -> Response?

    private struct Answers {
        var ready: [(connection: Int, response: Response)] = []
        var isClosed = false
        var isOver = false
    }

    /// The path of the control socket. It is empty if the server listens at an address.
    public let path: String
    /// The port of the address. It is nil if the server listens at the control socket.
    public let port: UInt16?
    private let listener: Descriptor
    private let wakeUp: WakeUp
    private let answers = Monitor(Answers())
    private let clock: Clock
    private let timeout: Duration
    private let handler: Handler
    private let screen: Screen?
    private let ticks: Ticks?
    /// Returns the next connection of a listening socket, or nil if there is none or no descriptor for it.
    private let accept: @Sendable (Int32) -> Descriptor?

    static let mostConnections = 32
    /// The number of connections that may wait until they are accepted.
    private static let mostWaiting: Int32 = 64
    /// The pause after a connection could not be accepted. Without it, the thread would spin while the process has no descriptor.
    static let pause = Duration.milliseconds(100)

    /// Makes the socket in a folder that belongs to this process alone. A socket that an earlier router left there is replaced. The socket
    /// gets its name when it already takes connections, so a client that sees the name can connect. `timeout` is how long a client may
    /// take to send its request, and again to read the answer.
    public convenience init(
        folder: String, clock: Clock = .system, timeout: Duration = .seconds(5), handler: @escaping Handler
    ) throws(ControlFault) {
        try self.init(folder: folder, clock: clock, timeout: timeout, accept: { StreamSocket.accept(from: $0) }, handler: handler)
    }

    /// `accept` replaces the call of the system, for tests.
    init(
        folder: String, clock: Clock, timeout: Duration, accept: @escaping @Sendable (Int32) -> Descriptor?, handler: @escaping Handler
    ) throws(ControlFault) {
        wakeUp = try ControlServer.makeWakeUp()
        let place = try SocketPlace.address(in: folder, name: SocketPlace.unfinished)
        path = folder + "/" + SocketPlace.name
        port = nil
        listener = try ControlServer.socket(at: place, path)
        guard rename(place.path, path) == 0 else {
            let fault = SystemFault()
            unlink(place.path)
            throw ControlFault(.failed, "\(path): the control socket cannot be made: \(fault)")
        }
        self.clock = clock
        self.timeout = timeout
        self.accept = accept
        self.handler = handler
        screen = nil
        ticks = nil
    }

    /// Listens at an address. The host must be numeric or `localhost`. If the port is 0, the system chooses one.
    public init(
        host: String, port: UInt16, clock: Clock = .system, timeout: Duration = .seconds(5), ticks: Ticks? = nil, screen: Screen? = nil,
        handler: @escaping Handler
    ) throws(ControlFault) {
        wakeUp = try ControlServer.makeWakeUp()
        listener = try ControlServer.socket(host: host, port: port)
        path = ""
        self.port = StreamSocket.port(of: listener.number) ?? port
        self.clock = clock
        self.timeout = timeout
        accept = { StreamSocket.accept(from: $0) }
        self.handler = handler
        self.screen = screen
        self.ticks = ticks
    }

    /// `path` is the name that the socket gets when it takes connections.
    private static func socket(at place: UnixAddress, _ path: String) throws(ControlFault) -> Descriptor {
        do throws(ListenFault) {
            return try StreamSocket.listening(at: place, mode: 0o600, existing: .removed, waiting: mostWaiting)
        } catch {
            throw ControlFault(.failed, "\(path): the control socket cannot be made: \(error)")
        }
    }

    private static func socket(host: String, port: UInt16) throws(ControlFault) -> Descriptor {
        do throws(ListenFault) {
            return try StreamSocket.listening(host: host, port: port, waiting: mostWaiting)
        } catch {
            let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
            throw ControlFault(.failed, "cannot listen at \(name): \(error)")
        }
    }

    private static func makeWakeUp() throws(ControlFault) -> WakeUp {
        do throws(SystemFault) {
            return try WakeUp()
        } catch {
            throw ControlFault(.failed, "the control server cannot start: \(error)")
        }
    }

    public func start() { Thread.start("control") { self.run() }.detach() }

    /// Finishes sending the answers that exist, and removes the socket. It does not wait for other answers.
    public func close() {
        if !path.isEmpty { unlink(path) }
        answers.withLock { $0.isClosed = true }
        wakeUp.raise()
        answers.wait(while: { !$0.isOver })
    }

    private func answer(_ connection: Int, _ response: Response) {
        answers.withLock { $0.ready.append((connection, response)) }
        wakeUp.raise()
    }

    // MARK: - The thread

    private func run() {
        var connections: [Int: Connection] = [:]
        var last = 0
        /// The time before which no connection is accepted.
        var pausedUntil: Instant?
        var nextTick = ticks.map { clock.now() + $0.interval }
        while true {
            if let ticks, let due = nextTick, due <= clock.now() {
                ticks.run()
                nextTick = clock.now() + ticks.interval
            }
            if let end = pausedUntil, end <= clock.now() { pausedUntil = nil }
            var polled = [pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0)]
            let isFull = connections.count >= ControlServer.mostConnections
            polled.append(pollfd(fd: isFull || pausedUntil != nil ? -1 : listener.number, events: Int16(POLLIN), revents: 0))
            let order = connections.keys.sorted()
            for key in order { polled.append(connections[key]!.polled) }
            assert(connections.count <= ControlServer.mostConnections, "more connections are open than may be")
            let deadlines = connections.values.compactMap(\.deadline) + [pausedUntil, nextTick].compactMap(\.self)
            poll(&polled, nfds_t(polled.count), pollTimeout(deadlines.min()))

            wakeUp.lower()
            for (key, item) in zip(order, polled.dropFirst(2)) {
                if item.revents != 0 { step(connections[key]!, key) }
            }
            let (ready, isClosed) = answers.withLock { answers in
                defer { answers.ready = [] }
                return (answers.ready, answers.isClosed)
            }
            for (key, response) in ready { connections[key]?.answer(response, by: clock.now() + timeout) }
            for key in order {
                guard let connection = connections[key] else { continue }
                if let deadline = connection.deadline, deadline <= clock.now() { connection.isTimeUp(by: clock.now() + timeout) }
                if connection.isOver { connections[key] = nil }
            }
            if polled[1].revents != 0 {
                if let connection = accept(listener.number) {
                    last += 1
                    connections[last] = Connection(connection, screen, by: clock.now() + timeout)
                } else {
                    pausedUntil = clock.now() + ControlServer.pause
                }
            }
            guard isClosed, connections.values.allSatisfy({ !$0.isAnswering }) else { continue }
            answers.withLock { $0.isOver = true }
            answers.wake()
            return
        }
    }

    private func pollTimeout(_ deadline: Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = (deadline - clock.now()).nanoseconds
        return Int32(clamping: max(0, left / 1_000_000 + 1))
    }

    private func step(_ connection: Connection, _ key: Int) {
        guard let request = connection.step(by: clock.now() + timeout) else { return }
        handler(request) { [weak self] response in self?.answer(key, response) }
    }
}

/// One connection. Only the thread of the server uses it.
private final class Connection {
    private enum Phase {
        case asking(RequestReader)
        case waiting
        case answering([UInt8], sent: Int)
        /// The answer was sent. What the client still sends is read and dropped, as long as it is at most this much. Otherwise the connection
        /// would be reset, and the client could lose the answer.
        case dropping(Int)
        case over
    }

    private let descriptor: Descriptor
    /// The user who connected. It is nil for a connection over the network.
    private let user: UInt32?
    private var phase: Phase
    private(set) var deadline: Instant?
    /// True if the request was refused before it was read to its end.
    private var isRefused = false
    /// The most bytes of a refused request that are read and dropped.
    private static let mostDropped = 2 << 20

    init(_ descriptor: consuming Descriptor, _ screen: ControlServer.Screen?, by deadline: Instant) {
        phase = .asking(RequestReader(screen: screen))
        user = StreamSocket.user(of: descriptor.number)
        self.descriptor = descriptor
        self.deadline = deadline
    }

    var isOver: Bool { if case .over = phase { true } else { false } }
    var isAnswering: Bool { if case .answering = phase { true } else { false } }

    var polled: pollfd {
        switch phase {
        case .asking, .dropping: pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        case .answering: pollfd(fd: descriptor.number, events: Int16(POLLOUT), revents: 0)
        // This only notices that the client has left: poll reports a hang-up without being asked for it.
        case .waiting, .over: pollfd(fd: descriptor.number, events: 0, revents: 0)
        }
    }

    /// Continues a connection that is ready. Returns the request when it is complete, and nil otherwise.
    func step(by next: Instant) -> Request? {
        switch phase {
        case .asking(var reader):
            var bytes = [UInt8](repeating: 0, count: 16 << 10)
            let count = read(descriptor.number, &bytes, bytes.count)
            guard count > 0 else {
                if count == 0 || errno != EAGAIN && errno != EINTR { phase = .over }
                return nil
            }
            // Drop the other reference to the reader. Otherwise each piece of a body would copy all earlier pieces.
            phase = .waiting
            switch reader.read(bytes[..<count]) {
            case .more: phase = .asking(reader)
            case .refused(let response):
                isRefused = true
                answer(response, by: next)
            case .done(var request):
                request.user = user
                phase = .waiting
                deadline = nil
                return request
            }
        case .answering(let bytes, let sent):
            assert(sent < bytes.count, "an answer is sent again after its end")
            let count = bytes.withUnsafeBytes { send(descriptor.number, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL)) }
            if count < 0 {
                if errno != EAGAIN, errno != EINTR { phase = .over }
            } else if sent + count == bytes.count {
                shutdown(descriptor.number, Int32(SHUT_WR))
                phase = .dropping(isRefused ? Connection.mostDropped : 0)
                if !isRefused { drop() }
            } else {
                phase = .answering(bytes, sent: sent + count)
            }
        case .dropping: drop()
        case .waiting: phase = .over
        case .over: break
        }
        return nil
    }

    private func drop() {
        guard case .dropping(let left) = phase else { return }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = read(descriptor.number, &bytes, bytes.count)
        phase = count > 0 && count <= left ? .dropping(left - count) : .over
    }

    func answer(_ response: Response, by deadline: Instant) {
        if isOver { return }
        assert(!isAnswering, "a request was answered twice")
        phase = .answering(response.bytes, sent: 0)
        self.deadline = deadline
    }

    func isTimeUp(by next: Instant) {
        guard case .asking = phase else {
            phase = .over
            return
        }
        answer(.fault(408, "the request did not come in time"), by: next)
    }
}
