// Describes what the consent gate decided.

internal import Admission
internal import ConsentGate
internal import Events
internal import Judging
internal import Plans
internal import Platform

extension RouteExplainer {
    var consent: String {
        guard let section = plan.consent, let gate = finding.gate else { return "no consent section, the gate is off" }
        func level(_ index: Int) -> String { shown(section.levels[index].name) }
        let raised = gate.raisedBy.map { ", as events \(shown(section.events[$0].glob.pattern)) demand" } ?? ""

        switch finding.verdict {
        case .denied(.broken):
            return gate.broken.map { "\(printable($0.path.description)) must be \($0.form), is \(value($0.path))" }.joined(separator: "; ")
        case .denied(.unknown):
            let record = gate.record == nil ? "" : ", nothing is on record"
            let fate = gate.isHolding ? "it has no id for which it could be held" : "unknown subjects are denied\(asUnknown(section))"
            return "the event \(grantless(gate))\(record), and \(fate)"
        case .held:
            return "the event \(grantless(gate)), and is held until its subjects are known\(asUnknown(section))"
        case .denied(.full), .denied(.unstored), .expired, .withdrawn, .outdated: return "it was held, but no longer is"
        case .denied(.unreadable): return "the records of its subjects cannot be read"
        case .denied(.clock): return "the clock is behind the newest record, so the latest decision is unknown"
        case .denied(.level):
            let words = "level \(level(gate.level)) is below \(level(gate.demanded))\(raised)"
            return words + lowering(gate, section: section, level: level)
        case .denied(.purpose): return missing(gate, level)
        case .admitted, .filtered, .sampledOut, .limited, .withheld, .violating: break
        }

        var parts: [String] = []
        if gate.isDemanding {
            let record = gate.record?.level == nil ? [] : ["on record"]
            let source =
                gate.isAssumed
                ? "assumed\(asUnknown(section)), the event carries no consent"
                : list(record + gate.signals.filter(\.grants).map(\.member.path.description))
            parts.append("level \(level(gate.level)) (\(source)), \(level(gate.demanded)) is demanded\(raised)")
            if let purposes = route.consent?.purposes, !purposes.isEmpty {
                parts.append("\(purposes.count == 1 ? "purpose" : "purposes") \(list(purposes.map(shown))) granted")
            }
        } else {
            parts.append("nothing is demanded")
        }
        let cut = section.fields.filter { $0.level > gate.level && came[$0.path] != nil }
        if !cut.isEmpty {
            parts.append("removes " + list(cut.map { "\(printable($0.path.description)), which demands \(level($0.level))" }))
        }
        return parts.joined(separator: "; ")
    }

    private func grantless(_ gate: GateFinding) -> String {
        gate.signals.isEmpty ? "carries no consent" : "grants nothing (\(paths(gate.signals)))"
    }

    /// Describes which signals keep the level below the demanded one.
    private func lowering(_ gate: GateFinding, section: ConsentPlan, level: (Int) -> String) -> String {
        let lowering = gate.signals.filter { $0.level < gate.demanded }
        let record = gate.record?.level.map { $0 < gate.demanded } ?? false ? ["what is on record"] : []
        let all = record + lowering.map(\.member.path.description)
        var words = all.isEmpty ? "" : ", by \(list(all))"
        if gate.isAssumed, let assumed = gate.assumed, assumed < gate.demanded {
            let refusing = gate.signals.isEmpty ? "carries no consent" : "grants nothing"
            words += "; the event \(refusing), \(level(assumed)) is assumed\(asUnknown(section))"
        }
        return words.isEmpty ? ", as the event names none" : words
    }

    /// Describes which member decided about unknown subjects. It is empty if that is the same for all events.
    private func asUnknown(_ section: ConsentPlan) -> String {
        guard let path = section.unknownBy?.path else { return "" }
        return came[path] == nil ? " where there is no \(printable(path.description))" : " where \(isNow(path))"
    }

    /// Describes which demanded purposes are missing, and which signals lack them.
    private func missing(_ gate: GateFinding, _ level: (Int) -> String) -> String {
        let subject = "\(gate.missing.count == 1 ? "purpose" : "purposes") \(list(gate.missing.map(shown)))"
        let lacking = gate.signals.filter { !$0.missing.isEmpty && !$0.member.isContainer }
        let refusing = lacking.filter { !$0.grants }
        let silent = lacking.filter(\.grants)
        var ways: [String] = []
        if !refusing.isEmpty { ways.append("refused by \(paths(refusing))") }
        if !silent.isEmpty { ways.append("not granted by \(paths(silent))") }
        if !(gate.record?.missing.isEmpty ?? true) { ways.append("not granted on record") }
        if ways.isEmpty { ways.append(gate.isAssumed ? "not granted by level \(level(gate.level)), which is assumed" : "not granted") }
        return "\(subject) \(ways.joined(separator: ", "))"
    }

    private func paths(_ signals: [GateFinding.Signal]) -> String { list(signals.map(\.member.path.description)) }
}

extension GateFinding {
    fileprivate var isAssumed: Bool { if case .known(_, true) = state { true } else { false } }
}
