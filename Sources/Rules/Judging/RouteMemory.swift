// What routes remember from one event to the next: how much of a limit is used up, how dense the traffic is. It is all that a verdict
// depends on besides the event, the plan and the time. The workers of a run share it, and a plan that takes over goes on with it.

internal import Plans
internal import Platform
internal import Sampling

/// What the routes of one plan remember.
struct RulesMemories: Sendable {
    /// By route.
    var routes: [RouteMemory]
    fileprivate var sessions: [SessionPlan: SessionMemory]

    /// Routes that tell sessions in the same way tell the same ones, wherever they write them.
    func sessions(of plan: SessionPlan) -> SessionMemory { sessions[plan.anywhere]! }
}

/// What the routes of a run remember, from plan to plan.
public final class RouteMemories: Sendable {
    private struct Known {
        var routes: [String: RouteMemory] = [:]
        var sessions: [SessionPlan: SessionMemory] = [:]
    }
    private let known = Monitor(Known())

    public init() {}

    /// That of the plan's routes, by their names. A route that is not among them begins anew when it comes back.
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
    /// What tells its sessions, without where they are written.
    fileprivate var anywhere: SessionPlan {
        var plan = self
        plan.place = SessionPlan(by: by).place
        return plan
    }
}
