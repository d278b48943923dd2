// The form of the section `consent`, and of the consent that a route demands.

internal import Document
internal import Editing
internal import Events
internal import FormReading
internal import Plans

enum ConsentForms {
    static let section = Form<ConsentPlan>(form.schema) { node, reading in
        reading.consent = ConsentNames()
        let plan = form.read(node, reading)
        if let plan { HoldForms.check(plan, node: node, reading: reading) }
        return plan
    }

    private static let form = Form<ConsentPlan>.object(
        usual,
        [
            LintForms.member(),
            Member(
                "levels", levels, required: true, "Levels of consent in rising order, each with its purposes.",
                example: #"{"none": [], "standard": ["analytics"]}"#, into: \.levels),
            Member(
                "subject", subject, "The members that hold the ids of an event's subjects; [\"userId\", \"anonymousId\"] when left out.",
                example: #"["userId", "anonymousId"]"#,
                into: \.subject),
            Member(
                "unknown", UnknownForms.rule,
                "The policy for unknown subjects: \"deny\", \"hold\" or a level to assume, for all events or by a member; \"deny\" when left out.",
                example: #"{"assume": "essential"}"#,
                into: \.unknownRule),
            Member(
                "hold", HoldForms.bounds, "How many events of unknown subjects may wait for consent, and how long.",
                example: #"{"for": "24h", "events": 100000}"#, into: \.hold),
            Member(
                "default", fallback, "The demand of routes without 'consent'; each route needs its own when left out.",
                example: #""standard""#),
            Member(
                "fields", fields, "Members, each with a level: an event with less consent loses them; none when left out.",
                example: #"{"traits.email": "marketing"}"#, into: \.fields),
            Member(
                "events", events,
                "Globs on event names, each with a level that such an event demands besides its route's; none when left out.",
                example: #"{"ad_*": "marketing"}"#, into: \.events),
            Member(
                "gpc", gpc, "The purposes that Global Privacy Control refuses; all of them when left out.", example: #"["marketing"]"#,
                into: \.gpc),
            Member(
                "ledger", ledger, "Keeps consent on record, with ids hashed under a key of 'keys'; no ledger is kept when left out.",
                example: #""ledger""#, into: \.ledger),
            Member(
                "evidence", Forms.key("evidence key"),
                "The name of the key in 'keys' that encrypts what events of type consent carry as evidence: ipAddress, userAgent and text; none is kept when left out.",
                example: #""evidence""#,
                into: \.evidence),
            Member(
                "minimum_version", Forms.name,
                "The version of the text, such as \"2026-01\": consent on record to an older text counts as unknown, and refusals still count; any version counts when left out.",
                example: #""2026-01""#,
                into: \.minimumVersion),
            Member(
                "erasures", ErasureForms.rules,
                "When providers are asked to erase, and for how long; the defaults of its members hold when left out.",
                example: #"{"for": "60d"}"#, into: \.erasures),
            Member(
                "map", ConsentMapForms.map, "What consent in the formats of other platforms means here; they are not read when left out.",
                example: #"{"tcf": {"analytics": {"purposes": [8]}}}"#, into: \.map),
        ])

    /// The default plan: its subjects are the ids that Segment uses.
    private static let usual = {
        var plan = ConsentPlan()
        plan.subject = [Path(keys: ["userId"]), Path(keys: ["anonymousId"])]
        return plan
    }()

    // MARK: - Levels

    private static let levels = Form<[ConsentPlan.Level]>.either([namedLevels, bareLevels]) { node, reading in
        switch node.value {
        case .object: return namedLevels
        case .list: return bareLevels
        default:
            reading.refuseType(node, "an object of levels with their purposes, or a list of levels")
            return nil
        }
    }

    private static let names = Forms.set("purposes", of: Forms.name, least: 0)

    private static let bareLevels = Forms.set("levels", of: Forms.name).then { names, node, reading -> [ConsentPlan.Level]? in
        reading.consent?.levels = names
        reading.consent?.hidden = hidden(among: node.items ?? [])
        return names.map { ConsentPlan.Level(name: $0, purposes: nil) }
    }

    private static let purposesByLevel = Forms.table("levels", by: Forms.anyKey, of: names)

    private static let namedLevels = Form<[ConsentPlan.Level]>(purposesByLevel.schema) { node, reading in
        reading.consent?.levels = node.entries?.map(\.key.name) ?? []
        let purposes = node.entries?.flatMap { $0.node.items ?? [] } ?? []
        reading.consent?.purposes = purposes.compactMap { $0.text?.value }.unique
        reading.consent?.hidden = hidden(among: purposes)
        guard let table = purposesByLevel.read(node, reading) else { return nil }
        for (lower, higher) in zip(table, table.dropFirst()) {
            let missing = lower.value.filter { !higher.value.contains($0) }
            guard !missing.isEmpty, let place = node[higher.key] else { continue }
            let what = missing.contains { reading.consent?.hidden.contains($0) == true } ? "purposes" : Words.all(missing.map(Words.quoted))
            reading.fault(
                place, "lacks \(what) of the lower level \(Words.quoted(lower.key)), expected every purpose of the levels below it")
        }
        return table.map { ConsentPlan.Level(name: $0.key, purposes: $0.value) }
    }

    private static func hidden(among names: [Node]) -> Set<String> {
        Set(names.compactMap { name in name.text.flatMap { $0.isTainted ? $0.value : nil } })
    }

    // MARK: - References

    static let level = Form<Int>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading), let consent = reading.consent else { return nil }
        // Invalid levels are already reported.
        guard !consent.levels.isEmpty else { return nil }
        if let index = consent.levels.firstIndex(of: text.value) { return index }
        reading.unknown("level", node, among: consent.shownLevels, otherwise: "expected \(consent.offer(consent.shownLevels))")
        return nil
    }

    private static let purpose = Form<String>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading), let consent = reading.consent else { return nil }
        if consent.levels.isEmpty || consent.purposes.contains(text.value) { return text.value }
        reading.unknown("purpose", node, among: consent.shownPurposes, otherwise: consent.expectedPurposes)
        return nil
    }

    private struct Demand: Sendable {
        var level: Int?
        var purposes: [String]?
    }

    /// A demand of a level, of purposes, or of both.
    static let demand = Form<ConsentDemand>.either([levelDemand, fullDemand]) { node, reading in
        switch node.value {
        case .text: return levelDemand
        case .object: return fullDemand
        default:
            reading.refuseType(node, "the name of a level, or an object of 'level' and 'purposes'")
            return nil
        }
    }

    private static let levelDemand = level.then { level, _, _ in ConsentDemand(level: level) }

    private static let anyDemand = Form<Demand>.object(
        Demand(),
        [
            Member("level", level, "The lowest level that passes; any when left out.", example: #""standard""#, into: \.level),
            Member(
                "purposes", Forms.set("purposes", of: purpose),
                "Purposes that must all be granted; none besides those of the level when left out.", example: #"["analytics"]"#,
                into: \.purposes),
        ])

    private static let fullDemand = Form<ConsentDemand>(anyDemand.schema.dropLast() + #","minProperties":1}"#) { node, reading in
        guard let demand = anyDemand.read(node, reading) else { return nil }
        if node.entries?.isEmpty == true { reading.fault(node, "must not be empty, expected 'level' or 'purposes'") }
        return ConsentDemand(level: demand.level ?? 0, purposes: demand.purposes ?? [])
    }

    private static let fallback = Form<ConsentDemand>(demand.schema) { node, reading in
        reading.consent?.hasDefault = true
        let value = demand.read(node, reading)
        reading.consent?.fallback = value
        return value
    }

    // MARK: - The ledger

    private static let ledgerKey = Forms.key("ledger key")

    private static let fullLedger = Form<LedgerPlan>.object(
        LedgerPlan(),
        [
            Member(
                "key", ledgerKey, required: true, "The name of the key in 'keys' under which ids are hashed.", example: #""ledger""#,
                into: \.key),
            Member(
                "previous", Forms.set("keys", of: ledgerKey, least: 0),
                "The names of the keys under which ids were hashed before; none when left out.", example: #"["ledger-2025"]"#,
                into: \.previous),
        ])

    private static let ledger = Form<LedgerPlan>(SchemaParts.anyOf([SchemaParts.text, fullLedger.schema])) { node, reading in
        switch node.value {
        case .text: return ledgerKey.read(node, reading).map { LedgerPlan(key: $0) }
        case .object: return fullLedger.read(node, reading)
        default:
            reading.refuseType(node, "the name of a key, or an object of 'key' and 'previous'")
            return nil
        }
    }

    /// Reports a ledger key that is also a previous one, encrypts the state folder, or hashes for routes or providers. Somebody who learns one of these
    /// keys must not learn what the others protect.
    static func checkKeys(_ plan: Plan, node: Node, reading: Reading) {
        guard let ledger = plan.consent?.ledger, let place = node["consent"]?["ledger"], place.text != nil || place["key"] != nil else {
            return
        }
        if ledger.previous.contains(ledger.key) {
            reading.fault(place, "names the same key as the current and as a previous one, expected another key")
        }
        let own = Set([ledger.key] + ledger.previous)
        if let evidence = plan.consent?.evidence, own.contains(evidence) {
            reading.fault(place, "names the key that encrypts evidence, expected a key that is used only here")
        }
        if let other = plan.state.encrypt, own.contains(other) {
            reading.fault(place, "names the key that encrypts the state folder, expected a key that is used only here")
        }
        if !own.isDisjoint(with: plan.routes.flatMap(\.transforms).compactMap { $0.hashing?.key }) {
            reading.fault(place, "names a key that routes use for hashing, expected a key that is used only here")
        }
        if !own.isDisjoint(with: plan.providers.flatMap(\.shape.transforms).compactMap { $0.hashing?.key }) {
            reading.fault(place, "names a key that providers use for hashing, expected a key that is used only here")
        }
    }

    // MARK: - The rest

    private static let subject = Forms.set("paths", of: Forms.path)

    private static let fields = Forms.table("paths with levels", by: Forms.pathKey, of: level).then { table, _, _ in
        table.map { (path: $0.key, level: $0.value) }
    }

    private static let events = Forms.table("globs with levels", by: Forms.globKey, of: level).then { table, _, _ in
        table.map { (glob: $0.key, level: $0.value) }
    }

    private static let gpc = Forms.set("purposes", of: purpose, least: 0)
}

extension ConsentPlan {
    fileprivate var unknownRule: UnknownForms.Rule {
        get { UnknownForms.Rule(otherwise: unknown, by: unknownBy) }
        set { (unknown, unknownBy) = (newValue.otherwise, newValue.by) }
    }
}

extension Array where Element: Hashable {
    /// The elements without duplicates, in the order of their first places.
    var unique: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
