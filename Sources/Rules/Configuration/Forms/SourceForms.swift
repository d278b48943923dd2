// The form of the section `sources`: standard input, HTTP listeners with their address, keys and limits, files, and modules. It also checks
// that the routes and the ledger that sources refer to are there.

internal import Document
internal import FormReading
internal import Plans

enum SourceForms {
    /// The dialects that a source accepts. A source and a key can be limited to some of them.
    static let dialects = ["native", "segment", "otlp"]

    static let sources = Form<[SourcePlan]>(table.schema) { node, reading in
        let modules = node.entries?.compactMap { $0.node["plugin"]?.text }.filter { !$0.isBroken }.map(\.value) ?? []
        reading.prepareDescriptions(of: modules.filter { Kind(rawValue: $0) == nil && ProviderForms.isModuleName($0) })
        return table.read(node, reading)
    }

    private static let table = Forms.table("sources", by: Forms.anyKey, of: source).then { table, node, reading -> [SourcePlan]? in
        let plans = table.map { name, plan in
            var plan = plan
            plan.name = name
            return plan
        }
        for (index, plan) in plans.enumerated() {
            guard let entry = node.entries?.first(where: { $0.key.name == plan.name }) else { continue }
            if plan.isInput {
                guard let first = plans[..<index].first(where: \.isInput) else { continue }
                reading.fault(
                    entry.node, at: entry.key.range.lowerBound,
                    "standard input is already read by \(Words.quoted(first.name)), expected one such source")
            } else if let http = plan.http, let first = plans[..<index].first(where: { $0.http?.listen == http.listen }),
                let place = entry.node["listen"]
            {
                reading.fault(place, "\(Reading.named(place)) is already the address of \(Words.quoted(first.name))")
            }
        }
        return plans
    }

    enum Kind: String, CaseIterable { case stdin, http, file }
    /// The keys of a source of a module that belong to the router. No module can have settings with these names.
    static let ownKeys = ["plugin", "consent", "in_flight", "isolate", "lint"]
    private enum Standard: String, CaseIterable { case stdin }
    private enum HTTP: String, CaseIterable { case http }

    private static let source = Form<SourcePlan>(
        SchemaParts.anyOf([standard.schema, http.schema, FileSourceForms.file.schema, SchemaParts.ref("source")])
    ) { node, reading in
        guard node.entries != nil else {
            reading.refuseType(node, "an object with 'plugin'")
            return nil
        }
        guard let written = node["plugin"] else {
            reading.lacks("plugin", "The kind of source: \"stdin\", \"http\", \"file\", or the name of a module.", in: node)
            return nil
        }
        guard let text = Forms.string.read(written, reading) else { return nil }
        guard let kind = Kind(rawValue: text.value) else { return ModuleSourceForms.read(node, written, reading) }
        switch kind {
        case .stdin: return standard.read(node, reading)
        case .http:
            guard let http = http.read(node, reading) else { return nil }
            var plan = SourcePlan(name: "", plugin: kind.rawValue)
            plan.http = http
            plan.consent = http.consent
            return plan
        case .file:
            guard let file = FileSourceForms.file.read(node, reading) else { return nil }
            var plan = SourcePlan(name: "", plugin: kind.rawValue)
            plan.file = file
            plan.consent = file.consent
            return plan
        }
    }

    private static let standard = Form<SourcePlan>.object(
        SourcePlan(name: "", plugin: Kind.stdin.rawValue),
        [
            Member("plugin", Forms.choice(Standard.self), required: true, "Standard input."), LintForms.member(),
            Member(
                "consent", right, "\"write\" lets its events grant consent, tie ids and erase; they can only refuse when left out.",
                example: #""write""#,
                into: \.consent),
        ])

    /// The right of a source or a key to write the ledger. Without it, events can only refuse consent.
    static let right = Forms.choice(ConsentRight.self)

    // MARK: - HTTP

