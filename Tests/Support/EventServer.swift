// A server on loopback that accepts events like a router, or fails as the test says. It uses plain sockets and serves one connection at a
// time.

import Glibc
import Platform

public final class EventServer: Sendable {
    /// The reaction to a request.
    public enum Act: Sendable {
        /// Takes every event that the test does not reject, and answers with the result of each.
        case take
        /// Takes the events, and closes the connection without an answer.
        case takeSilently
        /// Takes nothing, and resets the connection.
        case reset
        /// Waits until the closure returns, and then takes the events and answers.
        case takeAfter(@Sendable () -> Void)
        case answer(String, headers: String = "", body: String = "")
    }

    public struct Request: Sendable {
        public var head: String
        public var lines: [String]
    }

    private struct State {
        var requests: [Request] = []
        var taken: [String] = []
        var open: Int32 = -1
        var isRunning = true
        var isClosed = false
    }

    public let port: Int
    public var url: String { "http://127.0.0.1:\(port)" }
    private let listener: Int32
    private let state = Monitor(State())
    private let rejects: @Sendable (String) -> String?

    /// `act` chooses the reaction to each request, counted from 0. `rejects` returns the reason why a line is not an event, or nil.
    public init(_ act: @escaping @Sendable (Int) -> Act = { _ in .take }, rejects: @escaping @Sendable (String) -> String? = { _ in nil }) {
        self.rejects = rejects
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = self.listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 128) == 0 && getsockname(listener, address, &size) == 0
            }
        }
        precondition(bound, "no port on loopback")
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.start("event server") { [self] in
            accept(act)
            state.withLock { $0.isRunning = false }
            state.wake()
        }.detach()
    }

    public var requests: [Request] { state.withLock { $0.requests } }
    /// Every event that was taken, in order, with repetitions.
    public var taken: [String] { state.withLock { $0.taken } }

    public func wait(requests count: Int) { state.wait(while: { $0.requests.count < count }) }

    public func close() {
        state.withLock { state in
            state.isClosed = true
            shutdown(listener, Int32(SHUT_RDWR))
            if state.open >= 0 { shutdown(state.open, Int32(SHUT_RDWR)) }
        }
        state.wait(while: { $0.isRunning })
        Glibc.close(listener)
    }

    private func accept(_ act: @Sendable (Int) -> Act) {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { return }
            let isClosed = state.withLock { state in
                state.open = connection
                return state.isClosed
            }
            if !isClosed { serve(connection, act) }
            state.withLock { state in
                state.open = -1
                Glibc.close(connection)
            }
        }
    }

    private func serve(_ connection: Int32, _ act: @Sendable (Int) -> Act) {
        var pending: [UInt8] = []
        while let request = next(connection, &pending) {
            let number = state.withLock { $0.requests.count }
            let act = act(number)
            // The request and its events are recorded together, so that a test that has waited for the request also finds its events.
            let answer = state.withLock { state -> String? in
                state.requests.append(request)
                switch act {
                case .take, .takeSilently: return take(request.lines, &state)
                case .reset, .takeAfter, .answer: return nil
                }
            }
            state.wake()
            switch act {
            case .take: if let answer { send(connection, answer) }
            case .takeSilently: return
            case .reset:
                var option: (on: Int32, seconds: Int32) = (1, 0)
                setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, 8)
                return
            case .takeAfter(let wait):
                wait()
                send(connection, state.withLock { take(request.lines, &$0) })
            case .answer(let status, let headers, let body):
                send(connection, "HTTP/1.1 \(status)\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
    }

    /// Takes the events and returns the answer.
    private func take(_ lines: [String], _ state: inout State) -> String {
        let faults = lines.map(rejects)
        state.taken += zip(lines, faults).filter { $0.1 == nil }.map(\.0)
        let results = faults.map { fault in
            fault.map { "{\"status\":\"rejected\",\"error\":\(jsonQuoted($0))}" } ?? "{\"status\":\"accepted\"}"
        }
        let rejected = faults.count { $0 != nil }
        let body =
            "{\"accepted\":\(lines.count - rejected),\"rejected\":\(rejected),\"results\":[\(results.joined(separator: ","))]}\n"
        let status = !lines.isEmpty && rejected == lines.count ? "400 Bad Request" : "200 OK"
        return "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func send(_ connection: Int32, _ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Reads the next request. Returns nil if the client has closed the connection.
    private func next(_ connection: Int32, _ pending: inout [UInt8]) -> Request? {
        let blank = Array("\r\n\r\n".utf8)
        var head: String?
        var length = 0
        while true {
            if head == nil, let at = pending.indices.first(where: { pending[$0...].starts(with: blank) }) {
                let text = String(decoding: pending[..<at], as: UTF8.self)
                pending.removeFirst(at + 4)
                let line = text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                length = line.flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) } ?? 0
                head = text
            }
            if let head, pending.count >= length {
                let body = String(decoding: pending[..<length], as: UTF8.self)
                pending.removeFirst(length)
                return Request(head: head, lines: body.split(separator: "\n").map(String.init))
            }
            var chunk = [UInt8](repeating: 0, count: 65_536)
            let count = recv(connection, &chunk, chunk.count, 0)
            guard count > 0 else { return nil }
            pending += chunk[..<count]
        }
    }
}
