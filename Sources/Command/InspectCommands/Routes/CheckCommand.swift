// `switchyard check`: reads the configuration as the router does and prints the resulting plan.

internal import Configuration
internal import Document
internal import Linting
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let checkCommand = Command(
    name: "check",
    about: "Checks a configuration and prints the plan it makes; exits with 78 when something is wrong.",
    details: """
        The plan holds everything that the router understood, in the order in which an event meets it, without secrets; with --json
        for programs.

        What is surely not meant so, such as a route that can never match, is said too; lint says more. It does not change the
        exit code.

        With --state it also lists what the state folder holds and the configuration does not use, and how to move or destroy it.

        With --connect it asks the destination of each provider, or of the one of --provider, whether it accepts the
        credentials. Nothing is stored there: where a destination has no way to ask that, it is only connected to. Sources
        of modules are asked whether they can connect and how far they are behind; no event is taken. The exit code is 78 if
        one refuses, else 69 if one gives no answer, else 0.

        With --swap OLD it compares, for each provider that has another module in FILE than in OLD, what the two modules do
        with events, and with --events what both make of a sample. The exit code is 1 if something would be lost.
        """,
    argument: "FILE",
    options: [
        configOption,
        Option(name: "--json", about: "print the plan as one JSON object"),
        Option(name: "--state", value: "DIR", about: "also list what this state folder holds and the configuration does not use"),
        Option(name: "--connect", about: "ask destinations and sources whether they accept the credentials"),
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
        let document = try Loading.document(file, folders)
        let plan = document.plan
        if arguments.has("--connect") { return try checkConnections(plan, only: arguments["--provider"], folders) }
        let say: @Sendable (String) -> Void = { Console.say(plan.hidden.masked($0)) }
        ModuleExits.endAtOnce(ExitCode.configuration, say: say)
        let outlets = try Outlets.make(plan, folders, say: say)
        for made in outlets { made.close() }
        let sources = try SourceModules.make(plan, folders, say: say)
        for made in sources.values { made.instance.close() }
        let lint = Lint(document, file: file, folders)
        Console.report(lint.findings.filter { $0.rule.severity == .error }.map(lint.line))
        let left = arguments["--state"].map { Leftovers(plan, in: $0).summary }
        let sheet = PlanSheet(plan, file: file, modules: outlets.map(\.path), sources: sources.mapValues(\.path))
        try Console.show(arguments.has("--json") ? sheet.json(left) : sheet.text(left))
        return ExitCode.delivered
    })

extension Arguments {
    /// Says which options do not go together.
    fileprivate var fault: String? {
        for (option, needed) in [("--provider", "--connect"), ("--events", "--swap")] where has(option) && !has(needed) {
            return "\(option) belongs to \(needed)"
        }
        for (one, other) in [
            ("--json", "--connect"), ("--json", "--swap"), ("--connect", "--swap"), ("--connect", "--state"), ("--swap", "--state"),
        ] where has(one) && has(other) {
            return "\(one) and \(other) do not go together; run them one after the other"
        }
        return nil
    }
}

extension Leftovers {
    /// What is left, one line each.
    fileprivate var summary: [String] {
        let left = isThere ? lines + letters : ["there is no folder \(printable(folder)) yet"]
        return left.isEmpty ? ["the configuration uses everything in it"] : left
    }
}
