import Glibc
import Platform
import TestSupport
import Testing

@testable import HTTPServer

/// Answers each request with its body: at once, or when it is told to.
final class EchoHandler: HTTPHandler, @unchecked Sendable {
    struct State {
        var open = 0
        var began: [String] = []
        var held: [HTTPConnection] = []
        var ended = 0
        var shortages = 0
        var holds = false
        /// True if the requests that are held go on at the end of the round.
        var endsRounds = false
    }
    /// Set before the server starts.
    var server: HTTPServer!
    let state = Monitor(State())
    // Only the server's thread uses it.
    private var body: [UInt8] = []

    func opened(_ connection: HTTPConnection) { change { $0.open += 1 } }
    func closed(_ connection: HTTPConnection) { change { $0.open -= 1 } }
    func began(_ connection: HTTPConnection) -> Bool {
        body = []
        change { $0.began.append("\(connection.method) \(connection.target)") }
        return true
    }
    func received(_ connection: HTTPConnection, _ piece: UnsafeRawBufferPointer) -> Bool {
        body += piece
        return true
    }
    func completed(_ connection: HTTPConnection) {
        let holds = state.withLock { state in
            if state.holds { state.held.append(connection) }
            return state.holds
        }
        state.wake()
        if !holds { resumed(connection) }
    }
    func resumed(_ connection: HTTPConnection) {
        server.reply(to: connection, status: 200, headers: ["A", "b"], body: body, isLast: false)
    }
    func broke(_ connection: HTTPConnection, _ fault: FramingFault) {
        server.reply(to: connection, status: 400, headers: [], body: Array("broken".utf8), isLast: true)
    }
    func ended(_ connection: HTTPConnection, isLast: Bool) { change { $0.ended += 1 } }
    /// Goes on with the requests that were held until the end of the round.
    func roundEnded() {
        let waiting = state.withLock { state in
            defer { if state.endsRounds { state.held = [] } }
            return state.endsRounds ? state.held : []
        }
        for connection in waiting { server.resume(connection) }
    }
    func lacksDescriptors() { change { $0.shortages += 1 } }

    private func change(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
        state.wake()
    }
}

/// A client that reads until the other side ends.
final class RawClient {
    let descriptor: Int32

    init(_ path: UnixAddress) throws { descriptor = try StreamSocket.connected(to: path).release() }
    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    /// Reads the answer up to the end of this text, or all of it.
    func read(to end: String? = nil) -> String {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while end.map({ !String(decoding: all, as: UTF8.self).hasSuffix($0) }) ?? true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count <= 0 { break }
            all += piece[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }
}

/// Returns options without a socket.
func serving(_ change: (inout HTTPServer.Options) -> Void = { _ in }) -> HTTPServer.Options {
    var options = HTTPServer.Options(socket: -1)
    change(&options)
    return options
}

/// Runs the body with a server at a socket of its own.
func withServer(_ options: HTTPServer.Options = serving(), _ body: (EchoHandler, UnixAddress) throws -> Void) throws {
    var template = Array("/tmp/sy-http-XXXXXX".utf8CString)
    let folder = String(cString: mkdtemp(&template))
    let path = try UnixAddress(path: folder + "/s")
    defer {
        unlink(folder + "/s")
        rmdir(folder)
    }
    let socket = try StreamSocket.listening(at: path, mode: 0o600, owner: nil, existing: .keptUnlessDead)
    var options = options
    options.socket = socket.number
    let handler = EchoHandler()
    let server = try HTTPServer(options, handler: handler, heartbeat: Watchdog().heartbeat("test"))
    handler.server = server
    server.start("test")
    var fault: (any Error)?
    do { try body(handler, path) } catch { fault = error }
    server.stop()
    handler.server = nil
    #expect(handler.state.withLock { $0.open } == 0)
    if let fault { throw fault }
}

@Suite struct ServerTests {
    private static let get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

