// The section `plan` of what `check` prints: the events of the tracking plan, and what happens to those that violate it.

internal import Events
internal import Plans
internal import TrackingPlans

extension PlanWords {
    /// The most events that are listed.
    private static let mostEvents = 200

    var trackingPlan: PlanSheet.Section? {
        guard let tracking = plan.trackingPlan else { return nil }
        let unplanned = tracking.unplanned.map { PlanWords.fate($0) } ?? "pass"
        var lines = [PlanSheet.Line("unplanned", "events that it does not name \(unplanned)")]
        if let pattern = tracking.namePattern { lines.append(PlanSheet.Line("names", "names match \(shown(pattern))")) }
        let items = tracking.events.prefix(PlanWords.mostEvents).map { event in
            let owner = event.owner.map { ", of \(shown($0))" } ?? ""
            let versions = event.versions.isEmpty ? "" : ", versions \(event.versions.map(shown).joined(separator: ", "))"
            let hidden = tracking.privateMembers.filter { $0.event == event.name }.map { shown($0.path.description) }
            return PlanSheet.Item(
                name: shown(event.name), summary: "violations \(PlanWords.fate(event.action))\(owner)\(versions)",
                lines: hidden.isEmpty ? [] : [PlanSheet.Line("private", label: "private", Set(hidden).sorted().joined(separator: ", "))])
        }
        let rest = tracking.events.count - items.count
        if rest > 0 { lines.append(PlanSheet.Line("events", "\(rest) more events are not listed")) }
        let count = tracking.events.count
        return PlanSheet.Section(
            key: "plan", title: "Tracking plan", summary: count == 1 ? "1 event" : "\(count) events", lines: lines, items: items)
    }

    private static func fate(_ action: ViolationAction) -> String {
        switch action {
        case .count: "are counted and pass"
        case .mark: "pass with a mark"
        case .strip: "lose the offending members"
        case .reject: "go to the dead letters"
        }
    }
}
