// The network addresses of an open socket: its own port, and the address of its peer.

internal import Glibc

extension StreamSocket {
    /// Returns the port of a socket. It is nil if the socket has no network address.
    public static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        guard read(&storage, { getsockname(descriptor, $0, $1) }), [AF_INET, AF_INET6].contains(Int32(storage.ss_family)) else {
            return nil
        }
        // The port is at the same offset in both address families.
        return withUnsafeBytes(of: storage) {
            UInt16(bigEndian: $0.load(fromByteOffset: MemoryLayout<sockaddr_in>.offset(of: \.sin_port)!, as: UInt16.self))
        }
    }

    /// Returns the numeric address of the peer of a connection. It is nil if the peer has no network address. An IPv4 address in IPv6 form
    /// is returned as IPv4.
    public static func peer(of descriptor: Int32) -> String? {
        var storage = sockaddr_storage()
        guard read(&storage, { getpeername(descriptor, $0, $1) }) else { return nil }
        let family = Int32(storage.ss_family)
        let offset: Int
        switch family {
        case AF_INET: offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
        case AF_INET6: offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
        default: return nil
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = withUnsafeBytes(of: storage) {
            inet_ntop(family, $0.baseAddress! + offset, &text, socklen_t(text.count)) != nil
        }
        guard isWritten else { return nil }
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mapped = "::ffff:"
        guard address.utf8.starts(with: mapped.utf8), address.utf8.contains(UInt8(ascii: ".")) else { return address }
        return String(address.dropFirst(mapped.utf8.count))
    }

    private static func read(
        _ storage: inout sockaddr_storage, _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Bool {
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) == 0 }
        }
    }
}
