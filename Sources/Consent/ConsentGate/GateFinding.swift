// Explains an answer of the gate: it reads the event again with the same rules. The hot path does not use it.

public import Admission
public import Events
public import Matching

public struct GateFinding: Sendable {
    /// True if something is demanded.
    public var isDemanding: Bool
    /// The demanded level, as an index into the plan's levels.
    public var demanded: Int
    /// The event rule that raised the demand above the route's, as an index into the plan's events that demand more. It is nil if none did.
    public var raisedBy: Int?
    public var state: State
    /// The record of the event's subjects. It is nil if the records were not read.
    public var record: Record?
    /// The level that is assumed of unknown subjects, as an index into the plan's levels. It is nil if none is assumed.
    public var assumed: Int?
    /// True if an event of unknown subjects waits.
    public var isHolding = false
    /// The demanded purposes that the state does not grant.
    public var missing: [String]
    /// The consent signals of the event, one by one.
    public var signals: [Signal]
    /// The broken members: signals of consent, and ids of subjects.
    public var broken: [ConsentMember] = []

    public enum State: Equatable, Sendable {
        case unknown, broken
        /// The records of the subjects cannot be read.
        case unreadable
        /// The level is known, as an index into the plan's levels. It is assumed if neither the event nor a record states it.
        case known(level: Int, isAssumed: Bool)
        /// The state was not needed.
        case unread
    }

    public struct Record: Sendable {
        /// The level on record, as an index into the plan's levels. It is nil if nothing on record counts as consent.
        public var level: Int?
        /// The demanded purposes that the record does not grant, or refuses.
        public var missing: [String]
    }

    /// The meaning of one member of the event, taken alone.
    public struct Signal: Sendable {
        public var member: ConsentMember
        public var isBroken: Bool
        /// True if the member grants something; false if it only refuses.
        public var grants: Bool
        /// The highest level that the member allows.
        public var level: Int
        /// The demanded purposes that the member does not grant, or refuses.
        public var missing: [String]
    }

    /// The level that decides which fields are cut out of the event.
    public var level: Int { if case .known(let level, _) = state { level } else { 0 } }
}

extension Gate {
    /// Returns the explanation, or nil if there is no consent section. `slots` is the number of slots of an event.
    public mutating func finding(
        on event: ScannedEvent, _ demand: Demand, name: inout EventName, nameSlot: Int, slots: Int
    ) -> GateFinding? {
        guard let rules else { return nil }
        let consent = rules.pointee.consent
        let purposes = demand.purposes
        let level = raised(demand, event: event, name: &name, nameSlot: nameSlot).level
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
        let members = Array(signalMembers)
        finding.signals = members.compactMap { member in
            signal(member, among: members, event: event, rules: consent, demanded: purposes, slots: slots)
        }
        finding.broken = finding.signals.filter(\.isBroken).map(\.member) + brokenSubjects(of: event)
        finding.record = record(of: event, demanded: purposes, consent)
        switch state.kind {
        case .broken: finding.state = .broken
        case .unreadable: finding.state = .unreadable
        case .unknown: finding.state = .unknown
        case .known:
            let isStated = finding.record?.level != nil || finding.signals.contains { $0.grants }
            finding.state = .known(level: state.level, isAssumed: !isStated)
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

    /// Returns what one member states, by reading the event again as if it carried no other member but the objects that contain it. Returns
    /// nil if the event does not carry the member, or if it is an object that states nothing itself.
    private func signal(
        _ member: ConsentMember, among members: [ConsentMember], event: ScannedEvent, rules: ConsentRules, demanded: Purposes?, slots: Int
    ) -> GateFinding.Signal? {
        let slotsOfMembers = rules.signals.slots
        guard event.slots[slotsOfMembers[member.index]].isPresent else { return nil }
        let copy = UnsafeMutablePointer<Slot>.allocate(capacity: slots)
        defer { copy.deallocate() }
        copy.initialize(from: event.slots, count: slots)
        for other in members where other != member && !other.contains(member) {
            copy[slotsOfMembers[other.index]] = Slot()
        }
        let alone = ScannedEvent(block: event.block, start: event.start, end: event.end, slots: UnsafePointer(copy))

        // One reader assumes nothing of unknown subjects, and the other assumes everything. The second one shows what a member refuses that
        // only refuses.
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
        return member.declaration?.isShown ?? true || signal.isBroken ? signal : nil
    }
}

extension ConsentRules {
    fileprivate func assuming(_ level: Int) -> ConsentRules {
        var rules = self
        rules.unknown = UnknownRules(always: level)
        return rules
    }

    /// Returns the demanded purposes that are not granted.
    fileprivate func lacking(_ demanded: Purposes?, in granted: Purposes) -> [String] {
        guard let demanded else { return [] }
        return names.indices.filter { demanded[$0 / 64] & ~granted[$0 / 64] & 1 << UInt64($0 % 64) != 0 }
            .map { String(decoding: names[$0].bytes, as: UTF8.self) }
    }

    fileprivate func holds(_ set: Purposes, _ name: String) -> Bool {
        names.firstIndex { $0.bytes.elementsEqual(name.utf8) }.map { set[$0 / 64] & 1 << UInt64($0 % 64) != 0 } ?? false
    }
}
