// `switchyard check --swap`: says what a change of modules will lose. For each provider that has another module in the new configuration, it
// compares what the two modules declare. With a sample of events it also asks both modules what they would send. Nothing is sent.

internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import Terminal

func checkSwap(from oldFile: String, to newFile: String, events: String?) throws -> Int32 {
    if [oldFile, newFile, events].count(where: { $0 == "-" }) > 1 {
        throw UsageFault("only one of the two configurations and the events can come from standard input; name files for the others")
    }
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let (old, new) = (try Loading.plan(oldFile, folders), try Loading.plan(newFile, folders))
    let changed = new.providers.indices.compactMap { index in
        old.providers.firstIndex { $0.name == new.providers[index].name && $0.plugin != new.providers[index].plugin }.map { ($0, index) }
    }
    guard !changed.isEmpty else {
        try Console.show("no provider of \(printable(newFile)) has another module than in \(printable(oldFile))\n")
        return ExitCode.delivered
    }
    let sample = try events.map { try Sample.read($0) }
    // FILE may have been left out, so the two configurations are named.
    var text = "from \(printable(oldFile)) to \(printable(newFile))\n"
    var isLossy = false
    for (before, after) in changed {
        let (from, to) = (old.providers[before], new.providers[after])
        text += "\n\(printable(to.name)): \(from.plugin) → \(to.plugin)\n"
        guard let first = try? folders.description(of: from.plugin), let second = try? folders.description(of: to.plugin) else {
            throw ConfigurationFailure(lines: ["the modules of \(printable(to.name)) cannot be read"])
        }
        var lines = SwapComparison(first, second).lines
        if let sample {
            let counts = try sample.counts(of: before, by: old, and: after, by: new, folders)
            lines += counts.lines
            if counts.isLossy { isLossy = true }
        }
        if lines.contains(where: \.isLoss) { isLossy = true }
        text += lines.isEmpty ? "  no loss is known\n" : lines.map { $0.text }.joined()
    }
    try Console.show(text)
    if let sample, sample.invalid > 0 {
        Console.say("\(grouped(sample.invalid)) lines of the sample are no events and were left out")
        if !isLossy { return ExitCode.invalidInput }
    }
    return isLossy ? ExitCode.noValue : ExitCode.delivered
}

/// A line of the report.
struct SwapLine {
    let words: String
    /// True if something is lost, false for a heading or a remark.
    let isLoss: Bool

    init(_ words: String, isLoss: Bool = false) {
        self.words = words
        self.isLoss = isLoss
    }

    fileprivate var text: String { (isLoss ? "    " : "  ") + printable(words) + "\n" }
}

/// Compares what two modules declare.
struct SwapComparison {
    let lines: [SwapLine]

    init(_ old: ModuleDescription, _ new: ModuleDescription) {
        var lines: [SwapLine] = []
        for module in [old, new] where !module.hasMapping {
            lines.append(SwapLine("\(module.name) describes no mapping, so what it does with events is not known"))
        }
        guard old.hasMapping, new.hasMapping else {
            self.lines = lines
            return
        }
        let lost = SwapComparison.lost(old, new)
        if !lost.isEmpty {
            lines.append(SwapLine("\(old.name) has these members, and \(new.name) has no place for them:"))
            lines += lost.map { SwapLine("\($0.member)  (\(old.name): \($0.to))", isLoss: true) }
        }
        // What the old module only cut arrived, so a refusal of it is a loss.
        for (verb, rows, olds) in [("refuses", new.refuses, old.refuses), ("cuts", new.cuts, old.refuses + old.cuts)] {
            let stricter = rows.filter { SwapComparison.isStricter($0, than: olds) }
            guard !stricter.isEmpty else { continue }
            lines.append(SwapLine("\(new.name) \(verb) what \(old.name) may take:"))
            lines += stricter.map { row in
                // Two limits without numbers may be about different things, so they are not shown as alternatives.
                let before = olds.filter { $0.topic == row.topic && $0.most != nil && row.most != nil }.map(\.what)
                return SwapLine(row.what + (before.isEmpty ? "" : "  (\(old.name): \(before.joined(separator: "; ")))"), isLoss: true)
            }
        }
        self.lines = lines
    }

    /// True if no row of the old module is as strict: one in the same words, or one about the same topic whose number is not larger. The
    /// numbers of the topic `other` count different things.
    private static func isStricter(_ row: ModuleDescription.LimitRow, than olds: [ModuleDescription.LimitRow]) -> Bool {
        !olds.contains { old in
            guard old.topic == row.topic else { return false }
            if row.topic != "other", let most = row.most, let before = old.most { return before <= most }
            return old.what == row.what
        }
    }

    // MARK: - Members

    /// The members of the shape. A row names them by their paths.
    private static let roots = [
        "type", "event", "name", "messageId", "anonymousId", "userId", "previousId", "groupId", "timestamp", "properties", "traits",
        "context",
    ]

    /// Returns the members that a row of the old table names and that the new module has no place for.
    static func lost(_ old: ModuleDescription, _ new: ModuleDescription) -> [(member: String, to: String)] {
        if new.mapping.contains(where: \.isRest) { return [] }
        let kept = Set(new.mapping.filter { !isDropped($0) }.flatMap { members(of: $0.from) })
        var seen: Set<String> = []
        return old.mapping.filter { !isDropped($0) && !$0.isRest }.flatMap { row in
            members(of: row.from).filter { member in
                // A member goes where the object goes that holds it.
                let holders = member.split(separator: ".").indices.map { member.split(separator: ".")[...$0].joined(separator: ".") }
                return holders.allSatisfy { !kept.contains($0) } && seen.insert(member).inserted
            }.map { (member: $0, to: row.to) }
        }
    }

    private static func isDropped(_ row: ModuleDescription.MappingRow) -> Bool { row.to == "none" || row.to == "not sent" }

    /// Returns the paths that a text names.
    private static func members(of text: String) -> [String] {
        text.split { " ,;:()".contains($0) }.map(String.init).filter { word in
            let keys = word.split(separator: ".", omittingEmptySubsequences: false)
            return roots.contains(String(keys[0])) && keys.allSatisfy { !$0.isEmpty }
        }
    }
}
