// The provider `sentry`: Sentry's envelope API. An event that tells of an error becomes one error event in an envelope of its own, and every
// other event is refused. docs/providers/sentry.md has the mapping and says what is lost.

public import VendorKit

package struct Sentry: Vendor {
    private let endpoint: Endpoint.ID
    private let takesAll: Bool
    private let fallback: (environment: String?, release: String?, platform: String)
    private let exceptions: Exceptions
    private let own:
        (
            level: Member, message: Member, platform: Member, fingerprint: Member, breadcrumbs: Member, tags: Member
        )
    private let ownTexts: [(name: StaticString, member: Member, most: Int)]
    private let environment: [Member]
    private let release: [Member]
    private let agent: Member
    private let user, request, extra: MemberMap
    private let contexts: [(name: StaticString, members: MemberMap, named: [Member])]

    package init(_ setup: inout Setup) throws(SettingsFault) {
        let dsn = try DSN(setup.secret("dsn"))
        var envelopes = Endpoint(
            dsn.base, path: "/api/\(dsn.project)/envelope/",
            envelope: Envelope(most: 48, after: Array("\n".utf8)) { contents in
                Array(contents.group) + Array("\n{\"type\":\"event\",\"length\":\(contents.bytes)}\n".utf8)
            }, limits: .init(events: 1, event: 1 << 20))
        envelopes.contentType = "application/x-sentry-envelope"
        let client = "Sentry sentry_version=7, sentry_client=switchyard/\(Sentry.about.version), "
        let secret = dsn.secret.map { ", sentry_secret=\($0)" } ?? ""
        envelopes.headers = [Header("X-Sentry-Auth", client + "sentry_key=\(dsn.key)\(secret)")]
        envelopes.keptHeaders = ["x-sentry-rate-limits", "retry-after"]
        endpoint = setup.endpoint(envelopes)
        // A report that the client has discarded nothing. Unlike an envelope without items, it makes Sentry look at the project.
        envelopes.takesCompression = false
        setup.probe(envelopes, body: "{}\n{\"type\":\"client_report\"}\n{\"discarded_events\":[]}\n") { reply in
            guard reply.status == 200 else { return nil }
            return .reached(code: 200, "Sentry did not refuse the DSN, but may look at the key only after it has answered")
        }
        for text in [dsn.key, dsn.secret].compactMap({ $0 }) { setup.hide(text) }
        setup.credentialsRemedy = "correct dsn"
        takesAll = setup.settings.get("take") == "all"
        fallback = (
            setup.settings.get("environment"), setup.settings.get("release"), setup.settings.get("platform") ?? "other"
        )
        func property(_ name: String) -> Member { setup.member("properties.\(name)") }
        exceptions = Exceptions(&setup)
        own = (
            property("level"), property("message"), property("platform"), property("fingerprint"), property("breadcrumbs"),
            property("tags")
        )
        ownTexts = [("logger", property("logger"), 64), ("transaction", property("transaction"), 200)]
        environment = [property("environment"), setup.member("context.environment")]
        release = [property("release"), setup.member("context.app.version")]
        agent = setup.member("context.userAgent")
        (user, request) = (setup.members(Sentry.users), setup.members(Sentry.requests))
        extra = setup.members(Sentry.extra, into: "properties")
        contexts = Sentry.contexts.map { name, table in
            (name, setup.members(table), table.map { setup.member("\($0.key)") })
        }
        setup.reserve("switchyard_unmapped", in: "properties")
    }

    // MARK: - Mapping

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        guard event.kind == .track || event.kind == .other else { return wire.refuse("only track events can be errors") }
        let level = event[own.level].flatMap { LoggerLevel($0) }
        let hasError = exceptions.isPresent(in: event)
        guard hasError || takesAll || level == .error || level == .fatal else {
            return wire.refuse("the event tells of no error: it has no exception, and its level is neither error nor fatal")
        }
        let name = event.ownName
        guard hasError || name != nil || event.text(of: [own.message]) != nil else {
            return wire.refuse("the event has no exception, no message and no name")
        }

        wire.begin(endpoint)
        wire.openObject()
        wire.member("event_id", hexIDOf: event)
        wire.closeObject()
        wire.endGroup()
        wire.openObject()
        wire.member("event_id", hexIDOf: event)
        wire.member("timestamp", timeOf: event, as: .text)
        if level != nil { wire.take(event[own.level]) }
        wire.member("level", constant: Sentry.name(of: level ?? .error))
        if let platform = event[own.platform], Sentry.platforms.contains(platform), platform.isText {
            wire.member("platform", platform)
        } else {
            wire.member("platform", string: fallback.platform)
        }
        writeOwn(event, to: &wire)
        if hasError { exceptions.write(event, to: &wire) }
        if let text = event.text(of: [own.message]) ?? (hasError ? nil : name) {
            wire.openObject("logentry")
            wire.member("formatted", text)
            wire.closeObject()
        }
        writeTags(event, name, to: &wire)
        wire.openObject("user")
        wire.member("id", text: event.userId ?? event.anonymousId)
        wire.texts(user, of: event)
        wire.closeObject()
        writeSurroundings(event, to: &wire)
        noteLosses(of: event, in: &wire)
        wire.openObject("extra")
        wire.spliceRest(of: event.properties, in: event)
        wire.members(extra, of: event)
        wire.rest("switchyard_unmapped", of: event)
        wire.closeObject()
        wire.closeObject()
        wire.end()
    }

    /// What Sentry shortens is sent all the same.
    private func noteLosses(of event: CanonicalEvent, in wire: inout WireEvents) {
        guard wire.isPreview, let properties = event.properties else { return }
        if event[own.message]?.isLonger(than: 8192) ?? false || exceptions.messages(of: event).contains(where: { $0.isLonger(than: 8192) })
        {
            wire.loses("a message has more than 8192 characters, and Sentry shortens it")
        }
        if properties.depth > 7 { wire.loses("the properties have more than 7 levels, and Sentry shortens them") }
        if properties.count > 256 << 10 { wire.loses("the properties have more than 262144 bytes, and Sentry shortens them") }
    }

    /// Sentry would take the router's own address for the user's if it were not told to infer none.
    private func writeOwn(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.openObject("sdk")
        wire.member("name", constant: "switchyard")
        wire.member("version", string: Sentry.about.version)
        wire.openObject("settings")
        wire.member("infer_ip", constant: "never")
        wire.closeObject()
        wire.closeObject()
        for (name, member, most) in ownTexts {
            if let text = event.text(of: [member]), Sentry.isLine(text, most: most) { wire.member(name, text) }
        }
        write("environment", event.text(of: environment), most: 64, else: fallback.environment, to: &wire)
        write("release", event.text(of: release), most: 200, else: fallback.release, to: &wire)
        if let list = event[own.fingerprint], list.isList, list.elements.allSatisfy(\.isText) { wire.member("fingerprint", list) }
        if let crumbs = event[own.breadcrumbs], crumbs.isList || crumbs["values"]?.isList ?? false { wire.member("breadcrumbs", crumbs) }
    }

    private func write(_ name: StaticString, _ text: Value?, most: Int, else fallback: String?, to wire: inout WireEvents) {
        if let text, Sentry.isLine(text, most: most), !text.body.contains(UInt8(ascii: "/")) {
            wire.member(name, text)
        } else if let fallback {
            wire.member(name, string: fallback)
        }
    }

    /// Writes the tags that Sentry takes. If it does not take all of them, `extra` has them too.
    private func writeTags(_ event: CanonicalEvent, _ name: Value?, to wire: inout WireEvents) {
        wire.openObject("tags")
        var hasEvent = false
        if let tags = event[own.tags], tags.isObject {
            var isWhole = true
            for (key, value) in tags.members {
                let isShort = value.isText ? value.count > 2 && Sentry.isLine(value, most: 200) : value.isNumber || value.isFlag
                guard isShort, Sentry.isTag(key) else {
                    isWhole = false
                    continue
                }
                hasEvent = hasEvent || key.isText("event")
                wire.member(key, value)
            }
            if isWhole { wire.take(tags) }
        }
        if !hasEvent, let name, Sentry.isLine(name, most: 200) { wire.member("event", name) }
        wire.closeObject()
    }

    private func writeSurroundings(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.openObject("request")
        wire.texts(request, of: event)
        if let agent = event.text(of: [agent]) {
            wire.openObject("headers")
            wire.member("User-Agent", agent)
            wire.closeObject()
        }
        wire.closeObject()
        wire.openObject("contexts")
        for context in contexts where event.text(of: context.named) != nil {
            wire.openObject(context.name)
            wire.texts(context.members, of: event)
            wire.closeObject()
        }
        wire.closeObject()
    }

    // MARK: - Values

    /// True for a text of one line that is not too long.
    private static func isLine(_ text: Value, most: Int) -> Bool {
        !text.isLonger(than: most) && text.withText { $0.map { !$0.contains { $0 == 0x0a || $0 == 0x0d } } ?? false }
    }

    private static func name(of level: LoggerLevel) -> StaticString {
        switch level {
        case .fatal: "fatal"
        case .error: "error"
        case .warning: "warning"
        case .information: "info"
        case .debug, .trace: "debug"
        }
    }

    private static func isTag(_ key: Value) -> Bool {
        (1...32).contains(key.body.count)
            && key.body.allSatisfy { byte in
                byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || "_.:-".utf8.contains(byte)
            }
    }

    private static let platforms = TextSet([
        "as3", "c", "cfml", "cocoa", "csharp", "elixir", "haskell", "go", "groovy", "java", "javascript", "native", "node", "objc", "other",
        "perl", "php", "python", "ruby",
    ])

    // MARK: - Answers

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        // The limit may come with any status. After a 2xx Sentry does not say whether it kept the event. It knows it by its id if it comes
        // again.
        if let header = reply.header("x-sentry-rate-limits") {
            guard reply.status == 429 || !(300..<500).contains(reply.status), let pause = Sentry.pause(header) else { return .standard }
            return .whole(.retry(code: reply.status, "Sentry limits the rate of errors", afterMilliseconds: pause))
        }
        guard reply.status == 429, reply.header("retry-after") == nil else { return .standard }
        return .whole(.retry(code: 429, "Sentry limits the rate, and names no time", afterMilliseconds: 60_000))
    }

    /// Returns the longest pause in milliseconds that a header asks for errors, at most an hour, or nil. Each part is
    /// `seconds:categories:scope:...`; without a category it is for all.
    package static func pause(_ header: String) -> UInt64? {
        var most: Double = 0
        for part in header.split(separator: ",") {
            let fields = part.filter { $0 != " " }.split(separator: ":", omittingEmptySubsequences: false)
            guard let seconds = fields.first.flatMap({ Double($0) }), seconds.isFinite else { continue }
            let categories = fields.dropFirst().first?.split(separator: ";") ?? []
            // Events with an exception are of the category error, and those without one of the category default.
            if categories.isEmpty || categories.contains("error") || categories.contains("default") { most = max(most, seconds) }
        }
        return most > 0 ? UInt64(min((most * 1000).rounded(.up), 3_600_000)) : nil
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<Sentry>.self) }
