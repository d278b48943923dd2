// Decides whether an event that the gate has admitted passes the sample of a route.

internal import Events
internal import Expressions
internal import Matching
internal import Sampling

extension Judge {
    enum Sampled {
        /// The event is in, at the rate with this index.
        case isIn(rate: Int)
        /// The event is sampled out or over the limit.
        case out(Verdict)
    }

    @inline(__always) mutating func sampled(_ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent) -> Sampled {
        if isKept(rule, event) { return .isIn(rate: 0) }
        let rate = rate(rule, event)
        guard sampler.takes(rule.pointee.rates.baseAddress! + rate, by: rule.pointee.member, event, turn: turn) else {
            return .out(.sampledOut)
        }
        if let limit = rule.pointee.limit, !isWithin(limit, rule) { return .out(.limited) }
        return .isIn(rate: rate)
    }

    @inline(__always) private mutating func isKept(_ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent) -> Bool {
        if rule.pointee.keepCondition >= 0, keeps(rule.pointee.keepCondition, event) { return true }
        guard !rule.pointee.keep.isEmpty, let name = name.read(event, slot: rules.nameSlot) else { return false }
        return rule.pointee.keep.match(name)
    }

    @inline(__always) mutating func rate(_ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent) -> Int {
        if let target = rule.pointee.target { return rate(following: target, rule) }
        return rule.pointee.named.isEmpty ? SampleRule.usual : namedRate(rule, event)
    }

    /// Returns the index of the rate for the event's name.
    @inline(never) private mutating func namedRate(_ rule: UnsafePointer<SampleRule>, _ event: ScannedEvent) -> Int {
        guard let name = name.read(event, slot: rules.nameSlot) else { return SampleRule.usual }
        let named = rule.pointee.named
        for index in named.indices where named[index].match(name) { return SampleRule.firstNamed + index }
        return SampleRule.usual
    }

    @inline(never) private mutating func rate(following target: TargetRule, _ rule: UnsafePointer<SampleRule>) -> Int {
        let (now, isTrial) = (around.now, isTrial)
        return sampleDecisions.draw(rule, isLimit: false, turn: turn) {
            rule.pointee.memory._withUnsafeGuaranteedRef { $0.rung(at: now, target, rule.pointee.rates, isTrial: isTrial) }
        }
    }

    @inline(never) private mutating func isWithin(_ limit: LimitRule, _ rule: UnsafePointer<SampleRule>) -> Bool {
        let (now, isTrial) = (around.now, isTrial)
        return sampleDecisions.draw(rule, isLimit: true, turn: turn) {
            rule.pointee.memory._withUnsafeGuaranteedRef { $0.takes(at: now, limit, isTrial: isTrial) ? 1 : 0 }
        } == 1
    }
}
