// `switchyard plan diff`, `plan docs` and the actions that write code, and reading the plan that an action names.

internal import Document
internal import PlanTools
internal import Platform
internal import Startup
internal import Terminal
internal import TrackingPlans

/// Reads a plan. A fault is reported with its place, as `check` does, and the exit code is 78.
func readPlan(_ file: String) throws -> PlanDocument {
    let text = try readText(file)
    do throws(PlanFaults) {
        return try PlanDocument(text)
    } catch {
        throw ConfigurationFailure(lines: error.faults.map { "\(printable(file)):\($0.line):\($0.column): \(printable($0.message))" })
    }
}

func readText(_ file: String) throws -> [UInt8] {
    switch Loading.input(file, most: PlanFile.largest + 1) {
    case .success(let bytes): return bytes
    case .failure(let fault):
        throw ConfigurationFailure(lines: ["\(file == "-" ? "standard input" : printable(file)): \(fault)"])
    }
}

func diffPlans(_ arguments: Arguments) throws -> Int32 {
    let format = arguments["--format"] ?? "text"
    guard ["text", "json"].contains(format) else { throw UsageFault("--format must be text or json, is '\(format)'") }
    var party: PlanComparison.Party?
    if let word = arguments["--for"] {
        guard let named = PlanComparison.Party(rawValue: word), named != .nobody else {
            throw UsageFault("--for must be senders or readers, is '\(word)'")
        }
        party = named
    }
    if arguments.rest.allSatisfy({ $0 == "-" }) { throw UsageFault("only one of the plans can come from standard input") }
    let comparison = PlanComparison(old: try readPlan(arguments.rest[0]), new: try readPlan(arguments.rest[1]))
    if format == "json" {
        try Console.show(comparison.json(for: party) + "\n")
    } else {
        let text = comparison.text(for: party)
        try Console.show(text.isEmpty ? "nothing that the plans allow differs\n" : text)
    }
    return comparison.breaks(party) ? ExitCode.noValue : ExitCode.delivered
}

func writePage(_ arguments: Arguments) throws -> Int32 {
    let word = arguments["--format"] ?? "html"
    guard let format = PlanPage.Format(rawValue: word) else { throw UsageFault("--format must be html or markdown, is '\(word)'") }
    try Console.show(PlanPage.text(try readPlan(arguments.rest[0]), as: format))
    return ExitCode.delivered
}

func writeCode(_ arguments: Arguments, in language: CodeLanguage) throws -> Int32 {
    try Console.show(PlanCode.text(try readPlan(arguments.rest[0]), in: language))
    return ExitCode.delivered
}

func importPlan(_ arguments: Arguments) throws -> Int32 {
    let file = arguments.rest[0]
    let text = try readText(file)
    let shown = file == "-" ? "standard input" : printable(file)
    let plan: (json: String, notes: [String])
    do throws(PlanImport.Failure) {
        plan = try PlanImport.plan(text)
    } catch {
        switch error {
        case .syntax(let fault):
            let (line, column) = Source(text).place(of: fault.offset)
            Console.report(["\(shown):\(line):\(column): \(printable(fault.message))"])
        case .unknown: Console.say("\(shown) is no plan of RudderStack, Segment Protocols or Avo, and no schema of Snowplow")
        }
        return ExitCode.invalidInput
    }
    if case .failure(let faults) = PlanFile.read(Array(plan.json.utf8)) {
        for fault in faults.faults { Console.say("\(shown) gives no valid plan: \(printable(fault.message))") }
        return ExitCode.invalidInput
    }
    try showPlan(plan.json)
    for note in plan.notes { Console.say(printable(note)) }
    return ExitCode.delivered
}