    @Test func `An answer has its status, the date, its length and its headers, and the connection stays open`() throws {
        try withServer(serving { $0.clock = ManualClock().clock }) { handler, path in
            let client = try RawClient(path)
            client.send("POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi")
            let head = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:16:40 GMT\r\nContent-Length: 2\r\nA: b\r\n\r\n"
            #expect(client.read(to: "hi") == head + "hi")
            client.send("HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(client.read(to: "\r\n\r\n").hasSuffix("Content-Length: 0\r\nA: b\r\nConnection: keep-alive\r\n\r\n"))
            client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(client.read().hasSuffix("Connection: close\r\n\r\n"))
            #expect(handler.state.withLock { $0.began } == ["POST /a?b", "HEAD /", "GET /"])
        }
    }

    @Test func `100 Continue is sent once, and not to a client that has not waited for it`() throws {
        try withServer { _, path in
            let client = try RawClient(path)
            let head = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
            client.send(head)
            #expect(client.read(to: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            client.send("hi")
            #expect(client.read().hasPrefix("HTTP/1.1 200"))
            let eager = try RawClient(path)
            eager.send(head + "hi")
            #expect(eager.read().hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func `A request in work is answered when it is resumed, and what stands behind it waits`() throws {
        try withServer { handler, path in
            handler.state.withLock { $0.holds = true }
            let client = try RawClient(path)
            client.send(ServerTests.get + ServerTests.get)
            handler.state.wait { $0.held.isEmpty }
            #expect(handler.state.withLock { $0.began.count } == 1)
            let held = handler.state.withLock { state in
                state.holds = false
                return state.held
            }
            for connection in held { handler.server.resume(connection) }
            handler.state.wait { $0.ended < 2 }
            #expect(handler.state.withLock { $0.began.count } == 2)
        }
    }

    @Test func `Requests that go on at the end of a round are answered, also those behind them`() throws {
        try withServer { handler, path in
            handler.state.withLock { ($0.holds, $0.endsRounds) = (true, true) }
            let client = try RawClient(path)
            for _ in 0..<3 {
                client.send(ServerTests.get + ServerTests.get + "GET /last HTTP/1.1\r\nHost: x\r\n\r\n")
                handler.state.wait { $0.began.last != "GET /last" }
                handler.state.wait { $0.ended < $0.began.count }
                handler.state.withLock { ($0.began, $0.ended) = ([], 0) }
            }
        }
    }

    @Test func `A request that is in work at a stop, and one that is resumed after it, do no harm`() throws {
        let handler = Holder()
        try withServer { echo, path in
            echo.state.withLock { $0.holds = true }
            let client = try RawClient(path)
            client.send(ServerTests.get)
            echo.state.wait { $0.held.isEmpty }
            handler.server = echo.server
            handler.connection = echo.state.withLock { $0.held[0] }
        }
        handler.server?.resume(try #require(handler.connection))
    }

    @Test func `A connection that waits for a request is ended to make room, and one with a request is not`() throws {
        let time = ManualClock()
        let options = serving {
            $0.connections = 2
            $0.clock = time.clock
        }
        try withServer(options) { handler, path in
            handler.state.withLock { $0.holds = true }
            let busy = try RawClient(path)
            busy.send(ServerTests.get)
            handler.state.wait { $0.held.isEmpty }
            let idle = try RawClient(path)
            handler.state.wait { $0.open < 2 }
            time.advance(.seconds(2))
            let next = try RawClient(path)
            #expect(idle.read() == "")
            next.send(ServerTests.get)
            handler.state.wait { $0.held.count < 2 }
            #expect(handler.state.withLock { $0.open } == 2)
        }
    }

    @Test func `A full table alone ends no connection`() throws {
        let time = ManualClock()
        let options = serving {
            $0.connections = 2
            $0.clock = time.clock
        }
        try withServer(options) { handler, path in
            let first = try RawClient(path)
            handler.state.wait { $0.open < 1 }
            time.advance(.seconds(5))
            let second = try RawClient(path)
            handler.state.wait { $0.open < 2 }
            for client in [first, second] {
                client.send(ServerTests.get)
                #expect(client.read(to: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    @Test func `Without a descriptor an idle connection is ended, and otherwise the next client learns why it is refused`() throws {
        let time = ManualClock()
        let shortage = Monitor(false)
        let options = serving {
            $0.clock = time.clock
            $0.accept = { socket in
                if shortage.withLock({ $0 }) {
                    errno = EMFILE
                    return -1
                }
                return StreamSocket.accept(from: socket)?.release() ?? -1
            }
        }
        try withServer(options) { handler, path in
            let idle = try RawClient(path)
            handler.state.wait { $0.open < 1 }
            time.advance(.seconds(2))
            shortage.withLock { $0 = true }
            let next = try RawClient(path)
            #expect(idle.read() == "")
            handler.state.wait { $0.shortages < 1 }
            shortage.withLock { $0 = false }
            time.advance(.seconds(1))
            next.send(ServerTests.get)
            #expect(next.read(to: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
        }
    }
}

/// Keeps a server and a connection beyond their end.
final class Holder: @unchecked Sendable {
    var server: HTTPServer?
    var connection: HTTPConnection?
}
