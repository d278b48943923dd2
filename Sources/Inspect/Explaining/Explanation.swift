// Why every route does what it does with one event. The event goes the way of every other, through a worker, and what the
// worker made of it is what is told. Values that a route hashes, and texts that came from the environment or a file, never show.

internal import Admission
internal import Events
internal import Judging
public import Ledger
public import Plans
internal import Workers

public struct Explanation: Sendable {
    /// What became of the event at one route. The raw values are the words that `--json` uses.
    public enum Outcome: String, Sendable {
        case admitted, filtered, denied, held
        case sampledOut = "sampled_out"
        case withheld
        /// In the sample, and over its limit.
        case limited
        /// It is no event, so no route saw it.
        case rejected
    }

    public enum Stage: String, Sendable { case input, filter, consent, sample, transform }

    /// What one stage decided, in words.
    public struct Decision: Sendable {
        public var stage: Stage
        public var why: String
    }

    public struct Route: Sendable {
        public var name: String
        public var outcome: Outcome
        /// Those of the stages that the event came to, in their order. Unless it was admitted, the last one decided.
        public var decisions: [Decision]
        /// The event as the route's providers get it, masked; nil unless it was admitted.
        public var event: String?
        /// The names of the providers that get it.
        public var to: [String]
        /// What `scrub` found, by kind.
        public var found: [(kind: String, count: Int)] = []
        /// The expressions of the transform that had no value.
        public var errors: [StepError] = []

        public struct StepError: Sendable {
            /// The member that was not set.
            public var member: String
            public var error: String
        }

        /// What decided; of an admitted event all that did.
        public var reason: String {
            outcome == .admitted ? decisions.map(\.why).joined(separator: "; ") : decisions.last?.why ?? ""
        }
    }

    /// In the order of the plan.
    public var routes: [Route]
    /// Why it is no event, and where: `stdin:1:8: expected a value, found 0x7d '}'`; nil: it is one.
    public var fault: String?
    /// The names of the events that rules make of it; nil: there are no such rules. Each goes a way of its own.
    public var emitted: [String]?
    /// Which of these rules make nothing since an expression has no value, and why.
    public var emitErrors: [String] = []

    /// There must be one event to explain.
    public struct WrongCount: Error, Sendable { public var events: Int }

    /// `text` holds one line that is not blank; `source` is what it is called in a fault.
    /// `now` is when it is taken to have come in, in nanoseconds since 1970. `ledger`: where it is looked up what is on record of its
    /// subjects; nil: nothing is.
    public init(of text: [UInt8], from source: String, by plan: Plan, now: Int64 = 0, ledger: LedgerView? = nil) throws(WrongCount) {
        let noChance = [UInt8](repeating: 0, count: 16)
        let ruleset = Ruleset(plan, subjectKey: ledger?.key ?? noChance, messageIDKey: noChance, records: ledger?.records)
        var worker = Worker(ruleset, lineLimit: plan.limits.line, depth: plan.limits.depth, blockSize: text.count)
        text.withUnsafeBytes { worker.block.text.append(contentsOf: $0) }
        worker.block.arrival = now
        // First, since the worker's judge remembers what it has judged.
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
        routes = plan.routes.indices.map { index in
            let explainer = RouteExplainer(plan, plan.routes[index], findings[index], came)
            // What stands there else was made of it.
            let line = findings[index].verdict == .admitted ? worker.line(of: index, plan) : nil
            return Explanation.route(index, plan, explainer, line, ruleset.paths)
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

    private static func route(_ index: Int, _ plan: Plan, _ explainer: RouteExplainer, _ line: [UInt8]?, _ paths: PathTrie) -> Route {
        let route = plan.routes[index]
        var explained = Route(name: route.name, outcome: .admitted, decisions: explainer.decisions, to: [])
        (explained.found, explained.errors) = (explainer.found, explainer.errors)
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
        }
        guard let line else { return explained }
        let left = EventMembers(of: line, paths.with(route.hashed.map(\.path)))
        let edits = explainer.transform(left) + explainer.steps
        if !edits.isEmpty { explained.decisions.append(Decision(stage: .transform, why: edits.joined(separator: "; "))) }
        explained.event = Mask(hidden: plan.hidden).shown(line, hashed: left.digests(route.hashed))
        explained.to = route.providers.map { plan.providers[$0].name }
        return explained
    }
}

extension Worker {
    /// What the judge finds out about the one event of the block, and the members of it that rules name.
    /// nil: there is no event.
    fileprivate mutating func findings(
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

    /// The event as the route's lanes would get it; nil when the route did not admit it.
    fileprivate func line(of route: Int, _ plan: Plan) -> [UInt8]? {
        guard let provider = plan.routes[route].providers.first else { return nil }
        let entries = parcels[provider].entries
        guard let index = entries.firstIndex(where: { Int($0.route) == route }) else { return nil }
        let start = index == 0 ? 0 : Int(entries[index - 1].end)
        let end = Int(entries[index].end) - 1
        return [UInt8](UnsafeRawBufferPointer(rebasing: parcels[provider].bytes.bytes[start..<end]))
    }
}
