// Explains what every route does with one event, and why. The event passes through a worker like any other event, and the explanation
// reports what the worker did. It never shows values that a route hashes, or texts that come from the environment or a file.

internal import Admission
internal import ConsentGate
internal import Events
public import Judging
public import Ledger
public import Plans
internal import Workers

public struct Explanation: Sendable {
    /// The verdict of one route on the event. The raw values are the words that `--json` uses.
    public enum Outcome: String, Sendable, CaseIterable {
        case admitted, filtered, denied, held
        case sampledOut = "sampled_out"
        case withheld
        /// The event violates the tracking plan, and goes to the dead letters.
        case violating
        /// The event is in the sample, but over its limit.
        case limited
        /// The input is not an event, so no route saw it.
        case rejected
    }

    public enum Stage: String, Sendable { case input, filter, consent, sample, plan, transform }

    /// The decision of one stage, in words.
    public struct Decision: Sendable {
        public var stage: Stage
        public var why: String
    }

    public struct Route: Sendable {
        public var name: String
        public var outcome: Outcome
        /// The decisions of the stages that the event reached, in order. If the event was not admitted, the last stage decided.
        public var decisions: [Decision]
        /// The event as the route's providers get it, masked. It is nil unless the event was admitted.
        public var event: String?
        /// The names of the providers that get it.
        public var to: [String]
        /// The number of texts that `scrub` found, by kind.
        public var found: [(kind: String, count: Int)] = []
        /// The expressions of the transform that had no value.
        public var errors: [StepError] = []

        /// What its providers with a filter or a transform of their own do with the event when it is handed over.
        public var shaped: [Shaped] = []
        /// The event as the module of each provider gets it. It is not masked, so it is never shown.
        public var handOvers: [HandOver] = []
        /// What the second check of consent answers now. It is nil if no ledger is kept, or if the event was not admitted.
        var secondAnswer: SecondCheck.Answer?
        /// The branches that the expressions of the route took. Their texts are those of the configuration.
        public var branches: [BranchFinding] = []

        public struct StepError: Sendable {
            /// The member that was not set.
            public var member: String
            public var error: String
        }

        /// The reason of the stage that decided. If the event was admitted, it has the reasons of all stages.
        public var reason: String {
            outcome == .admitted ? decisions.map(\.why).joined(separator: "; ") : decisions.last?.why ?? ""
        }
    }

    /// The routes, in the order of the plan.
    public var routes: [Route]
    /// Why and where the input is not an event, such as `stdin:1:8: expected a value, found 0x7d '}'`. It is nil if the input is an event.
    public var fault: String?
    /// The names of the events that emit rules make from it. It is nil if there are no such rules. Each emitted event is routed separately.
    public var emitted: [String]?
    /// The emit rules that make no event, since an expression has no value. Each is listed with the reason.
    public var emitErrors: [String] = []

    /// The input does not hold exactly one event.
    public struct WrongCount: Error, Sendable { public var events: Int }

    /// Explains the event in `text`, which holds one line that is not blank. `source` is the name of the input in a fault. `now` is the
    /// arrival time that is assumed, in nanoseconds since 1970. `ledger` holds the records of the event's subjects. It is nil if no ledger
    /// is kept. `index` is the source of the event, as an index into the sources of the plan. `rules` are those of this plan and this ledger;
    /// they are compiled if they are left out.
    public init(
        of text: [UInt8], from source: String, by plan: Plan, now: Int64 = 0, ledger: LedgerView? = nil, source index: Int = 0,
        rules: CompiledRules? = nil
    ) throws(WrongCount) {
        let rules = rules ?? CompiledRules(plan, ledger)
        let (ruleset, levels) = (rules.ruleset, rules.levels)
        ruleset.forgetEvents()
        var worker = Worker(ruleset, lineLimit: plan.limits.line, depth: plan.limits.depth, blockSize: text.count)
        text.withUnsafeBytes { worker.block.text.append(contentsOf: $0) }
        worker.block.arrival = now
        worker.block.source = index
        // Do this before the worker works, since its judge remembers what it has judged.
        let found = worker.findings(ruleset.paths, ledger)
        worker.work()
        let count = worker.tally.events + worker.faults.count
        guard count == 1 else { throw WrongCount(events: count) }
        if let fault = worker.faults.first {
            let words = "\(source):\(fault.line):\(fault.column): \(fault.message)"
            self.fault = words
            routes = plan.routes.map { route in
                Route(name: route.name, outcome: .rejected, decisions: [Decision(stage: .input, why: words)], to: [])
            }
            return
        }
        guard let (findings, came, made, faults) = found else { preconditionFailure("the worker has found an event in this block") }
        assert(findings.count == plan.routes.count, "a route has found nothing out")
        // They are the same for all routes of the plan.
        let hashed = plan.routes.flatMap(\.hashedOrigins)
        routes = plan.routes.indices.map { index in
            let explainer = RouteExplainer(plan, route: plan.routes[index], finding: findings[index], came: came, hashed: hashed)
            // If the route did not admit the event, a line there belongs to an emitted event.
            let line = findings[index].verdict == .admitted ? worker.line(of: index, plan) : nil
            var route = Explanation.route(index, plan: plan, explainer: explainer, line: line, paths: ruleset.paths, now: now)
            if line != nil { route.secondAnswer = Explanation.secondAnswer(of: index, worker, by: plan, ruleset, levels, ledger) }
            return route
        }
        emitErrors = faults.map { "emit[\($0.rule)]: \(RouteExplainer.error($0.fault))" }
        if !plan.emits.isEmpty { emitted = made.map { Explanation.name(of: $0, Mask(hidden: plan.hidden)) } }
    }

