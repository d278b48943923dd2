// Which routes, stages and branches of expressions the tests of a configuration have tried. A route that no test takes, a demand that no test
// fails, a filter of a provider that no test stops at, and a part of an expression that no test makes true or false are named, since a change
// there would pass every test.

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
    private var branches: [BranchCoverage]

    public init(_ plan: Plan) {
        routes = plan.routes.map { route in
            Route(
                name: route.name, demands: route.consent.map { $0.level > 0 || !$0.purposes.isEmpty } ?? false,
                isSampled: route.sample != nil,
                filters: route.providers.map { plan.providers[$0] }.filter(\.shape.isFiltering).map { ($0.name, false) })
        }
        branches = plan.routes.map(BranchCoverage.init)
    }

    public mutating func note(_ explanation: Explanation) {
        assert(explanation.routes.count == routes.count, "the explanation is of another plan")
        for (index, route) in explanation.routes.enumerated() {
            for finding in route.branches { branches[index].note(finding) }
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
    /// The sides of branches that a test has taken, and all of them: each branch can be true and false.
    public var sidesTaken: Int { branches.reduce(0) { $0 + $1.taken } }
    public var sides: Int { branches.reduce(0) { $0 + $1.all } }

    /// What no test has tried, one line each. The routes that no test takes come first.
    public var gaps: [String] {
        var gaps = routes.filter { !$0.taken }.map { "no test takes route \($0.name)" }
        for route in routes where route.taken && route.demands && !route.denied {
            gaps.append("no test shows that route \(route.name) refuses without consent")
        }
        for route in routes where route.taken && route.isSampled && !route.sampledOut {
            gaps.append("no test shows that the sample of route \(route.name) leaves an event out")
        }
        for route in routes where route.taken {
            for filter in route.filters where !filter.isTried {
                gaps.append("no test stops at the filter of provider \(filter.provider), behind route \(route.name)")
            }
        }
        for (route, branches) in zip(routes, branches) { gaps += branches.gaps.map { "\($0) of route \(route.name)" } }
        return gaps
    }
}
