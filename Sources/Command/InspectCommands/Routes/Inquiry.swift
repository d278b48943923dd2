// One provider that is made only to be asked: what it would send (`explain --to`, `check --swap`) or whether its destination accepts its
// credentials (`check --connect`). It never delivers.

internal import Delivery
internal import Document
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import Terminal

struct Inquiry: Sendable {
    /// Why a module cannot be asked.
    struct Unable: Error { let message: String }

    private let provider: ProviderPlan
    /// It is nil if the module is isolated.
    private let instance: ModuleInstance?

    /// Makes the provider. An isolated one is not made: the process of its module delivers, and cannot be asked.
    init(of index: Int, _ plan: Plan, _ folders: ModuleFolders) throws {
        provider = plan.providers[index]
        guard provider.isolation == nil else {
            instance = nil
            return
        }
        let say: @Sendable (String) -> Void = { Console.say(plan.hidden.masked($0)) }
        ModuleExits.endAtOnce(ExitCode.configuration, say: say)
        instance = try Outlets.make(plan, only: [index], folders, say: say)[index]?.outlet.provider as? ModuleInstance
    }

    func close() { instance?.close() }

    /// Returns what the module would send for these events.
    func preview(_ lines: [[UInt8]], arrivals: [Int64]) -> Result<WirePreview, Unable> {
        guard let instance else { return .failure(isolated("show what it would send")) }
        var ndjson: [UInt8] = []
        var ends: [UInt64] = []
        for line in lines {
            ndjson += line + [UInt8(ascii: "\n")]
            ends.append(UInt64(ndjson.count))
        }
        guard let preview = instance.preview(OwnBatch(ndjson: ndjson, ends: ends, arrivals: arrivals)) else {
            return .failure(Unable(message: "the module \(provider.plugin) cannot show what it would send"))
        }
        return .success(preview)
    }

    /// Asks the destination about the credentials.
    func probe(within time: Duration) -> Result<ProbeFinding, Unable> {
        guard let instance else { return .failure(isolated("ask its destination")) }
        guard let finding = instance.probe(within: time) else {
            return .failure(Unable(message: "the module \(provider.plugin) has no destination that it could ask"))
        }
        return .success(finding)
    }

    private func isolated(_ what: String) -> Unable {
        Unable(message: "the module \(provider.plugin) runs in a process of its own, which cannot \(what); try it without isolate")
    }
}
