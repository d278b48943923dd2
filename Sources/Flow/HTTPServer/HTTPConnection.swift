// One connection: the bytes that have arrived, the state of its request, and the reply on its way. Only the server's thread uses it, except
// for `descriptor`. One request is in work at a time; the bytes behind it wait, and no more are read.

internal import Events
internal import Glibc
internal import Platform

public final class HTTPConnection: @unchecked Sendable {
    /// head → body or chunks → waiting → replying → head. A refusal goes to replying from anywhere before it, and then to draining. A lost
    /// connection is closed from anywhere but waiting.
    enum Phase: Equatable {
        case head
        case body(left: Int)
        case chunks
        /// The handler works on the request.
        case waiting
        case replying
        /// The last reply was sent. What the client still sends is discarded until it ends, since a reset could take the reply from it.
        case draining(left: Int)
        case closed
    }

    enum Filling { case bytes, blocked, ended }
    enum Flushing { case done, blocked, failed }

    /// The bytes that are discarded behind a last reply.
    private static let mostDrained = 16 << 20
    /// The memory that a connection keeps for its replies.
    private static let keptOutput = 4096

    public var descriptor: Int32 { transport.descriptor }
    /// Objects of the handler, for the connection and for its request.
    public var context: AnyObject?
    public var exchange: AnyObject?
    /// How the body of the request ends. It is known when the head was read.
    public private(set) var framing = RequestFraming()

    let slot: Int
    /// Tells the connection from an earlier one in the same slot.
    let serial: UInt32
    /// The client's address, if connections are counted by address.
    let address: String?
    private let transport: Transport
    private(set) var phase = Phase.head
    /// True if the socket may have bytes that were not read.
    var mayRead = false
    /// True if the client has ended the connection or its sending side.
    var hasHungUp = false
    /// True if it goes on when the socket can be written.
    private(set) var wantsToWrite = false
    /// True if the server is told when the socket can be written.
    var isToldOfWriting = false
    private(set) var closesAfterReply = false
    /// True if bytes behind the request were given up, so that no further request can be read.
    private var isCut = false
    /// The bytes of memory that the handler knows of.
    private var keptBytes = 0
    private var isComplete = false
    private var isHead = false

    private var input = InputBuffer()
    private var output = ByteBuffer()
    private var sent = 0
    private var parser: HeadParser
    private var chunks = ChunkDecoder()

    init(_ transport: Transport, slot: Int, serial: UInt32, address: String?, limits: HeadParser.Limits) {
        self.transport = transport
        self.slot = slot
        self.serial = serial
        self.address = address
        parser = HeadParser(limits)
    }

    /// True if no byte of a request has arrived.
    var isIdle: Bool { phase == .head && input.isEmpty }

    /// True if the client presented a certificate that the configured authorities verify.
    public var isTrusted: Bool { transport.isTrusted }

    // MARK: - The head, only during `HTTPHandler.began`

    public var method: String { String(decoding: input.waiting[parser.method], as: UTF8.self) }
    public var target: String { String(decoding: input.waiting[parser.target], as: UTF8.self) }

    /// Calls `visit` with each name and value until it returns false.
    public func eachField(_ visit: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool) {
        for field in parser.fields {
            let (name, value) = (input.waiting[field.name], input.waiting[field.value])
            if !visit(UnsafeBufferPointer(rebasing: name), UnsafeBufferPointer(rebasing: value)) { return }
        }
    }

    // MARK: - The request

    /// Works on the bytes that have arrived. Returns false if it needs more of them.
    func consume(_ handler: any HTTPHandler) -> Bool {
        do throws(FramingFault) {
            switch phase {
            case .head: return try consumeHead(handler)
            case .body(let left):
                guard !input.isEmpty else { return false }
                take(min(left, input.waiting.count), handler)
                guard case .body = phase else { return true }
                if phase == .body(left: 0) { complete(handler) }
                return true
            case .chunks: return try consumeChunks(handler)
            case .waiting, .replying, .draining, .closed: return false
            }
        } catch {
            handler.broke(self, error)
            assert(phase == .replying && closesAfterReply, "a broken request was not answered")
            return true
        }
    }

    private func consumeHead(_ handler: any HTTPHandler) throws(FramingFault) -> Bool {
        if input.isEmpty { return false }
        (isHead, isComplete) = (false, false)
        guard case .complete(let end) = try parser.parse(input.waiting) else { return false }
        isHead = input.waiting[parser.method].elementsEqual("HEAD".utf8)
        framing = try RequestFraming(parser, input.waiting)
        let isWanted = handler.began(self)
        input.pass(end)
        parser.reset()
        guard isWanted else {
            assert(phase == .replying && closesAfterReply, "a request whose body is not read has no last reply")
            return true
        }
        switch framing.body {
        case .length(0): complete(handler)
        case .length(let count): phase = .body(left: count)
        case .chunked:
            phase = .chunks
            chunks = ChunkDecoder()
        }
        if framing.expectsContinue, phase != .waiting { sayContinue() }
        return true
    }

    private func consumeChunks(_ handler: any HTTPHandler) throws(FramingFault) -> Bool {
        var at = 0
        let step = try chunks.next(input.waiting, at: &at)
        input.pass(at)
        switch step {
        case .incomplete: return false
        case .piece(let count): take(count, handler)
        case .end: complete(handler)
        }
        return true
    }

