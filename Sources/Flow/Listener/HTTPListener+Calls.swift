// The callbacks of the daemon's thread: a connection began, a head was read, a piece of a body arrived, a reply was sent.

internal import CMicrohttpd
internal import Events
internal import Glibc
internal import Plans
internal import Platform

extension HTTPListener {
    static func calls(_ context: UnsafeMutableRawPointer) -> cmicrohttpd_calls {
        cmicrohttpd_calls(
            context: context,
            opened: { context, descriptor in
                let listener = HTTPListener.from(context)
                let peer = listener.watch.opened(descriptor, deadline: listener.pacing.head(from: listener.clock.now()))
                return Unmanaged.passRetained(peer).toOpaque()
            },
            closed: { context, peer in
                HTTPListener.from(context).watch.closed(Unmanaged<Peer>.fromOpaque(peer!).takeRetainedValue())
            },
            named: { context, uri in
                let listener = HTTPListener.from(context)
                return Unmanaged.passRetained(Exchange(uri: uri!, limits: listener.plan.limits)).toOpaque()
            },
            received: { context, peer, request, connection, isFirst, method, version, data, size in
                guard let request, let peer, let connection else { return 0 }
                let listener = HTTPListener.from(context)
                listener.heartbeat.begin()
                defer { listener.heartbeat.end() }
                let exchange = Unmanaged<Exchange>.fromOpaque(request).takeUnretainedValue()
                let peerObject = Unmanaged<Peer>.fromOpaque(peer).takeUnretainedValue()
                if isFirst != 0 {
                    exchange.connection = connection
                    return listener.begin(exchange, peer: peerObject, method: String(cString: method!), version: version!)
                        ? 1 : 0
                }
                let piece = UnsafeRawBufferPointer(start: data, count: size)
                return (size > 0 ? listener.take(piece, exchange: exchange, peer: peerObject) : listener.conclude(exchange, peerObject))
                    ? 1 : 0
            },
            ended: { context, peer, request in
                let listener = HTTPListener.from(context)
                let exchange = Unmanaged<Exchange>.fromOpaque(request!).takeRetainedValue()
                listener.end(exchange, peer.map { Unmanaged<Peer>.fromOpaque($0).takeUnretainedValue() })
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPListener {
        Unmanaged<HTTPListener>.fromOpaque(context!).takeUnretainedValue()
    }

    /// Handles the head of a request. Returns false if the connection must end.
    private func begin(_ exchange: Exchange, peer: Peer, method: String, version: UnsafePointer<CChar>) -> Bool {
        exchange.peer = peer
        exchange.start = clock.now()
        exchange.arrival = clock.wall()
        // This comes before the request is counted, so that the deadlines of the body hold for every request that is counted.
        watch.set(peer, pacing.body(start: exchange.start, received: 0, now: exchange.start))
        if plan.addsIP { exchange.ip = StreamSocket.peer(of: peer.descriptor) }
        let isClosing = state.withLock { state in
            state.active += 1
            state.requests += 1
            return state.isClosing
        }
        exchange.isCounted = true
        exchange.head = RequestHead(method: method, uri: exchange.uri, limits: plan.limits)
        let isStrict = withExtendedLifetime(exchange) {
            cmicrohttpd_headers(exchange.connection, version, Unmanaged.passUnretained(exchange).toOpaque()) {
                context, name, nameSize, value, valueSize in
                let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
                let name = UnsafeRawBufferPointer(start: name, count: nameSize)
                let value = UnsafeRawBufferPointer(start: value, count: valueSize)
                return exchange.head.add(name.bindMemory(to: UInt8.self), value.bindMemory(to: UInt8.self)) ? 1 : 0
            }
        }
        // The library puts one zero byte between the target and the version. A zero byte of the client would end the target before that.
        if isStrict == 0 || exchange.uriEnd + 1 != version { exchange.head.isBroken = true }
        var length: Int?
        do throws(Refusal) {
            length = try exchange.head.judge(version: String(cString: version), uriBytes: exchange.uri.utf8.count)
            if isClosing { throw .closing }
            try judge(exchange)
            if let length, length > plan.limits.body { throw .tooLarge("the body has more than \(plan.limits.body) bytes") }
        } catch {
            exchange.refusal = error
        }
        if exchange.refusal == nil && exchange.reply == nil { return true }
        // The answer is sent before the body is read if the client waits for it, or if the body is far too long or has no clear end.
        let waits = exchange.request.header("expect") != nil
        let isHuge = (length ?? 0) / HTTPListener.mostDiscarded > plan.limits.body
        guard exchange.head.mustClose || isHuge || (waits && length != 0) else { return true }
        return conclude(exchange, peer, closing: true)
    }

    /// Checks that the requested path exists and that the client may use it.
    private func judge(_ exchange: Exchange) throws(Refusal) {
        let request = exchange.request
        if plan.tls?.clients != nil, cmicrohttpd_is_trusted(exchange.connection) == 0 { throw .noCertificate }
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

    /// Answers the request if its answer is known, and passes it to a worker otherwise. Returns false if the connection must end.
    private func conclude(_ exchange: Exchange, _ peer: Peer, closing: Bool = false) -> Bool {
        if exchange.reply == nil, let refusal = exchange.refusal {
            log.note(refusal)
            exchange.reply = exchange.service?.answer(exchange.request, refused: refusal) ?? refusal.plainReply
        }
        if let reply = exchange.reply { return send(reply, exchange: exchange, peer: peer, closing: closing) }
        // No deadline of the client applies while the router works and the client waits.
        watch.set(peer, nil)
        exchange.deadline = clock.now() + plan.limits.answerWithin
        state.withLock { state in
            assert(state.waiting[ObjectIdentifier(exchange)] == nil, "a request waits twice for its answer")
            state.waiting[ObjectIdentifier(exchange)] = exchange
        }
        cmicrohttpd_suspend(exchange.connection)
        queue.add(exchange)
        return true
    }

    private func send(_ reply: Reply, exchange: Exchange, peer: Peer, closing: Bool) -> Bool {
        watch.set(peer, pacing.reply(from: clock.now()))
        var headers = reply.headers
        assert(headers.count % 2 == 0, "a header has no value")
        if exchange.request.method != "OPTIONS" { headers += origins.headers(for: exchange.request.header("origin")) }
        if closing || state.withLock({ $0.isClosing }) { headers += ["Connection", "close"] }
        let strings = headers.map { strdup($0) }
        defer { for string in strings { free(string) } }
        let pointers = strings.map { UnsafePointer<CChar>($0) }
        return reply.body.withUnsafeBytes {
            cmicrohttpd_reply(exchange.connection, UInt32(reply.status), $0.baseAddress, $0.count, pointers, pointers.count) != 0
        }
    }

    /// Cleans up after the reply was sent or the connection was lost.
    private func end(_ exchange: Exchange, _ peer: Peer?) {
        exchange.letGo(budget)
        if let peer { watch.set(peer, pacing.idle(from: clock.now()), isIdle: true) }
        guard exchange.isCounted else { return }
        tally.note(exchange.service?.name, exchange.reply?.status)
        let isLast = state.withLock { state in
            state.active -= 1
            assert(state.active >= 0, "a request ended twice")
            return state.isClosing
        }
        if isLast { state.wake() }
    }
}
