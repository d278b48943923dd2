// Stream sockets: they listen at a network address or at a file, and connect to a file. A file is never open to more users than its mode
// says, not even for a moment. No other program inherits a socket.

internal import CPlatform
internal import Glibc

/// Why a socket cannot listen. The description says what the system said, and what to do where possible.
public enum ListenFault: Error, Equatable, CustomStringConvertible {
    /// The host is no numeric address. The text is the system's own message.
    case host(String)
    /// The system makes no socket.
    case socket(SystemFault)
    /// The address cannot be taken, or the file cannot get its mode.
    case address(SystemFault)
    case noUser(String)
    case noGroup(String)
    /// The file cannot be given to this owner.
    case owner(String, SystemFault)

    public var description: String {
        switch self {
        case .host(let message): message
        case .socket(let fault): "\(fault)"
        case .address(let fault): "\(fault)" + (fault.code == EADDRINUSE ? "; another process listens there" : "")
        case .noUser(let name): "there is no user \(printable(name))"
        case .noGroup(let name): "there is no group \(printable(name))"
        case .owner(let owner, let fault): "it cannot be given to \(printable(owner)): \(fault)"
        }
    }
}

public enum StreamSocket {
    /// What happens to a file that has the name of a new socket.
    public enum ExistingFile: Sendable {
        /// Any file is removed. This is for a name that only the caller uses.
        case removed
        /// A socket at which nobody listens is removed: a process that did not end cleanly left it. Anything else stays, and is a fault.
        case keptUnlessDead
    }

    /// The largest number of connections that wait until they are accepted, which the system allows.
    public static let mostWaiting = SOMAXCONN

    /// Returns a socket that listens at a network address. It does not block. The host must be numeric or `localhost`: any other name would
    /// need a lookup, and could resolve to any address. If the port is 0, the system chooses one.
    public static func listening(host: String, port: UInt16, waiting: Int32 = mostWaiting) throws(ListenFault) -> Descriptor {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host == "localhost" ? "127.0.0.1" : host, "\(port)", &hints, &found)
        guard status == 0, let found else { throw .host(String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(found) }
        let socket = try make(found.pointee.ai_family)
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(socket.number, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if found.pointee.ai_family == AF_INET6 { setsockopt(socket.number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        guard bind(socket.number, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, listen(socket.number, waiting) == 0 else {
            let fault = SystemFault()
            throw .address(fault)
        }
        return socket
    }

    /// Returns a socket that listens at a file. It does not block. `owner` is `user`, `user:group` or `:group`.
    public static func listening(
        at address: UnixAddress, mode: UInt32, owner: String? = nil, existing: ExistingFile, waiting: Int32 = mostWaiting
    ) throws(ListenFault) -> Descriptor {
        let socket = try make(AF_UNIX)
        // The file gets the mode of the socket, so other users have no access before the owner is set.
        fchmod(socket.number, 0o600)
        if existing == .removed { unlink(address.path) }
        var isBound = address.withPointer { bind(socket.number, $0, $1) } == 0
        var fault = SystemFault()
        if !isBound, fault.code == EADDRINUSE, try isDead(address) {
            unlink(address.path)
            isBound = address.withPointer { bind(socket.number, $0, $1) } == 0
            fault = SystemFault()
        }
        guard isBound else { throw .address(fault) }
        do throws(ListenFault) {
            if let owner { try give(address.path, to: owner) }
            guard chmod(address.path, mode_t(mode)) == 0, listen(socket.number, waiting) == 0 else {
                let fault = SystemFault()
                throw .address(fault)
            }
        } catch {
            unlink(address.path)
            throw error
        }
        return socket
    }

    /// Returns a socket that is connected to a file. It blocks.
    public static func connected(to address: UnixAddress) throws(SystemFault) -> Descriptor {
        let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { throw SystemFault() }
        let socket = Descriptor(owning: number)
        guard address.withPointer({ connect(number, $0, $1) }) == 0 else {
            let fault = SystemFault()
            throw fault
        }
        return socket
    }

    /// Returns the next connection of a listening socket, or nil if there is none. It does not block.
    public static func accept(from listener: Int32) -> Descriptor? {
        let number = cplatform_accept(listener)
        return number >= 0 ? Descriptor(owning: number) : nil
    }

    /// Returns the effective user of the process that connected to a socket file, as it was at that moment. It is nil for a connection
    /// that came over the network.
    public static func user(of connection: Int32) -> UInt32? {
        UInt32(exactly: cplatform_peer_user(connection))
    }

    /// Prepares a listening socket that another process opened, so that it does not block and no program inherits it. Returns false if the
    /// descriptor is not a listening stream socket.
    public static func adopt(_ descriptor: Int32) -> Bool {
        var listens: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0, listens != 0 else { return false }
        // `ioctl` is used because `fcntl` takes its arguments in a way that only C can pass them.
        var on: Int32 = 1
        _ = withUnsafeMutablePointer(to: &on) { ioctl(descriptor, UInt(FIONBIO), $0) }
        _ = ioctl(descriptor, UInt(FIOCLEX))
        return true
    }

    private static func make(_ family: Int32) throws(ListenFault) -> Descriptor {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let number = socket(family, kind, 0)
        guard number >= 0 else { throw .socket(SystemFault()) }
        return Descriptor(owning: number)
    }

    /// True if a socket at which nobody listens has the address.
    private static func isDead(_ address: UnixAddress) throws(ListenFault) -> Bool {
        var status = stat()
        guard lstat(address.path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
        let probe = try make(AF_UNIX)
        let isRefused = address.withPointer { connect(probe.number, $0, $1) } != 0
        return isRefused && errno == ECONNREFUSED
    }

    /// Changes the owner of the file.
    private static func give(_ path: String, to owner: String) throws(ListenFault) {
        let parts = owner.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var user = uid_t.max
        var group = gid_t.max
        if !parts[0].isEmpty {
            guard let entry = getpwnam(String(parts[0])) else { throw .noUser(String(parts[0])) }
            user = entry.pointee.pw_uid
        }
        if parts.count == 2, !parts[1].isEmpty {
            guard let entry = getgrnam(String(parts[1])) else { throw .noGroup(String(parts[1])) }
            group = entry.pointee.gr_gid
        }
        guard lchown(path, user, group) == 0 else { throw .owner(owner, SystemFault()) }
    }
}