    private func take(_ count: Int, _ handler: any HTTPHandler) {
        if case .body(let left) = phase { phase = .body(left: left - count) }
        let goesOn = handler.received(self, UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(input.waiting)[..<count]))
        input.pass(count)
        if !goesOn { phase = .closed }
    }

    private func complete(_ handler: any HTTPHandler) {
        isComplete = true
        phase = .waiting
        handler.completed(self)
    }

    /// A client that has sent the body without waiting needs no answer in between.
    private func sayContinue() {
        guard input.isEmpty else { return }
        output.append("HTTP/1.1 100 Continue\r\n\r\n")
        _ = flush()
    }

    // MARK: - The reply

    /// Writes the reply to the request. `headers` has names and values alternately. `isLast` ends the connection after the reply.
    func reply(status: Int, headers: [String], body: [UInt8], date: String, isLast: Bool) {
        assert(phase != .replying && phase != .closed, "a request is answered twice")
        assert(headers.count % 2 == 0, "a header has no value")
        closesAfterReply = isLast || isCut || !framing.keepsAlive
        output.append("HTTP/1.1 ")
        output.append(ReplyText.line(status))
        output.appendHeader("Date", date)
        if status != 204 { output.appendHeader("Content-Length", String(body.count)) }
        for index in stride(from: 0, to: headers.count, by: 2) { output.appendHeader(headers[index], headers[index + 1]) }
        if closesAfterReply {
            output.appendHeader("Connection", "close")
        } else if parser.minorVersion == 0 {
            output.appendHeader("Connection", "keep-alive")
        }
        output.append("\r\n\r\n")
        if !isHead, status != 204 { body.withUnsafeBytes { output.append(contentsOf: $0) } }
        phase = .replying
    }

    /// Sends what is on its way.
    func flush() -> Flushing {
        while sent < output.count {
            switch transport.write(UnsafeBufferPointer(start: output.base + sent, count: output.count - sent)) {
            case .bytes(let count): sent += count
            case .blocked:
                wantsToWrite = false
                return .blocked
            case .blockedWriting:
                wantsToWrite = true
                return .blocked
            case .ended: return .failed
            }
        }
        wantsToWrite = false
        // One long reply must not keep its memory.
        if output.capacity > HTTPConnection.keptOutput { output = ByteBuffer() } else { output.removeAll() }
        sent = 0
        return .done
    }

    /// Goes on after a reply was sent: to the next request, or to the end.
    func replySent() {
        assert(phase == .replying, "a reply was sent twice")
        framing = RequestFraming()
        guard closesAfterReply else {
            phase = .head
            return
        }
        // A socket that is closed with unread bytes is reset.
        if isComplete, input.isEmpty, !mayRead || transport.isEncrypted {
            phase = .closed
            return
        }
        transport.endSending()
        phase = .draining(left: HTTPConnection.mostDrained)
    }

    // MARK: - The socket

    /// Reads what the socket has, as far as it fits.
    func fill(_ pool: inout BufferPool) -> Filling {
        guard mayRead else { return .blocked }
        if case .draining(let left) = phase { return drain(left, &pool) }
        let room = input.makeRoom(&pool)
        switch transport.read(into: room) {
        case .bytes(let count):
            input.arrived(count)
            // A short read has emptied the socket, unless an end follows. With TLS only the library knows.
            if !transport.isEncrypted, count < room.count, !hasHungUp { mayRead = false }
            return .bytes
        case .blocked:
            mayRead = false
            return .blocked
        case .blockedWriting:
            (mayRead, wantsToWrite) = (false, true)
            return .blocked
        case .ended: return .ended
        }
    }

    private func drain(_ left: Int, _ pool: inout BufferPool) -> Filling {
        input.discard(&pool)
        switch transport.readRest(into: input.makeRoom(&pool)) {
        case .bytes(let count):
            guard left > count else { return .ended }
            phase = .draining(left: left - count)
            return .bytes
        case .blocked, .blockedWriting:
            mayRead = false
            return .blocked
        case .ended: return .ended
        }
    }

    /// Notes what has happened to the socket.
    func note(isReadable: Bool, hasHungUp: Bool) {
        // The handshake of TLS may wait for either, whatever the server is told.
        if isReadable || hasHungUp || transport.isEncrypted { mayRead = true }
        if hasHungUp { self.hasHungUp = true }
    }

    /// Gives back the memory that it does not need while it waits, and tells the handler of the rest. If there is no memory for that, what has
    /// arrived is given up. Returns false if the connection has something to do because of that.
    func rest(_ pool: inout BufferPool, _ handler: any HTTPHandler) -> Bool {
        input.rest(&pool)
        if tell(handler) { return true }
        input.discard(&pool)
        let isTold = tell(handler)
        assert(isTold, "memory is not given back")
        isCut = true
        switch phase {
        case .head, .body, .chunks:
            handler.broke(self, .noMemory)
            assert(phase == .replying && closesAfterReply, "a request without memory was not answered")
            return false
        case .replying:
            closesAfterReply = true
            return true
        case .waiting, .draining, .closed: return true
        }
    }

    /// Tells the handler how much memory the connection keeps. Returns false if there is not so much.
    private func tell(_ handler: any HTTPHandler) -> Bool {
        let bytes = input.heldBytes
        if bytes == keptBytes { return true }
        guard handler.keeps(bytes: bytes, insteadOf: keptBytes) else { return false }
        keptBytes = bytes
        return true
    }

    /// Ends the connection for good.
    func close(_ pool: inout BufferPool, _ handler: any HTTPHandler) {
        phase = .closed
        input.discard(&pool)
        _ = tell(handler)
        transport.close()
    }
}
