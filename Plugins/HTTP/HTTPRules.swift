// The settings of an http provider, parsed and checked once: its own, and those of every client.

internal import ExpressionKit
internal import HTTPKit
internal import PluginKit

struct HTTPRules: Sendable {
    let body: BodyRules
    let answers: AnswerRules?
    let compression: Compression
    /// The target of events. Requests differ from it only in their method and path.
    let target: Target
    let secrets: Secrets
    let client: ClientRules
    /// How the server is asked to erase people. It is nil if it cannot be asked.
    let erasing: ErasureSettings?

    static let schema: KeyValuePairs<String, Schema> = [
        "url": .text("where events are sent; https:// or http://, without a user or password: those go into headers").required,
        "method": BodyRules.methodSchema,
        "path": BodyRules.pathSchema,
        "body": BodyRules.bodySchema,
        "answers": AnswerRules.schema,
        "constants": BodyRules.constantsSchema,
        "erase": ErasureTemplate.schema,
        "compression": ClientSettings.compressionSchema,
        "headers": .object(
            "headers of every request, such as Authorization; their values are never shown", [:],
            others: .text("the value, one line").secret),
        "timeout": ClientSettings.timeoutSchema,
        "tls": ClientSettings.tlsSchema,
        "proxy": ClientSettings.proxySchema,
        "in_flight": ClientSettings.inFlightSchema,
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        let address = try HTTPRules.address(settings.require("url"), setting: "url")
        let common = try ClientSettings(settings, isSecure: address.isSecure)
        let given = try settings.get("headers", as: Settings.self).map(Header.read) ?? []
        body = try BodyRules(settings)
        answers = try AnswerRules.read(settings)
        compression = common.compression

        var own = [
            Header("User-Agent", "switchyard/\(HTTPProvider.version)"), Header("Accept", "*/*"), Header("Content-Type", body.contentType),
        ]
        own.removeAll { own in given.contains { $0.isNamed(own.name) } }
        if compression != .none { own.append(Header("Content-Encoding", compression.rawValue)) }
        var target = Target(body.method, address, headers: own + given)
        if answers != nil {
            // An answer names refused events one by one, so it may be long.
            target.keepsEveryHeader = true
            target.longestAnswer = 2 << 20
            target.keptOfBody = 2 << 20
        }
        self.target = target
        // A probe asks the host alone, without the user's headers and path: no server promises that a request without events does nothing.
        let root = Target(.get, try Address(address.origin + "/", setting: "url"), headers: own.filter { !$0.isNamed("Content-Type") })
        // All values of headers and constants are treated as secrets.
        let hidden = HTTPRules.secrets(of: given) + body.secrets
        secrets = Secrets(hidden).adding(query: address.query)
        client = ClientRules(common, targets: [target, root], secrets: secrets)
        erasing = try ErasureSettings.read(settings, address, given, secrets: hidden)
    }

    /// The texts of headers that are never shown. The part of an Authorization after the scheme is also a secret on its own.
    static func secrets(of headers: [Header]) -> [String] {
        headers.flatMap { [$0.value[...]] + $0.value.split(separator: " ").dropFirst() }.map(String.init)
    }

    /// Reads the URL of a setting.
    static func address(_ text: String, setting: String) throws(SettingsFault) -> Address {
        let address = try Address(text, setting: setting)
        guard !address.hasUser else {
            throw SettingsFault(
                "\(setting) holds a user or a password; put them into headers instead: \"headers\": { \"Authorization\": \"Basic ...\" }")
        }
        guard !address.hasFragment else { throw SettingsFault("\(setting) has a part after '#', which is never sent; write %23 for a '#'") }
        return address
    }
}
