// `switchyard check --connect`: asks the destination of each provider whether it accepts the credentials. Nothing is stored there. All
// destinations are asked at once, and the answers are printed in the order of the configuration.

internal import Document
internal import Plans
internal import Platform
internal import PluginHost
internal import Terminal

/// The longest time that a destination may take to answer.
private let patience = Duration.seconds(20)

func checkConnections(_ plan: Plan, only name: String?, _ folders: ModuleFolders) throws -> Int32 {
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
    let found: [Int: Result<ProbeFinding, Inquiry.Unable>] = answers.waitUntilReady {
        $0.count == inquiries.count ? .ready($0) : .notBefore(nil)
    }
    for inquiry in inquiries { inquiry.close() }

    var text = ""
    var codes: Set<Int32> = []
    for (place, index) in indices.enumerated() {
        let (words, code) = describe(found[place]!)
        text += "\(printable(plan.providers[index].name)): \(plan.hidden.masked(words))\n"
        codes.insert(code)
    }
    try Console.show(text)
    return [ExitCode.configuration, ExitCode.undelivered].first { codes.contains($0) } ?? ExitCode.delivered
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
