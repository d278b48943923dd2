// The form of a route's `sample`: which share of its events passes, and the most events that pass per unit of time.

internal import Document
internal import Events
internal import Expressions
internal import FormReading
internal import Plans

enum SampleForms {
    static let sample = Form<Draft>.object(
        Draft(),
        [
            Member(
                "rate", rate, "The share of events that passes, from 0 (none) to 1 (all); 1 when left out.", example: #"0.25"#, into: \.rate
            ),
            Member(
                "rates", rates, "Other rates, by globs on the event's name, of which the first match decides; none when left out.",
                example: #"{"heartbeat": 0.01}"#, into: \.sample.rates),
            Member(
                "target", Forms.rate,
                "How many events should pass per unit of time, and the rate follows the traffic; no target when left out.",
                example: #""1000/h""#, into: \.sample.target),
            Member(
                "by", Forms.path,
                "The member whose value decides, such as \"userId\", so that all events of a user pass or none; messageId when left out.",
                example: #""userId""#,
                into: \.sample.by),
            Member(
                "salt", salt,
                "Samples with different salts draw independently, such as two experiments; all samples draw the same users when left out.",
                example: #""checkout-2026""#, into: \.sample.salt),
            Member(
                "keep", keep, "Events that always pass, by globs on their names or an expression; none when left out.",
                example: #"["order_*"]"#, into: \.kept),
            Member(
                "limit", limit, "The most events that pass per unit of time, of all users together or by a member; no limit when left out.",
                example: #""100/s""#, into: \.sample.limit),
            Member(
                "annotate", annotate,
                "Writes the rate into the event: true for the member sampleRate, or a path such as \"context.rate\"; it is not written when left out.",
                example: #""context.rate""#,
                into: \.annotation),
        ]
    ).with(oneWay).then { draft, node, reading -> SamplePlan? in
        check(node, reading)
        var sample = draft.sample
        sample.rate = draft.rate ?? 1
        sample.keep = draft.kept.events
        sample.keepCondition = draft.kept.condition
        sample.annotation = draft.annotation.path
        return sample
    }

    struct Draft: Sendable {
        var sample = SamplePlan(rate: 1)
        var rate: Double?
        var kept = Kept()
        var annotation = Annotation()
    }

    // MARK: - Together

    private static let ways = ["rate", "rates", "target", "limit"]

    private static let drawing = #"[{"required":["rate"]},{"required":["rates"]},{"required":["target"]}]"#

    /// The part of the schema that refuses what `check` refuses.
    private static let oneWay =
        #""anyOf":"# + JSONText.list(ways.map { #"{"required":["\#($0)"]}"# })
        + #","not":{"required":["target"],"anyOf":[{"required":["rate"]},{"required":["rates"]}]}"#
        + #","dependentSchemas":{"by":{"anyOf":\#(drawing)},"salt":{"anyOf":\#(drawing)}}"#

    private static func check(_ node: Node, _ reading: Reading) {
        let present = ways.filter { node[$0] != nil }
        if present.isEmpty { reading.fault(node, "lacks 'rate', expected rate, rates, target or limit") }
        if node["target"] != nil, let other = present.first(where: { $0 == "rate" || $0 == "rates" }) {
            reading.fault(node, "holds \(other) and target, expected one of them, since a target sets the rate")
        }
        if present == ["limit"] {
            if let by = node["by"] {
                reading.fault(by, "a limit does not use it, expected it in limit, or together with rate, rates or target")
            }
            if let salt = node["salt"] { reading.fault(salt, "a limit does not use it, expected it together with rate, rates or target") }
        }
    }

    // MARK: - Rates

    private static let rate = Forms.number(0...1)
    private static let rates = Forms.table("globs with rates", by: Forms.globKey, of: rate).then { table, _, _ in
        table.map { (glob: $0.key, rate: $0.value) }
    }

    private static let salt = Form<String>(#"{"type":"string","minLength":1,"maxLength":200}"#) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard (1...200).contains(text.value.unicodeScalars.count) else {
            reading.refuse(node, "a text of 1 to 200 characters")
            return nil
        }
        return text.value
    }

    private static let plainLimit = Forms.rate.then { rate, _, _ in LimitPlan(rate) }

    private static let limitWithBurst = Form<LimitDraft>.object(
        LimitDraft(),
        [
            Member("rate", Forms.rate, required: true, "How many events pass per unit of time.", into: \.rate),
            Member(
                "burst", Forms.integer(1...LimitPlan.mostBurst),
                "How many events pass at once after a pause; those of one second when left out.", into: \.burst),
            Member(
                "by", Forms.path, "The member each of whose values has a limit of its own; one limit for all events when left out.",
                example: #""userId""#, into: \.by),
        ]
    ).then { draft, _, _ in draft.rate.map { LimitPlan($0, burst: draft.burst, by: draft.by) } }

    private struct LimitDraft: Sendable {
        var rate: EventRate?
        var burst: Int?
        var by: Path?
    }

    private static let limit = Form<LimitPlan>.either([plainLimit, limitWithBurst]) { node, reading in
        if case .object = node.value { limitWithBurst } else { plainLimit }
    }

    // MARK: - Keep

    struct Kept: Sendable {
        var events: [Glob] = []
        var condition: Expression?
    }

    private static let keptEvents = Form<Kept>.object(
        Kept(),
        [
            Member("events", RouteForms.globs, "Globs on the event's name; none when left out.", example: #"["order_*"]"#, into: \.events),
            Member(
                "where", ExpressionForms.condition, "An expression in CEL that is true for the event; none when left out.",
                example: #""has(properties.test)""#, into: \.condition),
        ]
    ).then { kept, node, reading -> Kept? in
        if node.entries?.isEmpty ?? false { reading.fault(node, "must not be empty, expected events, where, or both") }
        return kept
    }

    private static let keptNames = RouteForms.someGlobs.then { globs, _, _ in Kept(events: globs) }

    private static let keep = Form<Kept>.either([keptNames, keptEvents.notEmpty]) { node, reading in
        switch node.value {
        case .list: return keptNames
        case .object: return keptEvents
        default:
            reading.refuseType(node, "a list of globs, or an object with events or where")
            return nil
        }
    }

    // MARK: - Annotation

    struct Annotation: Sendable {
        /// The member that gets the rate. It is nil if the rate is not written.
        var path: Path?
    }

    private static let plainAnnotation = Forms.boolean.then { isOn, _, _ in Annotation(path: isOn ? SamplePlan.usualAnnotation : nil) }
    private static let placedAnnotation = Forms.path.then { path, _, _ in Annotation(path: path) }

    private static let annotate = Form<Annotation>.either([plainAnnotation, placedAnnotation]) { node, reading in
        switch node.value {
        case .bool: return plainAnnotation
        case .text: return placedAnnotation
        default:
            reading.refuseType(node, "true, false or a path such as context.sampleRate")
            return nil
        }
    }
}
