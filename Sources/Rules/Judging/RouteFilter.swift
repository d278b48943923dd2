// The filter of each route: it decides which routes take an event. It remembers of the present event whether a route took it, for routes
// with `else`; consent and the sample do not change that.

internal import Events
internal import Expressions
internal import Matching

struct RouteFilter {
    private let routes: UnsafeBufferPointer<RouteRules>
    /// For each source and key, whether its events may take each route. It is nil for a key that does not limit its routes.
    private let boundsOfKeys: UnsafeBufferPointer<UnsafeBufferPointer<UnsafePointer<Bool>?>>
    /// For each route, whether the key of the event allows it. It is nil if all routes are allowed.
    private var bounds: UnsafePointer<Bool>?
    /// True if a route took the event: its filter matched, whatever consent and the sample decided afterwards.
    private var isTaken = false
    /// True if the event is a statement for the ledger alone: only a route that matches the type takes it.
    private var isForLedger = false

    init(_ rules: Rules) {
        routes = rules.routes
        boundsOfKeys = rules.bounds
    }

    /// Limits the routes of the next events to those of a key, counted from 1. 0 means no key.
    @inline(__always) mutating func limit(source: Int, key: Int) {
        assert(key == 0 || key <= boundsOfKeys[source].count, "the source does not have this key")
        bounds = key == 0 ? nil : boundsOfKeys[source][key - 1]
    }

    mutating func removeLimit() { bounds = nil }

    /// True if for every route its own filter decides first. Then routes can be left out by the index of all filters.
    @inline(__always) var asksFiltersFirst: Bool { bounds == nil && !isForLedger }

    /// Begins with another event, with the same limit.
    @inline(__always) mutating func begin(isForLedger: Bool = false) {
        isTaken = false
        self.isForLedger = isForLedger
    }

    /// Returns the stage of the filter that excludes the event. Returns nil if the route takes the event.
    @inline(__always) mutating func stage(_ event: ScannedEvent, route index: Int, context: inout EventContext) -> FilterStage? {
        assert(routes.indices.contains(index), "the plan does not have this route")
        let route = routes.baseAddress! + index
        context.steps.beginRule()
        if let bounds, !bounds[index] { return .key }
        if route.pointee.takesRest, isTaken { return .else }
        if isForLedger, !route.pointee.matchesType { return .match }
        if RouteFilter.isLarge(event), !pays(event, route: index, context: &context) { return .whereErrors }
        if !route.pointee.events.isEmpty {
            guard let text = context.readName(event), route.pointee.events.match(text) else {
                return .events
            }
        }
        for rule in route.pointee.match where !rule.matches(event, &context.decoder) { return .match }
        if !route.pointee.not.isEmpty,
            route.pointee.not.holds(event, name: &context.name, nameSlot: context.nameSlot, decoder: &context.decoder)
        {
            return .not
        }
        if route.pointee.exclusion >= 0 {
            // Without a value nobody knows if the event is excluded. Then the route does not take it.
            switch context.decide(route.pointee.exclusion, event) {
            case .yes: return .not
            case .no: break
            case .error: return .whereErrors
            }
        }
        if route.pointee.condition >= 0 {
            switch context.decide(route.pointee.condition, event) {
            case .yes: break
            case .no: return .where
            case .error: return .whereErrors
            }
        }
        isTaken = true
        return nil
    }

    /// True if the name or a member of the event can be so long that to compare it takes steps.
    @inline(__always) static func isLarge(_ event: ScannedEvent) -> Bool {
        Int(event.end &- event.start) >= EventSteps.bytesOfComparison
    }

    /// Takes the steps for comparing the name and the members of a large event with the globs and the lists of the route. Returns false if too
    /// few are left. Then nobody knows if the route takes the event, so it does not.
    @inline(never) func pays(_ event: ScannedEvent, route index: Int, context: inout EventContext) -> Bool {
        let route = routes[index]
        var bytes = route.searches == 0 ? 0 : route.searches * (context.readName(event)?.count ?? 0)
        for rule in route.match { bytes += rule.bytesRead(event) }
        for rule in route.not.match { bytes += rule.bytesRead(event) }
        return context.steps.take(bytes / EventSteps.bytesOfComparison)
    }
}