    static let http = Form<HTTPSourcePlan>.object(
        HTTPSourcePlan(),
        [
            Member("plugin", Forms.choice(HTTP.self), required: true, "A listener that accepts events over HTTP."), LintForms.member(),
            Member(
                "listen", listen,
                "The address that it listens at: HOST:PORT, unix:/PATH, systemd or systemd:NAME; 127.0.0.1:8088 when left out.",
                example: #""127.0.0.1:8088""#,
                into: \.listen),
            Member("mode", mode, "The permissions of a Unix socket; 0600 when left out.", example: #""0660""#, into: \.mode),
            Member(
                "owner", Forms.name,
                "The owner of a Unix socket: USER, USER:GROUP or :GROUP, such as \"www-data:www-data\"; the router's user when left out.",
                example: #""www-data:www-data""#,
                into: \.owner),
            Member(
                "tls", tls, "Files in PEM, with which the listener uses TLS 1.2 or later; no TLS when left out.",
                example: #"{"certificate": "/etc/switchyard/tls.pem", "key": "/etc/switchyard/tls.key"}"#, into: \.tls),
            Member(
                "keys", keys, "Keys by name: each client must send one of them; anyone who can connect may send when left out.",
                example: #"{"web": {"secret": "${env:WEB_KEY}"}}"#,
                into: \.keys),
            Member("open", Forms.boolean, "Whether anyone on the network may send without a key.", into: \.isOpen),
            Member(
                "origins", Forms.set("origins", of: origin),
                "The origins whose web pages may send, such as \"https://app.example\"; * means every page; none when left out.",
                example: #"["https://app.example"]"#,
                into: \.origins),
            Member(
                "dialects", Forms.set("dialects", of: dialect), "The dialects that it accepts; all when left out.",
                example: #"["segment"]"#, into: \.dialects),
            Member(
                "consent", right,
                "\"write\" lets its events grant consent, tie ids and erase, whatever key they come with; they can only refuse when left out.",
                example: #""write""#,
                into: \.consent),
            Member("ip", Forms.boolean, "Whether events get the client's address as context.ip.", into: \.addsIP),
            Member(
                "received_at", Forms.boolean, "Whether native events without receivedAt get it, as events of other dialects do.",
                into: \.addsReceivedAt),
            Member(
                "limits", limits, "Limits on what a client may send, and on how long it may take.", example: #"{"body": "5MB"}"#,
                into: \.limits),
        ]
    ).then { plan, node, reading in
        if let listen = node["listen"], !plan.listen.isLocal, plan.keys.isEmpty, node["keys"] == nil, !plan.isOpen, plan.tls?.clients == nil
        {
            reading.fault(
                listen, "\(Reading.named(listen)) can be reached over the network, expected 'keys', 'tls.clients' or \"open\": true")
        }
        if let open = node["open"], plan.isOpen, node["keys"] != nil {
            reading.fault(open, "with 'keys' every client needs a key, expected only one of the two")
        }
        for name in ["mode", "owner"] {
            guard let place = node[name] else { continue }
            if case .unix = plan.listen { continue }
            reading.fault(place, "applies only to a Unix socket, expected \"listen\": \"unix:/PATH\"")
        }
        var plan = plan
        // One client among many must not be able to take every connection.
        if !plan.listen.isLocal, plan.limits.connectionsByAddress == 0 {
            plan.limits.connectionsByAddress = max(1, plan.limits.connections / 10)
        }
        return plan
    }

    static let listen = Form<ListenAddress>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard let address = ListenAddress(text.value) else {
            reading.refuse(node, "an address such as \"127.0.0.1:8088\", \"[::1]:8088\", \"unix:/run/switchyard.sock\" or \"systemd\"")
            return nil
        }
        return address
    }.writing { JSONText.quoted($0.description) }

    private static let mode = Form<UInt32>(SchemaParts.orPlaceholder(SchemaParts.pattern("^0[0-7]{3}$"))) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        let bytes = Array(text.value.utf8)
        guard bytes.count == 4, bytes[0] == UInt8(ascii: "0"), let mode = UInt32(text.value, radix: 8) else {
            reading.refuse(node, "permissions such as \"0660\"")
            return nil
        }
        return mode
    }.writing { mode in "\"0\(String(mode, radix: 8))\"" }

    private static let file = Form<String>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard !text.value.isEmpty, !text.value.utf8.contains(0) else {
            reading.refuse(node, "the path of a file")
            return nil
        }
        return text.value
    }

