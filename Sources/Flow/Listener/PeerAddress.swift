// The address of the client of a connection, for `context.ip`.

internal import Glibc

enum PeerAddress {
    /// Returns the numeric address, or nil if the peer has no network address. An IPv4 address in IPv6 form is returned as IPv4.
    static func of(_ descriptor: Int32) -> String? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = withUnsafeMutablePointer(to: &storage) { pointer in
            let status = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) }
            guard status == 0 else { return false }
            let family = Int32(pointer.pointee.ss_family)
            let raw = UnsafeMutableRawPointer(pointer)
            switch family {
            case AF_INET:
                return inet_ntop(family, raw + MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!, &text, socklen_t(text.count)) != nil
            case AF_INET6:
                return inet_ntop(family, raw + MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!, &text, socklen_t(text.count)) != nil
            default: return false
            }
        }
        guard isWritten else { return nil }
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let mapped = "::ffff:"
        guard address.utf8.starts(with: mapped.utf8), address.utf8.contains(UInt8(ascii: ".")) else { return address }
        return String(address.dropFirst(mapped.utf8.count))
    }
}
