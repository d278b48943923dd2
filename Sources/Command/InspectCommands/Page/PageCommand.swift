// `switchyard page`: prints a link that opens the page of a running router once.

internal import Control
internal import Platform
internal import RouteTesting
internal import Startup
public import Terminal

public let pageCommand = Command(
    name: "page",
    about: "Prints a link that opens the page of the router that has the state folder, once and within two minutes.",
    details: """
        The page is in a browser and shows the flow, the lanes and the dead letters. It needs "admin": { "page": true } in the
        configuration. The link gives the browser a session, which ends after half an hour without use, after twelve hours, with the
        router, and with --end. One line is printed for the address of admin and one for each of its origins; all are the same link.
        """,
    options: [stateOption, Option(name: "--end", about: "end all sessions and links")],
    run: { arguments in
        let folder = Loading.stateFolder(arguments["--state"])
        let path = arguments.has("--end") ? PageService.endPath : PageService.linkPath
        let answer: (status: Int, body: [UInt8])
        do throws(ControlFault) {
            answer = try ControlClient.ask(folder: folder, Request(method: "POST", path: path))
        } catch {
            guard error.kind == .nobody else { throw StateFailure(error.description) }
            throw StateFailure("no router answers at \(printable(folder)); --state names another folder")
        }
        let text = String(decoding: answer.body, as: UTF8.self)
        guard answer.status == 200, let value = JSONValue(parsing: text) else {
            let line = text.hasSuffix("\n") ? String(text.dropLast()) : text
            if answer.status == 422 { throw ConfigurationFailure(lines: [line]) }
            throw StateFailure(line)
        }
        if case .number(let count)? = value["ended"] {
            Console.say("sessions ended: \(count)")
            return ExitCode.delivered
        }
        guard case .list(let links)? = value["links"] else { throw StateFailure("the router gives no link") }
        try Console.show(links.map { if case .string(let link) = $0 { link + "\n" } else { "" } }.joined())
        return ExitCode.delivered
    })
