// The form of the section `routes`: the filter, consent, sample, session, retention, transform and providers of each route.

internal import Document
internal import Events
internal import Expressions
internal import FormReading
internal import Plans

enum RouteForms {
    static let routes = Forms.list("routes", of: route, most: RootForm.mostEntries, check: checkTogether).then { drafts, _, _ in
        drafts.enumerated().map { index, draft in
            var route = draft.route
            route.name = draft.name ?? ordinal(index)
            return route
        }
    }

    private struct Draft: Sendable {
        var name: String?
        var route = RoutePlan(name: "")
        /// True if the route has a filter, valid or not.
        var isChoosing = false
        var takesEverything: Bool { !isChoosing && !route.takesRest }
    }

    /// Returns the name of a route that has none in the file.
    private static func ordinal(_ index: Int) -> String { "routes[\(index)]" }

    private static func checkTogether(_ drafts: [(value: Draft, node: Node)], _ reading: Reading) {
        refuseEqualNames(drafts, reading)
        refuseRestOfNothing(drafts, reading)
    }

    /// Refuses `else` on the first route, and on a route behind one that takes every event. Such a route is a mistake.
    private static func refuseRestOfNothing(_ drafts: [(value: Draft, node: Node)], _ reading: Reading) {
        for (index, (draft, node)) in drafts.enumerated() where draft.route.takesRest {
            guard let place = node["else"] else { continue }
            if index == 0 { reading.fault(place, "there is no route before it, expected routes that take events first") }
            if let other = drafts[..<index].first(where: { $0.value.takesEverything }) {
                reading.fault(place, "nothing is left for it, since \(other.node.path) takes every event")
            }
        }
    }

    private static func refuseEqualNames(_ drafts: [(value: Draft, node: Node)], _ reading: Reading) {
        var seen: Set<String> = []
        for (index, (draft, _)) in drafts.enumerated() where draft.name == nil { seen.insert(ordinal(index)) }
        for (draft, node) in drafts {
            guard let name = draft.name, !seen.insert(name).inserted, let place = node["name"] else { continue }
            reading.fault(place, "\(Reading.named(place)) is the name of another route, expected a different name")
        }
    }

    private static let route = Form<Draft>.object(
        Draft(),
        [
            Member(
                "name", Forms.name,
                "The name of the route in accounts, messages and metrics, such as \"product\"; routes[0] and so on when left out.",
                example: #""product""#,
                into: \.name),
            Member("events", globs, "Globs on the event's name; every event when left out.", into: \.route.events),
            Member(
                "match", match, "Members and the values that they must equal, where a list means any of them; all events when left out.",
                example: #"{"type": "track"}"#, into: \.route.match),
            Member(
                "not", not,
                "Excludes events by globs on their name, by members and values, or by an expression; none is excluded when left out.",
                example: #"{"match": {"properties.test": true}}"#, into: \.route.not),
            Member(
                "where", ExpressionForms.condition, "An expression in CEL that must be true for the event; all events pass when left out.",
                example: #""properties.price > 10""#, into: \.route.condition),
            Member("else", Forms.boolean, "Whether it takes only events that no earlier route took.", into: \.route.takesRest),
            Member(
                "consent", consent, "The level, or the level and purposes, that the route demands; consent.default when left out.",
                example: #""standard""#,
                into: \.route.consent),
            Member(
                "sample", SampleForms.sample, "Which share of the events passes, and how many; all when left out.",
                example: #"{"rate": 0.25, "by": "userId"}"#, into: \.route.sample),
            Member(
                "session", SessionForm.session, "Writes the id of the subject's session into the event; none is written when left out.",
                example: #"{"by": "anonymousId"}"#, into: \.route.session),
            Member(
                "retention", DeliveryForm.retention,
                "How old its events may get while they wait or are dead letters, such as \"30d\"; no limit when left out.",
                example: #""30d""#,
                into: \.route.retention),
            Member(
                "transform", Transforms.steps, "Changes to the route's copy of the event, in this order; none when left out.",
                example: #"[{"drop": ["context.ip"]}]"#, into: \.route.transforms),
            Member(
                "to", destinations, required: true, "The providers that get the event.", example: #"["archive"]"#, into: \.route.providers),
            LintForms.member(),
        ]
    ).then { draft, node, reading -> Draft? in
        var draft = draft
        draft.isChoosing = ["events", "match", "not", "where"].contains { node[$0] != nil }
        if let consent = reading.consent, node["consent"] == nil {
            if !consent.hasDefault { reading.fault(node, "lacks 'consent', expected it here or 'default' in the consent section") }
            draft.route.consent = consent.fallback
        }
        return draft
    }

    // MARK: - Filter

    static let globs = Form<[Glob]>.either([oneGlob, someGlobs]) { node, reading in
        switch node.value {
        case .text: return oneGlob
        case .list: return someGlobs
        default:
            reading.refuseType(node, "a glob or a list of globs")
            return nil
        }
    }
    private static let oneGlob = Forms.glob.then { glob, _, _ in [glob] }
    static let someGlobs = Forms.list("globs", of: Forms.glob)

    static let match = Forms.table("paths with values", by: Forms.pathKey, of: values).then { table, _, _ in
        table.map { MatchPlan(path: $0.key, anyOf: $0.value) }
    }

    private static let exclusion = Form<ExclusionPlan>.object(
        ExclusionPlan(),
        [
            Member(
                "events", globs, "Globs on the event's name, of which one match excludes the event; none when left out.",
                example: #"["debug_*"]"#, into: \.events),
            Member(
                "match", match, "Members and values, of which one that is equal excludes the event; none when left out.",
                example: #"{"properties.test": true}"#, into: \.match),
            Member(
                "where", ExpressionForms.condition, "An expression in CEL that is true for the event; none when left out.",
                example: #""has(properties.test)""#, into: \.condition),
        ]
    ).then { exclusion, node, reading -> ExclusionPlan? in
        if node.entries?.isEmpty ?? false { reading.fault(node, "must not be empty, expected events, match or where") }
        return exclusion
    }

    static let not = exclusion.notEmpty

    private static let scalar = Form<Scalar>(SchemaParts.anyOf([SchemaParts.text, #"{"type":["number","boolean","null"]}"#])) {
        node, reading in
        switch node.value {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .number(let text): return .number(text)
        case .text(let text): return text.isBroken ? nil : .string(text.value)
        case .list, .object:
            reading.refuseType(node, "a string, a number, true, false or null")
            return nil
        }
    }

    private static let oneValue = scalar.then { scalar, _, _ in [scalar] }
    private static let someValues = Forms.list("values", of: scalar)

    private static let values = Form<[Scalar]>.either([oneValue, someValues]) { node, reading in
        switch node.value {
        case .list: return someValues
        case .object:
            reading.refuseType(node, "a string, a number, true, false, null, or a list of them")
            return nil
        default: return oneValue
        }
    }

    // MARK: - Consent, destinations

    private static let consent = Form<ConsentDemand>(ConsentForms.demand.schema) { node, reading in
        guard reading.consent != nil else {
            reading.fault(node, "there is no consent section, expected one that names the levels")
            return nil
        }
        return ConsentForms.demand.read(node, reading)
    }

    private static let destination = Form<Int>(SchemaParts.text) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        if let index = reading.providers[text.value] { return index }
        let names = reading.providers.keys.sorted()
        // A file without providers is already reported.
        guard !names.isEmpty else { return nil }
        reading.unknown("provider", node, among: names, otherwise: "expected \(Words.either(names))")
        return nil
    }

    private static let destinations = Forms.set("providers", of: destination)
}
