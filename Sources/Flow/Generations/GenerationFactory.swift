// Makes lanes and generations in the same way at the start and at every reload. It also applies the demands of a new generation to events
// that wait.

public import Admission
public import ConsentGate
public import Delivery
internal import Judging
public import Plans
public import Platform
internal import Queueing
public import Tapping

public final class GenerationFactory: Sendable {
    private let names: RunNames
    private let key: [UInt8]
    private let deadLetters: DeadLetters
    private let clock: Clock
    private let watchdog: Watchdog
    private let records: ConsentRecords?
    private let levels: RunNames
    /// The key under which the audit trail hashes the ids of events. It is nil if there is no trail.
    private let verdictKey: [UInt8]?
    /// The second check. It is nil if no ledger is kept.
    public let check: SecondCheck?
    private let taps: Taps?
    private let news: @Sendable (Lane, Lane.News) -> Void
    private let state: Monitor<State>
    /// The memories of routes. A route of a new plan continues with the memory of the route that had its name.
    private let memories = RouteMemories()

    private struct State {
        var random: RandomSource
        var destinations = 0
        /// The maximum age of events, by route number.
        var retention: [UInt16: Int64] = [:]
    }

    public init(
        names: RunNames, key: [UInt8], deadLetters: DeadLetters, clock: Clock, watchdog: Watchdog, seed: UInt64,
        records: ConsentRecords? = nil, check: SecondCheck? = nil, levels: RunNames = RunNames(), verdictKey: [UInt8]? = nil,
        taps: Taps? = nil, news: @escaping @Sendable (Lane, Lane.News) -> Void
    ) {
        self.names = names
        self.key = key
        self.deadLetters = deadLetters
        self.clock = clock
        self.watchdog = watchdog
        self.records = records
        self.levels = levels
        self.verdictKey = verdictKey
        self.check = check
        self.taps = taps
        self.news = news
        state = Monitor(State(random: RandomSource(seed: seed)))
    }

    /// Makes the lane of the provider with this index.
    public func destination(_ index: Int, of plan: Plan, _ outlet: Outlet) -> Destination {
        let provider = plan.providers[index]
        let slot = ProviderSlot(outlet.provider, shape: Shape(provider, of: plan), clock: clock)
        let (index, seed) = state.withLock { state in
            defer { state.destinations += 1 }
            return (state.destinations, state.random.next())
        }
        let lane = Lane(
            name: provider.name, provider: slot, plan: provider.laneDelivery, concurrency: outlet.concurrency, routes: names,
            store: outlet.store, deadLetters: deadLetters, clock: clock, random: RandomSource(seed: seed), watchdog: watchdog,
            check: check, taps: taps, news: news)
        return Destination(index: index, lane: lane, slot: slot)
    }

    /// Checks waiting events against the demands of this generation from now on.
    public func settle(on generation: Generation) {
        check?.adopt(generation.ruleset.consent)
        // Events of a route that is gone keep the maximum age that this route had.
        let retention = state.withLock { state in
            for (number, route) in zip(generation.routes, generation.plan.routes) { state.retention[number] = route.retention?.nanoseconds }
            return state.retention
        }
        for destination in generation.destinations { destination.lane.adopt(routeRetention: retention) }
    }

    private func verdicts(_ plan: Plan) -> VerdictKeeping? {
        guard let verdictKey, let wanted = plan.audit?.verdicts, wanted != .none else { return nil }
        return VerdictKeeping(key: verdictKey, keepsAll: wanted == .all)
    }

    public func generation(_ number: Int, plan: Plan, destinations: [Destination], routes: [UInt16]) -> Generation {
        // All generations use the same key, so that a subject always has the same subject key.
        let ruleset = Ruleset(
            plan, numbers: routes, subjectKey: key, locatesMessageIDs: destinations.contains { $0.lane.isDurable }, memories: memories,
            records: records, levels: levels, verdicts: verdicts(plan))
        return Generation(number: number, plan: plan, ruleset: ruleset, destinations: destinations, routes: routes)
    }
}
