// The form of `consent.unknown`: the policy for unknown subjects. It is one policy for all events, or a policy for each
// value of a member of the event, whose path is `by`. With `for`, a value from the environment says where the router runs and selects one
// of these; that choice is made while the file is read.

internal import Document
internal import Events
internal import FormReading
internal import Plans

enum UnknownForms {
    struct Rule: Sendable {
        /// The policy for events that `by` does not decide.
        var otherwise = ConsentPlan.Unknown.deny
        var by: UnknownByPlan?
    }

    static let rule = Form<Rule>(
        SchemaParts.anyOf([SchemaParts.choice(["deny", "hold"]), assumption.schema, byMember.schema, byPlace.schema])
    ) { node, reading in
        let places = ["by", "for"].filter { node[$0] != nil }
        if places.count == 2 {
            reading.fault(node, "holds by and for, expected one of them; a value under 'is' can hold the other")
            return nil
        }
        return (places == ["for"] ? byPlace : memberOrPolicy).read(node, reading)
    }

    // MARK: - One policy

    private struct Assumption: Sendable { var level = 0 }

    private static let assumption = Form<Assumption>.object(
        Assumption(), [Member("assume", ConsentForms.level, required: true, "The level to assume.", example: #""standard""#, into: \.level)]
    )

    private static let policy = Form<ConsentPlan.Unknown>(SchemaParts.anyOf([SchemaParts.choice(["deny", "hold"]), assumption.schema])) {
        node, reading in
        if node.text?.isBroken == true { return nil }
        if node.text?.value == "deny" { return .deny }
        if node.text?.value == "hold" { return .hold }
        if node.entries != nil { return assumption.read(node, reading).map { .assume($0.level) } }
        reading.refuse(node, #""deny", "hold" or {"assume": level}"#)
        return nil
    }

    // MARK: - By a member of the event

    private struct ByMember: Sendable {
        var path: Path?
        var cases: [(key: String, value: ConsentPlan.Unknown)] = []
        var otherwise = ConsentPlan.Unknown.deny
    }

    private static let policies = Forms.table("values with policies", by: Forms.anyKey, of: policy)

    private static let byMember = Form<ByMember>.object(
        ByMember(),
        [
            Member(
                "by", Forms.path, required: true, "The member of the event whose value decides.", example: #""context.region""#,
                into: \.path),
            Member("is", policies, required: true, "The policy for each value of the member.", example: #"{"eu": "hold"}"#, into: \.cases),
            Member(
                "else", policy, required: true, "The policy for events with another value or without one.", example: #""deny""#,
                into: \.otherwise),
        ])

    private static let memberOrPolicy = Form<Rule>(SchemaParts.anyOf([policy.schema, byMember.schema])) { node, reading in
        if ["by", "is", "else"].contains(where: { node[$0] != nil }) {
            return byMember.read(node, reading).flatMap { draft in
                draft.path.map { Rule(otherwise: draft.otherwise, by: UnknownByPlan(path: $0, cases: draft.cases)) }
            }
        }
        if node.text == nil, node.entries == nil || node.entries?.isEmpty == true {
            reading.refuse(node, #""deny", "hold", {"assume": level}, or by or for with is and else"#)
            return nil
        }
        return policy.read(node, reading).map { Rule(otherwise: $0) }
    }

    // MARK: - By where the router runs

    private struct ByPlace: Sendable {
        var place: String?
        var cases: [(key: String, value: Rule)] = []
        var otherwise = Rule()
    }

    private static let rules = Forms.table("values with policies", by: Forms.anyKey, of: memberOrPolicy)

    private static let byPlace = Form<Rule>(places.schema) { node, reading in
        guard let draft = places.read(node, reading), let place = draft.place else { return nil }
        return draft.cases.first { $0.key == place }?.value ?? draft.otherwise
    }

    private static let places = Form<ByPlace>.object(
        ByPlace(),
        [
            Member(
                "for", Forms.string.then { text, _, _ in text.value }, required: true,
                "The value that decides for all events, from outside the file, such as ${env:APP_ENV}.", example: #""${env:APP_ENV}""#,
                into: \.place),
            Member(
                "is", rules, required: true, "The policy for each value of 'for'.", example: #"{"staging": {"assume": "all"}}"#,
                into: \.cases),
            Member(
                "else", memberOrPolicy, required: true, "The policy for any other value of 'for'.", example: #""deny""#, into: \.otherwise),
        ])
}
