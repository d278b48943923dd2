// What a vendor's `init` gets: its settings, and the functions by which it declares what it needs.

internal import Events
public import HTTPKit
public import PluginKit

/// The request of a probe, and what its answers mean.
struct VendorProbe: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// What `map` makes of an event, and what is then sent of that body.
        case sample(String, wrap: @Sendable (String) -> String)
    }
    let endpoint: Endpoint
    let body: Body
    let judge: @Sendable (Reply) -> Probe?
}

public struct Setup {
    public let settings: Settings
    /// The router, for log lines.
    public let host: Host
    /// What the operator is told to correct if the vendor refuses the credentials, such as "correct key".
    public var credentialsRemedy = "correct the credentials"

    private(set) var endpoints: [Endpoint] = []
    private(set) var erasureEndpoints: [Endpoint] = []
    private(set) var paths: [Path] = []
    private(set) var secrets: [String] = []
    private var declaredProbe: VendorProbe?
    /// The members that only the vendor itself writes, and why an event with one of them is refused.
    private(set) var reserved: [(member: Member, fault: String)] = []
    /// The setting `url`.
    private let url: String?
    /// The setting `erase_url`.
    private let eraseURL: String?

    init(_ settings: Settings, _ host: Host) {
        self.settings = settings
        self.host = host
        url = settings.get("url")
        eraseURL = settings.get("erase_url")
    }

