// `switchyard providers`: lists the installed providers with their files, settings and limits, and prints the mapping of one.

internal import Plans
internal import PluginHost
public import Terminal

public let providersCommand = Command(
    name: "providers",
    about: "Lists the installed modules; with NAME, the settings and limits of one.",
    details: """
        With --mapping it prints where the module sends each member of an event, and what it refuses or cuts. A module
        without a table says so, and the exit code is 1.
        """,
    argument: "NAME",
    options: [
        Option(name: "--mapping", about: "where the members of an event go; needs NAME"),
        Option(name: "--json", about: "with --mapping: one JSON object, for machines"),
    ],
    run: { arguments in
        if arguments.has("--json"), !arguments.has("--mapping") { throw UsageFault("--json belongs to --mapping") }
        if arguments.has("--mapping"), arguments.argument == nil {
            throw UsageFault("--mapping needs the name of a module: switchyard providers NAME --mapping")
        }
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        let installed = folders.installed()
        guard let name = arguments.argument else {
            try Console.show(Listing.table(installed))
            return ExitCode.delivered
        }
        guard let module = installed.first(where: { $0.name == name }) else {
            let near = nearest(to: name, among: installed.map(\.name)).map { ", did you mean \($0)?" } ?? ";"
            throw UsageFault("there is no module '\(name)'\(near) see switchyard providers")
        }
        if arguments.has("--mapping"), case .success(let about) = module.state {
            guard let text = arguments.has("--json") ? Listing.mappingJSON(about).map({ $0 + "\n" }) : Listing.mapping(about) else {
                Console.say("the module \(name) describes no mapping")
                return ExitCode.noValue
            }
            try Console.show(text)
            return ExitCode.delivered
        }
        try Console.show(Listing.details(module))
        if case .failure = module.state { return ExitCode.configuration }
        return ExitCode.delivered
    })
