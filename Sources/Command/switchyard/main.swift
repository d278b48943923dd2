// The entry point of the command. It picks the subcommand, and turns errors into a message and an exit code.

internal import AuditCommands
internal import CPlatform
internal import ConsentCommands
internal import Glibc
internal import InspectCommands
internal import Platform
internal import PluginHost
internal import Startup
internal import Terminal

let namedCommands = [
    runCommand, initCommand, checkCommand, lintCommand, testCommand, fmtCommand, diffCommand, explainCommand, evalCommand, providersCommand,
    schemaCommand, planCommand, statusCommand, topCommand, tapCommand, pageCommand,
    reloadCommand,
    deadLettersCommand, replayCommand, spoolCommand, sendCommand, consentCommand, auditCommand,
]
let commands = namedCommands + [Completion.command(for: namedCommands)]

assert(Set(commands.map(\.name)).count == commands.count, "two commands have the same name")

let overview = """
    Usage: switchyard [COMMAND] [OPTIONS]

    Routes telemetry: events come in as JSON, one per line, and go to providers as routes.json says.

    Commands:
    \(columns(commands.map { ($0.name, $0.about) }))
    Without a command, the router runs. Options of a command: switchyard COMMAND --help
    The manual page: switchyard help --man | man -l -

    Exit codes:
    \(columns(ExitCode.table.map { (String($0.0), $0.1) }))
    """

func dispatch(_ words: [String]) throws -> Int32 {
    if words.first == "--version" {
        try Console.show("switchyard \(version)\n")
        return ExitCode.delivered
    }
    // The router starts these processes for modules. Users do not call them.
    if words.first == DescribingProcess.command {
        guard DescribingProcess.run(words) else { throw UsageFault("the word \(DescribingProcess.command) is for internal use") }
    }
    if words == [HostedModule.command] { return HostedModule.run() }
    // The router starts this process between itself and a program that it runs. Users do not call it either.
    if words.first == Process.supervisorCommand, words.count == 2, let control = Int32(words[1]) {
        guard cplatform_supervise(control) == 0 else { throw UsageFault("the word \(Process.supervisorCommand) is for internal use") }
        _exit(0)
    }
    if words == ["help", "--man"] {
        try Console.show(ManPage.text(commands))
        return ExitCode.delivered
    }
    if let first = words.first, ["--help", "-h", "help"].contains(first) {
        if words.count > 1, let command = commands.first(where: { $0.name == words[1] }) {
            try Console.show(command.helpText)
        } else {
            try Console.show(overview)
        }
        return ExitCode.delivered
    }
    var command = runCommand
    var rest = words[...]
    if let first = words.first, !first.hasPrefix("-") {
        guard let named = commands.first(where: { $0.name == first }) else {
            let near = nearest(to: first, among: commands.map(\.name)).map { ", did you mean \($0)?" } ?? ";"
            throw UsageFault("unknown command '\(first)'\(near) see switchyard --help")
        }
        command = named
        rest = rest.dropFirst()
    }
    if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
        try Console.show(command.helpText)
        return ExitCode.delivered
    }
    return try command.run(try command.parse(rest))
}

/// Opens /dev/null for each closed standard descriptor, so that the first file that is opened does not get its number.
func occupyStandardDescriptors() {
    for number: Int32 in 0...2 where fcntl(number, F_GETFD) < 0 { _ = open("/dev/null", O_RDONLY) }
}

occupyStandardDescriptors()
Signals.ignoreFailedWrites()
keepMemory(threshold: 4 << 20, trim: 16 << 20)
/// Ends the process with this code, or with `undelivered` in place of 0 if a module has called exit(). Exit handlers of modules cannot
/// change the code.
func end(_ code: Int32) -> Never {
    assert(ExitCode.table.contains { $0.0 == code }, "exit code \(code) is not documented")
    ExitGuard.end(code, afterCall: ExitCode.undelivered)
}

do {
    end(try dispatch(Array(CommandLine.arguments.dropFirst())))
} catch let fault as UsageFault {
    Console.say(printable(fault.message))
    end(ExitCode.usage)
} catch let failure as ConfigurationFailure {
    Console.report(failure.lines)
    end(ExitCode.configuration)
} catch let failure as StateFailure {
    Console.say(failure.message)
    end(ExitCode.undelivered)
} catch let fault as StorageFault {
    Console.say(fault.description)
    end(ExitCode.undelivered)
} catch let fault as SystemFault {
    // Standard output could not be written.
    if fault.code != EPIPE { Console.say("standard output: \(fault)") }
    end(ExitCode.undelivered)
} catch {
    Console.say("\(error)")
    end(ExitCode.internal)
}
