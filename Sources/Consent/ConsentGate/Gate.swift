// The consent gate. It finds the two sides that `Admission` compares: what a route and the event's name demand, and the consent
// state of the event. It finds each at most once for each event, and only if a rule needs it.

public import Admission
public import Events
public import Matching

/// The answer of the gate.
public enum GateAnswer: ~Copyable {
    case admitted(Admitted)
    case denied(Denial)
    /// Nothing is known of the event's subjects, and the event waits until one of them answers.
    case held
}

public struct Gate: ~Copyable {
    struct RaisedLevel: BitwiseCopyable {
        let globs: Globs
        let level: Int
        /// An index into the plan's events that demand a higher level.
        let index: Int
    }

    /// A member of events that demands a level of its own.
    struct Field: BitwiseCopyable {
        let slot: Int
        let level: Int
    }

    struct Rules: BitwiseCopyable {
        let consent: ConsentRules
        let raises: UnsafeBufferPointer<RaisedLevel>
        /// The members that demand a level of their own, the highest level first.
        let fields: UnsafeBufferPointer<Field>
        let admission: AdmissionRules
    }

    /// The compiled rules. It is nil if there is no consent section; then the gate is off.
    let rules: UnsafePointer<Rules>?
    /// The reader. It is initialized only if there are rules. It is copied to a local value before use: as a member of a noncopyable value
    /// it makes the compiler (6.3.1) fail under the thread sanitizer.
    private let reader: UnsafeMutablePointer<ConsentReader>
    private let standings: UnsafeMutablePointer<Standings>
    private var subjects: Subjects
    private let section: ConsentSection?
    private var raisedTo = -1
    /// The least level that the event demands by its name: for an emitted event, the level that the name of the original event demands.
    private var raisedFrom = 0
    /// The level that the members of all later events demand. It is nil if the members of each event decide.
    private var keptLevel: Int?

    /// Makes a gate. `records` is nil if no ledger is kept.
    public init(_ section: ConsentSection?, subjects: consuming Subjects, records: ConsentRecords?) {
        rules = section?.rules
        self.subjects = subjects
        self.section = section
        reader = .allocate(capacity: 1)
        standings = .allocate(capacity: 1)
        guard let rules else { return }
        reader.initialize(to: ConsentReader(rules.pointee.consent))
        standings.initialize(to: Standings(rules.pointee.consent, records))
    }

    deinit {
        if rules != nil {
            reader.deinitialize(count: 1)
            standings.deinitialize(count: 1)
        }
        reader.deallocate()
        standings.deallocate()
    }

    /// Forgets the last event. Call it before each event.
    @inline(__always) public mutating func forget(raisedFrom: Int) {
        subjects.forget()
        guard rules != nil else { return }
        raisedTo = -1
        self.raisedFrom = raisedFrom
        let reader = reader
        reader.pointee.forget()
    }

    /// True if a ledger is kept, so that a lookup can be prefetched.
    public var looksAhead: Bool {
        guard rules != nil else { return false }
        let standings = standings
        return standings.pointee.hasRecords
    }

    @inline(__always) public mutating func expect(_ event: ScannedEvent) {
        let standings = standings
        standings.pointee.prepare(subjects.expect(event))
    }

    public mutating func expectNothing() { subjects.expectNothing() }

    /// Returns whether the event may leave by a route with this demand.
    @inline(__always) public mutating func pass(_ event: ScannedEvent, _ demand: Demand, name: inout EventName, nameSlot: Int) -> GateAnswer
    {
        let demand = raised(demand, event: event, name: &name, nameSlot: nameSlot)
        let (known, fields) = (keptLevel, rules?.pointee.fields)
        switch Admission.decide(
            demand, rules?.pointer(to: \.admission), kept: { known ?? fields?.level(in: event, most: $0) ?? 0 }, state: { state(of: event) }
        )
        {
        case .admitted(let admitted):
            assert(rules == nil || demand.isEmpty || state(of: event).kind == .known, "an event is admitted without a known state")
            return .admitted(admitted)
        case .denied(.unreadable):
            let standings = standings
            return .denied(standings.pointee.isClockBehind ? .clock : .unreadable)
        case .denied(let denial): return .denied(denial)
        case .unknown: return holds(event) ? .held : .denied(.unknown)
        }
    }

    /// Returns true if an event of unknown subjects waits. An event without an id never waits, because nobody could answer for it.
    @inline(never) private mutating func holds(_ event: ScannedEvent) -> Bool {
        assumed(of: event) == UnknownRules.hold && !subjects.read(event).isEmpty
    }

