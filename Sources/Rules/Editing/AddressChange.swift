// `ip`: keeps only the network part of an address. A value that is not an address is dropped.

internal import Events
internal import Glibc
internal import Redaction

final class AddressChange: Changing {
    private let v4: Int
    private let v6: Int

    init(v4: Int, v6: Int) {
        self.v4 = v4
        self.v6 = v6
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.base[0] == UInt8(ascii: "\""), (4...47).contains(value.count) else { return .drop }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 2)
        for index in 0..<(value.count - 2) { text[index] = CChar(bitPattern: value.base[1 + index]) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let family: Int32
        if inet_pton(AF_INET, text, &bytes) == 1 {
            family = AF_INET
            AddressChange.clear(&bytes, from: v4, to: 32)
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            family = AF_INET6
            // An IPv4 address that is written as an IPv6 address counts as IPv4.
            let isMapped = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xff && bytes[11] == 0xff
            AddressChange.clear(&bytes, from: isMapped ? 96 + v4 : v6, to: 128)
        } else {
            return .drop
        }
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return .drop }
        out.put(UInt8(ascii: "\""))
        for character in text.prefix(while: { $0 != 0 }) { out.put(UInt8(bitPattern: character)) }
        out.put(UInt8(ascii: "\""))
        return .put
    }

    private static func clear(_ bytes: inout [UInt8], from: Int, to: Int) {
        for bit in from..<max(from, to) { bytes[bit / 8] &= ~(0x80 >> UInt8(bit % 8)) }
    }
}
