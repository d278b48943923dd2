// The memory of routes from one event to the next: the used part of a limit, the density of the traffic, and the sessions. All workers of
// a run share it, and the next plan of the run continues with it.

internal import Plans
internal import Platform
internal import Sampling

/// The memories of the routes of one plan.
struct RulesMemories: Sendable {
    /// The memories of the samples, by route.
    var routes: [RouteMemory]
    fileprivate var sessions: [SessionPlan: SessionMemory]

    /// Returns the sessions of a session plan. Routes whose plans differ only in where the id is written share them.
    func sessions(of plan: SessionPlan) -> SessionMemory { sessions[plan.anywhere]! }

    /// Forgets all events, so that the next one is judged as if it were the first.
    func forget() {
        for route in routes { route.forget() }
        for (plan, memory) in sessions { memory.forget(plan) }
    }
}

/// The memories of the routes of a run, from plan to plan.
public final class RouteMemories: Sendable {
    private struct Known {
        var routes: [String: RouteMemory] = [:]
        var sessions: [SessionPlan: SessionMemory] = [:]
    }
    private let known = Monitor(Known())

    public init() {}

    /// Returns the memories of the plan's routes, by their names. All others are forgotten: a route that comes back later begins anew.
    func recall(_ plan: Plan) -> RulesMemories {
        known.withLock { known in
            let memories = plan.routes.map { known.routes[$0.name] ?? RouteMemory() }
            known.routes = Dictionary(zip(plan.routes.map(\.name), memories)) { first, _ in first }
            let sessions = Set(plan.routes.compactMap(\.session?.anywhere)).map { ($0, known.sessions[$0] ?? SessionMemory($0)) }
            known.sessions = Dictionary(uniqueKeysWithValues: sessions)
            return RulesMemories(routes: memories, sessions: known.sessions)
        }
    }
}

extension SessionPlan {
    /// The plan with the default place, so that the place makes no difference.
    fileprivate var anywhere: SessionPlan {
        var plan = self
        plan.place = SessionPlan(by: by).place
        return plan
    }
}
