// The settings of an HTTP source, with every default filled in.

public struct HTTPSourcePlan: Sendable, Equatable {
    public var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8088)
    /// The permissions of a Unix socket.
    public var mode: UInt32 = 0o600
    /// The owner of a Unix socket. If it is nil, the socket belongs to the user of the router.
    public var owner: String?
    public var tls: TLS?
    public var keys: [AccessKey] = []
    /// True if anyone may send without a key, even over a network.
    public var isOpen = false
    /// The origins of web pages that may send, such as `https://app.example`; `*` means every page.
    public var origins: [String] = []
    /// The names of the dialects that it accepts. It accepts all if this is nil.
    public var dialects: [String]?
    /// True if events get the client's address as `context.ip`.
    public var addsIP = false
    /// The right of its events to write the ledger, whatever key they come with.
    public var consent: ConsentRight?
    /// True if events of the native dialect get `receivedAt`, as events of all other dialects do.
    public var addsReceivedAt = false
    public var limits = HTTPLimits()
    public init() {}

    /// The paths of files in PEM.
    public struct TLS: Sendable, Equatable {
        public var certificate = ""
        public var key = ""
        /// The authorities that must have signed a client's certificate. If it is nil, clients need no certificate.
        public var clients: String?
        public init() {}
    }
}

/// A key of clients that may send: its secrets, its dialects, its routes, and its right to write the ledger. Secrets are never shown.
public struct AccessKey: Sendable, Equatable, CustomStringConvertible {
    public var name: String
    /// One secret, or two while a new one replaces an old one.
    public var secrets: [[UInt8]]
    /// The names of the dialects that it may send. It may send all if this is nil.
    public var dialects: [String]?
    /// The names of the routes that its events may take. They may take all if this is nil.
    public var routes: [String]?
    /// The right of its events to write the ledger. If it is nil, the right of the source counts.
    public var consent: ConsentRight?
    public init(
        name: String, secrets: [[UInt8]], dialects: [String]? = nil, routes: [String]? = nil, consent: ConsentRight? = nil
    ) {
        self.consent = consent
        self.name = name
        self.secrets = secrets
        self.dialects = dialects
        self.routes = routes
    }
    public var description: String { name }
}

/// The limits of a listener for its clients. Each is the most or the longest, except `rate`.
public struct HTTPLimits: Sendable, Equatable {
    /// The bytes of a body as it arrives.
    public var body = 20_000_000
    /// The bytes of a body when it is decoded.
    public var decoded = 20_000_000
    /// The factor by which a body may grow when it is decoded. The first megabyte is not limited.
    public var ratio = 200
    /// The codings of one body.
    public var codings = 2
    /// The bytes of the request line and all headers.
    public var head = 32_768
    public var headers = 100
    public var url = 8_192
    /// The events in one request.
    public var events = 10_000
    public var connections = 10_000
    /// The connections from one address. If it is 0, only `connections` limits them, which is the default at a local address.
    public var connectionsByAddress = 0
    /// The bytes of all bodies that are held at once.
    public var memory = 256_000_000
    /// The time from the beginning of a connection until the head of its first request is complete.
    public var headTime = Duration.seconds(10)
    /// The time from a reply until the head of the next request is complete.
    public var idle = Duration.seconds(75)
    /// The time between two pieces of a body.
    public var pause = Duration.seconds(10)
    /// The time for a whole body, however steadily it arrives.
    public var request = Duration.seconds(120)
    /// The least bytes per second of a body, after its first five seconds.
    public var rate = 1_000
    /// The time from the end of a request until it is answered.
    public var answerWithin = Duration.seconds(2)
    /// The time until a client has read its reply.
    public var reply = Duration.seconds(30)
    public init() {}
}

/// The address of a listener.
public enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case unix(path: String)
    /// A socket that systemd has opened: the only one, or the one with this name.
    case inherited(name: String?)

    /// Reads `127.0.0.1:8088`, `[::1]:8088`, `unix:/run/switchyard.sock`, `systemd` or `systemd:NAME`.
    public init?(_ text: String) {
        if text == "systemd" {
            self = .inherited(name: nil)
        } else if let name = ListenAddress.rest(of: text, after: "systemd:") {
            guard !name.isEmpty else { return nil }
            self = .inherited(name: name)
        } else if let path = ListenAddress.rest(of: text, after: "unix:") {
            // The system limits the path, with its terminating zero, to 108 bytes.
            guard path.utf8.first == UInt8(ascii: "/"), path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
        } else {
            guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), let port = UInt16(text[text.utf8.index(after: colon)...]) else {
                return nil
            }
            var host = text[..<colon]
            if host.utf8.contains(UInt8(ascii: ":")) {
                guard host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]") else { return nil }
                host = host.dropFirst().dropLast()
            }
            guard ListenAddress.isNumeric(host) else { return nil }
            self = .tcp(host: String(host), port: port)
        }
    }

    private static func rest(of text: String, after prefix: String) -> String? {
        text.utf8.starts(with: prefix.utf8) ? String(text.dropFirst(prefix.count)) : nil
    }

    /// Returns true for an address in digits and for `localhost`. Another name would need a lookup, which may give any address.
    private static func isNumeric(_ host: Substring) -> Bool {
        if host == "localhost" { return true }
        if host.utf8.contains(UInt8(ascii: ":")) {
            return host.utf8.allSatisfy { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") || isHex($0) }
        }
        let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy { (0x30...0x39).contains($0) }
                    && part.reduce(0) { $0 * 10 + Int($1 - 0x30) } < 256
            }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    /// True if only processes of this machine can reach it. It is also true for an inherited socket: who can reach that is set in its unit.
    public var isLocal: Bool {
        switch self {
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.utf8.starts(with: "127.".utf8)
        case .unix, .inherited: true
        }
    }

    public var description: String {
        switch self {
        case .tcp(let host, let port): host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .inherited(let name): name.map { "systemd:\($0)" } ?? "systemd"
        }
    }
}
