// Tries events on rules as the router does, with the parts left out that are about people and chance: consent, samples, sessions.

internal import Events
internal import Judging
internal import Plans

struct Trial: ~Copyable {
    private let plan: Plan
    private var scanner: Scanner
    private var judge: Judge
    private var block = Block()

    /// A trial of one route alone: without its `else`, and with its sample only as far as `keep` has an expression.
    init(_ plan: Plan, route index: Int) {
        var small = Trial.reduced(plan)
        var route = plan.routes[index]
        if let keep = route.sample?.keepCondition {
            route.sample = SamplePlan(rate: 1)
            route.sample?.keepCondition = keep
        } else {
            route.sample = nil
        }
        (route.takesRest, route.consent, route.session) = (false, nil, nil)
        (small.routes, small.emits) = ([route], [])
        self.init(small)
    }

    /// A trial of one rule of `emit`.
    init(_ plan: Plan, emit index: Int) {
        var small = Trial.reduced(plan)
        var route = RoutePlan(name: "")
        route.providers = plan.providers.isEmpty ? [] : [0]
        (small.routes, small.emits) = ([route], [plan.emits[index]])
        self.init(small)
    }

    /// A trial of all routes together.
    init(allOf plan: Plan) {
        var small = Trial.reduced(plan)
        small.emits = []
        for index in small.routes.indices {
            (small.routes[index].consent, small.routes[index].sample, small.routes[index].session) = (nil, nil, nil)
        }
        self.init(small)
    }

    private init(_ plan: Plan) {
        let ruleset = Ruleset(plan)
        self.plan = plan
        scanner = Scanner(ruleset.paths, depth: plan.limits.depth)
        judge = Judge(ruleset)
    }

    private static func reduced(_ plan: Plan) -> Plan {
        var plan = plan
        (plan.consent, plan.trackingPlan, plan.audit, plan.text) = (nil, nil, nil, nil)
        return plan
    }

    private mutating func scan(_ line: [UInt8]) -> ScannedEvent? {
        block.removeAll()
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        return scanner.scan(block.bytes, 0)
    }

    /// Returns what the routes of the trial find out. Returns nil if the line is no event for them.
    mutating func findings(_ line: [UInt8]) -> [Finding]? { scan(line).map { judge.findings(on: $0) } }

    /// Returns why the rules of `emit` fail.
    mutating func emitFaults(_ line: [UInt8]) -> [EmitFault] { scan(line).map { judge.emitFaults(of: $0) } ?? [] }
}