    /// Returns a setting that is a secret. It is never shown, even if the vendor's server repeats it.
    public mutating func secret(_ name: String) throws(SettingsFault) -> String {
        let value: String = try settings.require(name)
        guard !value.isEmpty, value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw SettingsFault("\(name) is empty, or holds a space or a character that is not ASCII")
        }
        secrets.append(value)
        return value
    }

    /// Returns a secret that becomes a part of a body of JSON as it is.
    public mutating func apiKey(_ name: String) throws(SettingsFault) -> String {
        let key = try secret(name)
        guard key.utf8.allSatisfy({ $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else {
            throw SettingsFault("\(name) is no API key")
        }
        return key
    }

    /// Returns a duration of the settings in nanoseconds, or nil if it is not set.
    public func duration(_ name: String) -> Int64? {
        guard let milliseconds = settings.get(name, as: Int.self) else { return nil }
        let (nanoseconds, isTooLong) = Int64(milliseconds).multipliedReportingOverflow(by: 1_000_000)
        return isTooLong ? .max : nanoseconds
    }

    /// Keeps a text from being shown, such as the encoded form of a secret.
    public mutating func hide(_ text: String) { secrets.append(text) }

    /// Declares an endpoint.
    public mutating func endpoint(_ endpoint: Endpoint) -> Endpoint.ID {
        endpoints.append(placed(endpoint))
        return Endpoint.ID(index: endpoints.count - 1)
    }

    /// Declares where requests of erasures go. It is the address of the setting `erase_url`, or else of `url`: what is sent elsewhere than to
    /// the vendor is never erased there.
    /// With `followsURL` false the setting `url` does not count: it is the address of something else.
    public mutating func erasureEndpoint(
        _ base: String, path: String, method: Target.Method = .post, contentType: String = "application/json", headers: [Header] = [],
        followsURL: Bool = true
    ) -> ErasureEndpoint.ID {
        var endpoint = Endpoint(base, path: path, envelope: Envelope(), limits: .init())
        endpoint.method = method
        endpoint.contentType = contentType
        endpoint.headers = headers
        erasureEndpoints.append(Self.placed(endpoint, at: eraseURL ?? (followsURL ? url : nil)))
        return ErasureEndpoint.ID(index: erasureEndpoints.count - 1)
    }

    private func placed(_ endpoint: Endpoint) -> Endpoint { Self.placed(endpoint, at: url) }

    private static func placed(_ endpoint: Endpoint, at url: String?) -> Endpoint {
        guard let url else { return endpoint }
        var endpoint = endpoint
        endpoint.base = url
        while endpoint.base.hasSuffix("/") { endpoint.base.removeLast() }
        return endpoint
    }

    /// True if the setting `url` takes the place of the vendor's own hosts. There may be no more than the vendor's API for events there.
    public var isRedirected: Bool { url != nil }

    /// Declares a request by which the vendor says whether the credentials are right, and which stores nothing. `judge` gets whole answers
    /// only; if it returns nil, the answer counts by its status. Without such a request a probe only connects to the host.
    public mutating func probe(_ endpoint: Endpoint, body: String = "", judge: @escaping @Sendable (Reply) -> Probe? = { _ in nil }) {
        declare(endpoint, .bytes(Array(body.utf8)), judge)
    }

    /// Declares a request that has the vendor validate the body that `map` makes of an event at that moment, with these settings. `wrap` makes
    /// the request's body of it.
    public mutating func probe(
        _ endpoint: Endpoint, sample event: String, wrap: @escaping @Sendable (String) -> String,
        judge: @escaping @Sendable (Reply) -> Probe?
    ) { declare(endpoint, .sample(event, wrap: wrap), judge) }

    private mutating func declare(_ endpoint: Endpoint, _ body: VendorProbe.Body, _ judge: @escaping @Sendable (Reply) -> Probe?) {
        // A proxy or a server of one's own may have only the API for events.
        let mayBeMissing = isRedirected && !endpoints.contains { $0.path == endpoint.path }
        declaredProbe = VendorProbe(endpoint: placed(endpoint), body: body) { reply in
            if mayBeMissing, [404, 405, 410].contains(reply.status) {
                return .reached(code: reply.status, "it was reached at url, and has nothing there that checks the credentials")
            }
            return judge(reply)
        }
    }

    /// The declared probe, or else one that only connects.
    var probing: VendorProbe {
        if let declaredProbe { return declaredProbe }
        var root = Endpoint(endpoints.first?.base ?? "https://invalid", path: "", envelope: Envelope(), limits: .init())
        // Only the host is asked: a path may lead to something that counts what it is asked.
        if let address = try? Address(root.base, setting: "url") { root.base = address.origin }
        root.path = "/"
        root.method = .get
        root.contentType = ""
        return VendorProbe(endpoint: root, body: .bytes([])) { reply in
            .reached(code: reply.status, "it was reached, and it has no way to check the credentials without storing something")
        }
    }

    /// Names a member that `map` reads, such as "context.ip". A path that is not one is a mistake in the vendor's code.
    public mutating func member(_ path: String) -> Member {
        Member(index: add(Setup.path(path)))
    }

    /// Keeps the name of a member for what the vendor writes there, such as switchyard_unmapped. An event that has it is refused.
    public mutating func reserve(_ name: String, in object: String) {
        reserved.append((member("\(object).\(name)"), "\(object) has the member \(name), which the provider itself writes"))
    }

    /// Names the members of a table, whose paths begin at `base`, such as "traits.". If `object` is given, it is the path of an object of the
    /// event that is copied as a whole: a name that it has already is not written again, and the member is left to `rest`.
    public mutating func members(_ table: MemberTable, at base: String = "", into object: String? = nil) -> MemberMap {
        let container = object.map(Setup.path)?.keys ?? []
        var names: [String] = []
        let rows = table.map { path, name in
            let text = "\(name)"
            let first = names.firstIndex(of: text) ?? names.count
            names.append(text)
            let own: Member? = object == nil ? nil : Member(index: add(Path(keys: container + [text])))
            return MemberMap.Row(member: member("\(base)\(path)"), name: name, own: own, first: first)
        }
        return MemberMap(rows: rows)
    }

    private static func path(_ text: String) -> Path {
        guard let path = try? Path(parsing: text) else { preconditionFailure("'\(text)' is not a path") }
        return path
    }

    private mutating func add(_ path: Path) -> Int {
        if let index = paths.firstIndex(of: path) { return index }
        paths.append(path)
        return paths.count - 1
    }
}
