// Options that several subcommands have, and what they name.

internal import Plans
internal import PluginHost
public import StateFiles
public import Terminal

public let stateOption = Option(
    name: "--state", value: "DIR",
    about: "the state folder (default: $STATE_DIRECTORY, $XDG_STATE_HOME/switchyard or ~/.local/state/switchyard)")

public let configOption = Option(name: "--config", short: "-c", value: "FILE", about: "the configuration (default: routes.json)")

/// Returns the cipher of the configuration, or nil if nothing is encrypted. The default configuration may be missing or wrong; one that
/// --config names may not.
public func cipher(_ arguments: Arguments) throws -> Cipher? {
    let folders = ModuleFolders.standard()
    let plan =
        arguments.has("--config") ? try Loading.plan(arguments["--config"]!, folders) : try? Loading.plan(Loading.defaultFile, folders)
    return plan.flatMap { plan in plan.state.encrypt.map { Cipher(plan.keys[$0].secret) } }
}
