// `switchyard schema`: prints a JSON Schema of routes.json, for editors and for programs that write such a file.

internal import Configuration
internal import Plans
internal import PluginHost
internal import RouteTesting
public import Terminal

public let schemaCommand = Command(
    name: "schema",
    about: "Prints a JSON Schema (2020-12) of routes.json with the settings of the installed modules.",
    options: [Option(name: "--tests", about: "print the schema of a file of tests instead")],
    run: { arguments in
        if arguments.has("--tests") {
            try Console.show(JSONLayout.lines(TestFile.schema, width: 120).joined(separator: "\n") + "\n")
            return ExitCode.delivered
        }
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        var modules: [ModuleDescription] = []
        for module in folders.installed() {
            switch module.state {
            case .success(let description): modules.append(description)
            case .failure(let fault): Console.say("left out: \(module.name) cannot be used: \(fault)")
            }
        }
        let schema = RoutesFile.schema(for: modules)
        try Console.show(JSONLayout.lines(schema, width: 120).joined(separator: "\n") + "\n")
        return ExitCode.delivered
    })
