// HTTP/1.1 over TCP or a Unix socket, without a library: one connection, one request at a time. It never waits longer than `timeout` while
// the other side is silent, and it never reuses a connection that the other side has closed.

internal import CPlatform
internal import Glibc
internal import Platform

final class PlainTransport: Transport {
    private let target: Target
    private let head: String
    private let timeout: Duration
    private let clock: Clock
    private var connection: Int32 = -1

    /// `timeout` is how long the other side may be silent.
    init(_ target: Target, key: String?, timeout: Duration = .seconds(60), clock: Clock = .system) {
        self.target = target
        self.timeout = timeout
        self.clock = clock
        let lines = ["POST \(target.path) HTTP/1.1", "Host: \(target.host)"] + target.headers(key: key)
        head = lines.map { $0 + "\r\n" }.joined()
    }

    deinit { drop() }

    func post(_ body: UnsafeRawBufferPointer) throws(TransportFault) -> Answer {
        if connection >= 0, wait(for: POLLIN, until: clock.now()) { drop() }
        if connection < 0 { try connect() }
        do throws(TransportFault) {
            var cutOff: TransportFault?
            do throws(TransportFault) {
                let head = Array((head + "Content-Length: \(body.count)\r\n\r\n").utf8)
                try head.withUnsafeBufferPointer { (bytes) throws(TransportFault) in try write(UnsafeRawBufferPointer(bytes)) }
                try write(body)
            } catch {
                // The other side may refuse a request before it has all of it. Then its answer gives the reason.
                cutOff = error
            }
            guard let (answer, isKept) = try read(afterCut: cutOff != nil) else { throw cutOff ?? endedEarly }
            // Do not trust an answer that accepts events which were not sent.
            if let cutOff, (200..<300).contains(answer.status) { throw cutOff }
            if !isKept || cutOff != nil { drop() }
            return answer
        } catch {
            drop()
            throw error
        }
    }

    private var endedEarly: TransportFault { TransportFault("closed the connection without an answer") }

    private func drop() {
        if connection >= 0 { close(connection) }
        connection = -1
    }

    // MARK: - The connection

    private func connect() throws(TransportFault) {
        switch target.address {
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            precondition(path.utf8.count <= 107, "the path of a socket does not fit into its address")
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    open(AF_UNIX, address: $0, size: socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if code != 0 { throw TransportFault("cannot be reached: \(SystemFault(code: code))") }
        case .tcp(let host, let port): try connect(host, port)
        case .tls: preconditionFailure("TLS needs SecureTransport")
        }
    }

    private func connect(_ host: String, _ port: String) throws(TransportFault) {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, port, &hints, &list)
        guard status == 0 else { throw TransportFault("cannot be looked up: \(String(cString: gai_strerror(status)))") }
        defer { freeaddrinfo(list) }
        var code = ENOENT
        var next = list
        while let entry = next {
            code = open(entry.pointee.ai_family, address: entry.pointee.ai_addr, size: entry.pointee.ai_addrlen)
            if code == 0 { return }
            next = entry.pointee.ai_next
        }
        throw TransportFault("cannot be reached: \(SystemFault(code: code))")
    }

    /// Opens the connection. Returns 0 or the error number.
    private func open(_ family: Int32, address: UnsafePointer<sockaddr>, size: socklen_t) -> Int32 {
        assert(connection < 0, "a connection is opened while another one is open")
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        connection = socket(family, flags, 0)
        guard connection >= 0 else { return errno }
        var code: Int32 = 0
        if Glibc.connect(connection, address, size) != 0 { code = errno }
        if code == EINPROGRESS {
            var length = socklen_t(4)
            code = ETIMEDOUT
            if wait(for: POLLOUT, until: clock.now() + timeout) { getsockopt(connection, SOL_SOCKET, SO_ERROR, &code, &length) }
        }
        if code != 0 { drop() }
        return code
    }

    /// Returns true if the connection became ready in time.
    private func wait(for events: Int32, until deadline: Instant) -> Bool {
        while true {
            var ready = pollfd(fd: connection, events: Int16(events), revents: 0)
            let left = Int32(clamping: max(0, ((deadline - clock.now()).nanoseconds + 999_999) / 1_000_000))
            let count = poll(&ready, 1, left)
            if count > 0 { return true }
            if count == 0, left == 0 || clock.now() >= deadline { return false }
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(TransportFault) {
        var rest = bytes
        while !rest.isEmpty {
            let sent = send(connection, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if sent >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[sent...])
            } else if errno == EAGAIN {
                guard wait(for: POLLOUT, until: clock.now() + timeout) else { throw silent }
            } else if errno != EINTR {
                throw TransportFault("ended the connection: \(SystemFault())")
            }
        }
    }

    private var silent: TransportFault { TransportFault("did not answer for \(timeout.components.seconds) s") }

    // MARK: - The answer

    /// Reads the answer. Returns nil if the connection ended without one.
    private func read(afterCut: Bool) throws(TransportFault) -> (Answer, isKept: Bool)? {
        var reader = AnswerReader()
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = recv(connection, &chunk, chunk.count, 0)
            if count > 0 {
                if let answer = try reader.take(chunk[..<count]) { return (answer, reader.isKept) }
            } else if count == 0 {
                return try reader.end().map { ($0, false) }
            } else if errno == EAGAIN {
                guard wait(for: POLLIN, until: clock.now() + timeout) else { throw silent }
            } else if errno != EINTR {
                if afterCut { return nil }
                throw TransportFault("ended the connection: \(SystemFault())")
            }
        }
    }
}
