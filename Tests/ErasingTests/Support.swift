// A run of erasures with an injected clock, providers that the test scripts, and a folder that can be opened again as after a kill.

import Delivery
import Editing
import Events
import Plans
import Platform
import Queueing
import StateFiles
import StoreFixtures
import TestSupport

@testable import Erasing

let day = Duration.seconds(86_400)
let keys = [secret("0123456789abcdef"), secret("fedcba9876543210")]

func path(_ text: String) -> Path { try! Path(parsing: text) }

/// A plan with a provider `out`, one route and these steps on the route.
func plan(_ steps: [any Step] = [], providers: [String] = ["out"], routed: [Int]? = nil, _ change: (inout Plan) -> Void = { _ in }) -> Plan
{
    var plan = Plan()
    plan.keys = [Key(name: "hashing", secret: keys[1])]
    plan.providers = providers.map { ProviderPlan(name: $0, plugin: "vendor", settings: secret("{}")) }
    var route = RoutePlan(name: "all")
    route.providers = routed ?? Array(providers.indices)
    route.transforms = steps
    plan.routes = [route]
    var consent = ConsentPlan()
    consent.subject = [path("userId"), path("anonymousId")]
    plan.consent = consent
    change(&plan)
    return plan
}

func demand(_ ids: String..., receipts: [Int64] = [1]) -> ErasureDemand {
    ErasureDemand(ids: ids.map { NamedID($0) }, receipts: receipts, outOfReach: ["ids:ab12"], origin: "command")
}

/// A provider that keeps each ask until the test answers it.
final class ScriptedProvider: Sendable {
    struct Ask: Sendable {
        var request: ErasureRequest
        var done: @Sendable (ErasureAnswer) -> Void
    }
    private let state = Monitor<(asks: [Ask], delivered: UInt64, inFlight: Set<UInt64>, plugin: String)>(([], 0, [], "vendor"))

    var asks: [Ask] { state.withLock { $0.asks } }
    var requests: [ErasureRequest] { asks.map(\.request) }

    /// Begins a delivery of the lane and returns its number.
    func beginDelivery() -> UInt64 {
        state.withLock { state in
            state.delivered += 1
            state.inFlight.insert(state.delivered)
            return state.delivered
        }
    }
    func endDelivery(_ number: UInt64) { state.withLock { _ = $0.inFlight.remove(number) } }
    /// Gives up all asks. Each holds the erasures that made it, and these hold this provider.
    func forget() {
        let asks = state.withLock { state in
            defer { state.asks = [] }
            return state.asks
        }
        withExtendedLifetime(asks) {}
    }
    func become(plugin: String) { state.withLock { $0.plugin = plugin } }

    func target(deadline: Duration = .seconds(30)) -> ErasureTarget {
        ErasureTarget(
            plugin: state.withLock { $0.plugin }, deadline: deadline, lastDelivery: { self.state.withLock { $0.delivered } },
            hasEnded: { number in self.state.withLock { $0.inFlight.allSatisfy { $0 > number } } },
            erase: { request, done in self.state.withLock { $0.asks.append(Ask(request: request, done: done)) } })
    }
}

final class Run {
    let folder: Folder
    let time: ManualClock
    let said = Monitor<[String]>([])
    let provider = ScriptedProvider()
    let present: Monitor<Plan>
    private(set) var erasures: Erasures
    private let ciphers: [Cipher]

    init(
        _ plan: Plan = plan(), folder: Folder = Folder(inMemory: true), time: ManualClock = ManualClock(), key: Int = 0,
        stored: Set<String> = []
    )
        throws
    {
        self.folder = folder
        self.time = time
        present = Monitor(plan)
        ciphers = [Cipher(keys[key], for: .erasures)]
        erasures = try Run.open(folder, time, ciphers, present, provider, said, stored)
    }

    private static func open(
        _ folder: Folder, _ time: ManualClock, _ ciphers: [Cipher], _ present: Monitor<Plan>, _ provider: ScriptedProvider,
        _ said: Monitor<[String]>, _ stored: Set<String>
    ) throws -> Erasures {
        var options = ErasureFile.Options(ciphers: ciphers)
        options.say = { line in said.withLock { $0.append(line) } }
        let store = try ErasureStore(in: folder.path, options: options, clock: time.clock)
        return Erasures(
            store, plan: { present.withLock { $0 } }, stored: { stored },
            target: { name in present.withLock { $0 }.providers.contains { $0.name == name } ? provider.target() : nil },
            clock: time.clock, start: { _, body in body() }, say: { line in said.withLock { $0.append(line) } })
    }

    deinit { provider.forget() }

    /// Ends the process, and starts another one with the same folder. What was under way is gone.
    func kill() throws {
        erasures.close()
        erasures = try Run.open(folder, time, ciphers, present, provider, said, [])
    }

    func begin(_ demands: ErasureDemand...) throws { try erasures.begin(demands) }

    /// Lets the time pass, and does what is due.
    func pass(_ duration: Duration) {
        time.advance(duration)
        erasures.step()
    }

    var jobs: [ErasureJob] { get throws { try erasures.allJobs() } }
    var only: ErasureJob {
        get throws {
            let jobs = try jobs
            precondition(jobs.count == 1, "there is not one job")
            return jobs[0]
        }
    }
    var lines: [String] { said.withLock { $0 } }

    /// Answers the last ask.
    func answer(_ outcome: Outcome, events: [Int: Outcome] = [:], state: String? = nil) {
        provider.asks.last!.done(ErasureAnswer(BatchOutcome(outcome, events: events), state: state.map { Array($0.utf8) }))
    }
}

let atWork = Outcome.retry(Answer(code: 202, "accepted"), after: nil)