    private static let tls = Form<HTTPSourcePlan.TLS>.object(
        HTTPSourcePlan.TLS(),
        [
            Member(
                "certificate", file, required: true, "The certificate, with the intermediate certificates up to its authority.",
                example: #""/etc/switchyard/tls.pem""#,
                into: \.certificate),
            Member(
                "key", file, required: true, "The private key of the certificate, which no other user may read.",
                example: #""/etc/switchyard/tls.key""#, into: \.key),
            Member(
                "clients", file,
                "The authorities that must have signed the certificates of clients; clients need no certificate when left out.",
                example: #""/etc/switchyard/clients.pem""#, into: \.clients),
        ]
    ).then { tls, _, _ -> HTTPSourcePlan.TLS? in tls }

    private static let origin = Form<String>(
        SchemaParts.orPlaceholder(SchemaParts.anyOf([#"{"const":"*"}"#, SchemaParts.pattern(#"^https?://[^/\\?#\s]+$"#)]))
    ) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard text.value == "*" || isOrigin(text.value) else {
            reading.refuse(node, "an origin such as \"https://app.example\", or \"*\"")
            return nil
        }
        return text.value
    }

    private static func isOrigin(_ text: String) -> Bool {
        for scheme in ["https://", "http://"] where text.utf8.starts(with: scheme.utf8) {
            let host = text.utf8.dropFirst(scheme.utf8.count)
            return !host.isEmpty && host.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"/\\?#".utf8.contains($0) }
        }
        return false
    }

    // MARK: - Keys

    private struct KeyDraft: Sendable {
        var secrets: [[UInt8]] = []
        var dialects: [String]?
        var routes: [String]?
        var consent: ConsentRight?
    }

    private static let keys = Forms.table("keys", by: Forms.anyKey, of: key).then { table, _, _ -> [AccessKey]? in
        table.map { name, key in
            AccessKey(name: name, secrets: key.secrets, dialects: key.dialects, routes: key.routes, consent: key.consent)
        }
    }

    private static let key = Form<KeyDraft>.object(
        KeyDraft(),
        [
            Member(
                "secret", secrets, required: true, "The key, or two while a new one replaces an old one.", example: #""${env:WEB_KEY}""#,
                into: \.secrets),
            Member(
                "dialects", Forms.set("dialects", of: dialect), "The dialects it may send; all when left out.", example: #"["segment"]"#,
                into: \.dialects),
            Member(
                "routes", Forms.set("routes", of: Forms.name), "The routes its events may take; all when left out.",
                example: #"["product"]"#, into: \.routes),
            Member("consent", right, "What its events may do to the ledger; the same as the source's when left out.", into: \.consent),
        ])

    /// Reports every route that a key names and the file does not have. It runs after the routes are read.
    static func checkRoutes(_ plan: Plan, node: Node, reading: Reading) {
        let names = plan.routes.map(\.name)
        guard !names.isEmpty else { return }
        let shown = (node["routes"]?.items ?? []).compactMap { $0["name"]?.text }.filter { !$0.isTainted }.map(\.value)
        for source in node["sources"]?.entries ?? [] {
            for key in source.node["keys"]?.entries ?? [] {
                for route in key.node["routes"]?.items ?? [] {
                    guard let name = route.text, !name.isBroken, !names.contains(name.value) else { continue }
                    reading.unknown("route", route, among: shown, otherwise: "expected the name of one of 'routes'")
                }
            }
        }
    }

    /// Reports every right to write the ledger, if the file has no ledger.
    static func checkLedger(_ plan: Plan, node: Node, reading: Reading) {
        guard plan.consent?.ledger == nil, node["consent"]?["ledger"] == nil else { return }
        for source in node["sources"]?.entries ?? [] {
            let places = [source.node["consent"]] + (source.node["keys"]?.entries ?? []).map { $0.node["consent"] }
            for case let place? in places { reading.fault(place, "there is no ledger to write to, expected 'ledger' in 'consent'") }
        }
    }

    private static let dialect = Form<String>(SchemaParts.choice(dialects)) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard dialects.contains(text.value) else {
            reading.refuseChoice(node, dialects)
            return nil
        }
        return text.value
    }

    private static let secrets = Form<[[UInt8]]>(
        SchemaParts.anyOf([SchemaParts.placeholder, #"{"type":"array","items":\#(SchemaParts.placeholder),"minItems":1,"maxItems":2}"#])
    ) { node, reading in
        guard let items = node.items else { return secret(node, reading).map { [$0] } }
        guard reading.accept(node, count: items.count, in: 1...2, of: "keys", as: "a list") else { return nil }
        return items.compactMap { secret($0, reading) }
    }

    /// Reads the secret of a key. No message shows it, even if it is written in the file, which is a fault.
    private static func secret(_ node: Node, _ reading: Reading) -> [UInt8]? {
        guard let text = node.text else {
            reading.fault(at: node.offset, "\(node.path) must be ${env:NAME} or ${file:PATH}, is \(node.kind)")
            return nil
        }
        if text.isBroken { return nil }
        guard text.isTainted else {
            reading.fault(
                at: node.offset, "\(node.path) must come from ${env:NAME} or ${file:PATH}: everyone who reads this file could read the key"
            )
            return nil
        }
        let bytes = Array(text.value.utf8)
        guard bytes.count >= 16 else {
            reading.fault(at: node.offset, "\(node.path) must have at least 16 bytes, \(Reading.hidden(text)) is shorter")
            return nil
        }
        return bytes
    }

    // MARK: - Limits

    private static let gigabyte = 1_000_000_000
    private static let hour = 3_600_000

    private static let limits = Form<HTTPLimits>.object(
        HTTPLimits(),
        [
            Member("body", Forms.size(1...gigabyte), "The most bytes of a body as it arrives; 20MB when left out.", into: \.body),
            Member(
                "decoded", Forms.size(1...gigabyte), "The most bytes of a body when it is decoded; 20MB when left out.", into: \.decoded),
            Member(
                "ratio", Forms.integer(1...1_000_000), "How many times longer a body may become when it is decoded; 200 when left out.",
                into: \.ratio),
            Member(
                "codings", Forms.integer(0...8), "How many times one body may be compressed, one coding inside the other; 2 when left out.",
                into: \.codings),
            Member(
                "head", Forms.size(1024...1_000_000), "The most bytes of the request line and all headers; 32KiB when left out.",
                into: \.head),
            Member("headers", Forms.integer(1...10_000), "The most headers of a request; 100 when left out.", into: \.headers),
            Member("url", Forms.size(16...1_000_000), "The most bytes of the URL; 8KiB when left out.", into: \.url),
            Member("events", Forms.integer(1...10_000_000), "The most events in a request; 10000 when left out.", into: \.events),
            Member(
                "connections", Forms.integer(1...1_000_000), "The most connections at the same time; 10000 when left out.",
                into: \.connections),
            Member(
                "by_address", Forms.integer(1...1_000_000),
                "The most connections from one address; a tenth of all where others can reach the listener, else as many as in total when left out.",
                into: \.connectionsByAddress),
            Member(
                "memory", Forms.size(1...(1 << 40)), "The most memory of all bodies that are held at once; 256MB when left out.",
                into: \.memory),
            Member(
                "head_time", Forms.time(1...hour), "The time until the head of the first request is complete; 10s when left out.",
                into: \.headTime),
            Member(
                "idle", Forms.time(1...(24 * hour)), "The time until the head of the next request is complete; 75s when left out.",
                into: \.idle),
            Member("pause", Forms.time(1...hour), "The longest pause between two pieces of a body; 10s when left out.", into: \.pause),
            Member("request", Forms.time(1...(24 * hour)), "The longest time for a whole body; 2m when left out.", into: \.request),
            Member(
                "rate", Forms.size(0...gigabyte),
                "The least bytes of a body that must arrive per second, after the first five seconds; 1KB when left out.", into: \.rate),
            Member(
                "answer_within", Forms.time(1...hour),
                "The time until a complete request is answered; one that no lane has room for is then told to come again; 2s when left out.",
                into: \.answerWithin),
            Member("reply", Forms.time(1...hour), "The longest time until a client has read its reply; 30s when left out.", into: \.reply),
        ]
    ).then { limits, node, reading in
        let largest = max(limits.body, limits.decoded)
        if limits.memory / 5 < largest, let place = node["memory"] ?? node["body"] ?? node["decoded"] {
            // A body is held as it arrives, decoded, and as lines. Each is in a buffer that grows by doubling.
            reading.fault(place, "the memory of all bodies must be at least 5 times the largest body, is less")
        }
        return limits
    }.writing { _ in "{}" }
}
