// What the judge found out about one event on its way through a route, for those who ask why. It is read off the same
// compiled rules by the same tests, after the verdict has fallen; the hot path knows nothing of it.

internal import Configuration
public import Events
public import Expressions

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

/// What was hashed for a sample.
public enum SampleBasis: Sendable { case member, messageID, wholeEvent }

public struct SampleFinding: Sendable {
    /// The event's name is one of those that are always in.
    public var isKept: Bool
    /// What decided over the expression of those that are always in; nil: there is none.
    public var keepCondition: Evaluator.Decision?
    public var rate: Double
    /// Which of the rates by name that is: an index into them; nil: none of them.
    public var named: Int?
    /// Whether the event is within the limit; nil: the event did not come as far, or there is no limit.
    public var isWithinLimit: Bool?
    /// In when the hash, taken for a fraction of 2 to the 64th, is below the rate.
    public var hash: UInt64
    public var basis: SampleBasis
}

public struct GateFinding: Sendable {
    /// Whether anything is demanded at all.
    public var isDemanding: Bool
    /// An index into the plan's levels.
    public var demanded: Int
    /// What raised the demand above the route's: an index into the plan's events that demand more.
    public var raisedBy: Int?
    public var state: State
    /// What is on record of the event's subjects; nil: nobody was asked.
    public var record: Record?
    /// The level that is assumed of the event's subjects if nothing is known of them, an index into the plan's levels; nil: none.
    public var assumed: Int?
    /// Whether the event waits in that case.
    public var isHolding = false
    /// The demanded purposes that the state does not grant.
    public var missing: [String]
    /// What the event carries of consent, one by one.
    public var signals: [Signal]

    public enum State: Equatable, Sendable {
        case unknown, broken
        /// What is on record of the subjects cannot be told.
        case unreadable
        /// At this level, an index into the plan's levels; assumed when the event says nothing.
        case known(level: Int, isAssumed: Bool)
        /// Nothing asked for it.
        case unread
    }

    public struct Record: Sendable {
        /// An index into the plan's levels; nil: nothing is on record that counts as consent.
        public var level: Int?
        /// The demanded purposes that it does not grant, or refuses.
        public var missing: [String]
    }

    /// What one of the members that carry consent says, taken alone.
    public struct Signal: Sendable {
        public var member: ConsentMember
        public var isBroken: Bool
        /// Whether it grants something, or only refuses.
        public var grants: Bool
        /// The highest level that it allows.
        public var level: Int
        /// The demanded purposes that it does not grant, or refuses.
        public var missing: [String]
    }

    /// The level that decides over the fields that demand more than their event.
    public var level: Int { if case .known(let level, _) = state { level } else { 0 } }
}

/// Where an event carries consent; in the order of `ConsentRules.Members.paths`.
public enum ConsentMember: Int, Sendable, CaseIterable {
    case consent, level, purposes, categoryPreferences, management, allowed, denied, gpc, tcf, gpp, google

