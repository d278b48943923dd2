// The sections that a plan alone gives: the levels of consent, the sources, what each route collects, and what each provider gets.

internal import Document
internal import Editing
internal import Events
internal import Expressions
internal import Plans
internal import Platform

struct PlanSections {
    let plan: Plan

    var all: [ReportDocument.Section] { [levels, sources, routes, providers] }

    func shown(_ text: String) -> String { plan.hidden.masked(text) }

    func list(_ texts: [String], _ word: String = ", ") -> String { texts.map(shown).joined(separator: word) }

    // MARK: - Consent

    private var levels: ReportDocument.Section {
        let title = "What people can agree to"
        guard let consent = plan.consent else {
            return .init(
                "levels", title, [.init("", ["The configuration asks for no consent: every route takes every event that it names."])])
        }
        let rows = consent.levels.enumerated().map { index, level in
            let opened = plan.routes.filter { ($0.consent?.level ?? 0) == index }
            return [
                shown(level.name), level.purposes.map { $0.isEmpty ? "none" : list($0) } ?? "not named",
                opened.isEmpty ? "none" : list(opened.map(\.name)),
            ]
        }
        var sentences = [
            "Each level includes those before it. Of a person of whom nothing is known, events are \(fate(consent.unknown, consent))."
        ]
        if let by = consent.unknownBy {
            let cases = by.cases.map { "\(fate($0.value, consent)) where it is \(shown($0.key))" }
            sentences.append("By \(shown(by.path.description)) they are \(cases.joined(separator: ", ")).")
        }
        sentences.append(
            consent.gpc.map { $0.isEmpty ? "Global Privacy Control refuses nothing." : "Global Privacy Control refuses \(list($0))." }
                ?? "Global Privacy Control refuses everything.")
        if let version = consent.minimumVersion {
            sentences.append("Consent on record to a text before version \(shown(version)) counts as unknown.")
        }
        for event in consent.events {
            sentences.append("Events \(shown(event.glob.pattern)) need the level \(shown(consent.levels[event.level].name)).")
        }
        return .init("levels", title, [.init("", sentences, table: .init(["Level", "Purposes", "Routes that need it"], rows))])
    }

    private func fate(_ policy: ConsentPlan.Unknown, _ consent: ConsentPlan) -> String {
        switch policy {
        case .deny: "denied"
        case .hold: "held for \(consent.hold.time.configured) at most, until an answer is known"
        case .assume(let level): "treated as if the level \(shown(consent.levels[level].name)) had been agreed to"
        }
    }

    // MARK: - Sources

    private var sources: ReportDocument.Section {
        let rows = plan.sources.map { source in
            let origin =
                source.http.map { "HTTP at \($0.listen)\($0.tls == nil ? "" : " with TLS")" }
                ?? source.file.map { "files \($0.paths.joined(separator: ", "))" } ?? "standard input"
            return [shown(source.name), shown(origin), source.consent == .write ? "yes" : "no"]
        }
        return .init(
            "sources", "Where events come from", [.init("", table: .init(["Source", "Origin", "May record consent"], rows))])
    }

    // MARK: - Routes

    private var routes: ReportDocument.Section {
        let rows = plan.routes.map { route in
            [
                shown(route.name), names(of: route.events), conditions(of: route), level(of: route), purposes(of: route), share(of: route),
                route.retention.map { "\($0.configured) while it waits" } ?? "no limit of its own",
                list(route.providers.map { plan.providers[$0].name }),
            ]
        }
        var sentences = ["A route takes the events that it names and for which there is consent, and hands its own copy to its providers."]
        for (number, emit) in plan.emits.enumerated() {
            sentences.append("Rule \(number + 1) of emit makes a further event where \(shown(emit.condition.text)), with the same consent.")
        }
        let columns = ["Route", "Events", "Only where", "Level", "Purposes", "Share", "Kept for", "Providers"]
        return .init("routes", "What each route collects", [.init("", sentences, table: .init(columns, rows))])
    }

    func names(of globs: [Glob]) -> String { globs.isEmpty ? "all events" : list(globs.map(\.pattern)) }

    private func conditions(of route: RoutePlan) -> String {
        var parts = route.match.map { "\(shown($0.path.description)) is \($0.anyOf.map(text).joined(separator: " or "))" }
        if !route.not.events.isEmpty { parts.append("not \(list(route.not.events.map(\.pattern), " or "))") }
        parts += route.not.match.map { "\(shown($0.path.description)) is not \($0.anyOf.map(text).joined(separator: " or "))" }
        if let condition = route.not.condition { parts.append("not \(shown(condition.text))") }
        if let condition = route.condition { parts.append(shown(condition.text)) }
        if route.takesRest { parts.append("no earlier route takes it") }
        return parts.isEmpty ? "always" : parts.joined(separator: "; ")
    }

    private func level(of route: RoutePlan) -> String {
        guard let consent = plan.consent else { return "none" }
        return shown(consent.levels[route.consent?.level ?? 0].name)
    }

    private func purposes(of route: RoutePlan) -> String {
        guard let consent = plan.consent else { return "none" }
        let own = route.consent?.purposes ?? []
        let all = own.isEmpty ? consent.levels[route.consent?.level ?? 0].purposes ?? [] : own
        return all.isEmpty ? "none" : list(all)
    }

    private func share(of route: RoutePlan) -> String {
        guard let sample = route.sample else { return "all" }
        var parts = [sample.target.map { "about \($0.configured)" } ?? "a sample of \(sample.rate)"]
        if !sample.rates.isEmpty { parts.append("other rates by event") }
        if let limit = sample.limit {
            parts.append("\(limit.rate.configured) at most" + (limit.by.map { " for each \(shown($0.description))" } ?? ""))
        }
        return parts.joined(separator: ", ")
    }

    private func text(_ scalar: Scalar) -> String {
        switch scalar {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): text
        case .string(let text): shown(text)
        }
    }
}
