// `switchyard status` and `switchyard reload`: send a request to the router that has the state folder.

internal import Control
internal import Glibc
internal import Platform
internal import Startup
internal import StateFiles
public import Terminal

public let statusCommand = Command(
    name: "status",
    about: "Shows the lanes of the router that has the state folder: what waits, how fast it is delivered, what fails.",
    details: """
        When no router runs, it shows what is in the folder. A router has the folder if it was started with --state or under systemd,
        has other sources than standard input, or keeps something on disk.
        """,
    options: [stateOption, Option(name: "--json", about: "one JSON object, for machines")],
    run: { arguments in
        let folder = Loading.stateFolder(arguments["--state"])
        let style = Style.ofStandardOutput
        let query = arguments.has("--json") ? "" : "format=text" + (style.isColoured ? "&colour=1" : "")
        do throws(ControlFault) {
            let answer = try ControlClient.ask(folder: folder, Request(method: "GET", path: "/status", query: query))
            try show(answer.body)
            return answer.status == 200 ? ExitCode.delivered : ExitCode.undelivered
        } catch {
            guard error.kind == .nobody, StateFolder.owner(of: folder) == nil else { throw StateFailure(error.description) }
            let report = StatusReport(folder: folder, at: Clock.system.wall())
            try Console.show(arguments.has("--json") ? report.json : report.text(style))
            return ExitCode.delivered
        }
    })

public let reloadCommand = Command(
    name: "reload",
    about: "Makes the running router reload its configuration, and shows the result; exits with 78 when it was refused.",
    details: "It asks the router that has the state folder. Use SIGHUP to reload a router without a state folder.",
    options: [stateOption],
    run: { arguments in
        let folder = Loading.stateFolder(arguments["--state"])
        do throws(ControlFault) {
            // Wait without a limit, since modules may be slow to load.
            let answer = try ControlClient.ask(folder: folder, Request(method: "POST", path: "/reload"), timeout: nil)
            let text = String(decoding: answer.body, as: UTF8.self)
            guard answer.status == 200 else {
                Console.note(text)
                return answer.status == 422 ? ExitCode.configuration : ExitCode.undelivered
            }
            try? Console.show(text)
            return ExitCode.delivered
        } catch {
            guard error.kind == .nobody else { throw StateFailure(error.description) }
            throw StateFailure("no router answers at \(printable(folder)); --state names another folder")
        }
    })

private func show(_ bytes: [UInt8]) throws(ControlFault) {
    // If the reader of standard output has gone, the router is still fine.
    try? Console.show(String(decoding: bytes, as: UTF8.self))
}
