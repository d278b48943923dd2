// What routes.json says of an HTTP source, with every default filled in.

public struct HTTPSourcePlan: Sendable, Equatable {
    public var listen = ListenAddress.tcp(host: "127.0.0.1", port: 8088)
    /// Of a Unix socket: its permissions, and whose it is; nil: of the user that the router runs as.
    public var mode: UInt32 = 0o600
    public var owner: String?
    public var tls: TLS?
    public var keys: [AccessKey] = []
    /// Whether anyone may send without a key, also over a network.
    public var isOpen = false
    /// The web pages that may send, as browsers name them: `https://app.example`; `*` is every page.
    public var origins: [String] = []
    /// The dialects that it takes, by name; nil: all.
    public var dialects: [String]?
    /// Whether events get the client's address as `context.ip`.
    public var addsIP = false
    /// What its events may do to the ledger, whatever key they come with.
    public var consent: ConsentRight?
    /// Whether events of the native dialect get `receivedAt`, as those of all others do.
    public var addsReceivedAt = false
    public var limits = HTTPLimits()
    public init() {}

    /// Files in PEM.
    public struct TLS: Sendable, Equatable {
        public var certificate = ""
        public var key = ""
        /// The authorities that must vouch for a client's certificate; nil: clients need none.
        public var clients: String?
        public init() {}
    }
}

/// Who may send, with which dialects, and to which routes. Secrets are never shown.
public struct AccessKey: Sendable, Equatable, CustomStringConvertible {
    public var name: String
    /// One, or two while the one takes over from the other.
    public var secrets: [[UInt8]]
    /// By name; nil: all.
    public var dialects: [String]?
    /// The names of those that its events may take; nil: all.
    public var routes: [String]?
    /// What its events may do to the ledger; nil: what the source's may.
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

/// What a client may ask of a listener. Each is the most, or the longest.
public struct HTTPLimits: Sendable, Equatable {
    /// Of a body as it comes, and after its codings are undone.
    public var body = 20_000_000
    public var decoded = 20_000_000
    /// How many times as long a body may become when it is decoded; its first megabyte is free.
    public var ratio = 200
    /// How many codings may lie over each other.
    public var codings = 2
    /// Of all headers together with the request line.
    public var head = 32_768
    public var headers = 100
    public var url = 8_192
    /// In one request.
    public var events = 10_000
    public var connections = 10_000
    /// Of one address; 0: as many as in all.
    public var connectionsByAddress = 0
    /// Of all bodies that are held at once.
    public var memory = 256_000_000
    /// From the first byte that a connection could bring until a request's head is complete.
    public var headTime = Duration.seconds(10)
    /// Of a connection between two requests.
    public var idle = Duration.seconds(75)
    /// Between two pieces of a body.
    public var pause = Duration.seconds(10)
    /// Of a whole body, however steadily it comes.
    public var request = Duration.seconds(120)
    /// The least bytes a second of a body, counted from its fifth second on.
    public var rate = 1_000
    /// Until a client has read its reply.
    public var reply = Duration.seconds(30)
    public init() {}
}

/// Where a listener listens.
public enum ListenAddress: Sendable, Equatable, CustomStringConvertible {
    case tcp(host: String, port: UInt16)
    case unix(path: String)
    /// A socket that systemd has opened: the only one, or that of a name.
    case inherited(name: String?)

    /// `127.0.0.1:8088`, `[::1]:8088`, `unix:/run/switchyard.sock`, `systemd`, `systemd:NAME`.
    public init?(_ text: String) {
        if text == "systemd" {
            self = .inherited(name: nil)
        } else if let name = ListenAddress.rest(of: text, after: "systemd:") {
            guard !name.isEmpty else { return nil }
            self = .inherited(name: name)
        } else if let path = ListenAddress.rest(of: text, after: "unix:") {
            // What the system has room for, with the zero behind it.
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

    /// An address in digits: a name would have to be looked up, and could lead anywhere.
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

    /// Whether only processes of this machine can reach it. Of an inherited socket that is for its unit to say.
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