    private static func name(of line: [UInt8], _ mask: Mask) -> String {
        let path = Path(keys: ["event"])
        guard let text = EventMembers(of: line, PathTrie([path]))[path], text[0] == UInt8(ascii: "\""),
            let name = decoded(text[1..<(text.count - 1)])
        else { return "an event without a name" }
        return mask.shown(name)
    }

    private static func route(
        _ index: Int, plan: Plan, explainer: RouteExplainer, line: [UInt8]?, paths: PathTrie, now: Int64
    ) -> Route {
        let route = plan.routes[index]
        var explained = Route(name: route.name, outcome: .admitted, decisions: explainer.decisions, to: [])
        (explained.found, explained.errors, explained.branches) = (explainer.found, explainer.errors, explainer.finding.branches)
        switch explainer.finding.verdict {
        case .admitted: break
        case .filtered: explained.outcome = .filtered
        case .denied, .expired, .withdrawn, .outdated: explained.outcome = .denied
        case .held: explained.outcome = .held
        case .sampledOut: explained.outcome = .sampledOut
        case .limited: explained.outcome = .limited
        case .withheld:
            explained.outcome = .withheld
            explained.decisions.append(Decision(stage: .transform, why: explainer.steps.joined(separator: "; ")))
        case .violating: explained.outcome = .violating
        }
        guard let line else { return explained }
        let left = EventMembers(of: line, paths.with(route.hashed.map(\.path)))
        let edits = explainer.transform(left) + explainer.steps
        if !edits.isEmpty { explained.decisions.append(Decision(stage: .transform, why: edits.joined(separator: "; "))) }
        explained.event = Mask(hidden: plan.hidden).shown(line, hashed: left.digests(route.hashed))
        explained.to = route.providers.map { plan.providers[$0].name }
        let hashes = Explanation.hashes(route.hashed, left)
        for provider in route.providers.map({ plan.providers[$0] }) {
            if let shaped = shaped(line, of: route, by: provider, of: plan, now: now) {
                explained.shaped.append(shaped)
                if let handed = shaped.handed { explained.handOvers.append(handed) }
            } else {
                explained.handOvers.append(HandOver(provider: provider.name, line: line, hashes: hashes))
            }
        }
        return explained
    }
}

extension Worker {
    /// Returns the judge's findings on the one event of the block, and the members that rules name. Returns nil if there is no event.
    mutating func findings(
        _ paths: PathTrie, _ ledger: LedgerView?
    ) -> ([Finding], EventMembers, made: [[UInt8]], faults: [EmitFault])? {
        block.seal()
        var at: UInt32 = 0
        while at < UInt32(block.count) {
            if let event = scanner.scan(block.bytes, at) {
                ledger?.look(up: judge.subjects(of: event))
                let findings = judge.findings(on: event, arrival: block.arrival, source: block.source)
                let made = judge.emissions(of: event, arrival: block.arrival, source: block.source)
                let faults = judge.emitFaults(of: event, arrival: block.arrival, source: block.source)
                return (findings, EventMembers(event, paths), made, faults)
            }
            at = scanner.lineEnd + 1
        }
        return nil
    }

    /// Returns the event as the route's lanes get it, or nil if the route did not admit it.
    func line(of route: Int, _ plan: Plan) -> [UInt8]? {
        guard let provider = plan.routes[route].providers.first else { return nil }
        let entries = parcels[provider].entries
        guard let index = entries.firstIndex(where: { Int($0.route) == route }) else { return nil }
        let start = index == 0 ? 0 : Int(entries[index - 1].end)
        let end = Int(entries[index].end) - 1
        assert(start < end && end < parcels[provider].bytes.count, "an event lies outside its parcel")
        return [UInt8](UnsafeRawBufferPointer(rebasing: parcels[provider].bytes.bytes[start..<end]))
    }
}
