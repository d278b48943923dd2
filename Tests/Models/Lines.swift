import Editing
import Events
import Judging
import Plans

/// Returns a plan with this number of providers, all without settings, and two keys.
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

/// Returns the verdict of one route that `change` sets up. It is nil if the line is not a valid event.
func verdict(_ line: String, _ change: (inout RoutePlan) -> Void) -> Verdict? {
    let fixture = JudgeFixture(plan(route(change)))
    return fixture.verdicts(line).first
}

/// Returns the line after the transforms of one route. It is nil if the event is invalid or the route does not admit it.
func edited(_ line: String, _ transforms: any Step...) -> String? {
    let fixture = JudgeFixture(plan(route { $0.transforms = transforms }))
    guard fixture.take(line) else { return nil }
    return fixture.lines().first
}
