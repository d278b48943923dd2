// Makes the sources of a plan that modules bring. `run` starts them; `check` only tests if they can be made. All settings that modules
// refuse are reported at once, each with its place in the configuration file.

public import Plans
public import PluginHost
internal import Terminal

/// A source with the file of its module.
public struct MadeSource: Sendable {
    public var instance: SourceInstance
    /// The path of its module's file.
    public var path: String
}

public enum SourceModules {
    /// Makes all sources of modules, by their index in the plan. `say` gets the log lines of the modules.
    public static func make(_ plan: Plan, _ folders: ModuleFolders, say: @escaping @Sendable (String) -> Void) throws -> [Int: MadeSource] {
        var faults: [String] = []
        var made: [Int: MadeSource] = [:]
        for (index, source) in plan.sources.enumerated() {
            guard let settings = source.module else { continue }
            do throws(ModuleFault) {
                guard let module = try folders.module(source.plugin) else {
                    throw ModuleFault("there is no module named '\(source.plugin)'; \(folders.places)")
                }
                let instance = try module.makeSource(
                    settings: settings.settings, name: source.name, lineLimit: plan.limits.line, hiding: plan.hidden
                ) { level, line in
                    if level >= .information { say(line) }
                }
                made[index] = MadeSource(instance: instance, path: module.path)
            } catch {
                faults.append(settings.place?.fault(error.description).description ?? "source \(source.name): \(error)")
            }
        }
        guard faults.isEmpty else {
            for one in made.values { one.instance.close() }
            throw ConfigurationFailure(lines: faults)
        }
        return made
    }
}
