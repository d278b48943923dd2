// A server on loopback with a behavior that the test defines, correct or faulty. It uses plain sockets and one thread per connection.

internal import Glibc
internal import PluginKit

public struct Request: Sendable {
    public var line: String
    /// The headers, with names in lower case.
    public var headers: [String: String]
    public var body: [UInt8]
    public var text: String { String(decoding: body, as: UTF8.self) }

    public init(line: String, headers: [String: String], body: [UInt8]) {
        self.line = line
        self.headers = headers
        self.body = body
    }
}

public final class Server: Sendable {
    public final class Connection: Sendable {
        /// The number of the connection, counted from 1 in the order of arrival.
        public let number: Int
        public let socket: Int32
        private let pending = Monitor<[UInt8]>([])

        fileprivate init(number: Int, socket: Int32) {
            self.number = number
            self.socket = socket
        }

        /// Reads the next whole request. Returns nil if the client has left.
        public func request() -> Request? {
            guard var request = head(), let body = body(of: request) else { return nil }
            request.body = body
            return request
        }

        /// Reads the body after a head. Returns nil if the client has left.
        public func body(of head: Request) -> [UInt8]? {
            let size = Int(head.headers["content-length"] ?? "0") ?? 0
            while pending.withLock({ $0.count }) < size { if !fill() { return nil } }
            return pending.withLock { bytes in
                defer { bytes.removeFirst(size) }
                return Array(bytes[..<size])
            }
        }

        /// Reads the head of the next request, and leaves its body unread. Returns nil if the client has left.
        public func head() -> Request? {
            let end = Array("\r\n\r\n".utf8)
            while true {
                let head: [UInt8]? = pending.withLock { bytes in
                    guard bytes.count >= 4 else { return nil }
                    guard let at = (0...bytes.count - 4).first(where: { Array(bytes[$0..<$0 + 4]) == end }) else { return nil }
                    defer { bytes.removeFirst(at + 4) }
                    return Array(bytes[..<at])
                }
                if let head {
                    let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
                    var headers: [String: String] = [:]
                    for line in lines.dropFirst() {
                        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                        headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
                    }
                    return Request(line: String(lines.first ?? ""), headers: headers, body: [])
                }
                if !fill() { return nil }
            }
        }

        private func fill() -> Bool {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return false }
            pending.withLock { $0 += chunk[..<count] }
            return true
        }

        /// Sends text. Returns false if the client has left.
        @discardableResult
        public func send(_ text: String) -> Bool {
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return false }
                bytes = bytes.dropFirst(count)
            }
            return true
        }

        public func answer(_ status: String, _ body: String = "", headers: String = "") {
            send("HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)")
        }

        /// Waits until the client leaves, or the time is up, and discards what it sends. Returns false if the client has left.
        @discardableResult
        public func linger(milliseconds: Int32 = -1) -> Bool {
            var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            while poll(&entry, 1, milliseconds) > 0 { if !fill() { return false } }
            return true
        }

        /// Reads nothing more until either side ends the connection.
        public func stall() {
            var entry = pollfd(fd: socket, events: 0, revents: 0)
            while poll(&entry, 1, -1) < 0, errno == EINTR {}
        }

        /// Makes the connection end with a reset.
        public func reset() {
            var option = Linger(on: 1, seconds: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<Linger>.size))
        }

        private struct Linger {
            var on: Int32
            var seconds: Int32
        }
    }

    private struct State {
        var requests: [Request] = []
        var open: [Int32: Connection] = [:]
        var connections = 0
        var running = 0
        var isClosed = false
    }

    public let port: Int
    private let listener: Int32
    private let state = Monitor(State())

    public var url: String { "http://127.0.0.1:\(port)/in" }
    public var requests: [Request] { state.withLock { $0.requests } }
    public var connections: Int { state.withLock { $0.connections } }

    /// Starts the server. `serve` owns the connection until it returns; then the connection is closed. `receiveBuffer` is the approximate
    /// number of bytes that the system accepts before the server reads them.
    public init(receiveBuffer: Int32? = nil, _ serve: @escaping @Sendable (Server, Connection) -> Void) {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = self.listener
        // Connections inherit this option.
        if var size = receiveBuffer { setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 128) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        precondition(bound, "no port on loopback")
        port = Int(UInt16(bigEndian: address.sin_port))
        state.withLock { $0.running = 1 }
        Thread.start("server") { [self] in
            accept(serve)
            leave()
        }.detach()
    }

    /// Makes a server that answers the requests in order and keeps connections.
    public static func answering(_ answer: @escaping @Sendable (Request, Connection) -> Void) -> Server {
        Server { server, connection in
            while let request = connection.request() {
                server.note(request)
                answer(request, connection)
            }
        }
    }

    public static func answering(_ status: String, _ body: String = "", headers: String = "") -> Server {
        answering { _, connection in connection.answer(status, body, headers: headers) }
    }

    public func note(_ request: Request) {
        state.withLock { $0.requests.append(request) }
        state.wake()
    }

    /// Waits until `count` requests have arrived.
    public func wait(requests count: Int) { state.wait(while: { $0.requests.count < count }) }

    private func accept(_ serve: @escaping @Sendable (Server, Connection) -> Void) {
        while true {
            let socket = Glibc.accept(listener, nil, nil)
            guard socket >= 0 else { return }
            let connection: Connection? = state.withLock { state in
                guard !state.isClosed else { return nil }
                state.connections += 1
                state.running += 1
                let connection = Connection(number: state.connections, socket: socket)
                state.open[socket] = connection
                return connection
            }
            guard let connection else {
                Glibc.close(socket)
                return
            }
            Thread.start("connection") { [self] in
                serve(self, connection)
                // Close under the lock. Otherwise `close` could shut down another connection with the same descriptor number.
                state.withLock { state in
                    state.open[socket] = nil
                    Glibc.close(socket)
                }
                leave()
            }.detach()
        }
    }

    private func leave() {
        state.withLock { $0.running -= 1 }
        state.wake()
    }

    /// Stops accepting connections.
    public func refuse() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Ends all connections and threads.
    public func close() {
        state.withLock { state in
            guard !state.isClosed else { return }
            state.isClosed = true
            shutdown(listener, Int32(SHUT_RDWR))
            for socket in state.open.keys { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        state.wait(while: { $0.running > 0 })
        Glibc.close(listener)
    }
}

/// Returns a port on which no program listens.
public func closedPort() -> Int {
    let server = Server { _, _ in }
    server.close()
    return server.port
}
