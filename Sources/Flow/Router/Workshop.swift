// Makes lanes and generations, the same way at the start and at every reload.

internal import Admission
internal import Configuration
internal import ConsentGate
internal import Delivery
internal import Judging
internal import Platform

final class Workshop: Sendable {
    private let names: RunNames
    private let key: [UInt8]
    private let deadLetters: DeadLetters
    private let clock: Clock
    private let vitals: Vitals
    private let records: ConsentRecords?
    private let levels: RunNames
    /// nil: no ledger is kept.
    let check: SecondCheck?
    private let news: @Sendable (Lane, Lane.News) -> Void
    private let state: Monitor<State>
    /// A route of a plan that takes over goes on where the one of its name was.
    private let memories = RouteMemories()

    private struct State {
        var chance: Chance
        var posts = 0
        /// How old events may get, by the number of their route.
        var retention: [UInt16: Int64] = [:]
    }

    init(
        names: RunNames, key: [UInt8], deadLetters: DeadLetters, clock: Clock, vitals: Vitals, seed: UInt64,
        records: ConsentRecords? = nil, levels: RunNames = RunNames(), look: @escaping @Sendable () -> Void = {},
        news: @escaping @Sendable (Lane, Lane.News) -> Void
    ) {
        self.names = names
        self.key = key
        self.deadLetters = deadLetters
        self.clock = clock
        self.vitals = vitals
        self.records = records
        self.levels = levels
        check = records.map { SecondCheck($0, levels: levels, look: look) }
        self.news = news
        state = Monitor(State(chance: Chance(seed: seed)))
    }

    func post(_ provider: ProviderPlan, _ outlet: Outlet) -> Post {
        let seat = Seat(outlet.provider, clock: clock)
        let (index, seed) = state.withLock { state in
            defer { state.posts += 1 }
            return (state.posts, state.chance.next())
        }
        let lane = Lane(
            name: provider.name, provider: seat, plan: provider.delivery, concurrency: outlet.concurrency, routes: names,
            store: outlet.store, deadLetters: deadLetters, clock: clock, chance: Chance(seed: seed), vitals: vitals,
            check: check, news: news)
        return Post(index: index, lane: lane, seat: seat)
    }

    /// From now on what waits is asked for what this generation demands.
    func settle(on generation: Generation) {
        check?.adopt(generation.ruleset.consent)
        // What came by a route that is gone goes on under what that route said.
        let retention = state.withLock { state in
            for (number, route) in zip(generation.routes, generation.plan.routes) { state.retention[number] = route.retention?.nanoseconds }
            return state.retention
        }
        for post in generation.posts { post.lane.adopt(routeRetention: retention) }
    }

    func generation(_ number: Int, _ plan: Plan, _ posts: [Post], routes: [UInt16]) -> Generation {
        // One key for all of them: a subject stays the same subject.
        let ruleset = Ruleset(
            plan, numbers: routes, subjectKey: key, locatesMessageIDs: posts.contains { $0.lane.isDurable }, memories: memories,
            records: records, levels: levels)
        return Generation(number: number, plan: plan, ruleset: ruleset, posts: posts, routes: routes)
    }
}
