// `switchyard check`: reads the configuration as the router does and prints the resulting plan.

internal import Configuration
internal import Document
internal import Editing
internal import Events
internal import Expressions
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let checkCommand = Command(
    name: "check",
    about: "Checks a configuration and prints the plan it makes; exits with 78 when something is wrong.",
    details: """
        With --state it also lists what the state folder holds and the configuration does not use, and how to move or destroy it.

        With --connect it asks the destination of each provider, or of the one of --provider, whether it accepts the
        credentials. Nothing is stored there: where a destination has no way to ask that, it is only connected to. The exit
        code is 78 if one refuses them, else 69 if one gives no answer, else 0.

        With --swap OLD it compares, for each provider that has another module in FILE than in OLD, what the two modules do
        with events, and with --events what both make of a sample. The exit code is 1 if something would be lost.
        """,
    argument: "FILE",
    options: [
        configOption,
        Option(name: "--state", value: "DIR", about: "also list what this state folder holds and the configuration does not use"),
        Option(name: "--connect", about: "ask the destinations whether they accept the credentials"),
        Option(name: "--provider", value: "NAME", about: "with --connect: only this provider"),
        Option(name: "--swap", value: "OLD", about: "say what is lost by a change from the configuration OLD to FILE"),
        Option(name: "--events", value: "EVENTS", about: "with --swap: a file of events, one per line; - is standard input"),
    ],
    run: { arguments in
        if arguments.argument != nil, arguments.has("--config") { throw UsageFault("give the configuration once: FILE or --config FILE") }
        let file = arguments.argument ?? arguments["--config"] ?? Loading.defaultFile
        if let fault = arguments.fault { throw UsageFault(fault) }
        if let old = arguments["--swap"] { return try checkSwap(from: old, to: file, events: arguments["--events"]) }
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        let plan = try Loading.plan(file, folders)
        if arguments.has("--connect") { return try checkConnections(plan, only: arguments["--provider"], folders) }
        let say: @Sendable (String) -> Void = { Console.say(plan.hidden.masked($0)) }
        ModuleExits.endAtOnce(ExitCode.configuration, say: say)
        let outlets = try Outlets.make(plan, folders, say: say)
        for made in outlets { made.close() }
        let left = arguments["--state"].map { Leftovers(plan, in: $0).summary } ?? ""
        try Console.show(plan.summary(file: file, modules: outlets.map(\.path)) + left)
        return ExitCode.delivered
    })

extension Arguments {
    /// Says which options do not go together.
    fileprivate var fault: String? {
        for (option, needed) in [("--provider", "--connect"), ("--events", "--swap")] where has(option) && !has(needed) {
            return "\(option) belongs to \(needed)"
        }
        for (one, other) in [("--connect", "--swap"), ("--connect", "--state"), ("--swap", "--state")] where has(one) && has(other) {
            return "\(one) and \(other) do not go together; run them one after the other"
        }
        return nil
    }
}

extension Plan {
    fileprivate func summary(file: String, modules: [String]) -> String {
        var text = "\(file) is good.\n\nSources\n"
        for source in sources { text += "  \(source.name): \(hidden.masked(source.summary))\n" }
        if let admin { text += "\nAdmin: \(admin.listen)\n" }
        text += "\nMessage ids: \(messageIDSummary)\n"
        text += "\nConsent: \(consentSummary)\n\nRoutes\n"
        for route in routes {
            text += "  \(route.name) → \(shown(route.providers.map { providers[$0].name }).joined(separator: ", "))\n"
            for (number, stage) in stages(of: route).enumerated() { text += "    \(number + 1). \(stage)\n" }
        }
        text += "\nProviders\n"
        for (provider, path) in zip(providers, modules) {
            let delivery = provider.delivery
            text += "  \(provider.name): \(hidden.masked(provider.plugin)) from \(hidden.masked(path))\n"
            if let isolation = provider.isolation { text += "    in a process of its own, of at most \(grouped(isolation.memory)) bytes\n" }
            let batch = delivery.batch
            text += "    batches of \(grouped(batch.events)) events, \(grouped(batch.bytes)) bytes or \(batch.wait.configured)"
            text += "; queue of \(grouped(delivery.queue.memory)) bytes, when full \(hidden.masked(delivery.queue.full.rawValue))"
            if let disk = delivery.queue.disk {
                text += ", on disk up to \(grouped(disk)) bytes, which survive \(delivery.queue.durability.summary)"
            }
            text += "; retried for \(delivery.retry.total.configured)\(delivery.ordered ? "; in order" : "")"
            text += delivery.deadLetters == .block ? "; waits while dead letters cannot be kept" : ""
            text += (delivery.retention.map { "; kept for \($0.configured) at most" } ?? "") + "\n"
            let handOver = stages(of: provider.shape.route(named: provider.name))
            for (number, stage) in handOver.enumerated() { text += "    \(number + 1). at the hand-over, \(stage)\n" }
        }
        return text
    }

    private var messageIDSummary: String {
        let added = addsMessageIDs ? "added where there is none" : "left as they are"
        guard let plan = messageID.deduplicate else { return added }
        return added + "; an event whose id came in the last \(plan.window.configured), among \(grouped(plan.most)), is dropped"
    }

