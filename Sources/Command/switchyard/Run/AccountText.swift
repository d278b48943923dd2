// Renders the account of a run, as text for a person and as JSON.

internal import Admission
internal import DeadLetterStore
internal import HeldEventStore
internal import Holding
internal import InspectCommands
internal import Judging
internal import Platform
internal import Queueing
internal import Router
internal import Spool
internal import Terminal
internal import Workers

enum AccountFormat: String, CaseIterable {
    case text, json, none

    init(word: String) throws(UsageFault) {
        guard let format = AccountFormat(rawValue: word) else {
            throw UsageFault("--stats must be text, json or none, is '\(word)'")
        }
        self = format
    }
}

extension Account {
    /// `left` holds the spools for which this run has no provider.
    func text(_ left: [SpoolSummary]) -> String {
        let repeated = duplicates == 0 ? "" : ", \(grouped(duplicates)) duplicates"
        let made = emitted == 0 ? "" : "; \(grouped(emitted)) emitted"
        var lines = ["received \(grouped(received)): \(grouped(valid)) valid, \(grouped(rejected)) rejected\(repeated)\(made)"]
        let heard = consent.named.filter { $0.count > 0 }.map { "\(grouped($0.count)) \($0.name)" }
        if !heard.isEmpty { lines.append("consent events: \(heard.joined(separator: ", "))") }
        for route in ownRoutes {
            let parts = Tally.columns.compactMap { column -> String? in
                let count = verdicts[route, column]
                return count == 0 ? nil : "\(grouped(count)) \(column.text)"
            }
            let keepErrors = verdicts.keepErrors(route: route)
            let transformErrors = verdicts.transformErrors(route: route)
            let erring =
                (keepErrors == 0 ? "" : "; sample.keep errors: \(grouped(keepErrors))")
                + (transformErrors == 0 ? "" : "; transform errors: \(grouped(transformErrors))")
            lines.append("route \(routes[route]): \(parts.isEmpty ? "nothing" : parts.joined(separator: ", "))\(erring)")
        }
        if verdicts.emitErrors > 0 { lines.append("emit errors: \(grouped(verdicts.emitErrors))") }
        let violations = verdicts.violationsByAction.filter { $0.count > 0 }.map { "\(grouped($0.count)) \($0.action)" }
        if !violations.isEmpty { lines.append("violations of the tracking plan: \(violations.joined(separator: ", "))") }
        if held.events > 0 || held.resumed > 0 {
            let resumed = held.resumed == 0 ? "" : ", \(grouped(held.resumed)) resumed"
            lines.append("held for consent: \(grouped(held.events)) events, \(grouped(held.bytes)) bytes\(resumed)")
        }
        if held.isDamaged { lines.append("held for consent: \(HeldFile.name) was damaged, \(grouped(held.damaged)) events are lost") }
        if lettersAreDamaged {
            lines.append("dead letters: \(DeadLetterFile.name) was damaged, \(grouped(damagedLetters)) letters are lost")
        }
        for provider in providers {
            let lane = provider.lane
            var parts = LaneAccount.Fate.allCases.compactMap { fate -> String? in
                lane.total(fate) == 0 ? nil : "\(grouped(lane.total(fate))) \(fate.rawValue)"
            }
            if lane.totalWaiting > 0 { parts.append("\(grouped(lane.totalWaiting)) waiting\(provider.isDurable ? " on disk" : "")") }
            if lane.lost > 0 { parts.append("\(grouped(lane.lost)) not even kept as dead letters") }
            if lane.unkept > 0 { parts.append("\(grouped(lane.unkept)) not kept, since the destination went away") }
            if provider.transformErrors > 0 { parts.append("transform errors: \(grouped(provider.transformErrors))") }
            if lane.retries > 0 { parts.append("\(grouped(lane.retries)) retries") }
            if lane.abandoned > 0 { parts.append("\(grouped(lane.abandoned)) deliveries past their deadline") }
            let outcome = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
            let resumed = lane.totalResumed == 0 ? "" : ", \(grouped(lane.totalResumed)) resumed"
            lines.append("provider \(provider.name): \(grouped(lane.totalTaken)) taken" + resumed + outcome)
        }
        for spool in left {
            let waiting = spool.fault ?? "\(grouped(spool.events)) waiting on disk"
            lines.append("without a provider, \(printable(spool.provider)): \(waiting)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    func json(_ left: [SpoolSummary]) -> String {
        let routeParts = ownRoutes.map { route in
            let counts = Tally.columns.map { "\(jsonQuoted($0.key)):\(verdicts[route, $0])" }
            let errors =
                "\"keep_errors\":\(verdicts.keepErrors(route: route)),\"transform_errors\":\(verdicts.transformErrors(route: route))"
            return "{\"name\":\(jsonQuoted(routes[route])),\(counts.joined(separator: ",")),\(errors)}"
        }
        let providerParts = providers.map { provider in
            let lane = provider.lane
            let byRoute = lane.taken.indices.filter { lane.taken[$0] + lane.resumed[$0] > 0 }.map { route in
                let counts = fates { lane[$0][route] } + ["\"waiting\":\(lane.waiting(route: route))"]
                return "{\"route\":\(jsonQuoted(routes[route])),\"taken\":\(lane.taken[route]),"
                    + "\"resumed\":\(lane.resumed[route]),\(counts.joined(separator: ","))}"
            }
            let counts =
                fates(lane.total) + [
                    "\"waiting\":\(lane.totalWaiting)", "\"lost\":\(lane.lost)", "\"unkept\":\(lane.unkept)", "\"retries\":\(lane.retries)",
                ]
                + [
                    "\"abandoned\":\(lane.abandoned)", "\"late\":\(lane.late)", "\"filtered_by\":\(reasons(lane))",
                    "\"transform_errors\":\(provider.transformErrors)",
                ]
            return "{\"name\":\(jsonQuoted(provider.name)),\"taken\":\(lane.totalTaken),"
                + "\"resumed\":\(lane.totalResumed),\(counts.joined(separator: ",")),"
                + "\"routes\":[\(byRoute.joined(separator: ","))]}"
        }
        let counts = [
            ("received", received), ("valid", valid), ("rejected", rejected), ("duplicates", duplicates), ("emitted", emitted),
            ("emit_errors", verdicts.emitErrors), ("held", held.events), ("held_bytes", held.bytes), ("held_resumed", held.resumed),
            ("held_damaged", held.damaged), ("dead_letters_damaged", damagedLetters),
        ]
        let heard = consent.named.map { "\"\($0.name)\":\($0.count)" }.joined(separator: ",")
        let violations = verdicts.violationsByAction.map { "\"\($0.action)\":\($0.count)" }.joined(separator: ",")
        let head = counts.map { "\"\($0.0)\":\($0.1)," }.joined()
        let parts = [("routes", routeParts), ("providers", providerParts)].map { "\"\($0)\":[\($1.joined(separator: ","))]" }
        let spools = StatusReport.json(left, at: Clock.system.wall())
        return "{\(head)\"consent\":{\(heard)},\"violations\":{\(violations)},\(parts.joined(separator: ",")),\"spools\":\(spools)}"
    }
}

/// Returns the reasons for which events were filtered.
private func reasons(_ lane: LaneAccount) -> String {
    "{" + Exclusion.allCases.map { "\"\($0.rawValue)\":\(lane.exclusions[$0] ?? 0)" }.joined(separator: ",") + "}"
}

/// Returns one JSON member for each fate.
private func fates(_ count: (LaneAccount.Fate) -> Int) -> [String] {
    LaneAccount.Fate.allCases.map { "\"\($0.rawValue)\":\(count($0))" }
}
