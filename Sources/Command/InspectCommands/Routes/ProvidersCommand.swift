// `switchyard providers`: lists the installed providers with their files, settings and limits.

internal import Plans
internal import PluginHost
public import Terminal

public let providersCommand = Command(
    name: "providers",
    about: "Lists the installed modules; with NAME, the settings and limits of one.",
    argument: "NAME",
    run: { arguments in
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
        try Console.show(Listing.details(module))
        if case .failure = module.state { return ExitCode.configuration }
        return ExitCode.delivered
    })