    /// Returns the demand of the route, raised to the level of the event's name if that is higher.
    @inline(__always) mutating func raised(_ demand: Demand, event: ScannedEvent, name: inout EventName, nameSlot: Int) -> Demand {
        guard let rules, !rules.pointee.raises.isEmpty else { return demand }
        return Demand(level: max(demand.level, raise(event, rules: rules, name: &name, nameSlot: nameSlot)), purposes: demand.purposes)
    }

    @inline(__always) mutating func state(of event: ScannedEvent) -> ConsentState {
        let (reader, standings) = (reader, standings)
        if let known = reader.pointee.known { return known }
        let standing = standings.pointee.of(subjects.read(event))
        return reader.pointee.read(event, standing: standing, isBroken: subjects.isBroken)
    }

    /// Returns what is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed {
        let reader = reader
        return reader.pointee.assumed(of: event)
    }

    /// Returns the members that were broken in the events so far, and forgets them.
    public mutating func takeBroken() -> Set<ConsentMember> {
        guard let section else { return [] }
        let reader = reader
        let broken = reader.pointee.takeBroken()
        let subjects = subjects.takeBroken()
        if broken == 0, subjects.isEmpty { return [] }
        let signals = section.members.prefix(section.firstSubject).filter { broken & 1 << UInt64($0.index) != 0 }
        return Set(signals + subjects.map { section.members[section.firstSubject + $0] })
    }

    /// Returns the members with ids of subjects that are broken in this event.
    mutating func brokenSubjects(of event: ScannedEvent) -> [ConsentMember] {
        guard let section else { return [] }
        return subjects.broken(in: event).map { section.members[section.firstSubject + $0] }
    }

    /// The members that carry consent, without the subjects.
    var signalMembers: ArraySlice<ConsentMember> { section.map { $0.members.prefix($0.firstSubject) } ?? [] }

    /// Sets the subjects of all later events, whatever ids they carry, and the level that their members demand, whatever names these have.
    public mutating func know(_ known: [SubjectKey], level: Int) {
        keptLevel = level
        subjects.know(known)
    }

    /// Returns the keys of the event's subjects. They are valid until the next event.
    @inline(__always) public mutating func subjects(of event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> { subjects.read(event) }

    /// True if a ledger is kept.
    public var hasRecords: Bool {
        guard rules != nil else { return false }
        let standings = standings
        return standings.pointee.hasRecords
    }

    /// Returns what is on record for the event's subjects.
    mutating func standing(of event: ScannedEvent) -> Standing? {
        guard rules != nil else { return nil }
        let standings = standings
        return standings.pointee.of(subjects.read(event))
    }

    // MARK: - What changes while a block is judged

    /// True if a verdict since `forgetAsked` may depend on the record of this subject.
    public func hasAsked(for key: SubjectKey) -> Bool {
        let standings = standings
        return rules != nil && standings.pointee.asked.mayContain(key)
    }

    public func forgetAsked() {
        let standings = standings
        if rules != nil { standings.pointee.forgetAsked() }
    }

    public func foresee(_ key: SubjectKey, _ terms: [ConsentTerms]) {
        let standings = standings
        if rules != nil { standings.pointee.foresee(key, terms) }
    }

    public func forgetForeseen() {
        let standings = standings
        if rules != nil { standings.pointee.forgetForeseen() }
    }

    /// Returns the level that the event's name demands on every route.
    public mutating func raise(of event: ScannedEvent, _ name: inout EventName, _ nameSlot: Int) -> Int {
        guard let rules, !rules.pointee.raises.isEmpty else { return 0 }
        return raise(event, rules: rules, name: &name, nameSlot: nameSlot)
    }

    private mutating func raise(
        _ event: ScannedEvent, rules: UnsafePointer<Rules>, name: inout EventName, nameSlot: Int
    ) -> Int {
        if raisedTo < 0 {
            raisedTo = raisedFrom
            if let name = name.read(event, slot: nameSlot) {
                for raise in rules.pointee.raises where raise.level > raisedTo && raise.globs.match(name) { raisedTo = raise.level }
            }
        }
        return raisedTo
    }
}

extension UnsafeBufferPointer<Gate.Field> {
    /// Returns the highest level, up to `most`, that a member of the event demands.
    @inline(__always) fileprivate func level(in event: ScannedEvent, most: Int) -> Int {
        if most == 0 { return 0 }
        for field in self where field.level <= most && event.slots[field.slot].isPresent { return field.level }
        return 0
    }
}
