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
        tries, such as a part of an expression that is never false. With --watch, the tests run again whenever a file changes
        that they were read from, and Ctrl-C ends with the code of the last run. Values that routes hash, and values from ${env:} or ${file:}, are masked, in the file too.

        The exit code is 0 if every test passes, 1 if one fails, or if --coverage is given and no test takes some route, and 78
        if a file or its configuration is wrong.
        """,
    argument: "FILE",
    repeats: true,
    options: [
        Option(name: "--update", about: "write what was seen as what is expected; all else of the file stays as it is"),
        Option(name: "--junit", value: "XML", about: "also write the results into this file, as JUnit XML"),
        Option(name: "--coverage", about: "fail also if no test takes some route"),
        Option(name: "--watch", about: "run again when a test, its configuration or a file of it changes"),
    ],
    run: { arguments in
        let files = arguments.all.isEmpty ? ["routes.test.json"] : arguments.all
        guard arguments.has("--watch") else { return try runTests(files, arguments) { _ in } }
        // What it writes would be a change.
        if arguments.has("--update") { throw UsageFault("--watch and --update cannot be given together") }
        if files.contains("-") { throw UsageFault("--watch needs files, and '-' is standard input") }
        let stop = try WakeUp()
        Signals.endInput(by: stop)
        let changes = try FileChanges(.any, stop: stop)
        return try Watching.run(changes, say: Console.say, round: { try runTests(files, arguments) { changes.note($0) } })
    })

/// `reading` is called with each file before it is read.
private func runTests(_ files: [String], _ arguments: Arguments, _ reading: @escaping (String) -> Void) throws -> Int32 {
    let folders = ModuleFolders.standard()
    for warning in folders.warnings { Console.say(warning.description) }
    let runs = try files.map { try TestRun($0, folders, reading) }
    // Several files may test one configuration, so its coverage is theirs together.
    let covered = Set(runs.map(\.routes)).sorted().map { routes in
        let own = runs.filter { $0.routes == routes }
        var coverage = Coverage(own[0].plan)
        for run in own { for explanation in run.explanations { coverage.note(explanation) } }
        return (name: routes, coverage: coverage)
    }
    if let junit = arguments["--junit"] {
        try save(Array(JUnit.text(runs.map { ($0.name, $0.results) }, coverage: covered).utf8), to: junit)
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
    for (routes, coverage) in covered {
        text += "\(printable(routes)): the tests take \(coverage.taken) of \(coverage.all) routes"
        text += coverage.sides == 0 ? "\n" : ", and \(coverage.sidesTaken) of \(coverage.sides) branches of expressions\n"
        for gap in coverage.gaps { text += "    \(printable(gap))\n" }
    }
    try Console.show(text)
    return failed > 0 || (arguments.has("--coverage") && !covered.allSatisfy(\.coverage.isComplete)) ? ExitCode.noValue : ExitCode.delivered
}

/// Writes a file as a whole. It is replaced only when the new text is complete.
func save(_ bytes: [UInt8], to path: String) throws {
    do throws(SystemFault) {
        try FileReplacement.write(bytes, to: path)
    } catch {
        throw StateFailure("\(printable(path)): \(error)")
    }
}
