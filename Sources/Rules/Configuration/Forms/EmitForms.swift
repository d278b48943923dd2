// The form of the section `emit`: rules that make a second event from an event. The emitted event has the consent of the original.
// Therefore a rule may never write a member that would bypass that consent.

internal import Document
internal import Events
internal import Expressions
internal import FormReading
internal import Plans

enum EmitForms {
    static let emits = Forms.list("rules", of: rule, most: 1000)

    private struct Draft: Sendable {
        var condition: Expression?
        var members: [(key: String, value: [EmitPlan.Piece])] = []
    }

    private static let rule = Form<Draft>.object(
        Draft(),
        [
            Member(
                "where", ExpressionForms.condition, required: true, "The condition in CEL under which an event makes another.",
                example: #""properties.ms > 1000""#,
                into: \.condition),
            Member(
                "event", event, required: true, "The members of the emitted event, in place of the original's: constants or {\"cel\": …}.",
                example: #"{"event": "slow_request", "properties": {"ms": {"cel": "properties.ms"}}}"#,
                into: \.members),
        ]
    ).then { draft, _, _ in draft.condition.map { EmitPlan(condition: $0, members: draft.members) } }

    // MARK: - The event

    /// The members that identify the event and say where it comes from. No rule may set them.
    private static let kept = ["context", "messageId"]

    private static let event = Form<[(key: String, value: [EmitPlan.Piece])]>(
        #"{"type":"object","propertyNames":{"not":{"enum":\#(JSONText.list(kept.map(JSONText.quoted)))}},"#
            + #""additionalProperties":\#(SchemaParts.value),"minProperties":1}"#
    ) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of members with values")
            return nil
        }
        if entries.isEmpty { reading.fault(node, "must not be empty, expected an object of members with values") }
        for entry in entries where kept.contains(entry.key.name) {
            let fault = "\(Words.quoted(entry.key.name)) cannot be set, it follows from the original, expected other members"
            reading.fault(node, at: entry.key.range.lowerBound, fault)
        }
        return entries.map { ($0.key.name, pieces($0.node, reading)) }
    }

    private static func pieces(_ node: Node, _ reading: Reading) -> [EmitPlan.Piece] {
        switch node.value {
        case .object(let entries):
            if entries.count == 1, entries[0].key.name == "cel" {
                return ExpressionForms.value.read(entries[0].node, reading).map { [.value($0)] } ?? []
            }
            let members = entries.map { [.json(JSONText.quoted($0.key.name) + ":")] + pieces($0.node, reading) }
            return [.json("{")] + members.joined(separator: [.json(",")]) + [.json("}")]
        case .list(let items):
            return [.json("[")] + items.map { pieces($0, reading) }.joined(separator: [.json(",")]) + [.json("]")]
        default: return [.json(JSONText.of(node, in: reading.source))]
        }
    }

    // MARK: - Consent

    /// Reports rules that would bypass consent. The gate finds the subjects and the policy of an emitted event by its own members, and it
    /// cuts fields by their own paths. So a rule may neither write those members nor copy a field that is cut.
    static func check(_ plan: Plan, node: Node, reading: Reading) {
        guard let consent = plan.consent, let rules = node["emit"]?.items, rules.count == plan.emits.count else { return }
        let cut = consent.fields.filter { $0.level > 0 }.map(\.path)
        for (rule, emit) in zip(rules, plan.emits) {
            for (entry, member) in zip(rule["event"]?.entries ?? [], emit.members) {
                if consent.subject.contains(where: { $0.keys[0] == member.key }) {
                    reading.fault(entry.node, "the consent section looks for subjects there, expected another member")
                }
                if consent.unknownBy?.path.keys[0] == member.key {
                    reading.fault(entry.node, "the consent section chooses the policy for unknown subjects by it, expected another member")
                }
                if consent.map.memberPaths.contains(where: { $0.keys[0] == member.key }) {
                    reading.fault(entry.node, "the consent section reads consent there, expected another member")
                }
                let named = EmitPlan(condition: emit.condition, members: [member]).values.flatMap(\.paths)
                if let path = cut.first(where: { cut in named.contains { $0.isAbove(cut) || cut.isAbove($0) } }) {
                    reading.fault(entry.node, "names \(path), which the consent section removes from events, expected other members")
                }
            }
        }
    }
}

extension Path {
    /// Returns true if the other path is this path or lies inside it.
    fileprivate func isAbove(_ other: Path) -> Bool { other.keys.starts(with: keys) }
}
