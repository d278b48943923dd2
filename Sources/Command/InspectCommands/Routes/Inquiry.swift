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
    private let instance: any Inquirable

    /// Makes the provider, an isolated one in a process of its own.
    init(of index: Int, _ plan: Plan, _ folders: ModuleFolders) throws {
        provider = plan.providers[index]
        let say: @Sendable (String) -> Void = { Console.say(plan.hidden.masked($0)) }
        ModuleExits.endAtOnce(ExitCode.configuration, say: say)
        guard let made = try Outlets.make(plan, only: [index], folders, say: say)[index]?.outlet.provider as? any Inquirable else {
            preconditionFailure("the provider that was asked for was not made")
        }
        instance = made
    }

    func close() { instance.close() }

    /// Returns what the module would send for these events.
    func preview(_ lines: [[UInt8]], arrivals: [Int64]) -> Result<WirePreview, Unable> {
        var ndjson: [UInt8] = []
        var ends: [UInt64] = []
        for line in lines {
            ndjson += line + [UInt8(ascii: "\n")]
            ends.append(UInt64(ndjson.count))
        }
        do throws(ModuleFault) {
            guard let preview = try instance.preview(OwnBatch(ndjson: ndjson, ends: ends, arrivals: arrivals)) else {
                return .failure(Unable(message: "the module \(provider.plugin) cannot show what it would send"))
            }
            return .success(preview)
        } catch {
            return .failure(Unable(message: error.description))
        }
    }

    /// Asks the destination about the credentials.
    func probe(within time: Duration) -> Result<ProbeFinding, Unable> {
        guard let finding = instance.probe(within: time) else {
            return .failure(Unable(message: "the module \(provider.plugin) has no destination that it could ask"))
        }
        return .success(finding)
    }
}
