// The words of `check` for the small sections of a plan, and the words that all sections share. Every text that came from the environment
// or from a file is masked here, value by value, before it becomes a part of a line.

internal import Document
internal import Events
internal import Expressions
internal import Plans
internal import Platform

/// Describes the sections of a plan.
struct PlanWords {
    let plan: Plan

    init(_ plan: Plan) { self.plan = plan }

    // MARK: - Values

    func shown(_ text: String) -> String { plan.hidden.masked(text) }
    func shown(_ path: Path) -> String { shown(path.description) }
    func shown(_ expression: Expression) -> String { shown(expression.text) }
    func list(_ texts: [String]) -> String { texts.map(shown).joined(separator: ", ") }
    func list(_ paths: [Path]) -> String { list(paths.map(\.description)) }
    func either(_ globs: [Glob]) -> String { globs.map { shown($0.pattern) }.joined(separator: " or ") }
    func key(_ index: Int) -> String { shown(plan.keys[index].name) }
    func size(_ bytes: Int) -> String { "\(grouped(bytes)) bytes" }

    func text(_ match: MatchPlan) -> String {
        "\(shown(match.path)) is \(match.anyOf.map(text).joined(separator: " or "))"
    }

    private func text(_ scalar: Scalar) -> String {
        switch scalar {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): text
        case .string(let text): plan.hidden.contains(text.utf8) ? HiddenTexts.mask : jsonQuoted(shown(text))
        }
    }

    // MARK: - Sections

    var keys: PlanSheet.Section? {
        plan.keys.isEmpty ? nil : PlanSheet.Section(key: "keys", title: "Keys", summary: list(plan.keys.map(\.name)))
    }

    var limits: PlanSheet.Section? {
        let limits = plan.limits
        let disk = limits.disk.map { "at most \(size($0)) of events on disk" } ?? "no limit of events on disk besides those of the queues"
        return PlanSheet.Section(
            key: "limits", title: "Limits",
            summary: "a line of at most \(size(limits.line)), nested at most \(grouped(limits.depth)) deep; \(disk), and "
                + "\(size(limits.diskFree)) of the disk stay free")
    }

    var messageIDs: PlanSheet.Section? {
        var text = plan.addsMessageIDs ? "added where there is none" : "left as they are"
        if let rule = plan.messageID.deduplicate {
            text += "; an event whose id came in the last \(rule.window.configured), among \(grouped(rule.most)), is dropped"
        }
        return PlanSheet.Section(key: "message_id", title: "Message ids", summary: text)
    }

    /// An emitted event has the other members, the ids and the consent of its original.
    var emits: PlanSheet.Section? {
        guard !plan.emits.isEmpty else { return nil }
        let items = plan.emits.enumerated().map { index, emit in
            PlanSheet.Item(
                name: "emit[\(index)]", summary: "when \(shown(emit.condition)), another event, with the original's consent",
                lines: emit.members.map { member in
                    PlanSheet.Line("event", "\(shown(member.key)) becomes \(member.value.map(text).joined())")
                })
        }
        return PlanSheet.Section(key: "emit", title: "Emitted events", items: items)
    }

    private func text(_ piece: EmitPlan.Piece) -> String {
        switch piece {
        case .json(let json): JSONText.changing(json, shown)
        case .value(let expression): shown(expression)
        }
    }

    var state: PlanSheet.Section? {
        PlanSheet.Section(
            key: "state", title: "Events on disk",
            summary: plan.state.encrypt.map { "encrypted under the key \(key($0))" } ?? "not encrypted")
    }

    var audit: PlanSheet.Section? {
        guard let audit = plan.audit else { return nil }
        let before = audit.previous.isEmpty ? "" : ", before under \(audit.previous.map(key).joined(separator: ", "))"
        let origin = audit.origin.map { "the log is named \(shown($0)), and " } ?? ""
        let verdicts =
            switch audit.verdicts {
            case .none: "no verdicts are kept"
            case .denied: "the verdicts of denied events are kept"
            case .all: "the verdicts of all events are kept"
            }
        let retention = audit.retention.map { "for \($0.configured)" } ?? "for good"
        var lines = [PlanSheet.Line("heads", "a new head is published every \(audit.heads.every.configured)")]
        if let file = audit.heads.file { lines.append(PlanSheet.Line("heads", "each head is written to \(shown(file))")) }
        if !audit.heads.command.isEmpty {
            lines.append(PlanSheet.Line("heads", "each head is given to: \(shown(audit.heads.command.joined(separator: " ")))"))
        }
        for witness in audit.heads.witnesses {
            lines.append(PlanSheet.Line("heads", "each head is signed by the witness \(shown(witness))"))
        }
        return PlanSheet.Section(
            key: "audit", title: "Audit trail",
            summary: "signed under the key \(key(audit.key))\(before); \(origin)\(verdicts), \(retention)", lines: lines)
    }

    var shutdown: PlanSheet.Section? {
        PlanSheet.Section(
            key: "shutdown", title: "Shutdown",
            summary: "after SIGTERM, delivery continues for \(plan.shutdown.deadline.configured) at most")
    }

    var admin: PlanSheet.Section? {
        guard let admin = plan.admin else { return nil }
        return PlanSheet.Section(
            key: "admin", title: "Admin",
            summary: shown(admin.listen.description)
                + (admin.isOpen ? ", open: other machines may read health, metrics and status" : ", for this machine only")
                + (admin.hasPage
                    ? ", with a page" + (admin.origins.isEmpty ? "" : " at \(shown(admin.origins.joined(separator: ", ")))") : ""))
    }
}
