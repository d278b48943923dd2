// The reasons for the verdict of a route on one event, for users who ask why. They come from the same compiled rules and the same tests as
// the verdict, after the verdict is known. The hot path never collects them.

public import ConsentGate
public import Editing
public import Events
public import Expressions
internal import Matching
public import Sampling
public import TrackingPlans

public struct Finding: Sendable {
    public var verdict: Verdict
    /// The first earlier route that took the event. It is nil if that did not decide.
    public var takenBy: Int?
    /// True if too few steps were left to compare the name and the members of the event with the filter.
    public var isUncompared = false
    /// The index of the first of the route's matches that fails. It is nil if none decided.
    public var mismatch: Int?
    /// The index of the first member under `not` that excludes the event. It is nil if none does.
    public var exclusion: Int?
    /// The decision of the route's expression. It is nil if an earlier stage decided, or if there is no expression.
    public var condition: Evaluator.Decision?
    /// The finding of the gate. It is nil if an earlier stage decided, or if there is no consent section.
    public var gate: GateFinding?
    /// The finding of the sample. It is nil if an earlier stage decided, or if the route has no sample.
    public var sample: SampleFinding?
    /// What the tracking plan found. It is nil if an earlier stage decided, or if the event satisfies the plan.
    public var plan: PlanFinding?
    /// The findings of the steps of the transform. If the route withholds the event, the last one says why.
    public var steps: [StepFinding] = []
    /// The branches that the expressions of the route took.
    public var branches: [BranchFinding] = []
}

/// The branches that one expression of a route took for an event.
public struct BranchFinding: Sendable {
    public enum Place: Sendable, Hashable {
        /// `where`, `not.where` and `sample.keep.where`.
        case condition, exclusion, keep
        /// The value of a member that a step of the transform sets.
        case step(Int, Path)
    }
    public var place: Place
    public var taken: [TakenBranch]
}

/// A rule of `emit` that emits nothing for the event, because one of its expressions has no value.
public struct EmitFault: Sendable {
    /// The index of the rule in the plan.
    public var rule: Int
    public var fault: EvaluationFault
}

extension Judge {
    /// Returns the finding of each route, in order. The verdicts are those of `verdicts(of:)`.
    public mutating func findings(on event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Finding] {
        let tried = tried(event, arrival: arrival, source: source)
        return tried.indices.map { index in
            // The reasons are found with the steps that the route had.
            context.steps.left = tried[index].left
            context.steps.beginRule()
            var finding = finding(index, verdict: tried[index].verdict, event: event)
            finding.steps = tried[index].steps
            finding.branches = branches(index, tried[index], event)
            if finding.verdict == .filtered(.else) { finding.takenBy = tried.firstIndex { $0.verdict.isTaking } }
            return finding
        }
    }

    /// Returns the branches of the expressions that the route evaluated.
    private mutating func branches(_ index: Int, _ tried: Tried, _ event: ScannedEvent) -> [BranchFinding] {
        let route = rules.routes[index]
        var found: [BranchFinding] = []
        var around = context.around
        around.steps = nil
        func take(_ place: BranchFinding.Place, _ condition: Int, _ context: inout EventContext) -> Truth {
            let taken = context.evaluator.takenBranches(condition, isCondition: true, event: event, around: around)
            found.append(BranchFinding(place: place, taken: taken))
            return taken.first?.truth ?? .error
        }
        switch tried.verdict {
        case .filtered(.key), .filtered(.else), .filtered(.events), .filtered(.match): return []
        case .filtered(.not) where context.isNamed(route.not.events, event) || route.not.matching(event, &context.decoder) != nil: return []
        default: break
        }
        if route.exclusion >= 0, take(.exclusion, route.exclusion, &context) != .no { return found }
        if route.condition >= 0 { _ = take(.condition, route.condition, &context) }
        if tried.verdict.isTaking, !tried.verdict.isOfGate, let sample = route.sample, sample.pointee.keepCondition >= 0 {
            _ = take(.keep, sample.pointee.keepCondition, &context)
        }
        return found + tried.branches.compactMap { step in step.step.map { BranchFinding(place: .step($0, step.path), taken: step.taken) } }
    }

    /// Returns the faults of the rules that fail on the event, in the order of the rules.
    public mutating func emitFaults(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [EmitFault] {
        guard !rules.emits.isEmpty, !event.slots[rules.markSlot].isPresent else { return [] }
        begin(arrival, source)
        return rules.emits.enumerated().compactMap { index, rule in
            fault(of: rule, event).map { EmitFault(rule: index, fault: $0) }
        }
    }

    private mutating func fault(of rule: EmitRule, _ event: ScannedEvent) -> EvaluationFault? {
        context.steps.beginRule()
        let stepsLeft = context.steps.left
        switch context.decide(rule.condition, event) {
        case .no: return nil
        case .error:
            // The next rule has the steps that this one leaves. The reason is found with those that this one had.
            let after = context.steps.left
            defer { context.steps.left = after }
            context.steps.left = stepsLeft
            return context.decision(rule.condition, event).fault
        case .yes:
            for piece in rule.pieces where piece.expression >= 0 {
                if let fault = context.evaluator.fault(piece.expression, event: event, around: context.around) { return fault }
            }
            return nil
        }
    }

    private mutating func finding(_ index: Int, verdict: Verdict, event: ScannedEvent) -> Finding {
        let route = rules.routes[index]
        var finding = Finding(verdict: verdict)
        if RouteFilter.isLarge(event), !filter.pays(event, route: index, context: &context), verdict == .filtered(.whereErrors) {
            finding.isUncompared = true
            return finding
        }
        switch verdict {
        case .filtered(.key), .filtered(.else), .filtered(.events): return finding
        case .filtered(.match):
            finding.mismatch = route.match.indices.first {
                !route.match[$0].matches(event, &context.decoder)
            }
            return finding
        case .filtered(.not):
            if context.isNamed(route.not.events, event) { return finding }
            finding.exclusion = route.not.matching(event, &context.decoder)
            if finding.exclusion == nil { finding.condition = context.decision(route.exclusion, event) }
            return finding
        case .filtered(.where), .filtered(.whereErrors):
            let exclusion = route.exclusion >= 0 ? context.decision(route.exclusion, event) : nil
            finding.condition = exclusion?.fault == nil ? context.decision(route.condition, event) : exclusion
            return finding
        case .denied, .held, .sampledOut, .limited, .withheld, .admitted, .expired, .withdrawn, .outdated, .violating:
            if route.condition >= 0 { finding.condition = context.decision(route.condition, event) }
        }
        finding.gate = gate.finding(on: event, route.demand, name: &context.name, nameSlot: rules.nameSlot, slots: ruleset.paths.count)
        if verdict.isOfGate { return finding }
        if let sample = route.sample {
            context.isTrial = true
            defer { context.isTrial = false }
            finding.sample = sampling.finding(sample, event, verdict: verdict, context: &context)
        }
        switch verdict {
        case .admitted, .withheld, .violating: finding.plan = planFinding
        default: break
        }
        return finding
    }
}
