// A socket that listens at a network address. The host must be numeric or `localhost`. Any other name would need a lookup, and could
// resolve to any address.

internal import Glibc
internal import Platform

struct AddressSocket: ~Copyable {
    private let descriptor: Descriptor
    let port: UInt16

    init(host: String, port: UInt16) throws(ControlFault) {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host == "localhost" ? "127.0.0.1" : host, "\(port)", &hints, &found)
        guard status == 0, let found else {
            throw ControlFault(.failed, "cannot listen at \(name): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(found) }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let number = socket(found.pointee.ai_family, kind, 0)
        guard number >= 0 else { throw ControlFault(.failed, "cannot listen at \(name): \(SystemFault())") }
        let owned = Descriptor(owning: number)
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, size)
        if found.pointee.ai_family == AF_INET6 { setsockopt(number, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size) }
        guard bind(number, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, listen(number, 64) == 0 else {
            let fault = SystemFault()
            let way = fault.code == EADDRINUSE ? "; another process listens there" : ""
            throw ControlFault(.failed, "cannot listen at \(name): \(fault)\(way)")
        }
        self.port = AddressSocket.chosen(number) ?? port
        descriptor = owned
    }

    consuming func takeDescriptor() -> Descriptor { descriptor }

    private static func chosen(_ number: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            let status = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(number, $0, &size) }
            // The port is at the same offset in both families.
            return status == 0
                ? pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) } : nil
        }
    }
}
