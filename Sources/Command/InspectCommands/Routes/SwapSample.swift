// The events of `check --swap --events`: what two modules would make of them. Each event passes the routes of both configurations, with the
// filters and transforms, but neither consent nor sampling: these are no property of a module.

internal import Explaining
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import Terminal

struct Sample {
    /// The lines that are events, and the number of those that are not.
    private let lines: [[UInt8]]
    let invalid: Int
    /// True if the file has more events than are read.
    private let isCut: Bool

    /// The most events that are read.
    private static let most = 10_000

    static func read(_ file: String) throws -> Sample {
        let text: [UInt8]
        switch Loading.input(file, most: 256 << 20) {
        case .success(let bytes): text = bytes
        case .failure(let fault): throw StateFailure("\(file == "-" ? "standard input" : printable(file)): \(fault)")
        }
        let plan = Plan()
        var lines: [[UInt8]] = []
        var invalid = 0
        let all = text.split(separator: UInt8(ascii: "\n")).filter { $0.contains { $0 > 0x20 } }
        for line in all.prefix(most) {
            let line = Array(line)
            let explanation = try? Explanation(of: line, from: "", by: plan)
            if explanation.map({ $0.fault == nil }) ?? false { lines.append(line) } else { invalid += 1 }
        }
        return Sample(lines: lines, invalid: invalid, isCut: all.count > most)
    }

    struct Counts {
        /// The events of the sample, and those that reach the provider.
        var events = 0
        var reached = 0
        var isCut = false
        /// How many events the new module refuses, and how many of these the old one refuses too, by the reason.
        var refused: [String: (count: Int, before: Int)] = [:]
        var losses: [String: (count: Int, before: Int)] = [:]
        /// Why one of the modules could not be asked.
        var unable: String?

        var isLossy: Bool { (refused.values + Array(losses.values)).contains { $0.count > $0.before } }

        var lines: [SwapLine] {
            if let unable { return [SwapLine("the sample was not tried: \(unable)")] }
            let part = isCut ? "the first " : ""
            var lines = [SwapLine("of \(part)\(grouped(events)) events of the sample, \(grouped(reached)) reach the provider")]
            for (verb, rows) in [("refused", refused), ("sent with a loss", losses)] {
                for (reason, row) in rows.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) }) {
                    let before = row.before == 0 ? "" : ", \(grouped(row.before)) of them by the old module too"
                    lines.append(SwapLine("\(grouped(row.count)) \(verb)\(before): \(reason)", isLoss: row.count > row.before))
                }
            }
            return lines
        }
    }

    /// Counts what the new module would lose, and what of it the old one loses too.
    func counts(of before: Int, by old: Plan, and after: Int, by new: Plan, _ folders: ModuleFolders) throws -> Counts {
        var counts = Counts()
        counts.events = lines.count
        counts.isCut = isCut
        let answer = try fates(at: before, by: old, folders)
        // A module that cannot be asked refuses nothing that is known.
        let olds: [Int: Fate] = (try? answer.get()) ?? [:]
        switch try fates(at: after, by: new, folders) {
        case .failure(let unable): counts.unable = unable.message
        case .success(let news):
            counts.reached = news.count
            for (line, fate) in news {
                if let reason = fate.refusal {
                    let isOld = olds[line].map { $0.refusal != nil } ?? false
                    counts.refused[reason, default: (0, 0)].count += 1
                    if isOld { counts.refused[reason]!.before += 1 }
                }
                for loss in fate.losses {
                    let isOld = olds[line].map { $0.refusal != nil || $0.losses.contains(loss) } ?? false
                    counts.losses[loss, default: (0, 0)].count += 1
                    if isOld { counts.losses[loss]!.before += 1 }
                }
            }
        }
        return counts
    }

    private struct Fate {
        var refusal: String?
        var losses: [String] = []
    }

    /// Returns what the module of a provider would make of each line that reaches it, by the number of the line.
    private func fates(at provider: Int, by plan: Plan, _ folders: ModuleFolders) throws -> Result<[Int: Fate], Inquiry.Unable> {
        var open = plan
        open.consent = nil
        for index in open.routes.indices {
            open.routes[index].consent = nil
            open.routes[index].sample = nil
        }
        let inquiry = try Inquiry(of: provider, plan, folders)
        defer { inquiry.close() }
        let now = Clock.system.wall()
        var fates: [Int: Fate] = [:]
        for (number, line) in lines.enumerated() {
            guard let explanation = try? Explanation(of: line, from: "", by: open, now: now) else { continue }
            let events = explanation.routes.flatMap(\.handOvers).filter { $0.provider == plan.providers[provider].name }.map(\.line)
            guard !events.isEmpty else { continue }
            switch inquiry.preview(events, arrivals: events.map { _ in now }) {
            case .failure(let unable): return .failure(unable)
            case .success(let preview):
                let refusal = preview.refused.min { $0.key < $1.key }?.value
                fates[number] = Fate(refusal: refusal, losses: refusal == nil ? preview.losses.values.flatMap { $0 } : [])
            }
        }
        return .success(fates)
    }
}
