// The sockets at which listeners accept connections. A Unix socket is never open to more users than configured, not even for a moment.

internal import Glibc
internal import Plans
internal import Platform

/// The reason why a listener cannot start. The message names the listener and says what to do where possible.
public struct ListenerFault: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// A socket at which connections are accepted.
struct ListeningSocket: Sendable {
    let descriptor: Int32
    /// Its address, with the port that the system chose if the configured port is 0.
    let address: ListenAddress
    /// True if systemd opened the socket. Then systemd keeps listening there.
    let isInherited: Bool

    static func open(_ plan: HTTPSourcePlan, inherited: [ServiceManager.Inherited]) throws(ListenerFault) -> ListeningSocket {
        switch plan.listen {
        case .tcp(let host, let port): try tcp(host, port: port, address: plan.listen)
        case .unix(let path): try unix(path, mode: plan.mode, owner: plan.owner, plan.listen)
        case .inherited(let name): try take(name, of: inherited, plan.listen)
        }
    }

    /// Stops listening, so that nobody can connect any more. It does nothing if systemd owns the socket.
    func shut() {
        if isInherited { return }
        if case .unix(let path) = address { unlink(path) }
        shutdown(descriptor, Int32(SHUT_RD))
    }

    private static func take(_ name: String?, of inherited: [ServiceManager.Inherited], _ address: ListenAddress) throws(ListenerFault)
        -> ListeningSocket
    {
        let fitting = name.map { name in inherited.filter { $0.name == name } } ?? inherited
        guard let first = fitting.first else {
            throw ListenerFault("cannot listen at \(address): systemd has handed over no such socket; start it by its .socket unit")
        }
        guard fitting.count == 1 else {
            throw ListenerFault(
                "cannot listen at \(address): systemd has handed over \(fitting.count) such sockets; name one as systemd:NAME")
        }
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(first.descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens != 0 else {
            throw ListenerFault("cannot listen at \(address): what systemd has handed over is not a listening stream socket")
        }
        prepare(first.descriptor)
        return ListeningSocket(descriptor: first.descriptor, address: address, isInherited: true)
    }

    private static func prepare(_ descriptor: Int32) {
        // `ioctl` is used because `fcntl` takes its arguments in a way that only C can pass them.
        var on: Int32 = 1
        _ = withUnsafeMutablePointer(to: &on) { ioctl(descriptor, UInt(FIONBIO), $0) }
        _ = ioctl(descriptor, UInt(FIOCLEX))
    }

    private static func tcp(_ host: String, port: UInt16, address: ListenAddress) throws(ListenerFault) -> ListeningSocket {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host == "localhost" ? "127.0.0.1" : host, "\(port)", &hints, &found)
        guard status == 0, let found else {
            throw ListenerFault("cannot listen at \(address): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(found) }
        let descriptor = try stream(found.pointee.ai_family, address)
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if found.pointee.ai_family == AF_INET6 { setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, listen(descriptor, SOMAXCONN) == 0 else {
            throw failure(descriptor, address)
        }
        return ListeningSocket(descriptor: descriptor, address: .tcp(host: host, port: chosenPort(descriptor) ?? port), isInherited: false)
    }

    private static func chosenPort(_ descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            let status = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
            // The port is at the same offset in both address families.
            return status == 0
                ? pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) } : nil
        }
    }

    private static func unix(_ path: String, mode: UInt32, owner: String?, _ address: ListenAddress) throws(ListenerFault)
        -> ListeningSocket
    {
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix(107)) }
        let descriptor = try stream(AF_UNIX, address)
        // The file gets the mode of the socket, so other users have no access before the owner is set.
        fchmod(descriptor, 0o600)
        func attempt(_ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32, _ descriptor: Int32) -> Bool {
            withUnsafePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                }
            }
        }
        var isBound = attempt(bind, descriptor)
        if !isBound, errno == EADDRINUSE {
            // A socket where nobody listens was left behind by a process that did not end cleanly. Anything else must not be removed.
            var status = stat()
            let probe = try stream(AF_UNIX, address)
            defer { close(probe) }
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK, !attempt(connect, probe), errno == ECONNREFUSED {
                unlink(path)
                isBound = attempt(bind, descriptor)
            } else {
                errno = EADDRINUSE
            }
        }
        guard isBound else { throw failure(descriptor, address) }
        do throws(ListenerFault) {
            if let owner { try give(path, to: owner, address) }
        } catch {
            unlink(path)
            close(descriptor)
            throw error
        }
        guard chmod(path, mode_t(mode)) == 0, listen(descriptor, SOMAXCONN) == 0 else {
            let fault = failure(descriptor, address)
            unlink(path)
            throw fault
        }
        return ListeningSocket(descriptor: descriptor, address: address, isInherited: false)
    }

    /// Changes the owner of the file. `owner` is `user`, `user:group` or `:group`.
    private static func give(_ path: String, to owner: String, _ address: ListenAddress) throws(ListenerFault) {
        let parts = owner.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var user = uid_t.max
        var group = gid_t.max
        if !parts[0].isEmpty {
            guard let entry = getpwnam(String(parts[0])) else {
                throw ListenerFault("cannot listen at \(address): there is no user \(printable(String(parts[0])))")
            }
            user = entry.pointee.pw_uid
        }
        if parts.count == 2, !parts[1].isEmpty {
            guard let entry = getgrnam(String(parts[1])) else {
                throw ListenerFault("cannot listen at \(address): there is no group \(printable(String(parts[1])))")
            }
            group = entry.pointee.gr_gid
        }
        guard lchown(path, user, group) == 0 else {
            throw ListenerFault("cannot listen at \(address): it cannot be given to \(printable(owner)): \(SystemFault())")
        }
    }

    private static func stream(_ family: Int32, _ address: ListenAddress) throws(ListenerFault) -> Int32 {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, kind, 0)
        guard descriptor >= 0 else { throw ListenerFault("cannot listen at \(address): \(SystemFault())") }
        return descriptor
    }

    private static func failure(_ descriptor: Int32, _ address: ListenAddress) -> ListenerFault {
        let fault = SystemFault()
        close(descriptor)
        let way = fault.code == EADDRINUSE ? "; another process listens there" : ""
        return ListenerFault("cannot listen at \(address): \(fault)\(way)")
    }
}
