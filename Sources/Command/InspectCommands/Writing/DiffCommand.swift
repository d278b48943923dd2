// `switchyard diff`: says how two configurations differ, and what that does to events.

internal import Configuration
internal import Document
internal import Explaining
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import RouteTesting
internal import Startup
public import Terminal

public let diffCommand = Command(
    name: "diff",
    about: "Says how two configurations differ, and which events go or look otherwise.",
    details: """
        OLD and NEW are configurations. The first lines name the sections, providers and routes that are new, gone or changed.

        EVENTS is a file of events, one per line; - is standard input. Each event passes both configurations as with explain,
        alone and at the same time, and for each provider it is said how many more, how many fewer and how many other events
        it gets, by route and cause, with the first line of each as an example. Hashes and values from ${env:} or ${file:} are
        masked, so another key makes no difference there. With --state the ledger of that folder is read.

        The exit code is 0 if nothing differs, 1 if something does, and 78 if a configuration is wrong.
        """,
    argument: "OLD",
    rest: ["NEW", "EVENTS"],
    options: [stateOption],
    run: { arguments in
        let files = arguments.all
        guard files.count >= 2 else { throw UsageFault("diff takes two configurations: switchyard diff old.json new.json events.ndjson") }
        if files[...1].allSatisfy({ $0 == "-" }) || files.filter({ $0 == "-" }).count > 1 {
            throw UsageFault("only one of the files can come from standard input")
        }
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        let (old, new) = (try Loading.document(files[0], folders), try Loading.document(files[1], folders))
        let lines = FileComparison.lines(old: old.root, new: new.root)
        var text = lines.map { printable($0) + "\n" }.joined()
        guard files.count == 3 else {
            try Console.show(lines.isEmpty ? "the configurations are equal\n" : text)
            return lines.isEmpty ? ExitCode.delivered : ExitCode.noValue
        }
        let comparison = try compare(old.plan, new.plan, files[2], arguments["--state"])
        text += comparison.text()
        try Console.show(text)
        return comparison.changed == 0 && lines.isEmpty ? ExitCode.delivered : ExitCode.noValue
    })

private func compare(_ old: Plan, _ new: Plan, _ file: String, _ state: String?) throws -> EventComparison {
    let input: [UInt8]
    switch Loading.input(file, most: 1 << 30) {
    case .success(let bytes): input = bytes
    case .failure(let fault): throw StateFailure("\(file == "-" ? "standard input" : printable(file)): \(fault)")
    }
    let ledgers = (try ledger(old, state), try ledger(new, state))
    defer {
        ledgers.0?.close()
        ledgers.1?.close()
    }
    let now = Clock.system.wall()
    var comparison = EventComparison()
    let rules = (CompiledRules(old, ledgers.0), CompiledRules(new, ledgers.1))
    func explain(_ line: [UInt8], _ plan: Plan, _ ledger: LedgerView?, _ rules: CompiledRules?) -> Explanation? {
        guard var explanation = try? Explanation(of: line, from: "", by: plan, now: now, ledger: ledger, rules: rules) else { return nil }
        explanation.hide(plan.hidden)
        return explanation
    }
    for (index, line) in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
        guard line.contains(where: { $0 > 0x20 }) else { continue }
        let line = Array(line)
        guard let before = explain(line, old, ledgers.0, rules.0), let after = explain(line, new, ledgers.1, rules.1) else { continue }
        comparison.add(line: index + 1, old: before, new: after)
    }
    return comparison
}

/// The ledger of the state folder, or an empty one. It is nil if the plan keeps none.
private func ledger(_ plan: Plan, _ state: String?) throws -> LedgerView? {
    guard plan.consent?.ledger != nil else { return nil }
    if let state { return try LedgerView.open(plan, in: state) }
    return LedgerView(nil, key: [UInt8](repeating: 0, count: 16))
}

extension EventComparison {
    /// The groups without anything that an event holds: causes have no values. Groups whose causes are then the same are one.
    private var groupsWithoutValues: [Group] {
        groups.reduce(into: []) { kept, group in
            var group = group
            // What follows says why, with the values of the event. What differs between two copies is told by paths alone.
            if group.kind != .otherwise { group.cause = String(group.cause.prefix { $0 != ":" }) }
            let same = kept.firstIndex {
                ($0.kind, $0.provider, $0.route, $0.cause) == (group.kind, group.provider, group.route, group.cause)
            }
            if let same { kept[same].count += group.count } else { kept.append(group) }
        }
    }

    /// The comparison in words. `showsValues` is false for somebody who may not see what an event holds.
    func text(showsValues: Bool = true) -> String {
        let groups = showsValues ? groups : groupsWithoutValues
        var text = "\(grouped(events)) events: \(grouped(events - changed)) come out the same, \(grouped(changed)) do not\n"
        let providers = groups.map(\.provider).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        for provider in providers {
            let own = groups.filter { $0.provider == provider }
            func count(_ kind: Kind) -> Int { own.filter { $0.kind == kind }.reduce(0) { $0 + $1.count } }
            let counts = [(count(.more), "more"), (count(.fewer), "fewer"), (count(.otherwise), "otherwise")].filter { $0.0 > 0 }
            text += "\(printable(provider)): " + counts.map { "\(grouped($0.0)) \($0.1)" }.joined(separator: ", ") + "\n"
            for group in own.sorted(by: { ($0.kind.rawValue, -$0.count) < ($1.kind.rawValue, -$1.count) }) {
                let cause =
                    switch group.kind {
                    case .more: "more by route \(group.route), before: \(group.cause)"
                    case .fewer: "fewer by route \(group.route), now: \(group.cause)"
                    case .otherwise: "otherwise by route \(group.route): \(group.cause)"
                    }
                let example = showsValues ? " (line \(group.line), \(printable(group.event)))" : ""
                text += "    \(grouped(group.count)) \(printable(cause))\(example)\n"
            }
        }
        return text
    }
}
