// What the server's thread asks of a listener: a connection began, a head was read, a piece of a body arrived, a reply was sent.

internal import Events
internal import Glibc
internal import HTTPServer
internal import Ingest
internal import Plans
internal import Platform

/// Passes the calls of the server to the listener, and keeps the listener until the server has stopped.
final class ServerCalls: HTTPHandler {
    private let listener: HTTPListener
    init(_ listener: HTTPListener) { self.listener = listener }

    func opened(_ connection: HTTPConnection) { listener.opened(connection) }
    func closed(_ connection: HTTPConnection) { listener.closed(connection) }
    func began(_ connection: HTTPConnection) -> Bool { listener.began(connection) }
    func received(_ connection: HTTPConnection, _ piece: UnsafeRawBufferPointer) -> Bool { listener.received(connection, piece) }
    func completed(_ connection: HTTPConnection) { listener.completed(connection) }
    func resumed(_ connection: HTTPConnection) { listener.resumed(connection) }
    func broke(_ connection: HTTPConnection, _ fault: FramingFault) { listener.broke(connection, fault) }
    func ended(_ connection: HTTPConnection, isLast: Bool) { listener.ended(connection, isLast: isLast) }
    func roundEnded() { listener.roundEnded() }
    func lacksDescriptors() { listener.lacksDescriptors() }
}

extension HTTPListener {
    func opened(_ connection: HTTPConnection) {
        connection.context = watch.opened(connection.descriptor, deadline: pacing.head(from: clock.now()))
    }

    func closed(_ connection: HTTPConnection) {
        watch.closed(HTTPListener.peer(connection))
        connection.context = nil
    }

    func began(_ connection: HTTPConnection) -> Bool {
        let exchange = Exchange(uri: connection.target, limits: plan.limits)
        exchange.head = RequestHead(method: connection.method, uri: exchange.uri, limits: plan.limits)
        connection.eachField { exchange.head.add($0, $1) }
        return begin(exchange, connection)
    }

    func received(_ connection: HTTPConnection, _ piece: UnsafeRawBufferPointer) -> Bool {
        take(piece, exchange: HTTPListener.exchange(connection), peer: HTTPListener.peer(connection))
    }

    func completed(_ connection: HTTPConnection) { conclude(HTTPListener.exchange(connection)) }

    func resumed(_ connection: HTTPConnection) { conclude(HTTPListener.exchange(connection)) }

    func broke(_ connection: HTTPConnection, _ fault: FramingFault) {
        let exchange = connection.exchange as? Exchange ?? start(Exchange(uri: "", limits: plan.limits), connection)
        if exchange.refusal == nil, exchange.reply == nil {
            exchange.refusal =
                switch fault {
                case .malformed(let why): .malformed(why)
                case .longTarget: .longURL(most: plan.limits.url)
                case .largeHead: .largeHead("the headers have more than \(plan.limits.head) bytes")
                case .manyFields: .largeHead("more than \(plan.limits.headers) headers")
                }
        }
        exchange.letGo(budget)
        conclude(exchange, closing: true)
    }

    func lacksDescriptors() {
        let now = clock.now()
        let isDue = state.withLock { state in
            if let last = state.saidShortage, now - last < RefusalLog.interval { return false }
            state.saidShortage = now
            return true
        }
        guard isDue else { return }
        say(
            "\(name): no descriptor is left for a new client, so clients wait or are refused; "
                + "raise the hard limit (ulimit -Hn, LimitNOFILE= of systemd) or lower limits.connections")
    }

    private static func peer(_ connection: HTTPConnection) -> Peer {
        guard let peer = connection.context as? Peer else { preconditionFailure("a connection is not watched") }
        return peer
    }

    private static func exchange(_ connection: HTTPConnection) -> Exchange {
        guard let exchange = connection.exchange as? Exchange else { preconditionFailure("a connection has no request") }
        return exchange
    }

    // MARK: - A request

    /// Attaches a request to its connection and counts it.
    @discardableResult private func start(_ exchange: Exchange, _ connection: HTTPConnection) -> Exchange {
        let peer = HTTPListener.peer(connection)
        assert(connection.exchange == nil, "a connection has two requests")
        connection.exchange = exchange
        exchange.connection = connection
        exchange.peer = peer
        exchange.start = clock.now()
        exchange.arrival = clock.wall()
        // This comes before the request is counted, so that the deadlines of the body hold for every request that is counted.
        watch.set(peer, pacing.body(start: exchange.start, received: 0, now: exchange.start))
        if plan.addsIP { exchange.ip = StreamSocket.peer(of: peer.descriptor) }
        state.withLock { state in
            state.active += 1
            state.requests += 1
            exchange.isLate = state.isClosing
        }
        return exchange
    }

    /// Handles the head of a request. Returns true if the body is wanted.
    private func begin(_ exchange: Exchange, _ connection: HTTPConnection) -> Bool {
        start(exchange, connection)
        var length: Int?
        if case .length(let count) = connection.framing.body { length = count }
        do throws(Refusal) {
            try exchange.head.judge()
            if exchange.isLate { throw .closing }
            try judge(exchange)
            if let length, length > plan.limits.body { throw .tooLarge("the body has more than \(plan.limits.body) bytes") }
        } catch {
            exchange.refusal = error
        }
        if exchange.refusal == nil && exchange.reply == nil { return true }
        // The answer is sent before the body is read if the client waits for it, or if the body is far too long.
        let waits = exchange.request.header("expect") != nil
        let isHuge = (length ?? 0) / HTTPListener.mostDiscarded > plan.limits.body
        guard exchange.head.mustClose || isHuge || (waits && length != 0) else { return true }
        conclude(exchange, closing: true)
        return false
    }

