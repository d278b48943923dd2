import Events
import Judging
import Plans

/// A plan with as many providers as are named, all of them without settings.
func plan(providers: Int = 1, _ routes: RoutePlan...) -> Plan {
    var plan = Plan()
    plan.providers = (0..<providers).map { ProviderPlan(name: "p\($0)", plugin: "noop", settings: Secret(Array("{}".utf8))) }
    plan.routes = routes
    plan.keys = [Key(name: "ids", secret: Secret(Array("secret".utf8))), Key(name: "other", secret: Secret(Array("other".utf8)))]
    return plan
}

func route(_ change: (inout RoutePlan) -> Void = { _ in }) -> RoutePlan {
    var route = RoutePlan(name: "route")
    route.providers = [0]
    change(&route)
    return route
}

func path(_ text: String) -> Path { try! Path(parsing: text) }

/// The verdict of the one route that `change` describes.
func verdict(_ line: String, _ change: (inout RoutePlan) -> Void) -> Verdict? {
    let bench = Bench(plan(route(change)))
    return bench.verdicts(line).first
}

/// The line as one route edits it; nil when it is not admitted.
func edited(_ line: String, _ transforms: TransformPlan...) -> String? {
    let bench = Bench(plan(route { $0.transforms = transforms }))
    guard bench.take(line) else { return nil }
    return bench.lines().first
}
