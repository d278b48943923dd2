// A URL of http or https. Its path and query may contain secrets, so only the origin is shown to people.
//
// It is parsed without libcurl, which is not loaded when the settings are checked. What parsers read differently is refused: hosts with
// percent signs, numbers that are no IPv4 address, paths with "." and "..". Before a client uses a URL, it checks that libcurl finds the
// same parts in it (`isReadAlike`), so that the checked URL is the one that is used.

internal import Glibc
public import PluginKit

public struct Address: Sendable {
    /// The whole URL of the requests.
    public let text: String
    /// The scheme, the host, and the port if the URL names one.
    public let origin: String
    public let isSecure: Bool
    public let hasUser: Bool
    public let hasFragment: Bool
    /// The text after the question mark. It often contains keys.
    public let query: String
    /// The host as it is written, with the brackets of an IPv6 address.
    let host: String
    let port: Int?

    /// Parses a URL. `name` is its setting, for the text of a fault.
    public init(_ text: String, setting name: String) throws(SettingsFault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw SettingsFault("\(name) holds a space or a control character; such bytes are written as %20 and the like")
        }
        let bytes = Array(text.utf8)
        guard let schemeEnd = ["http://", "https://"].first(where: { Address.begins(bytes, with: $0) })?.utf8.count else {
            throw SettingsFault("\(name) must begin with https:// or http://")
        }
        func fault(_ why: String) -> SettingsFault { SettingsFault("\(name) is not a URL: \(why)") }

        var authority = bytes[schemeEnd...].prefix { !"/?#".utf8.contains($0) }
        let rest = bytes[authority.endIndex...]
        hasUser = authority.contains(UInt8(ascii: "@"))
        var user: ArraySlice<UInt8> = []
        if let at = authority.firstIndex(of: UInt8(ascii: "@")) {
            (user, authority) = (authority[...at], authority[(at + 1)...])
        }
        // Browsers read a backslash as a slash.
        guard !user.contains(UInt8(ascii: "\\")) else { throw fault("its user or password holds a backslash; write it as %5C") }
        guard let (host, port) = Address.split(authority) else { throw fault("the port is not a number from 1 to 65535") }
        guard !host.isEmpty else { throw fault("it names no host") }
        guard Address.isHost(host) else { throw fault("the host is neither a name nor an address") }

        let path = rest.prefix { !"?#".utf8.contains($0) }
        let segments = path.split(separator: UInt8(ascii: "/"))
        guard !segments.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
            throw fault("its path has a part '.' or '..'; write the path that is meant")
        }
        let query = rest[path.endIndex...].prefix { $0 != UInt8(ascii: "#") }
        hasFragment = rest.contains(UInt8(ascii: "#"))
        isSecure = schemeEnd == 8
        self.host = String(decoding: host, as: UTF8.self)
        self.port = port
        self.query = Address.escaped(query.dropFirst())
        let scheme = isSecure ? "https://" : "http://"
        let number = port.map { ":\($0)" } ?? ""
        origin = scheme + printable(self.host) + number
        self.text =
            scheme + String(decoding: user, as: UTF8.self) + self.host + number + (path.isEmpty ? "/" : "")
            + Address.escaped(rest)
    }

    private static func begins(_ bytes: [UInt8], with scheme: String) -> Bool {
        bytes.count >= scheme.utf8.count && zip(bytes, scheme.utf8).allSatisfy { $0 == $1 || (0x41...0x5a ~= $0 && $0 | 0x20 == $1) }
    }

    /// Splits a host from its port. Returns nil if the port is not a port. A host without one may end in a colon.
    private static func split(_ authority: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, Int?)? {
        let colon = UInt8(ascii: ":")
        let bracket = authority.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex - 1
        guard let at = authority[(bracket + 1)...].firstIndex(of: colon) else { return (authority, nil) }
        let digits = authority[(at + 1)...]
        if digits.isEmpty { return (authority[..<at], nil) }
        guard digits.count <= 5, digits.allSatisfy(isDigit), let port = Int(String(decoding: digits, as: UTF8.self)), 1...65535 ~= port
        else { return nil }
        return (authority[..<at], port)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// True for a name, an IPv4 address of four numbers, and an IPv6 address in brackets.
    private static func isHost(_ host: ArraySlice<UInt8>) -> Bool {
        if host.first == UInt8(ascii: "[") {
            guard host.last == UInt8(ascii: "]"), host.count > 2 else { return false }
            return isIPv6(String(decoding: host.dropFirst().dropLast(), as: UTF8.self))
        }
        let isName = host.allSatisfy { byte in
            isDigit(byte) || 0x61...0x7a ~= byte | 0x20 || byte >= 0x80 || "-._~".utf8.contains(byte)
        }
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard isName, labels.dropLast().allSatisfy({ !$0.isEmpty }) else { return false }
        // A name whose last part is a number is an IPv4 address for some parsers, also in octal, hexadecimal or with fewer parts.
        let last = labels.last!.isEmpty ? labels.dropLast().last! : labels.last!
        guard last.allSatisfy(isDigit) || last.starts(with: "0x".utf8) || last.starts(with: "0X".utf8) else { return true }
        return labels.count == 4
            && labels.allSatisfy { label in
                guard let number = UInt8(String(decoding: label, as: UTF8.self)) else { return false }
                return label.elementsEqual(String(number).utf8)
            }
    }

    private static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Returns the text with each byte that is no ASCII character written as %C3 and the like.
    private static func escaped(_ bytes: ArraySlice<UInt8>) -> String {
        var result: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result.append(contentsOf: [byte >> 4, byte & 15].map { "0123456789abcdef".utf8.dropFirst(Int($0)).first! })
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
