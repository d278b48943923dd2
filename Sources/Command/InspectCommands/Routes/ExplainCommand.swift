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

        With --to, only the routes to that provider are shown, and what its module would send for the event: the requests,
        or why it refuses the event. Nothing is sent. Keys and the values of hashed members are masked. If the module cannot
        say what it would send, the exit code is 1.
        """,
    argument: "EVENT",
    options: [
        configOption, stateOption,
        Option(name: "--to", value: "PROVIDER", about: "also show what this provider would send"),
        Option(name: "--json", about: "one JSON object, for machines"),
    ],
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
    let provider = try arguments["--to"].map { try plan.provider(named: $0) }

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
    let now = Clock.system.wall()
    do throws(Explanation.WrongCount) {
        explanation = try Explanation(
            of: text, from: file == "-" ? "stdin" : printable(file), by: plan, now: now, ledger: ledger)
    } catch {
        throw UsageFault(error.advice)
    }
    if let fault = ledger?.fault { Console.say(fault.description) }
    explanation.hide(plan.hidden)
    var wires: [Int: (provider: String, wire: Wire)] = [:]
    if let provider {
        explanation.keep(only: provider, of: plan)
        if plan.consent != nil { explanation.addSecondCheck() }
        wires = try explanation.wires(of: provider, plan, folders, now: now)
    }
    try Console.show(arguments.has("--json") ? explanation.json(wires) + "\n" : explanation.text(Style.ofStandardOutput, wires))
    if explanation.fault != nil { return ExitCode.invalidInput }
    return wires.values.contains { if case .unknown = $0.wire { true } else { false } } ? ExitCode.noValue : ExitCode.delivered
}

extension Plan {
    /// Returns the index of a provider.
    func provider(named name: String) throws(UsageFault) -> Int {
        if let index = providers.firstIndex(where: { $0.name == name }) { return index }
        let near = nearest(to: name, among: providers.map(\.name)).map { ", did you mean \($0)?" } ?? ""
        throw UsageFault("the configuration has no provider '\(name)'\(near)")
    }
}

extension Explanation {
    /// Leaves out the routes to other providers, and what other providers do with the event.
    fileprivate mutating func keep(only provider: Int, of plan: Plan) {
        let name = plan.providers[provider].name
        // The routes of the explanation are those of the plan, in their order.
        routes = zip(routes, plan.routes).filter { $0.1.providers.contains(provider) }.map { route, _ in
            var route = route
            route.to = route.to.filter { $0 == name }
            route.shaped = route.shaped.filter { $0.provider == name }
            route.handOvers = route.handOvers.filter { $0.provider == name }
            return route
        }
    }

    /// Asks the module of the provider what it would send for the event of each route. The module is made only if an event reaches it.
    fileprivate func wires(
        of provider: Int, _ plan: Plan, _ folders: ModuleFolders, now: Int64
    ) throws -> [Int: (provider: String, wire: Wire)] {
        guard routes.contains(where: { !$0.handOvers.isEmpty }) else { return [:] }
        let name = plan.providers[provider].name
        let inquiry = try Inquiry(of: provider, plan, folders)
        defer { inquiry.close() }
        var wires: [Int: (provider: String, wire: Wire)] = [:]
        for (index, route) in routes.enumerated() {
            guard let event = route.handOvers.first else { continue }
            switch inquiry.preview([event.line], arrivals: [now]) {
            case .success(let preview):
                // If another arrival makes other requests, the reader must know that this one is assumed.
                let later = try? inquiry.preview([event.line], arrivals: [now + 3_600_000_000_000]).get()
                wires[index] = (name, Wire(preview, later: later, of: event))
            case .failure(let fault): wires[index] = (name, .unknown(fault.message))
            }
        }
        return wires
    }
}

extension Explanation {
    /// Masks the reasons, since they also name paths and levels. The event is already masked value by value.
    mutating func hide(_ hidden: HiddenTexts) {
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
