// Writes completions for bash, zsh and fish from the declarations of the commands, so that a completion never differs from the help.

public enum Completion {
    public enum Shell: String, CaseIterable { case bash, zsh, fish }

    /// Returns the command that prints completions of these commands and of itself.
    public static func command(for others: [Command]) -> Command {
        Command(
            name: "completion",
            about: "Prints the completion for a shell: bash, zsh or fish.",
            details: """
                For bash: switchyard completion bash >~/.local/share/bash-completion/completions/switchyard
                For zsh: switchyard completion zsh >_switchyard, in a folder of $fpath
                For fish: switchyard completion fish >~/.config/fish/completions/switchyard.fish
                """,
            argument: "SHELL",
            run: { arguments in
                guard let shell = arguments.argument.flatMap(Shell.init) else {
                    throw UsageFault("completion takes the name of a shell: bash, zsh or fish")
                }
                try Console.show(text(shell, others + [command(for: [])]))
                return ExitCode.delivered
            })
    }

    public static func text(_ shell: Shell, _ commands: [Command]) -> String {
        switch shell {
        case .bash: bash(commands)
        case .zsh: zsh(commands)
        case .fish: fish(commands)
        }
    }

    private static func options(_ command: Command) -> [Option] { command.options + [Command.help] }

    // MARK: - bash

    private static func bash(_ commands: [Command]) -> String {
        var text = """
            # Completion of switchyard for bash.
            _switchyard() {
                local word=${COMP_WORDS[COMP_CWORD]} options
                if [ "$COMP_CWORD" -eq 1 ] && [ "${word:0:1}" != - ]; then
                    mapfile -t COMPREPLY < <(compgen -W "\(commands.map(\.name).joined(separator: " ")) help" -- "$word")
                    return
                fi
                case ${COMP_WORDS[1]} in

            """
        for command in commands {
            let names = options(command).flatMap { [$0.name, $0.short].compactMap { $0 } }
            text += "        \(command.name)) options=\"\(names.joined(separator: " "))\" ;;\n"
        }
        text += """
                    *) options="--help --version" ;;
                esac
                if [ "${word:0:1}" = - ]; then
                    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
                else
                    mapfile -t COMPREPLY < <(compgen -f -- "$word")
                fi
            }
            complete -o filenames -F _switchyard switchyard

            """
        return text
    }

    // MARK: - zsh

    private static func zsh(_ commands: [Command]) -> String {
        var text = """
            #compdef switchyard
            # Completion of switchyard for zsh.
            _switchyard() {
                local -a commands
                commands=(

            """
        for command in commands { text += "        \(quoted("\(command.name):\(command.about)"))\n" }
        text += """
                )
                if (( CURRENT == 2 )); then
                    _describe command commands
                    return
                fi
                case ${words[2]} in

            """
        for command in commands {
            text += "        \(command.name))\n            shift words; (( CURRENT-- ))\n            _arguments"
            for option in options(command) {
                let value = option.value.map { ":\(bare($0)):_files" } ?? ""
                for name in [option.name, option.short].compactMap({ $0 }) {
                    text += " \\\n                \(quoted("\(name)[\(bare(option.about))]\(value)"))"
                }
            }
            text += " \\\n                '*:file:_files' ;;\n"
        }
        return text + "    esac\n}\n_switchyard \"$@\"\n"
    }

    /// Removes what ends a part of a specification of `_arguments`.
    private static func bare(_ text: String) -> String { String(text.map { "[]:\\".contains($0) ? " " : $0 }) }

    private static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }

    // MARK: - fish

    private static func fish(_ commands: [Command]) -> String {
        var text = "# Completion of switchyard for fish.\n"
        for command in commands {
            text += "complete -c switchyard -n __fish_use_subcommand -f -a \(command.name) -d \(fishQuoted(command.about))\n"
        }
        for command in commands {
            for option in options(command) {
                var line = "complete -c switchyard -n '__fish_seen_subcommand_from \(command.name)' -l \(option.name.dropFirst(2))"
                if let short = option.short { line += " -s \(short.dropFirst())" }
                if option.value != nil, !option.isValueOptional { line += " -r" }
                text += line + " -d \(fishQuoted(option.about))\n"
            }
        }
        return text
    }

    private static func fishQuoted(_ text: String) -> String {
        "'" + text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined() + "'"
    }
}
