// IP addresses and networks, as `ip(s)` and `inside` read them: IPv4 in four decimal parts, and IPv6 as RFC 4291 writes it, without
// zones. An IPv4 address that is mapped into IPv6 equals the IPv4 address.

internal import Glibc

public struct IPAddress: Hashable, Comparable, Sendable {
    /// The upper eight bytes. An IPv4 address is stored as the IPv6 address into which it is mapped.
    let high: UInt64
    let low: UInt64

    var isV4: Bool { high == 0 && low >> 32 == 0xffff }

    init?(_ text: [UInt8]) {
        guard text.count <= 45, !text.contains(0) else { return nil }
        let word = text.map { CChar(bitPattern: $0) } + [0]
        var four = in_addr()
        if inet_pton(AF_INET, word, &four) == 1 {
            high = 0
            low = 0xffff << 32 | UInt64(UInt32(bigEndian: four.s_addr))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, word, &six) == 1 else { return nil }
        (high, low) = withUnsafeBytes(of: six) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    public static func < (a: IPAddress, b: IPAddress) -> Bool { (a.high, a.low) < (b.high, b.low) }

    var text: [UInt8] {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            if isV4 {
                var four = in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian)
                _ = inet_ntop(AF_INET, &four, buffer.baseAddress, 64)
            } else {
                var six = in6_addr()
                withUnsafeMutableBytes(of: &six) { bytes in
                    bytes.storeBytes(of: high.bigEndian, as: UInt64.self)
                    bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
                }
                _ = inet_ntop(AF_INET6, &six, buffer.baseAddress, 64)
            }
            return Array(String(cString: buffer.baseAddress!).utf8)
        }
    }

    var isLoopback: Bool { isInside("127.0.0.0/8") || high == 0 && low == 1 }
    /// True for the addresses of RFC 1918 and RFC 4193.
    var isPrivate: Bool { isInside("10.0.0.0/8") || isInside("172.16.0.0/12") || isInside("192.168.0.0/16") || high >> 57 == 0xfc >> 1 }
    var isLinkLocal: Bool { isInside("169.254.0.0/16") || high >> 54 == 0xfe80 >> 6 }

    private func isInside(_ network: StaticString) -> Bool {
        IPNetwork(Array(network.withUTF8Buffer { Array($0) }))?.contains(self) ?? false
    }
}

struct IPNetwork {
    private let address: IPAddress
    private let bits: Int

    /// Reads a network such as `10.0.0.0/8`. An address without a prefix length is the network of only this address.
    init?(_ text: [UInt8]) {
        let parts = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(Array(first)) else { return nil }
        self.address = address
        let most = address.isV4 ? 32 : 128
        var bits = most
        if parts.count == 2 {
            guard !parts[1].isEmpty, parts[1].count <= 3, parts[1].allSatisfy(isDigit) else { return nil }
            bits = parts[1].reduce(0) { $0 * 10 + Int($1 - 0x30) }
            guard bits <= most else { return nil }
        }
        self.bits = address.isV4 ? bits + 96 : bits
        assert((0...128).contains(self.bits), "a prefix is longer than an address")
    }

    func contains(_ other: IPAddress) -> Bool {
        // An IPv6 network contains no IPv4 address, even if its prefix covers the range into which IPv4 is mapped.
        guard other.isV4 == address.isV4 else { return false }
        let high: UInt64 = bits >= 64 ? .max : bits == 0 ? 0 : .max << UInt64(64 - bits)
        let low: UInt64 = bits <= 64 ? 0 : bits == 128 ? .max : .max << UInt64(128 - bits)
        return (other.high ^ address.high) & high == 0 && (other.low ^ address.low) & low == 0
    }
}
