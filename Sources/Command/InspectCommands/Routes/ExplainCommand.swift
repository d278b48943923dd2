// `switchyard explain`: shows what every stage of each route decides about one event, and why.

internal import Document
internal import Explaining
internal import Glibc
internal import Ledger
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let explainCommand = Command(
    name: "explain",
    about: "Shows what every stage of each route decides about one event, and why.",
    details: """
        EVENT is a file that holds one event on one line. Without EVENT, or with -, standard input is read.
        Nothing is delivered. Values that routes hash, and values from ${env:} or ${file:}, are masked.
        An event that is invalid is rejected by every route, and the exit code is 65.
        If the configuration has a ledger, the ledger of the state folder is read, also while a router uses it.
        """,
    argument: "EVENT",
    options: [configOption, stateOption, Option(name: "--json", about: "one JSON object, for machines")],
    run: explain)

private func explain(_ arguments: Arguments) throws -> Int32 {
    let file = arguments.argument ?? "-"
    let configuration = arguments["--config"] ?? Loading.defaultFile
    if file == "-", configuration == "-" {
        throw UsageFault("the event and the configuration cannot both come from standard input; name a file for one of them")
    }
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let plan = try Loading.plan(configuration, folders)

    if file == "-", isatty(0) == 1 { Console.say("type or paste one event, then press Enter and Ctrl-D") }
    let text: [UInt8]
    switch Loading.input(file, most: 1 << 30) {
    case .success(let bytes): text = bytes
    case .failure(let fault):
        Console.say("\(file == "-" ? "standard input" : printable(file)): \(fault)")
        return ExitCode.undelivered
    }
    let ledger = try LedgerView.open(plan, in: Loading.stateFolder(arguments["--state"]))
    defer { ledger?.close() }
    var explanation: Explanation
    do throws(Explanation.WrongCount) {
        explanation = try Explanation(
            of: text, from: file == "-" ? "stdin" : printable(file), by: plan, now: Clock.system.wall(), ledger: ledger)
    } catch {
        throw UsageFault(error.advice)
    }
    if let fault = ledger?.fault { Console.say(fault.description) }
    explanation.hide(plan.hidden)
    try Console.show(arguments.has("--json") ? explanation.json + "\n" : explanation.text(Style.ofStandardOutput))
    return explanation.fault == nil ? ExitCode.delivered : ExitCode.invalidInput
}

extension Explanation {
    /// Masks the reasons, since they also name paths and levels. The event is already masked value by value.
    fileprivate mutating func hide(_ hidden: HiddenTexts) {
        for route in routes.indices {
            for decision in routes[route].decisions.indices {
                routes[route].decisions[decision].why = hidden.masked(routes[route].decisions[decision].why)
            }
            for shaped in routes[route].shaped.indices {
                for decision in routes[route].shaped[shaped].decisions.indices {
                    let why = routes[route].shaped[shaped].decisions[decision].why
                    routes[route].shaped[shaped].decisions[decision].why = hidden.masked(why)
                }
            }
        }
    }
}

extension Explanation.WrongCount {
    fileprivate var advice: String {
        if events == 0 { return "explain takes one event, was given none; for example: head -n 1 events.ndjson | switchyard explain" }
        return "explain takes one event on one line, was given \(grouped(events)) lines; pick one with head -n 1, "
            + "or put an event of several lines on one with jq -c ."
    }
}
