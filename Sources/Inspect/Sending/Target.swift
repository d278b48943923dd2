// The address that events are sent to: `http://HOST[:PORT]/PATH`, `https://…` or `unix:/PATH`. It refuses an address that contains a user
// or a key, since others can see addresses in the list of processes.

public struct Target: Sendable, Equatable, CustomStringConvertible {
    public enum Address: Sendable, Equatable {
        case tcp(host: String, port: String)
        case unix(path: String)
        /// HTTPS, through libcurl.
        case tls
    }

    /// The address as it was written.
    public var description: String
    public var address: Address
    /// The value of the Host header.
    public var host: String
    /// The path and the query of requests.
    public var path: String
    /// The complete URL, for libcurl.
    public var url: String

    public struct Fault: Error, Equatable {
        public var message: String
        init(_ message: String) { self.message = message }
    }

    static let events = "/v1/events"
    /// Asks the router for the result of each event.
    static let query = "results=each"

    public init(_ text: String) throws(Fault) {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw Fault("--to must be a URL of plain characters")
        }
        description = text
        if let path = Target.rest(of: text, after: "unix:") {
            // The system has room for 107 bytes and a final zero.
            guard path.hasPrefix("/"), path.utf8.count <= 107 else {
                throw Fault("--to unix:PATH must be an absolute path of at most 107 bytes, is '\(text)'")
            }
            address = .unix(path: path)
            host = "localhost"
            self.path = Target.events + "?" + Target.query
            url = text
            return
        }
        let isPlain = text.hasPrefix("http://")
        guard isPlain || text.hasPrefix("https://"), let start = Target.rest(of: text, after: isPlain ? "http://" : "https://") else {
            throw Fault("--to must be http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH, is '\(text)'")
        }
        let authority = start.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else {
            throw Fault("--to must not contain a key, since others can see it in the list of processes; use --key-file or SWITCHYARD_KEY")
        }
        guard let (host, port) = Target.split(authority) else { throw Fault("--to: '\(authority)' is not HOST[:PORT]") }
        self.host = String(authority)
        path = Target.resource(start.dropFirst(authority.count))
        address = isPlain ? .tcp(host: host, port: port ?? "80") : .tls
        url = (isPlain ? "http://" : "https://") + authority + path
    }

    /// True if others on the network can read what is sent.
    public var isExposed: Bool {
        guard case .tcp(let host, _) = address else { return false }
        return host != "localhost" && host != "::1" && !host.hasPrefix("127.")
    }

    private static func rest(of text: String, after prefix: String) -> String? {
        text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }

    private static func resource(_ text: Substring) -> String {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first.map(String.init) ?? ""
        let query = parts.count > 1 && !parts[1].isEmpty ? parts[1] + "&" : ""
        return (path.isEmpty || path == "/" ? events : path) + "?" + query + Target.query
    }

    private static func split(_ authority: Substring) -> (host: String, port: String?)? {
        var host = authority
        var port: String?
        if let colon = authority.lastIndex(of: ":"), authority.last != "]" {
            host = authority[..<colon]
            let digits = authority[authority.index(after: colon)...]
            guard let number = UInt16(digits), number > 0 else { return nil }
            port = String(number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }
}
