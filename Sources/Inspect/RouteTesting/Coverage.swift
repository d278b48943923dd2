// Which routes and stages the tests of a configuration have tried. A route that no test takes, a demand that no test fails, and a filter of a
// provider that no test stops at are named, since a change there would pass every test.

internal import Document
public import Explaining
public import Plans

public struct Coverage: Sendable {
    private struct Route: Sendable {
        let name: String
        let demands: Bool
        let isSampled: Bool
        var taken = false
        var denied = false
        var sampledOut = false
        /// The providers whose filter the route meets, and whether a test was stopped there.
        var filters: [(provider: String, isTried: Bool)]
    }
    private var routes: [Route]

    public init(_ plan: Plan) {
        routes = plan.routes.map { route in
            Route(
                name: route.name, demands: route.consent.map { $0.level > 0 || !$0.purposes.isEmpty } ?? false,
                isSampled: route.sample != nil,
                filters: route.providers.map { plan.providers[$0] }.filter(\.shape.isFiltering).map { ($0.name, false) })
        }
    }

    public mutating func note(_ explanation: Explanation) {
        assert(explanation.routes.count == routes.count, "the explanation is of another plan")
        for (index, route) in explanation.routes.enumerated() {
            switch route.outcome {
            case .admitted: routes[index].taken = true
            case .denied, .held: routes[index].denied = true
            case .sampledOut, .limited: routes[index].sampledOut = true
            case .filtered, .violating, .withheld, .rejected: break
            }
            for shaped in route.shaped where shaped.outcome == .filtered {
                for filter in routes[index].filters.indices where routes[index].filters[filter].provider == shaped.provider {
                    routes[index].filters[filter].isTried = true
                }
            }
        }
    }

    public var taken: Int { routes.count { $0.taken } }
    public var all: Int { routes.count }
    public var isComplete: Bool { taken == all }

    /// What no test has tried, one line each. The routes that no test takes come first.
    public var gaps: [String] {
        routes.filter { !$0.taken }.map { "no test takes route \($0.name)" }
            + routes.filter { $0.taken && $0.demands && !$0.denied }.map { "no test shows that route \($0.name) refuses without consent" }
            + routes.filter { $0.taken && $0.isSampled && !$0.sampledOut }.map {
                "no test shows that the sample of route \($0.name) leaves an event out"
            }
            + routes.flatMap { route in
                route.filters.filter { !$0.isTried && route.taken }.map {
                    "no test stops at the filter of provider \($0.provider), behind route \(route.name)"
                }
            }
    }
}
