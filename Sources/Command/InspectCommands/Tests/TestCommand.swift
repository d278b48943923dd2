// `switchyard test`: runs the events of test files through the routes, and compares what becomes of them with what the files expect.

internal import Document
internal import Glibc
internal import Plans
internal import Platform
internal import PluginHost
internal import RouteTesting
internal import Startup
public import Terminal

public let testCommand = Command(
    name: "test",
    about: "Runs the tests of a configuration: events, and what each route is expected to do with them.",
    details: """
        FILE holds tests; without it, routes.test.json of the current folder. Each event passes the routes as with explain, and
        nothing is delivered. The time, the environment and what is on record about subjects are in the file, so that a
        result never depends on the machine. The form of the file: switchyard schema --tests, and docs/tests.md.

        A test that fails is shown with what differs. The last lines say which routes no test takes, and what else no test
        tries. Values that routes hash, and values from ${env:} or ${file:}, are masked, in the file too.

        The exit code is 0 if every test passes, 1 if one fails, or if --coverage is given and no test takes some route, and 78
        if a file or its configuration is wrong.
        """,
    argument: "FILE",
    repeats: true,
    options: [
        Option(name: "--update", about: "write what was seen as what is expected; all else of the file stays as it is"),
        Option(name: "--junit", value: "XML", about: "also write the results into this file, as JUnit XML"),
        Option(name: "--coverage", about: "fail also if no test takes some route"),
    ],
    run: runTests)

private func runTests(_ arguments: Arguments) throws -> Int32 {
    let files = arguments.all.isEmpty ? ["routes.test.json"] : arguments.all
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let runs = try files.map { try TestRun($0, folders) }
    if let junit = arguments["--junit"] {
        try save(Array(JUnit.text(runs.map { ($0.name, $0.results) }).utf8), to: junit)
    }
    var failed = 0
    var text = ""
    for run in runs {
        let isUpdated = arguments.has("--update") && run.isChanged
        if isUpdated {
            try save(run.updated, to: run.name)
            text += "\(printable(run.name)): \(run.results.count { !$0.failures.isEmpty }) of \(run.results.count) tests written\n"
            continue
        }
        for result in run.results where !result.failures.isEmpty {
            failed += 1
            text += "FAILED \(printable(run.name)): \(printable(result.name))\n"
            for failure in result.failures { text += "    \(printable(failure))\n" }
        }
        let passed = run.results.count { $0.failures.isEmpty }
        text += "\(printable(run.name)): \(passed) of \(run.results.count) tests passed\n"
    }
    // Several files may test one configuration, so its coverage is theirs together.
    var isCovered = true
    for routes in Set(runs.map(\.routes)).sorted() {
        let own = runs.filter { $0.routes == routes }
        var coverage = Coverage(own[0].plan)
        for run in own { for explanation in run.explanations { coverage.note(explanation) } }
        isCovered = isCovered && coverage.isComplete
        text += "\(printable(routes)): the tests take \(coverage.taken) of \(coverage.all) routes\n"
        for gap in coverage.gaps { text += "    \(printable(gap))\n" }
    }
    try Console.show(text)
    return failed > 0 || (arguments.has("--coverage") && !isCovered) ? ExitCode.noValue : ExitCode.delivered
}

/// Writes a file as a whole. It is replaced only when the new text is complete.
func save(_ bytes: [UInt8], to path: String) throws {
    do throws(SystemFault) {
        try FileReplacement.write(bytes, to: path)
    } catch {
        throw StateFailure("\(printable(path)): \(error)")
    }
}
