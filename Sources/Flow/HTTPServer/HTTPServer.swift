// A server for HTTP/1.1 at one socket, with one thread. It accepts connections, reads requests, and sends what its handler replies. A request
// may be in work for as long as the handler likes: its connection waits, is not read, and costs nothing meanwhile. What is not strictly HTTP
// is refused (see HeadParser, RequestFraming and ChunkDecoder). A small request costs one read and one write. It never spins.

internal import Glibc
public import Platform

public final class HTTPServer: @unchecked Sendable {
    public struct Options: Sendable {
        /// The listening socket. It does not block. The caller closes it after `stop`.
        public var socket: Int32
        public var connections = 10_000
        /// The most connections from one address. If it is 0, only `connections` limits them.
        public var connectionsByAddress = 0
        /// The most bytes and the most headers of a head.
        public var headBytes = 32_768
        public var headFields = 100
        public var tls: TLSServer?
        public var clock = Clock.system
        /// Accepts as `accept4` does. If it is nil, the system does.
        var accept: (@Sendable (Int32) -> Int32)?

        public init(socket: Int32) { self.socket = socket }
    }

    private struct Shared {
        var resumed: [HTTPConnection] = []
        /// True while the thread works. It looks for resumed connections before it waits, so nobody has to wake it for them.
        var isAwake = false
        var isQuiet = false
        var isEnding = false
    }

    /// The most reads of one connection, and the most accepted connections, before the others have their turn.
    private static let turn = 16
    private static let accepts = 64

    let options: Options
    let handler: any HTTPHandler
    private let heartbeat: Watchdog.Heartbeat
    private let poll: Poll
    private let wakeUp: WakeUp
    private let shared = Monitor(Shared())
    private var thread: Platform.Thread?

    // The state below belongs to the thread.
    private var connections = ConnectionTable()
    private var pool = BufferPool()
    private var dateText = DateText()
    /// Connections that have more bytes than one turn may use.
    private var again: [HTTPConnection] = []
    private var door: Door

    public init(_ options: Options, handler: any HTTPHandler, heartbeat: Watchdog.Heartbeat) throws(SystemFault) {
        self.options = options
        self.handler = handler
        self.heartbeat = heartbeat
        poll = try Poll()
        wakeUp = try WakeUp()
        door = Door(options)
        // Each raise is reported once, so the flag is never lowered.
        try poll.watch(wakeUp.descriptor, slot: Poll.wakeUp, .edge)
    }

    // MARK: - Any thread

    public func start(_ name: String) {
        thread = Platform.Thread.start(name) { [self] in run() }
    }

    /// Makes the server's thread call `resumed` for a connection whose request is in work. After `stop` it does nothing.
    public func resume(_ connection: HTTPConnection) {
        let isFirst = shared.withLock { shared in
            if shared.isEnding { return false }
            shared.resumed.append(connection)
            return !shared.isAwake && shared.resumed.count == 1
        }
        if isFirst { wakeUp.raise() }
    }

    /// Accepts no more connections.
    public func quiesce() {
        shared.withLock { $0.isQuiet = true }
        wakeUp.raise()
    }

    /// Ends every connection and the thread. A request that is still in work gets no answer.
    public func stop() {
        shared.withLock { $0.isEnding = true }
        wakeUp.raise()
        thread.take()?.join()
    }

    // MARK: - The handler, on the server's thread

    /// Replies to the request of a connection. `headers` has names and values alternately. `isLast` ends the connection after the reply.
    public func reply(to connection: HTTPConnection, status: Int, headers: [String], body: [UInt8], isLast: Bool) {
        connection.reply(status: status, headers: headers, body: body, date: dateText.at(options.clock.wall()), isLast: isLast)
    }

    // MARK: - The thread

    private func run() {
        blockPipeSignal()
        listen()
        var orders = Orders.none
        while orders != .end {
            let count = poll.wait(milliseconds: again.isEmpty && orders == .none ? milliseconds(until: door.opensAt) : 0)
            heartbeat.begin()
            shared.withLock { $0.isAwake = true }
            for index in 0..<count {
                let event = poll[index]
                switch event.slot {
                case Poll.wakeUp: break
                case Poll.listener: accept()
                default: handle(event)
                }
            }
            if !again.isEmpty { goOn() }
            if let time = door.opensAt, options.clock.now() >= time { listen() }
            orders = carryOutOrders()
            heartbeat.end()
        }
        connections.each { close($0) }
        poll.forget(options.socket)
    }

    private enum Orders {
        case none
        /// There are more, but other connections have their turn first.
        case more
        case end
    }

    /// Lets the handler end its round, and carries out what it and other threads have asked for. After `none`, the thread is woken for the
    /// next order.
    private func carryOutOrders() -> Orders {
        for _ in 0..<HTTPServer.turn {
            handler.roundEnded()
            let (resumed, isQuiet, isEnding) = shared.withLock { shared in
                if shared.resumed.isEmpty { shared.isAwake = false }
                defer { shared.resumed = [] }
                return (shared.resumed, shared.isQuiet, shared.isEnding)
            }
            if isQuiet || isEnding, !door.isShut {
                door.shut()
                poll.forget(options.socket)
            }
            for connection in resumed {
                assert(connection.phase == .waiting, "a request is resumed that is not in work")
                handler.resumed(connection)
                advance(connection)
            }
            if isEnding { return .end }
            if resumed.isEmpty { return .none }
        }
        return .more
    }

