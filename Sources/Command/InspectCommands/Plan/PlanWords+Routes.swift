// The words of `check` for the routes, and for what a provider does at the hand-over: the stages that an event meets, in their order.

internal import Editing
internal import Events
internal import Expressions
internal import Plans
internal import Platform

extension PlanWords {
    typealias Line = PlanSheet.Line

    var routes: PlanSheet.Section? {
        let items = plan.routes.map { route in
            PlanSheet.Item(
                name: route.name, sign: " → ", summary: list(route.providers.map { plan.providers[$0].name }), stages: stages(of: route))
        }
        return PlanSheet.Section(key: "routes", title: "Routes", items: items)
    }

    /// The stages of a route in the order in which an event meets them.
    func stages(of route: RoutePlan) -> [Line] {
        filters(of: route) + demand(of: route)
            + (route.sample.map(stages) ?? [])
            + route.transforms.map { Line("transform", label: "transform", shown($0.summary(shown))) }
            + (route.session.map { [stage(of: $0)] } ?? [])
            + (route.retention.map { [Line("retention", label: "retention", "kept for \($0.configured) at most")] } ?? [])
    }

    private func filters(of route: RoutePlan) -> [Line] {
        var stages: [Line] = []
        func add(_ key: String, _ text: String) { stages.append(Line(key, label: "filter", text)) }
        if route.takesRest { add("else", "no earlier route took the event") }
        if !route.events.isEmpty { add("events", "event is \(either(route.events))") }
        for match in route.match { add("match", text(match)) }
        if !route.not.events.isEmpty { add("not", "not if event is \(either(route.not.events))") }
        for match in route.not.match { add("not", "not if \(text(match))") }
        if let condition = route.not.condition { add("not", "not if \(shown(condition))") }
        if let condition = route.condition { add("where", shown(condition)) }
        return stages
    }

    private func demand(of route: RoutePlan) -> [Line] {
        guard let demand = route.consent, let consent = plan.consent else { return [] }
        let purposes = demand.purposes.isEmpty ? "" : ", purposes \(list(demand.purposes))"
        return [Line("consent", label: "consent", "level \(shown(consent.levels[demand.level].name))\(purposes)")]
    }

    // MARK: - Sample

    private func stages(of sample: SamplePlan) -> [Line] {
        var stages: [Line] = []
        func add(_ text: String) { stages.append(Line("sample", label: "sample", text)) }
        let salt = sample.salt.map { " with the salt \(shown($0))" } ?? ""
        let by = "by \(sample.by.map(shown) ?? "messageId")\(salt)"
        if !sample.keep.isEmpty { add("always \(either(sample.keep))") }
        if let condition = sample.keepCondition { add("always when \(shown(condition))") }
        if let target = sample.target {
            add("about \(target.configured) \(by), with a rate that follows the traffic")
        } else {
            for (glob, rate) in sample.rates { add("\(rate) of \(shown(glob.pattern)) \(by)") }
            if sample.rate < 1 {
                add("\(sample.rate)\(sample.rates.isEmpty ? "" : " of all others") \(by)")
            } else if sample.limit == nil {
                add(sample.rates.isEmpty ? "\(sample.rate) \(by)" : "all others")
            }
        }
        if let limit = sample.limit {
            let each = limit.by.map { " for each \(shown($0))" } ?? ""
            add("at most \(limit.rate.configured)\(each), and \(grouped(limit.burst)) at once after a pause")
        }
        if let path = sample.annotation { add("its rate is written to \(shown(path))") }
        return stages
    }

    private func stage(of session: SessionPlan) -> Line {
        Line(
            "session", label: "session",
            "its id is written to \(shown(session.place)), by \(shown(session.by)); a new one after \(session.idle.configured) without an event; "
                + "\(grouped(session.most)) subjects are remembered")
    }
}
