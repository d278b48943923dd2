// What a client follows: its settings, the targets of its requests, and the texts that it never shows.

public import PluginKit

/// Where a request goes. All requests of a target differ only in their bodies.
public struct Target: Sendable {
    public enum Method: String, SettingValue, Sendable {
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        /// For requests without events.
        case get = "GET"
        case delete = "DELETE"

        /// The methods with which events are sent.
        public static let ofEvents = [Method.post, .put, .patch]
    }

    /// What the operator of the router is told to correct. Each text ends a message.
    public struct Remedies: Sendable {
        public var redirect = "correct url"
        public var credentials = "correct the credentials in headers"
        public var notFound = "correct url or method"
        public init() {}
    }

    public var method: Method
    public var address: Address
    /// All headers of a request except those that libcurl makes.
    public var headers: [Header]
    public var remedies = Remedies()
    /// The largest number of bytes of an answer that is read, including its headers, and of its body that is kept.
    public var longestAnswer = 64 << 10
    public var keptOfBody = 16 << 10
    /// The names of the headers of an answer that a reply keeps.
    public var keptHeaders: [String] = []
    /// True if a reply keeps all headers of an answer.
    public var keepsEveryHeader = false

    public init(_ method: Method, _ address: Address, headers: [Header]) {
        self.method = method
        self.address = address
        self.headers = headers
    }
}

public struct ClientRules: Sendable {
    public let settings: ClientSettings
    public let targets: [Target]
    let secrets: Secrets

    /// The values in the queries of the targets are secrets too.
    public init(_ settings: ClientSettings, targets: [Target], secrets: Secrets) {
        precondition(!targets.isEmpty, "a client has no target")
        self.settings = settings
        self.targets = targets
        self.secrets = targets.reduce(secrets) { $0.adding(query: $1.address.query) }
    }
}

/// The texts that are never shown, even if a server repeats them.
public struct Secrets: Sendable {
    private let texts: [[UInt8]]

    /// Texts of less than four bytes are left out: to hide them would make messages unreadable.
    public init(_ texts: [String]) {
        self.texts = texts.filter { $0.utf8.count >= 4 }.map { Array($0.utf8) }.sorted { $0.count > $1.count }
    }

    /// A query often holds keys, so the parts of one are secrets, and so is each value.
    package func adding(query: String) -> Secrets {
        let parts = query.split(separator: "&").flatMap { [$0] + $0.split(separator: "=", maxSplits: 1).dropFirst() }
        return Secrets(texts.map { String(decoding: $0, as: UTF8.self) } + parts.map(String.init))
    }

    /// Returns the line with `***` in the place of each secret.
    func concealed(in line: [UInt8]) -> [UInt8] { texts.reduce(line) { Secrets.concealing($1, in: $0) } }

    package func concealed(in text: String) -> String { String(decoding: concealed(in: Array(text.utf8)), as: UTF8.self) }

    private static func concealing(_ secret: [UInt8], in line: [UInt8]) -> [UInt8] {
        var shown: [UInt8] = []
        var at = 0
        while at < line.count {
            if line[at...].starts(with: secret) {
                shown += Array("***".utf8)
                at += secret.count
            } else {
                shown.append(line[at])
                at += 1
            }
        }
        return shown
    }
}
