// The settings of an http provider, parsed and checked once: its own, and those of every client.

internal import HTTPKit
internal import PluginKit

struct HTTPRules: Sendable {
    enum Body: String, SettingValue, CaseIterable {
        case ndjson
        case array
        case event

        var contentType: String { self == .ndjson ? "application/x-ndjson" : "application/json" }
    }

    let body: Body
    let compression: Compression
    /// The client's settings, its only target, and its secrets.
    let client: ClientRules

    static let schema: KeyValuePairs<String, Schema> = [
        "url": .text("where events are sent; https:// or http://, without a user or password: those go into headers").required,
        "method": .choice("the method of the requests", of: Target.Method.ofEvents.map(\.rawValue), default: "POST"),
        "body": .choice(
            "what a request holds: a batch as lines (application/x-ndjson), a batch as a JSON array (application/json), or a single event",
            of: Body.allCases.map(\.rawValue), default: "ndjson"),
        "compression": ClientSettings.compressionSchema,
        "headers": .object(
            "headers of every request, such as Authorization; their values are never shown", [:], others: .text("the value, one line")),
        "timeout": ClientSettings.timeoutSchema,
        "tls": ClientSettings.tlsSchema,
        "proxy": ClientSettings.proxySchema,
        "in_flight": ClientSettings.inFlightSchema,
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        let address = try Address(settings.require("url"), setting: "url")
        guard !address.hasUser else {
            throw SettingsFault(
                "url holds a user or a password; put them into headers instead: \"headers\": { \"Authorization\": \"Basic ...\" }")
        }
        guard !address.hasFragment else { throw SettingsFault("url has a part after '#', which is never sent; write %23 for a '#'") }
        let common = try ClientSettings(settings, isSecure: address.isSecure)
        let given = try settings.get("headers", as: Settings.self).map(Header.read) ?? []
        let method: Target.Method = settings.get("method") ?? .post
        body = settings.get("body") ?? .ndjson
        compression = common.compression

        var own = [
            Header("User-Agent", "switchyard/\(HTTPProvider.version)"), Header("Accept", "*/*"), Header("Content-Type", body.contentType),
        ]
        own.removeAll { own in given.contains { $0.isNamed(own.name) } }
        if compression != .none { own.append(Header("Content-Encoding", compression.rawValue)) }
        // A probe asks the host alone, without the user's headers and path: no server promises that a request without events does nothing.
        let root = Target(.get, try Address(address.origin + "/", setting: "url"), headers: own.filter { !$0.isNamed("Content-Type") })
        client = ClientRules(
            common, targets: [Target(method, address, headers: own + given), root],
            // All values of headers are treated as secrets. The part of an Authorization after the scheme is also a secret on its own.
            secrets: Secrets(given.flatMap { [$0.value[...]] + $0.value.split(separator: " ").dropFirst() }.map(String.init)))
    }
}
