// `switchyard check --connect`: asks each source of a module whether it can connect, and the destination of each provider whether it accepts
// the credentials. Nothing is taken or stored there. All are asked at once, and the answers are printed in the order of the configuration.

internal import Document
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import Terminal

/// The longest time that a destination may take to answer.
private let patience = Duration.seconds(20)

func checkConnections(_ plan: Plan, only name: String?, _ folders: ModuleFolders) throws -> Int32 {
    // With a name, only that provider is asked.
    let sources = try name == nil ? SourceModules.make(plan, folders) { Console.say(plan.hidden.masked($0)) } : [:]
    let indices = try name.map { [try plan.provider(named: $0)] } ?? Array(plan.providers.indices)
    let inquiries = try indices.map { try Inquiry(of: $0, plan, folders) }
    let answers = Monitor([Int: Result<ProbeFinding, Inquiry.Unable>]())
    for (place, inquiry) in inquiries.enumerated() {
        Thread.start("connect") {
            let answer = inquiry.probe(within: patience)
            answers.withLock { $0[place] = answer }
            answers.wake()
        }.detach()
    }
    let asked = Monitor([Int: SourceFinding?]())
    for (index, source) in sources {
        Thread.start("connect") {
            let answer = source.instance.probe(within: patience)
            asked.withLock { _ = $0.updateValue(answer, forKey: index) }
            asked.wake()
        }.detach()
    }
    let found: [Int: Result<ProbeFinding, Inquiry.Unable>] = answers.waitUntilReady {
        $0.count == inquiries.count ? .ready($0) : .notBefore(nil)
    }
    let sourcesFound: [Int: SourceFinding?] = asked.waitUntilReady { $0.count == sources.count ? .ready($0) : .notBefore(nil) }
    for inquiry in inquiries { inquiry.close() }

    var text = ""
    var codes: Set<Int32> = []
    for (index, finding) in sourcesFound.sorted(by: { $0.key < $1.key }) {
        let source = plan.sources[index]
        let answer: Result<ProbeFinding, Inquiry.Unable> =
            finding.map { .success($0.finding) } ?? .failure(Inquiry.Unable(message: "the module \(source.plugin) cannot be asked"))
        let (words, code) = describe(answer)
        let late = finding.map(lateness) ?? ""
        text += "\(printable(source.name)): \(plan.hidden.masked(words))\(late)\n"
        codes.insert(code)
    }
    // A source that is still in its call is not closed. The process ends now.
    for (index, source) in sources where sourcesFound[index]??.hasReturned ?? true { source.instance.close() }
    for (place, index) in indices.enumerated() {
        let (words, code) = describe(found[place]!)
        text += "\(printable(plan.providers[index].name)): \(plan.hidden.masked(words))\n"
        codes.insert(code)
    }
    try Console.show(text)
    return [ExitCode.configuration, ExitCode.undelivered].first { codes.contains($0) } ?? ExitCode.delivered
}

private func lateness(_ finding: SourceFinding) -> String {
    let events = finding.eventsBehind.map { "\(grouped(Int(clamping: $0))) events behind" }
    let time = finding.timeBehind.map { "the oldest since \($0.nanoseconds / 1_000_000_000) s" }
    let parts = [events, time].compactMap { $0 }
    return parts.isEmpty ? "" : "; \(parts.joined(separator: ", "))"
}

private func describe(_ answer: Result<ProbeFinding, Inquiry.Unable>) -> (words: String, code: Int32) {
    switch answer {
    case .failure(let unable): return ("cannot be checked: \(unable.message)", ExitCode.delivered)
    case .success(let finding):
        let words = finding.message.isEmpty ? "" : ": \(finding.message)"
        switch finding.kind {
        case .accepted: return ("ok\(words)", ExitCode.delivered)
        case .refused: return ("refused\(words)", ExitCode.configuration)
        case .reached: return ("cannot be checked\(words)", ExitCode.delivered)
        case .failed: return ("no answer\(words)", ExitCode.undelivered)
        }
    }
}