    private var consentSummary: String {
        guard let consent else { return "none; the gate is off, every event passes" }
        let levels = shown(consent.levels.map(\.name)).joined(separator: " < ")
        var text = "levels \(levels); unknown subjects are \(fate(consent.unknown, consent))"
        if let by = consent.unknownBy {
            let cases = by.cases.map { "\(fate($0.value, consent)) where it is \(hidden.masked($0.key))" }
            text += "\n  by \(hidden.masked(by.path.description)) unknown subjects are \(cases.joined(separator: ", "))"
        }
        if consent.isHolding { text += "\n  \(summary(of: consent.hold))" }
        if let ledger = consent.ledger {
            text += "\n  decisions are kept in the ledger, with ids hashed under the key \(hidden.masked(keys[ledger.key].name))"
            let takers = routes.filter(\.matchesType).map(\.name)
            text +=
                "\n  events of type consent and reset "
                + (takers.isEmpty
                    ? "speak to the ledger only: no route matches the type"
                    : "reach only routes that match the type: \(shown(takers).joined(separator: ", "))")
        }
        if let version = consent.minimumVersion {
            text += "\n  consent on record to a text before version \(hidden.masked(version)) counts as unknown"
        }
        for (index, level) in consent.levels.enumerated() {
            let bound = routes.filter { $0.consent?.level == index && $0.consent?.purposes.isEmpty == true }.map(\.name)
            guard let purposes = level.purposes, purposes.count > 1, index > 0, !bound.isEmpty else { continue }
            text +=
                "\n  note: level \(hidden.masked(level.name)) demands \(shown(purposes).joined(separator: ", ")) together: who refuses one of them "
                + "stops all that route\(bound.count == 1 ? "" : "s") \(shown(bound).joined(separator: ", ")) would send; demand purposes where fewer are needed"
        }
        for field in consent.fields {
            text += "\n  \(hidden.masked(field.path.description)) is removed below \(hidden.masked(consent.levels[field.level].name))"
        }
        for event in consent.events {
            text += "\n  events \(hidden.masked(event.glob.pattern)) demand \(hidden.masked(consent.levels[event.level].name))"
        }
        return text
    }

    private func fate(_ policy: ConsentPlan.Unknown, _ consent: ConsentPlan) -> String {
        switch policy {
        case .deny: "denied"
        case .hold: "held until they consent"
        case .assume(let level): "assumed to have \(hidden.masked(consent.levels[level].name))"
        }
    }

    private func summary(of hold: HoldPlan) -> String {
        "an event is held for \(hold.time.configured) at most; up to \(grouped(hold.total.events)) events and \(grouped(hold.total.bytes)) bytes"
            + ", of one subject \(grouped(hold.subject.events)) and \(grouped(hold.subject.bytes))"
    }

    private func stages(of route: RoutePlan) -> [String] {
        var stages: [String] = []
        if !route.events.isEmpty { stages.append("filter: event is \(shown(route.events.map(\.pattern)).joined(separator: " or "))") }
        for match in route.match {
            stages.append("filter: \(hidden.masked(match.path.description)) is \(match.anyOf.map(text).joined(separator: " or "))")
        }
        if let condition = route.condition { stages.append("filter: \(printable(condition.text))") }
        if let demand = route.consent, let consent {
            var parts = ["level \(hidden.masked(consent.levels[demand.level].name))"]
            if !demand.purposes.isEmpty { parts.append("purposes \(shown(demand.purposes).joined(separator: ", "))") }
            stages.append("consent: \(parts.joined(separator: ", "))")
        }
        if let retention = route.retention { stages.append("retention: kept for \(retention.configured) at most") }
        if let sample = route.sample {
            var text = "sample: \(sample.rate) by \(sample.by.map { hidden.masked($0.description) } ?? "messageId")"
            if !sample.keep.isEmpty { text += ", always \(shown(sample.keep.map(\.pattern)).joined(separator: " or "))" }
            if let condition = sample.keepCondition { text += ", always when \(printable(condition.text))" }
            stages.append(text)
        }
        for transform in route.transforms {
            stages.append("transform: \(hidden.masked(transform.summary(hidden.masked)))")
        }
        return stages
    }

    /// Returns the texts with all values masked that come from the environment or a file.
    private func shown(_ texts: [String]) -> [String] { texts.map(hidden.masked) }

    private func text(_ scalar: Scalar) -> String {
        switch scalar {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): text
        case .string(let text): hidden.contains(text.utf8) ? HiddenTexts.mask : jsonQuoted(hidden.masked(text))
        }
    }
}

extension Leftovers {
    fileprivate var summary: String {
        let left = isThere ? lines + letters : ["there is no folder \(printable(folder)) yet"]
        return "\nState folder\n" + (left.isEmpty ? ["the configuration uses everything in it"] : left).map { "  \($0)\n" }.joined()
    }
}

extension SourcePlan {
    fileprivate var summary: String { origin + (consent == .write ? "; its events may write the ledger" : "") }

    /// Where its events come from.
    private var origin: String {
        if let file {
            return "\(plugin) \(file.paths.joined(separator: ", "))\(file.drains ? ", each removed when all of it was taken in" : "")"
        }
        guard let http else { return "standard input" }
        var parts = ["\(plugin) at \(http.listen)"]
        if http.tls != nil { parts.append("TLS") }
        if http.tls?.clients != nil { parts.append("client certificates") }
        parts.append(
            http.keys.isEmpty ? "no keys: anyone who can connect may send" : "keys \(http.keys.map(\.summary).joined(separator: ", "))")
        return parts.joined(separator: ", ")
    }
}

extension AccessKey {
    fileprivate var summary: String {
        let bounds = [routes.map { "to \($0.joined(separator: ", "))" }, consent.map { _ in "may write the ledger" }].compactMap { $0 }
        return bounds.isEmpty ? name : "\(name) (\(bounds.joined(separator: "; ")))"
    }
}

extension DeliveryPlan.Queue.Durability {
    fileprivate var summary: String {
        switch self {
        case .process: "the end of the process"
        case .power: "a loss of power"
        }
    }
}
