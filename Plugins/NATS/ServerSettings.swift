// The servers of a cluster of NATS and how to connect to them: addresses, credentials, TLS and time limits. They are parsed and checked once.
// Nothing is taken from the environment. Nothing here is about publishing.

internal import Glibc
internal import HTTPKit
internal import PluginKit

struct ServerSettings: Sendable {
    /// One server of the cluster.
    struct Server: Sendable, Equatable {
        let host: String
        let port: Int
        let isSecure: Bool

        /// How messages show the server. It holds no secret.
        var origin: String { "\(isSecure ? "tls" : "nats")://\(shownHost):\(port)" }
        /// The address as libnats reads it.
        var url: String { "nats://\(shownHost):\(port)" }
        private var shownHost: String { host.contains(":") ? "[\(host)]" : host }
    }

    enum Credentials: Sendable, Equatable {
        case none
        case user(String, password: String)
        case token(String)
        /// The path of a file with a JWT and a seed.
        case file(String)
        /// A public key, and the path of the file with its seed.
        case nkey(String, seed: String)
    }

    struct TLS: Sendable, Equatable {
        var authorities: String?
        var certificate: String?
        var key: String?
    }

    let servers: [Server]
    let credentials: Credentials
    let tls: TLS
    /// The time limits, in milliseconds.
    let connectTimeout: Int
    let totalTimeout: Int
    /// The texts that are never shown, even if a server repeats them.
    let secrets: Secrets

    static let schema: KeyValuePairs<String, Schema> = [
        "servers": .either(
            "the servers of the cluster: nats://host:port, or tls://host:port for TLS, one or a list; without a port it is 4222",
            [.text("one server"), .list("several servers", of: .text("a server"))]
        ).required,
        "user": .text("the name of the user, with password"),
        "password": .text("the password of the user").secret,
        "token": .text("a token, instead of a user").secret,
        "credentials": .text("a .creds file with a JWT and a seed, instead of a user"),
        "nkey": .object(
            "an nkey, instead of a user",
            [
                "public": .text("the public key, which begins with U").required,
                "seed": .text("a file with the seed").required,
            ]),
        "tls": .object(
            "for tls://; certificates are always verified, and so are the names in them",
            [
                "ca": .text("a PEM file of the authorities to trust; those of the system when left out"),
                "certificate": .text("a PEM file with the client's certificate"),
                "key": .text("a PEM file with the key of the certificate, not encrypted"),
            ]),
        "timeout": .object(
            "how long a step may take",
            [
                "connect": .duration("how long until the connection to one server is established", default: "5s"),
                "total": .duration("how long until the server has acknowledged an event", default: "30s"),
            ]),
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        let texts = settings.get("servers", as: [String].self) ?? settings.get("servers", as: String.self).map { [$0] } ?? []
        guard !texts.isEmpty else { throw SettingsFault("servers names no server") }
        var servers: [Server] = []
        for text in texts {
            let server = try ServerSettings.server(text)
            if !servers.contains(server) { servers.append(server) }
        }
        self.servers = servers
        credentials = try ServerSettings.credentials(settings)
        tls = try ServerSettings.tls(settings, isUsed: servers.contains { $0.isSecure })

        let timeout = settings.get("timeout", as: Settings.self)
        connectTimeout = timeout?.get("connect") ?? 5_000
        totalTimeout = timeout?.get("total") ?? 30_000
        for (name, value) in [("connect", connectTimeout), ("total", totalTimeout)] where !(1...3_600_000 ~= value) {
            throw SettingsFault("timeout.\(name) must be between 1ms and 1h")
        }
        secrets = Secrets([settings.get("password"), settings.get("token")].compactMap { $0 })
    }

    // MARK: - Parts

