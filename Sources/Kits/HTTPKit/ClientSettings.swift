// The settings of a client that every provider over HTTP has: compression, time limits, TLS, a proxy, and the number of requests at once.
// They are parsed and checked once. Nothing is taken from the environment: no proxy, no .netrc, no cookies.

internal import Glibc
public import PluginKit

public struct ClientSettings: Sendable {
    public enum Version: String, SettingValue, CaseIterable, Sendable {
        case tls12 = "1.2"
        case tls13 = "1.3"
    }
    public struct TLS: Sendable {
        public var ca: String?
        public var certificate: String?
        public var key: String?
        public var minimum = Version.tls12
    }

    /// The largest number of requests at once that the settings allow.
    public static let mostInFlight = 64
    private static let longest = 24 * 3_600_000

    public let compression: Compression
    /// The time limits, in milliseconds.
    public let connectTimeout: Int
    public let totalTimeout: Int
    public let tls: TLS
    /// The proxy. If it is nil, no proxy is used, and the environment is ignored.
    public let proxy: Address?
    public let inFlight: Int

    /// The schemas of the settings, which the description of a module lists under the same names.
    public static let compressionSchema = Schema.choice(
        "how bodies are compressed (Content-Encoding)", of: Compression.allCases.map(\.rawValue), default: "none")
    public static let timeoutSchema = Schema.object(
        "how long a request may take; before that, a batch waits for its turn for at most the total time",
        [
            "connect": .duration("how long until the connection is established, including TLS", default: "10s"),
            "total": .duration("how long until the answer is complete", default: "30s"),
        ])
    public static let tlsSchema = Schema.object(
        "for https; certificates are always verified",
        [
            "ca": .text("a PEM file of the authorities to trust; those of the system when left out"),
            "certificate": .text("a PEM file with the client's certificate"),
            "key": .text("a PEM file with the key of the certificate, not encrypted, if it is not in the same file"),
            "minimum": .choice("the oldest version of TLS to use", of: Version.allCases.map(\.rawValue), default: "1.2"),
        ])
    public static let proxySchema = Schema.text(
        "the proxy to use, as http://host:port, whatever the environment says; none when left out")
    public static let inFlightSchema = Schema.integer("the most requests at once", default: 8, minimum: 1, maximum: mostInFlight)

    /// `isSecure` is true if the requests go to an https URL.
    public init(_ settings: Settings, isSecure: Bool) throws(SettingsFault) {
        compression = settings.get("compression") ?? .none
        inFlight = settings.get("in_flight") ?? 8
        guard 1...ClientSettings.mostInFlight ~= inFlight else {
            throw SettingsFault("in_flight must be between 1 and \(ClientSettings.mostInFlight)")
        }

        let timeout = settings.get("timeout", as: Settings.self)
        connectTimeout = timeout?.get("connect") ?? 10_000
        totalTimeout = timeout?.get("total") ?? 30_000
        for (name, value) in [("connect", connectTimeout), ("total", totalTimeout)] where !(1...ClientSettings.longest ~= value) {
            throw SettingsFault("timeout.\(name) must be between 1ms and 24h")
        }

        var tls = TLS()
        if let given = settings.get("tls", as: Settings.self) {
            guard isSecure else { throw SettingsFault("tls is set, but url begins with http://, which uses none; write https://") }
            tls = TLS(
                ca: given.get("ca"), certificate: given.get("certificate"), key: given.get("key"), minimum: given.get("minimum") ?? .tls12)
        }
        for (name, path) in [("ca", tls.ca), ("certificate", tls.certificate), ("key", tls.key)] {
            if let path { try ClientSettings.checkReadable(path, setting: "tls.\(name)") }
        }
        if tls.key != nil, tls.certificate == nil { throw SettingsFault("tls.key is set without tls.certificate") }
        self.tls = tls

        if let text = settings.get("proxy", as: String.self) { proxy = try Address(text, setting: "proxy") } else { proxy = nil }
    }

    private static func checkReadable(_ path: String, setting name: String) throws(SettingsFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SettingsFault("\(name) is not a path") }
        guard access(path, R_OK) == 0 else { throw SettingsFault("\(name): cannot read \(printable(path)): \(systemWords(errno))") }
    }
}
