// `switchyard init`: writes a first configuration and a file of tests for it. It writes over nothing.

internal import Glibc
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
public import Terminal

public let initCommand = Command(
    name: "init",
    about: "Writes a first routes.json and its tests: for a pipe, a sidecar or a vendor.",
    details: """
        KIND is one of:
          pipe     events come on standard input, and go to the screen and into a file
          sidecar  events come over HTTP from programs on this machine, and go to a gateway
          vendor   events come over HTTP from client libraries, and go to the vendor of --vendor, with consent

        Without KIND it asks, if a person is there to answer. It writes routes.json and routes.test.json into the folder, and
        says what to do next. The exit code is 69 if one of them is there already.
        """,
    argument: "KIND",
    options: [
        Option(name: "--vendor", value: "MODULE", about: "the module of the vendor, such as posthog; switchyard providers lists them"),
        Option(name: "--folder", value: "DIR", about: "the folder to write into (default: the current one)"),
    ],
    run: { arguments in
        let word =
            try arguments.argument ?? ask("what is it for? pipe, sidecar or vendor", missing: "init needs a kind: pipe, sidecar or vendor")
        guard let kind = FirstFiles.Kind(rawValue: word) else {
            let near = nearest(to: word, among: FirstFiles.Kind.allCases.map(\.rawValue)).map { ", did you mean \($0)?" } ?? ""
            throw UsageFault("the kind must be pipe, sidecar or vendor, is '\(word)'\(near)")
        }
        let folders = ModuleFolders.standard()
        for warning in folders.warnings { Console.say(warning.description) }
        var module: ModuleDescription?
        if kind == .vendor {
            let name = try arguments["--vendor"] ?? ask("which vendor?", missing: "the kind vendor needs --vendor MODULE")
            module = try description(of: name, folders)
        } else if arguments.has("--vendor") {
            throw UsageFault("--vendor belongs to the kind vendor")
        }
        let folder = arguments["--folder"].map { $0 + "/" } ?? ""
        let (routes, tests) = (folder + "routes.json", folder + "routes.test.json")
        for file in [routes, tests] where access(file, F_OK) == 0 {
            throw StateFailure("\(printable(file)) is there already; nothing was written")
        }
        let files = FirstFiles(kind, module)
        try save(try CanonicalForm.of(Array(files.routes.utf8), file: routes), to: routes)
        try save(try CanonicalForm.of(Array(files.tests.utf8), file: tests), to: tests)
        let run = try TestRun(tests, folders)
        try save(try CanonicalForm.of(run.updated, file: tests), to: tests)
        try Console.show("\(printable(routes))\n\(printable(tests))\n")
        for line in files.advice(routes: routes) { Console.say(line) }
        return ExitCode.delivered
    })

/// Asks a question on the terminal. Without one, the words `missing` say what to give.
private func ask(_ question: String, missing: String) throws -> String {
    guard isatty(0) == 1 else { throw UsageFault(missing) }
    Console.note("\(question) ")
    guard let answer = readLine(), !answer.isEmpty else { throw UsageFault(missing) }
    return answer.split(separator: " ").first.map(String.init) ?? answer
}

private func description(of name: String, _ folders: ModuleFolders) throws -> ModuleDescription {
    do throws(ModuleFault) {
        if let module = try folders.description(of: name), module.offersProvider { return module }
    } catch {
        throw StateFailure("the module '\(printable(name))' cannot be used: \(error)")
    }
    let near = nearest(to: name, among: folders.names).map { ", did you mean \($0)?" } ?? "; switchyard providers lists the modules"
    throw UsageFault("there is no module named '\(name)'\(near)")
}
