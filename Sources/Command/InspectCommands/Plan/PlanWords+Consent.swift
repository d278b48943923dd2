// The words of `check` for the consent section: levels, subjects, unknown subjects, what is kept on record, and what other formats mean.

internal import ConsentGate
internal import Document
internal import Events
internal import Plans
internal import Platform

extension PlanWords {
    var consent: PlanSheet.Section? {
        guard let consent = plan.consent else {
            return PlanSheet.Section(key: "consent", title: "Consent", summary: "none; the gate is off, every event passes")
        }
        let levels = consent.levels.map { shown($0.name) }.joined(separator: " < ")
        return PlanSheet.Section(
            key: "consent", title: "Consent", summary: "levels \(levels); unknown subjects are \(fate(consent.unknown, consent))",
            lines: purposes(of: consent) + unknown(consent) + record(of: consent) + notes(on: consent) + demands(of: consent)
                + meanings(of: consent.map))
    }

    private func level(_ index: Int, _ consent: ConsentPlan) -> String { shown(consent.levels[index].name) }

    private func purposes(of consent: ConsentPlan) -> [Line] {
        let levels = consent.levels.compactMap { level in
            level.purposes.map { Line("levels", "level \(shown(level.name)) needs \($0.isEmpty ? "no purpose" : list($0))") }
        }
        let gpc = consent.gpc.map { $0.isEmpty ? "no purpose" : list($0) } ?? "all purposes"
        return levels + [
            Line("subject", "the ids of a subject are \(list(consent.subject))"),
            Line("gpc", "Global Privacy Control refuses \(gpc)"),
        ]
    }

    // MARK: - Unknown subjects

    private func fate(_ policy: ConsentPlan.Unknown, _ consent: ConsentPlan) -> String {
        switch policy {
        case .deny: "denied"
        case .hold: "held until they consent"
        case .assume(let index): "assumed to have \(level(index, consent))"
        }
    }

    private func unknown(_ consent: ConsentPlan) -> [Line] {
        var lines: [Line] = []
        if let by = consent.unknownBy {
            let cases = by.cases.map { "\(fate($0.value, consent)) where it is \(shown($0.key))" }
            lines.append(Line("unknown", "by \(shown(by.path)) unknown subjects are \(cases.joined(separator: ", "))"))
        }
        if consent.isHolding {
            let hold = consent.hold
            lines.append(
                Line(
                    "hold",
                    "an event is held for \(hold.time.configured) at most; up to \(grouped(hold.total.events)) events and "
                        + "\(size(hold.total.bytes)), of one subject \(grouped(hold.subject.events)) and \(grouped(hold.subject.bytes))"))
        }
        return lines
    }

    // MARK: - The record

    private func record(of consent: ConsentPlan) -> [Line] {
        var lines: [Line] = []
        if let ledger = consent.ledger {
            let before = ledger.previous.isEmpty ? "" : ", before under \(ledger.previous.map(key).joined(separator: ", "))"
            lines.append(Line("ledger", "decisions are kept in the ledger, with ids hashed under the key \(key(ledger.key))\(before)"))
            let takers = plan.routes.filter(\.matchesType).map(\.name)
            lines.append(
                Line(
                    "ledger",
                    "events of type consent and reset "
                        + (takers.isEmpty
                            ? "speak to the ledger only: no route matches the type"
                            : "reach only routes that match the type: \(list(takers))")))
        }
        if let evidence = consent.evidence {
            lines.append(Line("evidence", "evidence of decisions is kept, encrypted under the key \(key(evidence))"))
        }
        if let version = consent.minimumVersion {
            lines.append(Line("minimum_version", "consent on record to a text before version \(shown(version)) counts as unknown"))
        }
        return lines
    }

    // MARK: - Demands

    /// A level that demands several purposes together stops everything for a subject who refuses one of them.
    private func notes(on consent: ConsentPlan) -> [Line] {
        consent.levels.indices.dropFirst().compactMap { index in
            let bound = plan.routes.filter { $0.consent?.level == index && $0.consent?.purposes.isEmpty == true }.map(\.name)
            guard let purposes = consent.levels[index].purposes, purposes.count > 1, !bound.isEmpty else { return nil }
            return Line(
                "levels",
                "note: level \(level(index, consent)) demands \(list(purposes)) together: who refuses one of them stops all that "
                    + "route\(bound.count == 1 ? "" : "s") \(list(bound)) would send; demand purposes where fewer are needed")
        }
    }

    private func demands(of consent: ConsentPlan) -> [Line] {
        consent.fields.map { Line("fields", "\(shown($0.path)) is removed below \(level($0.level, consent))") }
            + consent.events.map { Line("events", "events \(shown($0.glob.pattern)) demand \(level($0.level, consent))") }
    }

    // MARK: - Other formats

    private func meanings(of map: ConsentMapPlan) -> [Line] {
        var lines: [Line] = []
        for schema in ConsentSignals.meanings {
            for entry in map[schema.key] {
                lines.append(Line("map", "\(shown(entry.purpose)) in \(schema.key): \(words(of: entry.meaning, schema.shape))"))
            }
        }
        for entry in map.categories {
            lines.append(Line("map", "\(shown(entry.purpose)) in categories: \(list(entry.meaning))"))
        }
        for entry in map.members {
            let members = entry.meaning.map(text).joined(separator: " or ")
            lines.append(Line("map", "\(shown(entry.purpose)) in members: granted if \(members), denied by another value"))
        }
        return lines
    }

    private func words(of meaning: ConsentMeaning, _ shape: ConsentMeaningSchema.Shape) -> String {
        guard case .settings(let settings) = shape else { return list(meaning.words) }
        let parts = settings.compactMap { setting in
            switch meaning.settings[setting.name] {
            case .words(let words): "\(setting.name) \(list(words))"
            case .numbers(let numbers): "\(setting.name) \(numbers.map(String.init).joined(separator: ", "))"
            case nil: nil
            }
        }
        return parts.joined(separator: "; ")
    }
}
