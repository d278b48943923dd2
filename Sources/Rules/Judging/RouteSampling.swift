// Decides whether an event that the gate has admitted passes the sample of a route. The answers of limits and targets are kept while a block
// may be judged again, so that no event uses up a limit twice. In a trial nothing is used up.

internal import Events
internal import Expressions
internal import Matching
internal import Sampling

struct RouteSampling: ~Copyable {
    enum Answer {
        /// The event is in, at the rate with this index.
        case isIn(rate: Int)
        /// The event is sampled out or over the limit.
        case out(Verdict)
    }

    private var sampler: Sampler
    var decisions = SampleDecisions()
    /// The number of times that an expression of `keep` failed, since `takeErrors`.
    private var errors = 0

    init(_ rules: Rules) { sampler = Sampler(rules.sampled, messageID: rules.messageIDSlot) }

    /// Returns the number of times that an expression of `keep` failed, and forgets it.
    @inline(__always) mutating func takeErrors() -> Int {
        guard errors > 0 else { return 0 }
        defer { errors = 0 }
        return errors
    }

    @inline(__always) mutating func decide(
        _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, context: inout EventContext
    ) -> Answer {
        if isKept(rule, event, context: &context) { return .isIn(rate: 0) }
        let rate = rate(rule, event, context: &context)
        assert(rule.pointee.rates.indices.contains(rate), "the sample does not have this rate")
        guard sampler.takes(rule.pointee.rates.baseAddress! + rate, by: rule.pointee.member, event, turn: context.turn) else {
            return .out(.sampledOut)
        }
        if let limit = rule.pointee.limit, !isWithin(limit, rule, event, context: context) { return .out(.limited) }
        return .isIn(rate: rate)
    }

    @inline(__always) private mutating func isKept(
        _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, context: inout EventContext
    ) -> Bool {
        if rule.pointee.keepCondition >= 0, keeps(rule.pointee.keepCondition, event, context: &context) { return true }
        guard !rule.pointee.keep.isEmpty, let name = context.readName(event) else { return false }
        return rule.pointee.keep.match(name)
    }

    private mutating func keeps(_ condition: Int, _ event: ScannedEvent, context: inout EventContext) -> Bool {
        let truth = context.decide(condition, event)
        if truth == .error { errors += 1 }
        return truth == .yes
    }

    /// Returns the index of the rate for the event.
    @inline(__always) private mutating func rate(
        _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, context: inout EventContext
    ) -> Int {
        if let target = rule.pointee.target { return rate(following: target, rule, context: context) }
        return rule.pointee.named.isEmpty ? SampleRule.usual : namedRate(rule, event, context: &context)
    }

    /// Returns the index of the rate for the event's name.
    @inline(never) private func namedRate(
        _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, context: inout EventContext
    ) -> Int {
        guard let name = context.readName(event) else { return SampleRule.usual }
        let named = rule.pointee.named
        for index in named.indices where named[index].match(name) { return SampleRule.firstNamed + index }
        return SampleRule.usual
    }

    @inline(never) private mutating func rate(
        following target: TargetRule, _ rule: UnsafePointer<SampleRule>, context: borrowing EventContext
    ) -> Int {
        let (now, isTrial) = (context.around.now, context.isTrial)
        return decisions.draw(rule, isLimit: false, turn: context.turn) {
            rule.pointee.memory._withUnsafeGuaranteedRef { $0.rung(at: now, target, rule.pointee.rates, isTrial: isTrial) }
        }
    }

    @inline(never) private mutating func isWithin(
        _ limit: LimitRule, _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, context: borrowing EventContext
    ) -> Bool {
        let share: LimitShare = rule.pointee.limitedSlot < 0 ? .all : .value(sampler.value(rule.pointee.limitedSlot, event))
        let (now, isTrial) = (context.around.now, context.isTrial)
        return decisions.draw(rule, isLimit: true, turn: context.turn) {
            rule.pointee.memory._withUnsafeGuaranteedRef { $0.takes(at: now, limit, share, isTrial: isTrial) ? 1 : 0 }
        } == 1
    }

    // MARK: - For explain

    /// Returns the reasons for the verdict of the sample, in a trial.
    mutating func finding(
        _ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent, verdict: Verdict, context: inout EventContext
    ) -> SampleFinding {
        assert(context.isTrial, "a finding must not use up a limit")
        let sample = rule.pointee
        let rate = rate(rule, event, context: &context)
        let isKept = context.isNamed(sample.keep, event)
        let keepCondition = sample.keepCondition < 0 ? nil : context.decision(sample.keepCondition, event)
        let isBeforeLimit = sample.limit == nil || verdict == .sampledOut || isKept || keepCondition?.holds ?? false
        return SampleFinding(
            isKept: isKept, keepCondition: keepCondition, rate: sample.rates[rate].value,
            named: sample.target == nil && rate >= SampleRule.firstNamed ? rate - SampleRule.firstNamed : nil,
            isWithinLimit: isBeforeLimit ? nil : verdict != .limited,
            hash: sampler.hash(sample.member, event: event, turn: context.turn), basis: sampler.basis(sample.member, event))
    }
}