    public var path: Path { Path(keys: ConsentRules.Members.paths[rawValue]) }
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
        let around = Surroundings(now: arrival, source: source)
        return rules.emits.enumerated().compactMap { index, rule in
            fault(of: rule, event, around).map { EmitFault(rule: index, fault: $0) }
        }
    }

    private mutating func fault(of rule: EmitRule, _ event: ScannedEvent, _ around: Surroundings) -> EvaluationFault? {
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
        let demand = UnsafePointer(rules.routes.baseAddress! + index).pointer(to: \.gate)!
        finding.gate = gate.finding(on: event, demand: demand, name: &name, nameSlot: rules.nameSlot, slots: ruleset.paths.count)
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

extension Gate {
    /// `slots`: how many an event has.
    fileprivate mutating func finding(
        on event: ScannedEvent, demand: UnsafePointer<RouteGate>, name: inout EventName, nameSlot: Int, slots: Int
    ) -> GateFinding? {
        guard let rules else { return nil }
        let consent = rules.pointee.consent
        let purposes = demand.pointee.purposes
        let level = level(demand, event, rules, &name, nameSlot)
        var finding = GateFinding(
            isDemanding: level > 0 || purposes != nil, demanded: level, state: .unread, missing: [], signals: [])
        if level > demand.pointee.level, let name = name.read(event, slot: nameSlot) {
            finding.raisedBy = rules.pointee.raises.first { $0.level == level && $0.globs.match(name) }?.index
        }
        guard finding.isDemanding || rules.pointee.cutsFields else { return finding }

        let state = state(of: event)
        let assumed = assumed(of: event)
        finding.assumed = assumed >= 0 ? assumed : nil
        finding.isHolding = assumed == UnknownRules.hold
        finding.missing = consent.lacking(purposes, in: state.granted)
        finding.signals = ConsentMember.allCases.compactMap { member in
            signal(member, event, consent, demanded: purposes, slots: slots)
        }
        finding.record = record(of: event, demanded: purposes, consent)
        switch state.kind {
        case .broken: finding.state = .broken
        case .unreadable: finding.state = .unreadable
        case .unknown: finding.state = .unknown
        case .known:
            let isSaid = finding.record?.level != nil || finding.signals.contains { $0.grants }
            finding.state = .known(level: state.level, isAssumed: !isSaid)
        }
        return finding
    }

    private mutating func record(of event: ScannedEvent, demanded: Purposes?, _ consent: ConsentRules) -> GateFinding.Record? {
        guard hasRecords, let standing = standing(of: event) else { return nil }
        switch standing.kind {
        case .unreadable: return nil
        case .known: return GateFinding.Record(level: standing.level, missing: consent.lacking(demanded, in: standing.granted))
        case .nothing:
            let refused = consent.lacking(demanded, in: consent.nothing).filter { name in consent.holds(standing.refused, name) }
            return GateFinding.Record(level: nil, missing: refused)
        }
    }

    /// What one member says: the event is read once more as if it carried no other. nil when it does not carry this one.
    private func signal(
        _ member: ConsentMember, _ event: ScannedEvent, _ rules: ConsentRules, demanded: Purposes?, slots: Int
    ) -> GateFinding.Signal? {
        let members = rules.members.all
        guard event.slots[members[member.rawValue]].isPresent else { return nil }
        var stays = [member]
        switch member {
        case .level, .purposes, .categoryPreferences, .tcf, .gpp, .google: stays.append(.consent)
        case .allowed, .denied: stays.append(.management)
        case .consent, .management, .gpc: break
        }
        let copy = UnsafeMutablePointer<Slot>.allocate(capacity: slots)
        defer { copy.deallocate() }
        copy.initialize(from: event.slots, count: slots)
        for other in ConsentMember.allCases where !stays.contains(other) { copy[members[other.rawValue]] = Slot() }
        let alone = ScannedEvent(block: event.block, start: event.start, end: event.end, slots: UnsafePointer(copy))

        // Of the unknown nothing is assumed, or all: so a member that only refuses shows what it refuses.
        var denying = ConsentReader(rules.assuming(UnknownRules.deny))
        var allowing = ConsentReader(rules.assuming(rules.levels.count - 1))
        let nothing = Standing(granted: rules.nothing, refused: rules.nothing)
        let state = allowing.read(alone) { nothing }
        let signal = GateFinding.Signal(
            member: member, isBroken: state.kind == .broken, grants: denying.read(alone, standing: { nothing }).kind == .known,
            level: state.level,
            missing: rules.lacking(demanded, in: state.granted))
        // The state points into its reader.
        withExtendedLifetime(allowing) {}
        // That there is an object to hold the others says nothing by itself.
        return member == .consent && !signal.isBroken ? nil : signal
    }
}

extension ConsentRules {
    fileprivate func assuming(_ level: Int) -> ConsentRules {
        var rules = self
        rules.unknown = UnknownRules(always: level)
        return rules
    }

    /// The demanded purposes that are not granted.
    fileprivate func lacking(_ demanded: Purposes?, in granted: Purposes) -> [String] {
        guard let demanded else { return [] }
        return names.indices.filter { demanded[$0 / 64] & ~granted[$0 / 64] & 1 << UInt64($0 % 64) != 0 }
            .map { String(decoding: names[$0].bytes, as: UTF8.self) }
    }

    fileprivate func holds(_ set: Purposes, _ name: String) -> Bool {
        names.firstIndex { $0.bytes.elementsEqual(name.utf8) }.map { set[$0 / 64] & 1 << UInt64($0 % 64) != 0 } ?? false
    }
}

extension ConsentRules.Members {
    fileprivate var all: [Int] { [consent, level, purposes, preferences, management, allowed, denied, gpc, tcf, gpp, google] }
}
