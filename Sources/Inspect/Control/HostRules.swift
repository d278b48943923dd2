// Which requests may ask anything at an address of the network, by the name under which they ask. A foreign site can give its own name the
// address of the router, and a browser then lets it read the answers as if they were its own. So a name must be known; an address needs no
// permission, since no site can have it as its name. Pure: a request in, a verdict out.

public struct HostRules: Sendable {
    /// The hosts of further origins, in lower case, with a port if they have one.
    private let known: Set<String>
    /// True if others on the network may ask, under names that only they know.
    private let isOpen: Bool

    /// `origins` are the addresses under which browsers see the router in addition, such as `https://router.example`.
    public init(origins: [String], isOpen: Bool) {
        known = Set(origins.map { String($0.lowercased().drop { $0 != "/" }.dropFirst(2)) })
        self.isOpen = isOpen
    }

    /// Returns true if the request may ask. A request without a host does not come from a browser.
    public func allow(_ request: Request) -> Bool {
        guard let host = request.headers["host"]?.lowercased() else { return true }
        if known.contains(host) || HostRules.isAddress(host) { return true }
        return isOpen && !HostRules.isOfBrowser(request)
    }

    /// Headers that browsers send and scrapers do not. A script can change the values of some, and can leave out none of the languages.
    private static let browserHeaders = ["accept-language", "origin", "sec-fetch-site", "sec-fetch-mode", "cookie"]

    private static func isOfBrowser(_ request: Request) -> Bool {
        browserHeaders.contains { request.headers[$0] != nil } || request.headers["user-agent"]?.hasPrefix("Mozilla/") ?? false
    }

    /// Returns true for `localhost` and for numeric addresses, with any port or none: a port can be forwarded.
    private static func isAddress(_ host: String) -> Bool {
        var name = Substring(host)
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") {
            guard name[colon...].dropFirst().utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return false }
            name = name[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") {
            return name.dropFirst().dropLast().utf8.allSatisfy {
                $0 == 0x3a || $0 == 0x2e || $0 >= 0x30 && $0 <= 0x39 || $0 >= 0x61 && $0 <= 0x66
            }
        }
        if name == "localhost" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                part.utf8.count <= 3 && part.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && (Int(part).map { $0 < 256 } ?? false)
            }
    }
}
