// Makes the providers of a plan from their modules. `run` delivers to them; `check` only tests if they can be made. All settings that
// modules refuse are reported at once, each with its place in the configuration file.

public import Delivery
internal import Document
public import Plans
public import PluginHost
internal import Terminal

/// A provider with the file of its module.
public struct MadeOutlet {
    public var outlet: Outlet
    /// The path of its module's file.
    public var path: String

    public func close() { outlet.provider.close() }
}

public enum Outlets {
    /// Makes all providers of the plan, in its order. `say` gets the log lines of the modules.
    public static func make(_ plan: Plan, _ folders: ModuleFolders, say: @escaping @Sendable (String) -> Void) throws -> [MadeOutlet] {
        let made = try make(plan, only: Array(plan.providers.indices), folders, say: say)
        return plan.providers.indices.map { made[$0]! }
    }

    /// Makes the providers with these indices.
    public static func make(_ plan: Plan, only indices: [Int], _ folders: ModuleFolders, say: @escaping @Sendable (String) -> Void) throws
        -> [Int: MadeOutlet]
    {
        var faults: [String] = []
        var made: [Int: MadeOutlet] = [:]
        for index in indices {
            let provider = plan.providers[index]
            do throws(ModuleFault) {
                made[index] = try make(provider, hidden: plan.hidden, folders: folders, say: say)
            } catch {
                faults.append(provider.place?.fault(error.description).description ?? "provider \(provider.name): \(error)")
            }
        }
        guard faults.isEmpty else {
            for one in made.values { one.close() }
            throw ConfigurationFailure(lines: faults)
        }
        assert(indices.allSatisfy { made[$0] != nil }, "a provider was not made")
        return made
    }

    private static func make(
        _ provider: ProviderPlan, hidden: HiddenTexts, folders: ModuleFolders, say: @escaping @Sendable (String) -> Void
    ) throws(ModuleFault) -> MadeOutlet {
        guard let module = try folders.module(provider.plugin) else {
            throw ModuleFault("there is no module named '\(provider.plugin)'")
        }
        let log: @Sendable (LogLevel, String) -> Void = { level, line in
            if level >= .information { say(line) }
        }
        let instance: any Provider =
            if provider.isolation == nil {
                try module.make(settings: provider.settings, name: provider.name, hiding: hidden, log: log)
            } else {
                try IsolatedInstance(module, provider, hiding: hidden, log: log)
            }
        return MadeOutlet(outlet: Outlet(provider: instance, concurrency: module.description.concurrency), path: module.path)
    }
}
