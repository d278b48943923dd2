// What a provider does with events when they are handed over: which of them it leaves out, and how it changes the others. Queues and dead
// letters hold the events as the routes made them.

public import Editing
public import Expressions

public struct ShapePlan: Sendable {
    /// The globs on the event's name, one of which must match. If there is none, every event matches, even one without a name.
    public var events: [Glob] = []
    public var match: [MatchPlan] = []
    public var not = ExclusionPlan()
    /// The expression that must be true for the event.
    public var condition: Expression?
    public var transforms: [any Step] = []

    public init() {}

    /// True if some events may be left out.
    public var isFiltering: Bool {
        !events.isEmpty || !match.isEmpty || !not.isEmpty || condition != nil
    }
    /// True if the module gets the events as they wait.
    public var isEmpty: Bool { !isFiltering && transforms.isEmpty }

    /// The shape as a route to no provider, which filters and transforms in the same way.
    public func route(named name: String) -> RoutePlan {
        var route = RoutePlan(name: name)
        (route.events, route.match, route.not, route.condition) = (events, match, not, condition)
        route.transforms = transforms
        return route
    }
}

extension Plan {
    /// Returns a plan with only the shape of a provider, as one route to no provider. It demands no consent, since its events have passed.
    public func shape(of provider: ProviderPlan) -> Plan {
        var plan = Plan()
        plan.keys = keys
        plan.limits = limits
        plan.messageID.add = false
        plan.hidden = hidden
        plan.routes = [provider.shape.route(named: provider.name)]
        return plan
    }
}