    private func goOn() {
        let connections = again
        again = []
        for connection in connections { advance(connection) }
    }

    private func handle(_ event: Poll.Event) {
        guard let connection = connections[Int(event.slot)], connection.serial == event.serial else { return }
        connection.note(isReadable: event.isReadable, hasHungUp: event.hasHungUp)
        advance(connection)
    }

    /// Works on a connection as far as its bytes and its socket allow.
    private func advance(_ connection: HTTPConnection) {
        var reads = 0
        while true {
            switch connection.phase {
            case .head, .body, .chunks, .draining:
                if connection.consume(handler) { continue }
                if connection.wantsToWrite, connection.flush() == .failed { return close(connection) }
                if reads == HTTPServer.turn { return again.append(connection) }
                reads += 1
                switch connection.fill(&pool) {
                case .bytes: connections.isBusy(connection)
                case .ended: return close(connection)
                case .blocked: return rest(connection)
                }
            case .waiting: return rest(connection)
            case .replying:
                switch connection.flush() {
                case .blocked: return rest(connection)
                case .failed: return close(connection)
                case .done:
                    connection.replySent()
                    handler.ended(connection, isLast: connection.closesAfterReply)
                    if connection.isIdle { connections.isIdle(connection, since: options.clock.now()) }
                }
            case .closed: return close(connection)
            }
        }
    }

    /// Leaves a connection until something happens to it.
    private func rest(_ connection: HTTPConnection) {
        connection.rest(&pool)
        guard connection.wantsToWrite, !connection.isToldOfWriting else { return }
        connection.isToldOfWriting = true
        do throws(SystemFault) {
            try watch(connection, .edgeWriting)
        } catch {
            // A change of what is watched needs no memory, so it fails only if the descriptor is wrong.
            preconditionFailure("an open connection cannot be watched: \(error)")
        }
    }

    private func watch(_ connection: HTTPConnection, _ mode: Poll.Mode) throws(SystemFault) {
        try poll.watch(connection.descriptor, slot: UInt32(connection.slot), serial: connection.serial, mode)
    }

    private func close(_ connection: HTTPConnection) {
        guard connections.remove(connection) else { return }
        assert(connection.phase != .waiting || shared.withLock { $0.isEnding }, "a connection ends whose request is in work")
        if connection.exchange != nil { handler.ended(connection, isLast: true) }
        handler.closed(connection)
        connection.close(&pool)
        if door.opensAt != nil { listen() }
    }

    // MARK: - Accepting

    /// Accepts again.
    private func listen() {
        guard door.open() else { return }
        do throws(SystemFault) { try poll.watch(options.socket, slot: Poll.listener, .level) } catch { pause(HTTPServer.pause) }
    }

    /// Accepts nothing for a time, or until a connection ends.
    private func pause(_ time: Duration) {
        poll.forget(options.socket)
        door.close(until: options.clock.now() + time)
    }

    /// The time after which the server tries again if the system had no descriptor, or if there were too many connections.
    private static let pause = Duration.milliseconds(100)

    private func accept() {
        for round in 0..<HTTPServer.accepts where door.isOpen {
            if connections.count >= options.connections {
                // Only the first round knows that a connection waits. If one more waits, the next turn is told.
                if round > 0 { return }
                if !endIdle() { return pause(HTTPServer.pause) }
            }
            switch door.acceptor.next() {
            case .connection(let descriptor):
                door.wasExhausted = false
                admit(descriptor)
            case .none: return
            case .exhausted:
                handler.lacksDescriptors()
                if endIdle() { continue }
                // The first time a client may wait for a moment. Then it learns why it is refused.
                if door.wasExhausted { refuseWaiting() }
                door.wasExhausted = true
                return pause(HTTPServer.pause)
            }
        }
    }

    private func refuseWaiting() {
        let text = options.tls == nil ? ReplyText.noDescriptor : []
        for _ in 0..<HTTPServer.accepts where !door.acceptor.refuse(text) { return }
    }

    /// Ends the connection that waits longest for a request. Returns false if none has waited long enough.
    private func endIdle() -> Bool {
        guard let connection = connections.longestIdle(at: options.clock.now()) else { return false }
        close(connection)
        return true
    }

    private func admit(_ descriptor: Int32) {
        let address = options.connectionsByAddress > 0 ? StreamSocket.peer(of: descriptor) : nil
        guard connections.count(of: address) < options.connectionsByAddress || address == nil,
            let transport = Transport.make(descriptor, options.tls)
        else {
            Glibc.close(descriptor)
            return
        }
        let limits = HeadParser.Limits(bytes: options.headBytes, fields: options.headFields)
        let connection = connections.add(now: options.clock.now(), address: address) { slot, serial in
            HTTPConnection(transport, slot: slot, serial: serial, address: address, limits: limits)
        }
        handler.opened(connection)
        do throws(SystemFault) { try watch(connection, .edge) } catch { close(connection) }
    }

    private func milliseconds(until time: Instant?) -> Int32 {
        guard let time else { return -1 }
        return Int32(clamping: max(0, (time - options.clock.now()).nanoseconds / 1_000_000) + 1)
    }

    /// The TLS library writes without a flag against the signal of a closed connection.
    private func blockPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(Int32(SIG_BLOCK), &signals, nil)
    }
}
