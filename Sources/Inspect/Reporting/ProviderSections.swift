// The section of providers: for each provider and each route to it, which members it gets, and what was done to them before.

internal import Editing
internal import Events
internal import Plans
internal import Platform

extension PlanSections {
    var providers: ReportDocument.Section {
        var parts: [ReportDocument.Part] = []
        for (index, provider) in plan.providers.enumerated() {
            let routes = plan.routes.filter { $0.providers.contains(index) }
            if routes.isEmpty {
                parts.append(.init("\(shown(provider.name)): gets nothing", ["No route leads to the provider \(shown(provider.name))."]))
            }
            for route in routes { parts.append(part(of: provider, route)) }
        }
        return .init("providers", "What each provider gets", parts)
    }

    private func part(of provider: ProviderPlan, _ route: RoutePlan) -> ReportDocument.Part {
        let table = members(of: route, provider)
        var sentences = ["Module \(shown(provider.plugin)). Events: \(names(of: route.events))."]
        if provider.shape.isFiltering {
            sentences.append("The provider has a filter of its own, which leaves out further events.")
        }
        var rows = table.rows.map { row in
            [shown(row.path.description), row.isGone ? "no" : "yes", row.words.isEmpty ? "as it is" : list(row.words, "; ")]
        }
        rows.append([
            "every other member", table.isRestGone ? "no" : "yes",
            table.isRestGone ? "not kept" : table.rest.isEmpty ? "as it is" : list(table.rest, "; "),
        ])
        return .init(
            "\(shown(provider.name)), from the route \(shown(route.name))", sentences,
            table: .init(["Member", "Leaves", "What is done to it"], rows))
    }

    /// Follows the members through everything that happens to the copy of a route before the module gets it.
    func members(of route: RoutePlan, _ provider: ProviderPlan) -> MemberTable {
        var table = MemberTable()
        if let consent = plan.consent {
            for field in consent.fields { table.note(field.path, "removed below the level \(shown(consent.levels[field.level].name))") }
        }
        if plan.addsMessageIDs { table.note(Path(keys: ["messageId"]), "added where it is missing") }
        if let session = route.session {
            table.apply(MemberEffect(.written, [session.place], "the id of a session of \(shown(session.by.description))"))
        }
        if let place = route.sample?.annotation { table.apply(MemberEffect(.written, [place], "the rate of the sample")) }
        for step in route.transforms { table.apply(step.effects(shown)) }
        for step in provider.shape.transforms { table.apply(step.effects(shown)) }
        return table
    }
}
