// The consent gate: what a route and the event's name demand, held against the state of consent of the event. The comparison itself, and what
// follows from it, is the seal's (`Admission`); this finds both sides of it, once for each event and only when a rule asks.

public import Admission
public import Events
public import Matching

/// What the gate says.
public enum GateAnswer: ~Copyable {
    case admitted(Admitted)
    case denied(Denial)
    /// Nothing is known of the event's subjects, and it waits until they answer.
    case held
}

public struct Gate: ~Copyable {
    struct Raise: BitwiseCopyable {
        let globs: Globs
        let level: Int
        /// An index into the plan's events that demand more.
        let index: Int
    }

    struct Rules: BitwiseCopyable {
        let consent: ConsentRules
        let raises: UnsafeBufferPointer<Raise>
        let admission: AdmissionRules
    }

    /// Nil: there is no consent section, and the gate is off.
    let rules: UnsafePointer<Rules>?
    /// There is one where there are rules. Copied before what it points to is changed, or the compiler (6.3.1) fails under
    /// the thread sanitizer, since it is a member of a noncopyable value.
    private let reader: UnsafeMutablePointer<ConsentReader>
    private let standings: UnsafeMutablePointer<Standings>
    private var subjects: Subjects
    private var raisedTo = -1
    /// What the event's name demands at least: of one that was made of another, what the other's did.
    private var raisedFrom = 0

    /// `records`: what is on record of the subjects; nil: nothing is.
    public init(_ section: ConsentSection?, subjects: consuming Subjects, records: ConsentRecords?) {
        rules = section?.rules
        self.subjects = subjects
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

    /// The next event is another one.
    @inline(__always) public mutating func forget(raisedFrom: Int) {
        subjects.forget()
        guard rules != nil else { return }
        raisedTo = -1
        self.raisedFrom = raisedFrom
        let reader = reader
        reader.pointee.forget()
    }

    /// Whether something can be on record of an event's subjects.
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

    /// Whether the event may leave by a route that demands this.
    @inline(__always) public mutating func pass(_ event: ScannedEvent, _ demand: Demand, name: inout EventName, nameSlot: Int) -> GateAnswer
    {
        let demand = raised(demand, event, &name, nameSlot)
        switch Admission.decide(demand, rules?.pointer(to: \.admission), state: { state(of: event) }) {
        case .admitted(let admitted): return .admitted(admitted)
        case .denied(.unreadable):
            let standings = standings
            return .denied(standings.pointee.isClockBehind ? .clock : .unreadable)
        case .denied(let denial): return .denied(denial)
        case .unknown: return holds(event) ? .held : .denied(.unknown)
        }
    }

    /// Whether an event of unknown subjects waits. One without an id could wait for nobody's answer.
    @inline(never) private mutating func holds(_ event: ScannedEvent) -> Bool {
        assumed(of: event) == UnknownRules.hold && !subjects.read(event).isEmpty
    }

    /// What the route demands, at the level of the event's name if that is higher.
    @inline(__always) mutating func raised(_ demand: Demand, _ event: ScannedEvent, _ name: inout EventName, _ nameSlot: Int) -> Demand {
        guard let rules, !rules.pointee.raises.isEmpty else { return demand }
        return Demand(level: max(demand.level, raise(event, rules, &name, nameSlot)), purposes: demand.purposes)
    }

    @inline(__always) mutating func state(of event: ScannedEvent) -> ConsentState {
        let (reader, standings) = (reader, standings)
        return reader.pointee.known ?? reader.pointee.read(event, standing: standings.pointee.of(subjects.read(event)))
    }

    /// What is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed {
        let reader = reader
        return reader.pointee.assumed(of: event)
    }

    /// The signals of events so far that were broken; they are told once.
    public mutating func takeBroken() -> Set<ConsentMember> {
        guard rules != nil else { return [] }
        let reader = reader
        return reader.pointee.takeBroken()
    }

    /// The events from now on have these subjects, whatever ids they carry.
    public mutating func know(_ known: [SubjectKey]) { subjects.know(known) }

    /// The keys of the event's subjects. Valid until the next event.
    @inline(__always) public mutating func subjects(of event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> { subjects.read(event) }

    /// Whether somebody knows what is on record.
    public var hasRecords: Bool {
        guard rules != nil else { return false }
        let standings = standings
        return standings.pointee.hasRecords
    }

    /// What is on record of the event's subjects.
    mutating func standing(of event: ScannedEvent) -> Standing? {
        guard rules != nil else { return nil }
        let standings = standings
        return standings.pointee.of(subjects.read(event))
    }

    // MARK: - What changes while a block is judged

    /// Whether what was judged since `forgetAsked` may hang on what is on record of the subject.
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

    /// The level that the event's name demands on every route.
    public mutating func raise(of event: ScannedEvent, _ name: inout EventName, _ nameSlot: Int) -> Int {
        guard let rules, !rules.pointee.raises.isEmpty else { return 0 }
        return raise(event, rules, &name, nameSlot)
    }

    private mutating func raise(
        _ event: ScannedEvent, _ rules: UnsafePointer<Rules>, _ name: inout EventName, _ nameSlot: Int
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
