// `switchyard spool`: lists what waits on disk for each provider, gives it to another provider, or destroys it.

internal import Audit
internal import Glibc
internal import InspectCommands
internal import Platform
internal import Spool
internal import Startup
internal import StateFiles
internal import Terminal

let spoolCommand = Command(
    name: "spool",
    about: "Lists what waits on disk for each provider, gives it to another one, or destroys it.",
    details: """
        spool list                lists what waits, by provider; this is the default
        spool move OLD NEW        gives what waits for OLD to NEW, after what already waits for NEW
        spool destroy NAME        destroys what waits for NAME; asks for the name again unless --yes is given
        move and destroy work only while no router has the state folder.
        """,
    argument: "ACTION",
    rest: ["NAME", "NEW"],
    options: [
        stateOption, configOption, Option(name: "--yes", about: "destroy without asking"),
        Option(name: "--json", about: "the list as one JSON object, for machines"),
    ],
    run: { arguments in
        let action = arguments.argument ?? "list"
        let wanted = ["list": 0, "move": 2, "destroy": 1]
        guard let count = wanted[action] else {
            let near = nearest(to: action, among: wanted.keys.sorted()).map { ", did you mean \($0)?" } ?? ","
            throw UsageFault("unknown action '\(action)'\(near) expected list, move or destroy; see switchyard spool --help")
        }
        guard arguments.rest.count == count else {
            throw UsageFault("switchyard spool \(action) takes \(["no name", "NAME", "OLD and NEW"][count]); see switchyard spool --help")
        }
        let folder = Loading.stateFolder(arguments["--state"])
        switch action {
        case "move": return try move(arguments, folder)
        case "destroy": try destroy(arguments, folder)
        default: try list(arguments, folder)
        }
        return ExitCode.delivered
    })

private func list(_ arguments: Arguments, _ folder: String) throws {
    let report = StatusReport(folder: folder, at: Clock.system.wall())
    if arguments.has("--json") { return try Console.show("{\"spools\":\(report.spoolsJSON)}\n") }
    guard !report.spools.isEmpty else { return try Console.show("nothing waits in \(printable(folder))\n") }
    try Console.show(columns(report.spools.map { (printable($0.provider), report.text(of: $0)) }))
}

private func move(_ arguments: Arguments, _ folder: String) throws -> Int32 {
    let (old, new) = (arguments.rest[0], arguments.rest[1])
    guard old != new, !new.isEmpty else { throw UsageFault("OLD and NEW must be two different names") }
    var options = SpoolFile.Options()
    options.cipher = try cipher(arguments)
    let claimed = try claim(folder)
    try noteAct(arguments) { log in .moved(from: old, to: new, user: getuid(), at: log.now) }
    let moved = try claimed.moveSpool(of: old, to: new, options: options, say: Console.say)
    for loss in moved.losses { Console.say(loss) }
    if let left = moved.left { Console.say("\(left); switchyard spool destroy \(shellWord(old)) destroys it with them") }
    try Console.show("\(grouped(moved.events)) events wait for \(printable(new)) now\n")
    return moved.losses.isEmpty ? ExitCode.delivered : ExitCode.undelivered
}

private func destroy(_ arguments: Arguments, _ folder: String) throws {
    let name = arguments.rest[0]
    let claimed = try claim(folder)
    try claimed.checkSpool(of: name)
    let spool = SpoolSummary(of: name, in: folder)
    // If the queue is damaged, or another process reads it at the moment, the number of its events is unknown.
    let what = spool.fault.map { "what is left of the queue of \(printable(name)) (\($0))" } ?? "\(grouped(spool.events)) events"
    if !arguments.has("--yes") {
        guard isatty(0) == 1 else { throw UsageFault("standard input is not a terminal; give --yes to destroy without asking") }
        Console.say("this destroys \(what) permanently; type the provider's name again:")
        guard readLine() == name else { throw UsageFault("the name is a different one; nothing was destroyed") }
    }
    // It is on record before it is done: after a kill in between, what waits may still be there.
    let events = spool.fault == nil ? spool.events : nil
    try noteAct(arguments) { log in .destroyed("spool \(name)", events: events, user: getuid(), at: log.now) }
    try claimed.destroySpool(of: name)
    try Console.show(spool.fault == nil ? "\(what) for \(printable(name)) were destroyed\n" : "\(what) was destroyed\n")
}

private func claim(_ folder: String) throws -> StateFolder {
    guard access(folder, F_OK) == 0 else { throw StateFailure("\(printable(folder)): \(SystemFault())") }
    return try Storage.claim(folder)
}
