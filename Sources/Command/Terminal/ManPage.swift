// Makes the manual page, in troff, from the same declarations as `--help`. `switchyard help --man` prints it; `make install` installs it.

public enum ManPage {
    /// Returns the page of a program with these subcommands.
    public static func text(_ commands: [Command]) -> String {
        var page = ".\\\" Made by switchyard help --man.\n.TH SWITCHYARD 1 \"\" \"switchyard \(version)\" \"User Commands\"\n"
        page += section("NAME", "switchyard \\- " + escaped("routes telemetry by routes.json") + "\n")
        page += section("SYNOPSIS", commands.map(synopsis).joined(separator: ".br\n"))
        page += section("DESCRIPTION", paragraphs(description))
        page += section("COMMANDS", commands.map(details).joined())
        page += section("EXIT STATUS", items(ExitCode.table.map { (String($0.0), $0.1 + ".") }))
        page += section("FILES", items(files))
        page += section("ENVIRONMENT", items(environment))
        page += section("EXAMPLES", items(examples))
        return page
    }

    private static let description = """
        Events come in as JSON, one object per line. Each route of routes.json decides by filter, consent and sample whether it wants \
        an event, edits its copy, and hands it to its providers. Providers are modules that are loaded at run time.

        Without a command, the router runs. Standard output carries data only. All messages go to standard error, one per line.
        """

    private static let files = [
        ("routes.json", "The configuration, in the current folder unless --config names another. switchyard schema describes it."),
        ("~/.local/state/switchyard", "The state folder: queues on disk, dead letters, and the control socket of the router that has it."),
        ("lib/switchyard/plugins", "The modules, beside the folder of the executable."),
    ]

    private static let environment = [
        ("SWITCHYARD_PLUGINS", "Further folders of modules: absolute paths, separated by colons."),
        ("STATE_DIRECTORY, XDG_STATE_HOME", "Where the state folder is, unless --state names it."),
        ("SWITCHYARD_KEY", "The key that switchyard send presents to the router."),
        ("NO_COLOR", "If it is not empty, the output has no colours."),
    ]

    private static let examples = [
        ("producer | switchyard | consumer", "Route events as a filter, by the routes.json of this folder."),
        ("switchyard check", "See the plan that routes.json makes, or all that is wrong with it."),
        ("head -n 1 events.ndjson | switchyard explain", "See what each route does with an event, and why."),
        ("switchyard eval 'properties.price > 10' event.json", "Evaluate an expression on an event, before a route relies on it."),
    ]

    // MARK: - Troff

    private static func section(_ title: String, _ body: String) -> String {
        ".SH \(title.contains(" ") ? "\"\(title)\"" : title)\n" + body
    }

    private static func synopsis(_ command: Command) -> String {
        var line = ".B switchyard \(escaped(command.name))\n"
        if !command.options.isEmpty { line += ".RI [ OPTIONS ]\n" }
        let arguments = [command.argument].compactMap(\.self) + command.rest
        for (index, argument) in arguments.enumerated() {
            let more = command.repeats && index == arguments.count - 1 ? "\\|.\\|.\\|." : ""
            line += ".RI [ \(escaped(argument))\(more) ]\n"
        }
        return line
    }

    private static func details(_ command: Command) -> String {
        var text = ".SS switchyard \(escaped(command.name))\n" + paragraphs(command.about)
        if !command.details.isEmpty { text += ".PP\n" + paragraphs(command.details) }
        for option in command.options + [Command.help] {
            let names = [option.short, option.name].compactMap { $0.map { "\\fB\(escaped($0))\\fR" } }.joined(separator: ", ")
            text += ".TP\n\(names)\(option.value.map { " \\fI\(escaped($0))\\fR" } ?? "")\n\(escaped(sentence(option.about)))\n"
        }
        return text
    }

    private static func items(_ rows: [(String, String)]) -> String {
        rows.map { ".TP\n\\fB\(escaped($0))\\fR\n\(escaped($1))\n" }.joined()
    }

    /// Returns paragraphs in troff. An empty line ends a paragraph.
    private static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? ".PP\n" : escaped(String($0)) + "\n" }.joined()
    }

    private static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst() + (text.hasSuffix(".") ? "" : ".")
    }

    /// Escapes text, so that troff does not take a line for a request. Characters outside ASCII are written by their numbers.
    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            case "'": out += "\\(aq"
            case "`": out += "\\(ga"
            case "^": out += "\\(ha"
            case "~": out += "\\(ti"
            case "\"": out += "\\(dq"
            case " "..."~": out.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                out += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return out.hasPrefix(".") ? "\\&" + out : out
    }
}
