// Why the gate answered as it did, for those who ask: the same rules are read by the same tests after the answer. The hot path knows nothing
// of it.

public import Admission
public import Events
public import Matching

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

extension Gate {
    /// `slots`: how many an event has.
    public mutating func finding(
        on event: ScannedEvent, _ demand: Demand, name: inout EventName, nameSlot: Int, slots: Int
    ) -> GateFinding? {
        guard let rules else { return nil }
        let consent = rules.pointee.consent
        let purposes = demand.purposes
        let level = raised(demand, event, &name, nameSlot).level
        var finding = GateFinding(
            isDemanding: level > 0 || purposes != nil, demanded: level, state: .unread, missing: [], signals: [])
        if level > demand.level, let name = name.read(event, slot: nameSlot) {
            finding.raisedBy = rules.pointee.raises.first { $0.level == level && $0.globs.match(name) }?.index
        }
        guard finding.isDemanding || rules.pointee.admission.cutsFields else { return finding }

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
        let state = allowing.read(alone, standing: nothing)
        let signal = GateFinding.Signal(
            member: member, isBroken: state.kind == .broken, grants: denying.read(alone, standing: nothing).kind == .known,
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

extension ConsentMember {
    /// What it must be, to follow "must be".
    public var form: String {
        switch self {
        case .level: "the name of a level"
        case .purposes: "a list of names or an object of true and false"
        case .categoryPreferences: "an object of true and false"
        case .consent, .management: "an object"
        case .allowed, .denied: "a list of names"
        case .gpc: "true or false"
        case .tcf: "a TC string of version 2"
        case .gpp: "a GPP string of version 1"
        case .google: "an object of signals that are \"granted\" or \"denied\""
        }
    }
}
