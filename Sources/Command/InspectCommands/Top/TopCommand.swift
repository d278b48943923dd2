// `switchyard top`: a live table of what a running router does, drawn again at an interval.

internal import CPlatform
internal import Control
internal import Glibc
internal import Platform
internal import RouteTesting
internal import Startup
public import Terminal

public let topCommand = Command(
    name: "top",
    about: "Shows a live table of the router that has the state folder: sources, routes, lanes, rates, queues and breakers.",
    details: """
        The table is drawn again at the interval, and Ctrl-C ends it. With --once, or if standard output is no terminal, one table is
        written, with the rates of one interval. HALF BY and ALL BY are the ages within which half of the events and all of them were
        delivered. NO_COLOR switches colours off. status --json has the numbers.
        """,
    options: [
        stateOption, Option(name: "--interval", value: "SECONDS", about: "the time between two tables (default: 2)"),
        Option(name: "--once", about: "write one table and end"),
    ],
    run: { arguments in
        let folder = Loading.stateFolder(arguments["--state"])
        let seconds = try arguments.number("--interval", in: 1...3600) ?? 2
        let isTerminal = isatty(1) == 1
        let top = Top(interval: .seconds(seconds), isLive: isTerminal && !arguments.has("--once"), style: .ofStandardOutput)
        try top.run(
            look: { try look(folder) }, wait: { poll(nil, 0, Int32(clamping: $0.nanoseconds / 1_000_000)) },
            width: { isTerminal ? Int(cplatform_columns(1)) : 0 }, show: { (text) throws(SystemFault) in try Console.show(text) })
        return ExitCode.delivered
    })

/// Asks the router that has the folder for its status.
private func look(_ folder: String) throws -> TopTable.Look {
    let answer: (status: Int, body: [UInt8])
    do throws(ControlFault) {
        answer = try ControlClient.ask(folder: folder, Request(method: "GET", path: "/status"))
    } catch {
        guard error.kind == .nobody else { throw StateFailure(error.description) }
        throw StateFailure("no router answers at \(printable(folder)); --state names another folder")
    }
    guard answer.status == 200, let status = JSONValue(parsing: String(decoding: answer.body, as: UTF8.self)) else {
        throw StateFailure("\(printable(folder)): the router does not give its status")
    }
    return TopTable.Look(status: status, at: Clock.system.now())
}

/// Draws tables. What it reads and writes, and the time, are given to it.
struct Top {
    var interval: Duration
    /// True if the table is drawn again and again, on a terminal.
    var isLive: Bool
    var style: Style

    /// The width of a table that is not for a terminal, or for one that does not say how wide it is.
    static let usualWidth = 120
    /// Moves to the upper left corner and clears what is below.
    static let clear = "\u{1b}[H\u{1b}[J"

    /// Draws until `look` or `show` fails, or once.
    func run(
        look: () throws -> TopTable.Look, wait: (Duration) -> Void, width: () -> Int, show: (String) throws(SystemFault) -> Void
    ) throws {
        var before: TopTable.Look?
        while true {
            let now = try look()
            let columns = width()
            let table = TopTable(
                now: now, before: before, width: columns > 0 ? max(TopTable.narrowest, columns) : Top.usualWidth, style: style)
            if isLive {
                try show(Top.clear + table.text)
            } else if before != nil {
                return try show(table.text)
            }
            before = now
            wait(interval)
        }
    }
}
