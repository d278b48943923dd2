// Explains what a provider's own filter and transform do with the copy of a route when it is handed over. The copy passes through a worker
// under a plan that has only the shape of the provider, so the stages and their words are those of a route.

internal import Editing
internal import Events
internal import Judging
internal import Plans
internal import Workers

extension Explanation {
    /// What a provider does with the copy of a route.
    public struct Shaped: Sendable {
        public var provider: String
        /// `admitted` if the module gets the event.
        public var outcome: Outcome
        public var decisions: [Decision]
        /// The event as the module gets it, masked. It is nil if the module does not get it.
        public var event: String?
        /// The event as the module gets it. It is not masked.
        var handed: HandOver?
        public var found: [(kind: String, count: Int)] = []
        public var errors: [Route.StepError] = []

        public var reason: String {
            outcome == .admitted ? decisions.map(\.why).joined(separator: "; ") : decisions.last?.why ?? ""
        }
    }

    /// Returns nil if the module of the provider gets the event as it waits. `line` is the copy of the route.
    static func shaped(_ line: [UInt8], of route: RoutePlan, by provider: ProviderPlan, of whole: Plan, now: Int64) -> Shaped? {
        guard !provider.shape.isEmpty else { return nil }
        var plan = whole.shape(of: provider)
        // The worker writes the shaped copy for this provider.
        plan.providers = [ProviderPlan(name: provider.name, plugin: provider.plugin, settings: Secret([]))]
        plan.routes[0].providers = [0]
        let ruleset = Ruleset(plan)
        var worker = Worker(ruleset, lineLimit: .max, depth: Scanner.deepest, blockSize: line.count)
        line.withUnsafeBytes { worker.block.text.append(contentsOf: $0) }
        worker.block.arrival = now
        let found = worker.findings(ruleset.paths, nil)
        worker.work()
        var shaped = Shaped(provider: provider.name, outcome: .admitted, decisions: [])
        guard let (findings, came, _, _) = found else {
            shaped.outcome = .rejected
            shaped.decisions = [Decision(stage: .input, why: "it cannot be read: \(worker.faults.first?.message ?? "it is no event")")]
            return shaped
        }
        let explainer = RouteExplainer(
            plan, route: plan.routes[0], finding: findings[0], came: came, hashed: plan.routes[0].hashedOrigins + route.hashed.map(\.path))
        if provider.shape.isFiltering { shaped.decisions = explainer.decisions.filter { $0.stage == .filter } }
        (shaped.found, shaped.errors) = (explainer.found, explainer.errors)
        switch findings[0].verdict {
        case .admitted: break
        case .withheld:
            var isBroken = false
            if case .broken? = findings[0].steps.last?.report { isBroken = true }
            shaped.outcome = isBroken ? .rejected : .withheld
            shaped.decisions.append(Decision(stage: .transform, why: explainer.steps.joined(separator: "; ")))
        default: shaped.outcome = .filtered
        }
        guard let made = worker.line(of: 0, plan) else { return shaped }
        if let most = provider.delivery.batch.largest, made.count + 1 > most {
            shaped.outcome = .rejected
            shaped.decisions.append(
                Decision(stage: .transform, why: "it has \(made.count + 1) bytes then, and the module takes \(most) at most"))
            return shaped
        }
        var both = route
        both.transforms += provider.shape.transforms
        let left = EventMembers(of: made, ruleset.paths.with(both.hashed.map(\.path)))
        let edits = explainer.transform(left) + explainer.steps
        if !edits.isEmpty { shaped.decisions.append(Decision(stage: .transform, why: edits.joined(separator: "; "))) }
        // An expression may have copied a hash of the route to any place.
        let before = EventMembers(of: line, PathTrie(route.hashed.map(\.path)))
        let hashes = Set(route.hashed.compactMap { one in before[one.path].flatMap { one.isHash($0) ? $0 : nil } })
        shaped.event = Mask(hidden: whole.hidden).shown(made, hashed: left.digests(both.hashed).union(Mask.places(of: hashes, in: made)))
        shaped.handed = HandOver(
            provider: provider.name, line: made, hashes: hashes.union(Explanation.hashes(both.hashed, left)))
        return shaped
    }
}
