// The settings of a nats provider, parsed and checked once: the servers, and where each event goes.

internal import Events
internal import PluginKit
internal import StreamKit

struct NATSRules: Sendable {
    let servers: ServerSettings
    let subject: NameTemplate
    /// The stream that must take the events. If it is nil, any stream may.
    let stream: String?
    let members: MemberList
    /// The number of the member `messageId` in the list.
    let id: Int

    static let ownSchema: KeyValuePairs<String, Schema> = [
        "subject": .text(
            "the subject of an event; {type} stands for a member, in which all but letters, digits, '-' and '_' becomes '_'"
        ).required,
        "stream": .text("the stream that must take the events; any stream when left out"),
    ]

    init(_ settings: Settings) throws(SettingsFault) {
        servers = try ServerSettings(settings)
        var members = MemberList()
        id = members.add(Path(keys: ["messageId"]))
        let text: String = try settings.require("subject")
        subject = try NameTemplate(text, setting: "subject", members: &members)
        self.members = members
        try NATSRules.check(subject)
        stream = settings.get("stream")
        if let stream { try NATSRules.check(name: stream, setting: "stream", of: "a stream") }
    }

    private static func check(_ subject: NameTemplate) throws(SettingsFault) {
        let shape = subject.text(with: "x")
        let literal = subject.text(with: "")
        guard literal.utf8.count <= 500 else { throw SettingsFault("subject is too long: at most 500 bytes besides its members") }
        guard literal.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
            throw SettingsFault("subject holds a space, a control character or a character that is not ASCII")
        }
        if let wildcard = literal.first(where: { $0 == "*" || $0 == ">" }) {
            throw SettingsFault("subject holds '\(wildcard)', which is a wildcard; events go to one subject")
        }
        guard !shape.split(separator: ".", omittingEmptySubsequences: false).contains("") else {
            throw SettingsFault("subject has an empty part: a dot at its beginning or end, or two dots in a row")
        }
        guard !shape.hasPrefix("$"), !shape.hasPrefix("_INBOX.") else {
            throw SettingsFault("subject begins with '$' or _INBOX, which belong to the server")
        }
    }

    /// Checks the name of a stream or a consumer.
    static func check(name: String, setting: String, of what: String) throws(SettingsFault) {
        let isName =
            !name.isEmpty && name.utf8.count <= 255
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !".*>/\\\"".utf8.contains($0) }
        guard isName else {
            throw SettingsFault("\(setting) is no name of \(what): it is empty, too long, or holds a space or one of . * > / \\ \"")
        }
    }

    /// The subject with a wildcard for each part that depends on the event.
    var filter: String {
        let shape = subject.text(with: "*")
        return shape.split(separator: ".").map { $0.contains("*") ? "*" : $0 }.joined(separator: ".")
    }
}
