// What the judge found out about one event on its way through a route, for those who ask why. It is read off the same
// compiled rules by the same tests, after the verdict has fallen; the hot path knows nothing of it.

public import ConsentGate
public import Editing
public import Events
public import Expressions
internal import Matching
public import Sampling

public struct Finding: Sendable {
    public var verdict: Verdict
    /// The first of the routes before it that took the event, where that decided.
    public var takenBy: Int?
    /// The first of the route's matches that does not hold: an index into them.
    public var mismatch: Int?
    /// The first of the members under `not` that keeps the event out, an index into them; nil: none of them does.
    public var exclusion: Int?
    /// What decided over the route's expression; nil: the event did not come as far, or there is none.
    public var condition: Evaluator.Decision?
    /// nil: the event did not come as far, or there is no consent section.
    public var gate: GateFinding?
    /// nil: the event did not come as far, or the route takes no sample.
    public var sample: SampleFinding?
    /// What the steps of the transform found out. Of a route that holds the event back, the last one says why.
    public var steps: [StepFinding] = []
}

/// A rule of `emit` that makes nothing of the event, since an expression of it has no value.
public struct EmitFault: Sendable {
    /// An index into the plan's rules.
    public var rule: Int
    public var fault: EvaluationFault
}

extension Judge {
    /// What each route found out, in order. The verdicts are those of `verdicts(of:)`.
    public mutating func findings(on event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Finding] {
        let tried = tried(event, arrival, source)
        return tried.indices.map { index in
            var finding = finding(index, tried[index].verdict, event)
            finding.steps = tried[index].steps
            if finding.verdict == .filtered(.else) { finding.takenBy = tried.firstIndex { $0.verdict.isTaking } }
            return finding
        }
    }

    /// Of the rules in their order, those that err on the event.
    public mutating func emitFaults(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [EmitFault] {
        guard !rules.emits.isEmpty, !event.slots[rules.markSlot].isPresent else { return [] }
        let around = EvaluationContext(now: arrival, source: source)
        return rules.emits.enumerated().compactMap { index, rule in
            fault(of: rule, event, around).map { EmitFault(rule: index, fault: $0) }
        }
    }

    private mutating func fault(of rule: EmitRule, _ event: ScannedEvent, _ around: EvaluationContext) -> EvaluationFault? {
        switch evaluator.decide(rule.condition, event, around) {
        case .no: return nil
        case .error: return evaluator.decision(rule.condition, event, around).fault
        case .yes:
            for piece in rule.pieces where piece.expression >= 0 {
                if let fault = evaluator.fault(piece.expression, event, around) { return fault }
            }
            return nil
        }
    }

    private mutating func finding(_ index: Int, _ verdict: Verdict, _ event: ScannedEvent) -> Finding {
        let route = rules.routes[index]
        var finding = Finding(verdict: verdict)
        switch verdict {
        case .filtered(.key), .filtered(.else), .filtered(.events): return finding
        case .filtered(.match):
            finding.mismatch = route.match.indices.first {
                !route.match[$0].matches(event, &decoder)
            }
            return finding
        case .filtered(.not):
            if !isNamed(route.not.events, event) { finding.exclusion = route.not.matching(event, &decoder) }
            return finding
        case .filtered(.where), .filtered(.whereErrors):
            finding.condition = evaluator.decision(route.condition, event, around)
            return finding
        case .denied, .held, .sampledOut, .limited, .withheld, .admitted, .expired, .withdrawn, .outdated:
            if route.condition >= 0 { finding.condition = evaluator.decision(route.condition, event, around) }
        }
        finding.gate = gate.finding(on: event, route.demand, name: &name, nameSlot: rules.nameSlot, slots: ruleset.paths.count)
        if verdict.isOfGate { return finding }
        if let sample = route.sample { finding.sample = self.finding(sample, verdict, event) }
        return finding
    }

    private mutating func finding(_ rule: UnsafePointer<SampleRule>, _ verdict: Verdict, _ event: ScannedEvent) -> SampleFinding {
        let sample = rule.pointee
        isTrial = true
        defer { isTrial = false }
        let rate = rate(rule, event)
        let isKept = isNamed(sample.keep, event)
        let keepCondition = sample.keepCondition < 0 ? nil : evaluator.decision(sample.keepCondition, event, around)
        let isBeforeLimit = sample.limit == nil || verdict == .sampledOut || isKept || keepCondition?.holds ?? false
        return SampleFinding(
            isKept: isKept, keepCondition: keepCondition, rate: sample.rates[rate].value,
            named: sample.target == nil && rate >= SampleRule.firstNamed ? rate - SampleRule.firstNamed : nil,
            isWithinLimit: isBeforeLimit ? nil : verdict != .limited,
            hash: sampler.hash(sample.member, event, turn), basis: sampler.basis(sample.member, event))
    }

    private mutating func isNamed(_ globs: Globs, _ event: ScannedEvent) -> Bool {
        name.read(event, slot: rules.nameSlot).map(globs.match) ?? false
    }
}
