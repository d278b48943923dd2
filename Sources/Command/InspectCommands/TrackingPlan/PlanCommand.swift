// `switchyard plan`: the tools for a tracking plan. Each action reads files or standard input, and writes its result to standard output.

internal import PlanTools
internal import Platform
internal import Startup
public import Terminal

public let planCommand = Command(
    name: "plan",
    about: "Writes, compares and shows tracking plans.",
    details: """
        plan infer [FILE]         writes a first plan from events, one per line; without FILE, from standard input
        plan diff OLD NEW         says what NEW breaks for those who send events and for those who read them; exits with 1 if it breaks
                                  somebody, and with 78 if a plan is wrong
        plan docs PLAN            writes a page of all events: --format html (default) or markdown
        plan swift PLAN           writes an enum of the events for programs in Swift; plan python and plan typescript do so in theirs
        plan import FILE          writes a plan from that of RudderStack, Segment Protocols or Avo, or from a schema of Snowplow

        docs/plan.md describes what each action does and its limits.
        """,
    argument: "ACTION",
    rest: ["FILE"],
    repeats: true,
    options: [
        Option(name: "--version", value: "MEMBER", about: "the member that says the version of an event (infer)"),
        Option(name: "--for", value: "WHO", about: "only what breaks senders or readers (diff)"),
        Option(name: "--format", value: "FORMAT", about: "text (default) or json (diff); html (default) or markdown (docs)"),
    ],
    run: { arguments in
        guard let word = arguments.argument else { throw UsageFault("expected \(PlanAction.words); see switchyard plan --help") }
        guard let action = PlanAction(rawValue: word) else {
            let near = nearest(to: word, among: PlanAction.allCases.map(\.rawValue)).map { ", did you mean \($0)?" } ?? ","
            throw UsageFault("unknown action '\(word)'\(near) expected \(PlanAction.words); see switchyard plan --help")
        }
        for (option, _) in arguments.values where !action.options.contains(option) { throw UsageFault("plan \(word) takes no \(option)") }
        guard action.files.count.contains(arguments.rest.count) else {
            throw UsageFault("plan \(word) takes \(action.files.words); see switchyard plan --help")
        }
        return try action.run(arguments)
    })

private enum PlanAction: String, CaseIterable {
    case infer, diff, docs, swift, python, typescript, `import`

    static var words: String {
        let words = allCases.map(\.rawValue)
        return words.count == 1 ? words[0] : words.dropLast().joined(separator: ", ") + " or " + words.last!
    }

    var options: [String] {
        switch self {
        case .infer: ["--version"]
        case .diff: ["--for", "--format"]
        case .docs: ["--format"]
        case .swift, .python, .typescript, .import: []
        }
    }

    /// The files that it takes after the action.
    var files: (count: ClosedRange<Int>, words: String) {
        switch self {
        case .infer: (0...1, "one FILE at most")
        case .diff: (2...2, "two plans, OLD and NEW")
        case .docs, .swift, .python, .typescript: (1...1, "one PLAN; - is standard input")
        case .import: (1...1, "one FILE; - is standard input")
        }
    }

    func run(_ arguments: Arguments) throws -> Int32 {
        switch self {
        case .infer: try inferPlan(arguments)
        case .diff: try diffPlans(arguments)
        case .docs: try writePage(arguments)
        case .swift: try writeCode(arguments, in: .swift)
        case .python: try writeCode(arguments, in: .python)
        case .typescript: try writeCode(arguments, in: .typescript)
        case .import: try importPlan(arguments)
        }
    }
}

/// Writes JSON to standard output as `fmt` lays it out.
func showPlan(_ json: String) throws {
    try Console.show(JSONLayout.lines(json, width: CanonicalForm.width, isVerbatim: true).joined(separator: "\n") + "\n")
}
