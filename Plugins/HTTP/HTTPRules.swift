// The settings of an http provider, parsed and checked once. Nothing is taken from the environment: no proxy, no .netrc, no cookies.

internal import Glibc
internal import PluginKit

struct HTTPRules: Sendable {
    enum Method: String, SettingValue, CaseIterable {
        case post = "POST"
        case put = "PUT"
    }
    enum Body: String, SettingValue, CaseIterable {
        case ndjson
        case array
        case event

        var contentType: String { self == .ndjson ? "application/x-ndjson" : "application/json" }
    }
    enum Compression: String, SettingValue, CaseIterable {
        case none
        case gzip
        case zstd
    }
    enum Version: String, SettingValue, CaseIterable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }
    struct TLS: Sendable {
        var ca: String?
        var certificate: String?
        var key: String?
        var minimum = Version.tls12
    }

    /// The largest number of requests at once that the settings allow.
    static let mostInFlight = 64
    private static let longest = 24 * 3_600_000

    var address: Address
    var method: Method
    var body: Body
    var compression: Compression
    /// The headers of every request. None of them depends on the bytes of a body.
    var headers: [Header]
    /// The values that must not be shown, even if the server repeats them.
    var secrets: [String]
    /// The time limits, in milliseconds.
    var connectTimeout: Int
    var totalTimeout: Int
    var tls: TLS
    /// The proxy. If it is nil, no proxy is used, and the environment is ignored.
    var proxy: Address?
    var inFlight: Int

    static let schema: KeyValuePairs<String, Schema> = [
        "url": .text("where events are sent; https:// or http://, without a user or password: those go into headers").required,
        "method": .choice("the method of the requests", of: Method.allCases.map(\.rawValue), default: "POST"),
        "body": .choice(
            "what a request holds: a batch as lines (application/x-ndjson), a batch as a JSON array (application/json), or a single event",
            of: Body.allCases.map(\.rawValue), default: "ndjson"),
        "compression": .choice("how bodies are compressed (Content-Encoding)", of: Compression.allCases.map(\.rawValue), default: "none"),
        "headers": .object(
            "headers of every request, such as Authorization; their values are never shown", [:], others: .text("the value, one line")),
        "timeout": .object(
            "how long a request may take; before that, a batch waits for its turn for at most the total time",
            [
                "connect": .duration("how long until the connection is established, including TLS", default: "10s"),
                "total": .duration("how long until the answer is complete", default: "30s"),
            ]),
        "tls": .object(
            "for https; certificates are always verified",
            [
                "ca": .text("a PEM file of the authorities to trust; those of the system when left out"),
                "certificate": .text("a PEM file with the client's certificate"),
                "key": .text("a PEM file with the key of the certificate, not encrypted, if it is not in the same file"),
                "minimum": .choice("the oldest version of TLS to use", of: Version.allCases.map(\.rawValue), default: "1.2"),
            ]),
        "proxy": .text("the proxy to use, as http://host:port, whatever the environment says; none when left out"),
        "in_flight": .integer("the most requests at once", default: 8, minimum: 1, maximum: mostInFlight),
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        address = try Address(settings.require("url"), setting: "url")
        guard !address.hasUser else {
            throw SettingsFault(
                "url holds a user or a password; put them into headers instead: \"headers\": { \"Authorization\": \"Basic ...\" }")
        }
        guard !address.hasFragment else { throw SettingsFault("url has a part after '#', which is never sent; write %23 for a '#'") }
        method = settings.get("method") ?? .post
        body = settings.get("body") ?? .ndjson
        compression = settings.get("compression") ?? .none
        inFlight = settings.get("in_flight") ?? 8
        guard 1...HTTPRules.mostInFlight ~= inFlight else {
            throw SettingsFault("in_flight must be between 1 and \(HTTPRules.mostInFlight)")
        }

        let timeout = settings.get("timeout", as: Settings.self)
        connectTimeout = timeout?.get("connect") ?? 10_000
        totalTimeout = timeout?.get("total") ?? 30_000
        for (name, value) in [("connect", connectTimeout), ("total", totalTimeout)] where !(1...HTTPRules.longest ~= value) {
            throw SettingsFault("timeout.\(name) must be between 1ms and 24h")
        }

        tls = TLS()
        if let given = settings.get("tls", as: Settings.self) {
            guard address.isSecure else { throw SettingsFault("tls is set, but url begins with http://, which uses none; write https://") }
            tls = TLS(
                ca: given.get("ca"), certificate: given.get("certificate"), key: given.get("key"), minimum: given.get("minimum") ?? .tls12)
        }
        for (name, path) in [("ca", tls.ca), ("certificate", tls.certificate), ("key", tls.key)] {
            if let path { try HTTPRules.checkReadable(path, setting: "tls.\(name)") }
        }
        if tls.key != nil, tls.certificate == nil { throw SettingsFault("tls.key is set without tls.certificate") }

        proxy = nil
        if let text = settings.get("proxy", as: String.self) { proxy = try Address(text, setting: "proxy") }

        let given = try settings.get("headers", as: Settings.self).map(Header.read) ?? []
        var own = [
            Header("User-Agent", "switchyard/\(HTTPProvider.version)"), Header("Accept", "*/*"), Header("Content-Type", body.contentType),
        ]
        own.removeAll { own in given.contains { $0.isNamed(own.name) } }
        if compression != .none { own.append(Header("Content-Encoding", compression.rawValue)) }
        headers = own + given
        // The part of an Authorization after the scheme is also a secret on its own. So is each value of a query.
        let keys = address.query.split(separator: "&").flatMap { [$0] + $0.split(separator: "=", maxSplits: 1).dropFirst() }
        let values = given.flatMap { [$0.value[...]] + $0.value.split(separator: " ").dropFirst() }
        secrets = (values + keys).map(String.init).filter { $0.utf8.count >= 4 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    private static func checkReadable(_ path: String, setting name: String) throws(SettingsFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SettingsFault("\(name) is not a path") }
        guard access(path, R_OK) == 0 else { throw SettingsFault("\(name): cannot read \(printable(path)): \(systemWords(errno))") }
    }
}