    private static func server(_ text: String) throws(SettingsFault) -> Server {
        guard let scheme = ["nats://", "tls://"].first(where: { text.hasPrefix($0) }) else {
            throw SettingsFault("servers: each must begin with nats:// or tls://")
        }
        var rest = Array(text.utf8.dropFirst(scheme.utf8.count))
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        guard !rest.contains(UInt8(ascii: "@")) else {
            throw SettingsFault("servers: an address holds a user, a password or a token; put them into user, password or token instead")
        }
        func fault(_ why: String) -> SettingsFault { SettingsFault("servers: '\(printable(rest))' is not an address: \(why)") }
        let isSecure = scheme == "tls://"
        var host = rest[...]
        var port: ArraySlice<UInt8>?
        if rest.first == UInt8(ascii: "[") {
            guard let close = rest.firstIndex(of: UInt8(ascii: "]")) else { throw fault("the bracket is not closed") }
            host = rest[1..<close]
            let after = rest[(close + 1)...]
            guard after.isEmpty || after.first == UInt8(ascii: ":") else { throw fault("expected ':' and a port after the bracket") }
            if !after.isEmpty { port = after.dropFirst() }
            var address = in6_addr()
            guard inet_pton(AF_INET6, String(decoding: host, as: UTF8.self), &address) == 1 else { throw fault("it is no IPv6 address") }
        } else {
            if let colon = rest.firstIndex(of: UInt8(ascii: ":")) { (host, port) = (rest[..<colon], rest[(colon + 1)...]) }
            let isName = host.allSatisfy { byte in
                byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a || "-._".utf8.contains(byte)
            }
            guard !host.isEmpty, isName else { throw fault("the host is neither a name nor an address") }
        }
        var number = 4222
        if let port {
            guard port.count <= 5, port.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let given = Int(String(decoding: port, as: UTF8.self)),
                1...65535 ~= given
            else { throw fault("the port is not a number from 1 to 65535") }
            number = given
        }
        return Server(host: String(decoding: host, as: UTF8.self), port: number, isSecure: isSecure)
    }

    private static func credentials(_ settings: Settings) throws(SettingsFault) -> Credentials {
        let user = settings.get("user", as: String.self)
        let password = settings.get("password", as: String.self)
        let token = settings.get("token", as: String.self)
        let file = settings.get("credentials", as: String.self)
        let nkey = settings.get("nkey", as: Settings.self)
        let given = [("user", user != nil), ("token", token != nil), ("credentials", file != nil), ("nkey", nkey != nil)].filter(\.1)
        guard given.count <= 1 else {
            throw SettingsFault("\(given[0].0) and \(given[1].0) are both set; a connection has credentials of one kind")
        }
        if password != nil, user == nil { throw SettingsFault("password is set without user") }
        if let user {
            guard !user.isEmpty else { throw SettingsFault("user is empty") }
            guard let password else { throw SettingsFault("user is set without password") }
            return .user(user, password: password)
        }
        if let token {
            guard !token.isEmpty else { throw SettingsFault("token is empty") }
            return .token(token)
        }
        if let file {
            try checkReadable(file, setting: "credentials")
            return .file(file)
        }
        if let nkey {
            let key: String = try nkey.require("public")
            let seed: String = try nkey.require("seed")
            guard key.hasPrefix("U"), key.utf8.count == 56 else {
                throw SettingsFault("nkey.public is no public key of a user: those have 56 characters and begin with U")
            }
            try checkReadable(seed, setting: "nkey.seed")
            return .nkey(key, seed: seed)
        }
        return .none
    }

    private static func tls(_ settings: Settings, isUsed: Bool) throws(SettingsFault) -> TLS {
        guard let given = settings.get("tls", as: Settings.self) else { return TLS() }
        guard isUsed else { throw SettingsFault("tls is set, but no server begins with tls://; nats:// uses no TLS") }
        let tls = TLS(authorities: given.get("ca"), certificate: given.get("certificate"), key: given.get("key"))
        guard (tls.certificate == nil) == (tls.key == nil) else {
            throw SettingsFault("tls.certificate and tls.key are set together or not at all")
        }
        for (name, path) in [("ca", tls.authorities), ("certificate", tls.certificate), ("key", tls.key)] {
            if let path { try checkReadable(path, setting: "tls.\(name)") }
        }
        return tls
    }

    private static func checkReadable(_ path: String, setting name: String) throws(SettingsFault) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw SettingsFault("\(name) is not a path") }
        guard access(path, R_OK) == 0 else { throw SettingsFault("\(name): cannot read \(printable(path)): \(systemWords(errno))") }
    }
}
