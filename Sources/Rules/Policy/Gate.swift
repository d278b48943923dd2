// The consent gate. Nothing else can make an `Admitted`, and nothing reaches a parcel without one.
// It fails closed: what is unknown, broken or not covered is denied, unless nothing is demanded.

internal import Configuration
internal import Events

/// Leave to send one event by one route. Only the gate can make one, since the initializer is private to this file;
/// sampling may end it, and a parcel takes nothing else.
public struct Admitted: ~Copyable {
    /// An index into the plan's routes.
    let route: Int
    /// The edits that apply, those included that cut what the event's state of consent does not allow; -1: none; below: a program.
    var edit: Int { variants[variant] }
    /// Which of the ruleset's programs makes the copy; nil: splices alone do.
    @inline(__always) var program: Int? { edit < -1 ? -2 - edit : nil }
    /// What stands for a program among edits.
    static func edit(ofProgram number: Int) -> Int { -2 - number }
    /// The edits that there are for this state of consent, by what the later stages write on the event.
    private let variants: UnsafePointer<Int>
    private var variant = 0
    /// What it must go on having while it waits, for the entry.
    let level: UInt8

    fileprivate init(route: Int, variants: UnsafePointer<Int>, level: UInt8 = EntryLevel.none) {
        self.route = route
        self.variants = variants
        self.level = level
    }

    /// What is written is that many variants further on.
    mutating func advance(_ count: Int) { variant += count }
}

/// What the gate says.
enum Passage: ~Copyable {
    case admitted(Admitted)
    case denied(Denial)
    /// Nothing is known of its subjects, and it is to wait until they answer.
    case held
}

/// What one route demands, and its edits.
struct RouteGate: BitwiseCopyable {
    var level = 0
    var purposes: Purposes?
    /// By the level of the event's state, where fields are configured; for each level by the rate of
    /// the sample, where it is written; for each rate without the id of a session and with it, where the route tells sessions.
    var edits: UnsafeBufferPointer<Int>
    /// How many there are for a level.
    var variants = 1
    /// How many there are for a rate; 0: no rate is written.
    var stride = 0
}

struct Gate: ~Copyable {
    struct Raise: BitwiseCopyable {
        let globs: Globs
        let level: Int
        /// An index into the plan's events that demand more.
        let index: Int
    }

    struct Rules: BitwiseCopyable {
        let consent: ConsentRules
        let raises: UnsafeBufferPointer<Raise>
        let cutsFields: Bool
        /// By level: the highest that a member demands which an event of that level keeps.
        let keeps: UnsafeBufferPointer<Int>
        /// By level: how an entry has it.
        let entryLevels: UnsafeBufferPointer<UInt8>
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
    init(_ rules: UnsafePointer<Rules>?, subjects: consuming Subjects, records: ConsentRecords?) {
        self.rules = rules
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
    @inline(__always) mutating func forget(raisedFrom: Int) {
        subjects.forget()
        guard rules != nil else { return }
        raisedTo = -1
        self.raisedFrom = raisedFrom
        let reader = reader
        reader.pointee.forget()
    }

    /// Whether something can be on record of an event's subjects.
    var looksAhead: Bool {
        guard rules != nil else { return false }
        let standings = standings
        return standings.pointee.hasRecords
    }

    @inline(__always) mutating func expect(_ event: ScannedEvent) {
        let standings = standings
        standings.pointee.prepare(subjects.expect(event))
    }

    mutating func expectNothing() { subjects.expectNothing() }

    @inline(__always) mutating func pass(
        _ event: ScannedEvent, route: Int, demand: UnsafePointer<RouteGate>, name: inout EventName, nameSlot: Int
    ) -> Passage {
        let edits = demand.pointee.edits.baseAddress!
        guard let rules else { return .admitted(Admitted(route: route, variants: edits)) }
        let level = level(demand, event, rules, &name, nameSlot)
        let isDemanding = level > 0 || demand.pointee.purposes != nil
        let cutsFields = rules.pointee.cutsFields
        guard isDemanding || cutsFields else { return .admitted(Admitted(route: route, variants: edits)) }

        let state = state(of: event)
        if isDemanding {
            switch state.kind {
            case .broken: return .denied(.broken)
            case .unreadable:
                let standings = standings
                return .denied(standings.pointee.isClockBehind ? .clock : .unreadable)
            case .unknown: return holds(event) ? .held : .denied(.unknown)
            case .known: break
            }
            if state.level < level { return .denied(.level) }
            if let purposes = demand.pointee.purposes, !rules.pointee.consent.contains(state.granted, purposes) {
                return .denied(.purpose)
            }
        }
        let held = cutsFields ? max(level, rules.pointee.keeps[state.level]) : level
        return .admitted(
            Admitted(
                route: route, variants: edits + (cutsFields ? state.level &* demand.pointee.variants : 0),
                level: rules.pointee.entryLevels[held]))
    }

    /// Whether an event of unknown subjects waits. One without an id could wait for nobody's answer.
    @inline(never) private mutating func holds(_ event: ScannedEvent) -> Bool {
        assumed(of: event) == UnknownRules.hold && !subjects.read(event).isEmpty
    }

    /// The level that the route or the event's name demands, whichever is higher.
    @inline(__always) mutating func level(
        _ demand: UnsafePointer<RouteGate>, _ event: ScannedEvent, _ rules: UnsafePointer<Rules>, _ name: inout EventName,
        _ nameSlot: Int
    ) -> Int {
        let own = demand.pointee.level
        return rules.pointee.raises.isEmpty ? own : max(own, raise(event, rules, &name, nameSlot))
    }

    @inline(__always) mutating func state(of event: ScannedEvent) -> ConsentState {
        let (reader, standings) = (reader, standings)
        return reader.pointee.read(event) { standings.pointee.of(subjects.read(event)) }
    }

    /// What is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed {
        let reader = reader
        return reader.pointee.assumed(of: event)
    }

    /// The signals of events so far that were broken; they are told once.
    mutating func takeBroken() -> Set<ConsentMember> {
        guard rules != nil else { return [] }
        let reader = reader
        return reader.pointee.takeBroken()
    }

    /// The events from now on have these subjects, whatever ids they carry.
    mutating func know(_ known: [SubjectKey]) { subjects.know(known) }

    /// The keys of the event's subjects. Valid until the next event.
    @inline(__always) mutating func subjects(of event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> { subjects.read(event) }

    /// Whether somebody knows what is on record.
    var hasRecords: Bool {
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
    func hasAsked(for key: SubjectKey) -> Bool {
        let standings = standings
        return rules != nil && standings.pointee.asked.mayContain(key)
    }

    func forgetAsked() {
        let standings = standings
        if rules != nil { standings.pointee.forgetAsked() }
    }

    func foresee(_ key: SubjectKey, _ terms: [ConsentTerms]) {
        let standings = standings
        if rules != nil { standings.pointee.foresee(key, terms) }
    }

    func forgetForeseen() {
        let standings = standings
        if rules != nil { standings.pointee.forgetForeseen() }
    }

    /// The level that the event's name demands on every route.
    mutating func raise(of event: ScannedEvent, _ name: inout EventName, _ nameSlot: Int) -> Int {
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
