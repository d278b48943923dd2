// The setting `erase` of an http provider: the template of the requests, and the client that sends them.

internal import ExpressionKit
internal import HTTPKit
internal import PluginKit

struct ErasureSettings: Sendable {
    let template: ErasureTemplate
    let client: ClientRules
    let secrets: Secrets
    /// The URL without its query and without a slash at the end, and the query.
    private let base: String
    private let query: String

    /// The targets of the client: requests with a body, and requests without one.
    static let withBody = 0
    static let bare = 1

    /// Reads the setting. Returns nil if there is none. `headers` are those of the events.
    static func read(
        _ settings: Settings, _ address: Address, _ headers: [Header], secrets: [String]
    ) throws(SettingsFault) -> ErasureSettings? {
        guard let given = settings.get("erase", as: Settings.self), let template = try ErasureTemplate.read(settings) else { return nil }
        return try ErasureSettings(given, template, settings, address, headers, secrets)
    }

    private init(
        _ given: Settings, _ template: ErasureTemplate, _ settings: Settings, _ address: Address, _ headers: [Header], _ secrets: [String]
    ) throws(SettingsFault) {
        self.template = template
        var address = address
        // The headers of the events may hold a key that is for their server only.
        var headers = headers
        if let url = given.get("url", as: String.self) {
            address = try HTTPRules.address(url, setting: "erase.url")
            headers = []
        }
        if let own = given.get("headers", as: Settings.self) { headers = try Header.read(own) }
        var own = [Header("User-Agent", "switchyard/\(HTTPProvider.version)"), Header("Accept", "*/*")]
        own.removeAll { own in headers.contains { $0.isNamed(own.name) } }
        let type = headers.contains { $0.isNamed("Content-Type") } ? [] : [Header("Content-Type", "application/json")]
        self.secrets = Secrets(secrets + HTTPRules.secrets(of: headers)).adding(query: address.query)
        let common = try ClientSettings(settings, isSecure: address.isSecure)
        client = ClientRules(
            common,
            targets: [
                ErasureSettings.target(address, own + type + headers),
                ErasureSettings.target(address, own + headers.filter { !$0.isNamed("Content-Type") }),
            ], secrets: self.secrets)
        let parts = address.text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var base = String(parts[0])
        while base.hasSuffix("/") { base.removeLast() }
        (self.base, query) = (base, parts.count > 1 ? String(parts[1]) : "")
    }

    private static func target(_ address: Address, _ headers: [Header]) -> Target {
        var target = Target(.post, address, headers: headers)
        target.keepsEveryHeader = true
        target.longestAnswer = 2 << 20
        target.keptOfBody = 2 << 20
        target.remedies.redirect = "correct erase.url"
        target.remedies.credentials = "correct the credentials in erase.headers"
        target.remedies.notFound = "correct erase.path or erase.method, or add a rule for this status to erase.answers"
        return target
    }

    func url(of request: ErasureTemplate.Request) -> String {
        let queries = [request.query, query].filter { !$0.isEmpty }
        // Without a path the URL is that of the setting, which may end with a slash.
        let place = request.path.isEmpty ? String(client.targets[0].address.text.prefix { $0 != "?" }) : base + request.path
        return place + (queries.isEmpty ? "" : "?" + queries.joined(separator: "&"))
    }
}