    /// Checks that the requested path exists and that the client may use it.
    private func judge(_ exchange: Exchange) throws(Refusal) {
        let request = exchange.request
        if plan.tls?.clients != nil, exchange.connection?.isTrusted != true { throw .noCertificate }
        let methods = ["OPTIONS", "POST"]
        guard let service = endpoints[request.path] else {
            guard request.method == "OPTIONS", request.path == "*" else { throw .notFound(paths: log.paths) }
            exchange.reply = Reply(status: 204, headers: [("Allow", methods.joined(separator: ", "))])
            return
        }
        exchange.service = service
        switch request.method {
        case "POST": break
        // Browsers send no key with a preflight.
        case "OPTIONS":
            exchange.reply = origins.reply(to: request, methods: methods)
            return
        default: throw .wrongMethod(allowed: methods)
        }
        // A browser sends text/plain to any address without a question, so every page could write to a router on the same machine.
        if plan.keys.isEmpty, plan.listen.isLocal, let origin = request.header("origin"), !origins.allows(origin) { throw .otherOrigin }
        if let key = service.key(of: request) {
            exchange.key = try keys.judge(key, dialect: service.name)
        } else if !service.hasKeyInBody {
            try keys.judge(nil, dialect: service.name)
        }
        if let expect = request.header("expect"), expect.lowercased() != "100-continue" {
            throw .malformed("expected Expect: 100-continue")
        }
        if let coding = request.header("content-encoding") { _ = try ContentCoding.parse(coding, most: plan.limits.codings) }
    }

    /// Takes a piece of the body. Returns false if the connection must end.
    private func take(_ piece: UnsafeRawBufferPointer, exchange: Exchange, peer: Peer) -> Bool {
        exchange.received += piece.count
        watch.set(peer, pacing.body(start: exchange.start, received: exchange.received, now: clock.now()))
        if exchange.refusal == nil, exchange.reply == nil {
            if exchange.received > plan.limits.body {
                exchange.refusal = .tooLarge("the body has more than \(plan.limits.body) bytes")
            } else if !exchange.append(piece, budget: budget) {
                exchange.refusal = .overloaded(retryAfter: RequestHandler.pause)
            } else {
                return true
            }
            exchange.letGo(budget)
        }
        return exchange.received / HTTPListener.mostDiscarded <= plan.limits.body
    }

    /// Answers the request if its answer is known, and passes it to a worker otherwise. `closing` ends the connection after the answer.
    private func conclude(_ exchange: Exchange, closing: Bool = false) {
        if exchange.reply == nil, let refusal = exchange.refusal {
            log.note(refusal)
            exchange.reply = exchange.service?.answer(exchange.request, refused: refusal) ?? refusal.plainReply
        }
        // A request that was passed on belongs to the worker, which may have answered it already.
        if exchange.reply == nil, passOn(exchange) { return }
        let reply = exchange.reply ?? closingReply(exchange)
        exchange.reply = reply
        send(reply, exchange: exchange, closing: closing)
    }

    /// Lets the sink judge what was submitted in this round.
    func roundEnded() {
        ownShare.roundEnded()
        handler.sink.judgeOffers()
    }

    /// Works on a whole request if it is small, or passes it to a worker. Returns false if the listener ends and nobody would answer it.
    private func passOn(_ exchange: Exchange) -> Bool {
        // No deadline of the client applies while the router works and the client waits.
        if let peer = exchange.peer { watch.set(peer, nil) }
        exchange.deadline = clock.now() + plan.limits.answerWithin
        let isTaken = state.withLock { state in
            if state.isEnding { return false }
            assert(state.waiting[ObjectIdentifier(exchange)] == nil, "a request waits twice for its answer")
            state.waiting[ObjectIdentifier(exchange)] = exchange
            return true
        }
        guard isTaken else { return false }
        if ownShare.takes(bodyBytes: exchange.body.count, isCompressed: exchange.request.header("content-encoding") != nil) {
            answer(exchange, at: translator, offers: true)
        } else {
            queue.add(exchange)
        }
        return true
    }

    private func send(_ reply: Reply, exchange: Exchange, closing: Bool) {
        guard let connection = exchange.connection, let server else { preconditionFailure("a request has no connection") }
        if let peer = exchange.peer { watch.set(peer, pacing.reply(from: clock.now())) }
        assert(reply.headers.count % 2 == 0, "a header has no value")
        var headers = reply.headers
        if exchange.request.method != "OPTIONS" { headers += origins.headers(for: exchange.request.header("origin")) }
        let isLast = closing || state.withLock { $0.isClosing }
        server.reply(to: connection, status: reply.status, headers: headers, body: reply.body, isLast: isLast)
    }

    /// Cleans up after the reply was sent or the connection was lost.
    func ended(_ connection: HTTPConnection, isLast: Bool) {
        let exchange = HTTPListener.exchange(connection)
        connection.exchange = nil
        exchange.connection = nil
        exchange.letGo(budget)
        // After a last reply the client has a moment to read it and to end the connection.
        let now = clock.now()
        watch.set(HTTPListener.peer(connection), isLast ? pacing.head(from: now) : pacing.idle(from: now), isIdle: true)
        tally.note(exchange.service?.name, exchange.reply?.status)
        let isClosing = state.withLock { state in
            state.waiting[ObjectIdentifier(exchange)] = nil
            state.active -= 1
            assert(state.active >= 0, "a request ended twice")
            return state.isClosing
        }
        if isClosing { state.wake() }
    }
}
