// The form of routes.json as a whole. It lists all sections and reads the small ones itself; each larger section has a file of its own.

internal import Document
internal import Events
internal import FormReading
internal import Plans

enum RootForm {
    /// The most providers, and the most routes: their indices are kept in 16 bits.
    static let mostEntries = 65_000

    /// The sections are read in this order, whatever their order in the file: each comes after those that it refers to.
    static let root = Form<Plan>.object(
        Plan(),
        [
            Member(
                "$schema", Forms.string, "The file or address of the schema, for editors; the router does not read it; none when left out.",
                example: #""./routes.schema.json""#),
            Member("version", version, "The version of this format; 1 when left out.", example: #"1"#),
            Member(
                "keys", keys, "Named secrets for hashing and encryption, each at least 16 bytes; none when left out.",
                example: #"{"ids": "${env:IDS_KEY}"}"#, into: \.keys),
            Member("limits", limits, "Limits on input and on the use of disk.", into: \.limits),
            Member("message_id", messageID, "How the messageId of events is added and used.", into: \.messageID),
            Member("state", state, "How events are kept in the state folder.", into: \.state),
            Member(
                "audit", AuditForms.section, "A log of what was decided and done, which others can verify; none when left out.",
                example: #"{"key": "audit"}"#, into: \.audit),
            Member("shutdown", shutdown, "What happens when the router is told to stop.", into: \.shutdown),
            Member(
                "admin", admin, "An address for health, metrics and status, in addition to the control socket; none when left out.",
                example: #"{"listen": "127.0.0.1:9464"}"#, into: \.admin),
            Member(
                "sources", SourceForms.sources, "Where events come from; standard input when left out.",
                example: #"{"app": {"plugin": "http", "listen": "127.0.0.1:8088"}}"#, into: \.namedSources),
            Member(
                "consent", ConsentForms.section, "The consent that routes demand of subjects; no consent is checked when left out.",
                example: #"{"levels": {"none": [], "standard": ["analytics"]}, "default": "standard"}"#,
                into: \.consent),
            Member(
                "providers", ProviderForms.providers, required: true, "Where events go, by name.",
                example: #"{"archive": {"plugin": "file", "path": "events.ndjson"}}"#, into: \.providers),
            Member(
                "emit", EmitForms.emits, "Rules that make a second event from one; none when left out.",
                example: #"[{"where": "properties.ms > 1000", "event": {"event": "slow_request"}}]"#, into: \.emits),
            Member(
                "plan", TrackingPlanForms.plan, "The file of the tracking plan that events must satisfy; none when left out.",
                example: #""plan.json""#, into: \.trackingPlan),
            Member(
                "routes", RouteForms.routes, required: true, "What each provider gets. Every route sees every event.",
                example: #"[{"name": "all", "to": ["archive"]}]"#, into: \.routes),
            LintForms.member(),
        ]
    ).then { plan, node, reading in
        EmitForms.check(plan, node: node, reading: reading)
        SourceForms.checkRoutes(plan, node: node, reading: reading)
        SourceForms.checkLedger(plan, node: node, reading: reading)
        ConsentForms.checkKeys(plan, node: node, reading: reading)
        TrackingPlanForms.checkPrivate(plan, node: node, reading: reading)
        AuditForms.checkKeys(plan, node: node, reading: reading)
        return plan
    }

    private static let version = Form<Int>(#"{"const":1}"#) { node, reading in
        if case .number("1") = node.value { return 1 }
        reading.refuse(node, "1")
        return nil
    }

    /// A key needs 16 bytes, but a schema counts characters. A key with other characters than ASCII may have fewer than 16 of them.
    private static let keySchema = SchemaParts.orPlaceholder(
        SchemaParts.anyOf([#"{"type":"string","minLength":16}"#, #"{"type":"string","minLength":4,"pattern":"[^\\u0000-\\u007f]"}"#]))

    private static let keys = Form<[Key]>(
        #"{"type":"object","propertyNames":\#(SchemaParts.key),"additionalProperties":\#(keySchema)}"#
    ) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of keys")
            return nil
        }
        reading.keys = Dictionary(entries.enumerated().map { ($1.key.name, $0) }) { first, _ in first }
        return entries.compactMap { entry in
            guard let name = Forms.anyKey.read(entry.key, node, reading) else { return nil }
            // A key is secret even if it is written in the file. No message shows it.
            guard let text = entry.node.text else {
                reading.fault(at: entry.node.offset, "\(entry.node.path) must be a string, is \(entry.node.kind)")
                return nil
            }
            if text.isBroken { return nil }
            let bytes = Array(text.value.utf8)
            guard bytes.count >= 16 else {
                let subject = text.isTainted ? ", \(Reading.hidden(text)) is shorter" : ", has \(bytes.count)"
                reading.fault(at: entry.node.offset, "\(entry.node.path) must have at least 16 bytes\(subject)")
                return nil
            }
            return Key(name: name, secret: Secret(bytes))
        }
    }

    private static let limits = Form<Limits>.object(
        Limits(),
        [
            Member("line", Forms.size(1...1_000_000_000), "The longest line that is read; a longer one is skipped.", into: \.line),
            Member("depth", Forms.integer(1...Scanner.deepest), "How deep objects and lists may nest.", into: \.depth),
            Member(
                "disk", Forms.size(1...(1 << 50)), "The most bytes of events on disk, of all providers together; no limit when left out.",
                into: \.disk),
            Member(
                "disk_free", Forms.size(0...(1 << 50)), "How much of the disk of the state folder stays free; 100MB when left out.",
                into: \.diskFree),
        ])

    private static let state = Form<StatePlan>.object(
        StatePlan(),
        [
            Member(
                "encrypt", Forms.key("encryption key"),
                "The name of the key in 'keys' under which events are encrypted; events are not encrypted when left out.",
                example: #""disk""#, into: \.encrypt)
        ])

    private static let shutdown = Form<ShutdownPlan>.object(
        ShutdownPlan(),
        [
            Member(
                "deadline", Forms.time(0...(366 * 86_400_000)),
                "How long the router may continue to deliver after SIGTERM; 10s when left out.",
                into: \.deadline)
        ])

    private static let admin = Form<AdminPlan>.object(
        AdminPlan(),
        [
            Member(
                "listen", SourceForms.listen, "The address that it listens at, HOST:PORT; 127.0.0.1:9464 when left out.",
                example: #""127.0.0.1:9464""#, into: \.listen),
            Member("open", Forms.boolean, "Whether the address may be one that other machines can reach.", into: \.isOpen),
            Member(
                "page", Forms.boolean, "Whether it has a page for a browser, which only a link of `switchyard page` opens.", into: \.hasPage
            ),
            Member(
                "origins", Forms.set("origins", of: pageOrigin),
                "The origins of the page in addition to its own address, such as that of a proxy with TLS; none when left out.",
                example: #"["https://router.example"]"#, into: \.origins),
        ]
    ).then { plan, node, reading in
        guard let place = node["listen"] else { return plan }
        if case .tcp = plan.listen {
        } else {
            reading.refuse(place, "an address of the network such as \"127.0.0.1:9464\"")
        }
        if !plan.listen.isLocal, !plan.isOpen {
            reading.fault(place, "\(Reading.named(place)) can be reached over the network, expected \"open\": true")
        }
        if plan.hasPage, !plan.listen.isLocal, let page = node["page"] {
            reading.fault(
                page, "needs an address of this machine, since admin has no TLS; a proxy with TLS can show it, see 'origins'")
        }
        return plan
    }

    /// An origin of the page. Only an encrypted one may lead over the network.
    private static let pageOrigin = Form<String>(
        SchemaParts.orPlaceholder(SchemaParts.pattern(#"^(https://|http://(localhost|127\.0\.0\.1|\[::1\])(:|$))[^/\\?#@\s]*$"#))
    ) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard isPageOrigin(text.value) else {
            reading.refuse(node, "an origin with https such as \"https://router.example\", or with http one of this machine")
            return nil
        }
        return text.value
    }

    private static func isPageOrigin(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f && !"\\?#@".utf8.contains($0) }) else { return false }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, !parts[2].isEmpty else { return false }
        if parts[0] == "https:" { return true }
        let local = ["localhost", "127.0.0.1", "[::1]"]
        return parts[0] == "http:" && local.contains { parts[2] == $0 || parts[2].hasPrefix($0 + ":") }
    }

    private static let messageID = Form<MessageIDPlan>.object(
        MessageIDPlan(),
        [
            Member(
                "add", Forms.boolean, "Whether events without a messageId get one; true if a provider can use it when left out.",
                into: \.add),
            Member(
                "deduplicate", deduplication, "Drops and counts an event whose messageId came before; every event passes when left out.",
                example: #"{"for": "10m"}"#, into: \.deduplicate),
        ])

    private static let deduplication = Form<MessageIDPlan.Deduplication>.object(
        MessageIDPlan.Deduplication(),
        [
            Member("for", Forms.time(1...(366 * 86_400_000)), "How long an id is remembered; 10m when left out.", into: \.window),
            Member(
                "most", Forms.integer(1...100_000_000), "How many ids are remembered, 32 bytes each; 1000000 when left out.", into: \.most),
        ])
}
