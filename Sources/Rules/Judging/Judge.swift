// The judge: Event in, Verdicts out. Filter, consent, sample, in this order, then the edited copy for each lane.
// It promises the same verdict for the same event, wherever it is asked; it builds nothing for an event.

public import Admission
public import ConsentGate
internal import Editing
public import Events
internal import Expressions
internal import Matching
internal import Sampling

/// Judges events. One for each worker, since it holds scratch space.
public struct Judge: ~Copyable {
    let ruleset: Ruleset
    let rules: Rules
    /// Tells one event from another: what was found out in another turn is not asked again, but found out anew.
    private(set) var turn: UInt64 = 0
    var name = EventName()
    var gate: Gate
    var sampler: Sampler
    private var editor: Editor
    private var transformer: Transformer
    /// What the program of the route made that was asked last.
    private var made: Transformer.Made?
    private var transformErrors = 0
    /// What the steps found out about the event, where that was asked for.
    private var steps: [StepFinding] = []
    var messageIDs: MessageIDs
    /// That of an event which has waited; nil: it was given none.
    var givenID: ByteRun?
    /// What is to wait, of all events since it was forgotten.
    public internal(set) var held = HeldEvents()
    /// The routes that would have the present event wait.
    var holding: [Int] = []
    var decoder = Decoder()
    var evaluator: Evaluator
    private var sessions: SessionWriter
    private var emitter: Emitter
    /// When and where the event came in.
    private(set) var around = EvaluationContext(now: 0)
    private var keepErrors = 0
    /// Nothing of the event is remembered, so that the verdicts on the next ones are as if it had never been asked about.
    var isTrial = false
    /// By route, whether the event may take it, as its key says; nil: it may take all.
    private var bounds: UnsafePointer<Bool>?
    /// A route took the event: its filter let it in, whatever consent and the sample said then.
    private var isTaken = false
    /// Nil: no ledger is kept, and no event speaks to it.
    var statement: ConsentStatementReader?
    var sampleDecisions = SampleDecisions()
    private let immediate: UnsafeMutablePointer<Immediate>

    private struct Immediate: BitwiseCopyable {
        var turn: UInt64 = 0
        var isImmediate = false
    }

    public init(_ ruleset: Ruleset) {
        self.ruleset = ruleset
        rules = ruleset.rules
        gate = Gate(ruleset.consent, subjects: Subjects(slots: rules.subjects, key: rules.subjectKey), records: ruleset.records)
        sampler = Sampler(slots: rules.sampled, messageID: rules.messageIDSlot)
        editor = Editor(
            edits: rules.edits, growth: rules.growth,
            digests: Digests(
                rules.digests, keys: rules.keys, rooms: rules.rooms, keepsDigests: ruleset.keepsDigests))
        transformer = Transformer(ruleset.stages, ruleset.programs)
        messageIDs = MessageIDs(key: SipKey(ruleset.messageIDKey ?? Ruleset.chance()))
        evaluator = Evaluator(ruleset.conditions, sources: ruleset.sources)
        sessions = SessionWriter(ruleset.sessionPaths, key: rules.subjectKey)
        emitter = Emitter(rules.emits, markSlot: rules.markSlot, messageIDSlot: rules.messageIDSlot, paths: ruleset.paths)
        if let statement = rules.statement, let consent = ruleset.consent {
            self.statement = ConsentStatementReader(statement.pointee, consent, subjects: rules.subjects)
        }
        immediate = .allocate(capacity: max(1, rules.immediate.count))
        immediate.initialize(repeating: Immediate(), count: max(1, rules.immediate.count))
    }

    deinit { immediate.deallocate() }

    /// Judges one event by every route; the admitted copies, edited, are appended to the parcels of their lanes.
    /// `parcels` holds one for each provider of the plan, in order. The event must have been scanned with the
    /// ruleset's paths.
    /// `source` is an index into the plan's sources; `key` tells which of its keys says what the event may, counted from 1; 0: none does.
    public mutating func judge(
        _ event: ScannedEvent, arrival: Int64, source: Int = 0, key: Int = 0, into parcels: UnsafeMutablePointer<Parcel>,
        tally: inout Tally
    ) {
        tally.countEvent()
        bounds = key == 0 ? nil : rules.bounds[source][key - 1]
        judgeAlone(event, arrival, source, parcels, &tally)
        if !emitter.isIdle { emit(event, arrival, source, parcels, &tally) }
    }

    /// Whether it is quicker when it knows of an event that comes next.
    public var looksAhead: Bool { gate.looksAhead }

    /// This event comes after the one that is judged next, and is not changed until then. Memory is asked for what it will take.
    @inline(__always) public mutating func expect(_ event: ScannedEvent) {
        if !rules.namesDecide || isNamed(event) { gate.expect(event) }
    }

    /// Whether some route takes events of that name.
    @inline(__always) private func isNamed(_ event: ScannedEvent) -> Bool {
        guard let name = event.slots[rules.nameSlot].string(in: event.block) else { return false }
        // To decode a name only to ask ahead does not pay.
        return name.hasEscape || rules.routes.contains { $0.events.match(name) }
    }

    /// No event that was expected is there any more.
    public mutating func expectNothing() { gate.expectNothing() }

    /// The events from now on have these subjects, whatever ids they carry: they were edited before.
    public mutating func know(subjects: [SubjectKey]) { gate.know(subjects) }

    /// The keys of the event's subjects.
    public mutating func subjects(of event: ScannedEvent) -> [SubjectKey] {
        begin(0, 0)
        return Array(gate.subjects(of: event))
    }

    /// Which signals of consent were broken in the events so far; they are told once.
    public mutating func takeBrokenSignals() -> Set<ConsentMember> { gate.takeBroken() }

    /// What is made of the event, a line each.
    public mutating func emissions(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [[UInt8]] {
        begin(arrival, source)
        guard !emitter.isIdle else { return [] }
        _ = emitter.make(of: event, &evaluator, &editor, around, turn: turn)
        return (0..<emitter.count).map { emitter.line($0) }
    }

    @inline(never) private mutating func emit(
        _ event: ScannedEvent, _ arrival: Int64, _ source: Int, _ parcels: UnsafeMutablePointer<Parcel>, _ tally: inout Tally
    ) {
        let raised = gate.raise(of: event, &name, rules.nameSlot)
        tally.countEmitErrors(emitter.make(of: event, &evaluator, &editor, around, turn: turn))
        for index in 0..<emitter.count {
            guard let made = emitter.event(index) else {
                tally.countEmitErrors(1)
                continue
            }
            tally.countEmitted()
            judgeAlone(made, arrival, source, parcels, &tally, raisedFrom: raised)
        }
    }

    @inline(__always) private mutating func judgeAlone(
        _ event: ScannedEvent, _ arrival: Int64, _ source: Int, _ parcels: UnsafeMutablePointer<Parcel>, _ tally: inout Tally,
        raisedFrom: Int = 0
    ) {
        begin(arrival, source, raisedFrom: raisedFrom)
        for route in 0..<rules.routes.count {
            switch decide(event, route) {
            case .admitted(let copy):
                tally.count(.admitted, route: route)
                append(copy, event, arrival, parcels)
            case .refused(let verdict):
                tally.count(verdict, route: route)
                if case .held = verdict { holding.append(route) }
            }
            if keepErrors > 0 {
                tally.countKeepErrors(keepErrors, route: route)
                keepErrors = 0
            }
            if transformErrors > 0 {
                tally.countTransformErrors(transformErrors, route: route)
                transformErrors = 0
            }
        }
        if !holding.isEmpty { hold(event, arrival, level: raisedFrom) }
    }

    /// What is to wait was seen to.
    public mutating func forgetHeld() { held.removeAll() }

    /// Of an event that has waited.
    mutating func begin(held terms: HeldTerms) {
        begin(terms.arrival, terms.source ?? -1, raisedFrom: terms.level)
        bounds = terms.source.flatMap { source in terms.key == 0 ? nil : rules.bounds[source][terms.key - 1] }
    }

    /// What a route says of an event that has waited.
    @inline(never) mutating func decide(
        held event: ScannedEvent, _ route: Int, _ arrival: Int64, _ parcels: UnsafeMutablePointer<Parcel>
    ) -> Verdict {
        defer { (keepErrors, transformErrors) = (0, 0) }
        switch decide(event, route) {
        case .refused(let verdict): return verdict
        case .admitted(let copy):
            if !isTrial { append(copy, event, arrival, parcels) }
            return .admitted
        }
    }

    /// Whether an event with this `messageId` came before; if not, it is noted.
    public mutating func note(_ event: ScannedEvent, in seen: SeenIDs, at time: Int64) -> Repetition {
        guard let id = decoder.identity(event.slots[rules.messageIDSlot], in: event.block, booleans: false) else { return .none }
        return seen.note(id, at: time).map(Repetition.new) ?? .duplicate
    }

    /// What each route says of the event, in order; nothing is appended, and nothing remembered.
    public mutating func verdicts(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Verdict] {
        tried(event, arrival, source).map(\.verdict)
    }

    /// The verdicts, and what the steps of each route found out.
    mutating func tried(_ event: ScannedEvent, _ arrival: Int64, _ source: Int) -> [(verdict: Verdict, steps: [StepFinding])] {
        isTrial = true
        defer { (isTrial, keepErrors, transformErrors) = (false, 0, 0) }
        bounds = nil
        begin(arrival, source)
        return (0..<rules.routes.count).map { route in
            steps = []
            let verdict: Verdict =
                switch decide(event, route) {
                case .admitted: .admitted
                case .refused(let verdict): verdict
                }
            return (verdict, steps)
        }
    }

    private enum Decision: ~Copyable {
        case admitted(Copy)
        case refused(Verdict)
    }

    /// What an admitted event becomes on its route.
    private struct Copy: ~Copyable {
        let admitted: Admitted
        let route: Int
        /// An index of the ruleset's edits; -1: none; below: a program.
        let edit: Int
    }

    /// The next event is another one.
    @inline(__always) private mutating func begin(_ arrival: Int64, _ source: Int, raisedFrom: Int = 0) {
        around = EvaluationContext(now: arrival, source: source)
        turn &+= 1
        isTaken = false
        name.forget()
        gate.forget(raisedFrom: raisedFrom)
    }

    /// The stage of the filter that keeps the event out; nil: the route takes it.
    @inline(__always) mutating func filter(_ event: ScannedEvent, _ index: Int) -> FilterStage? {
        let route = rules.routes.baseAddress! + index
        if let bounds, !bounds[index] { return .key }
        if route.pointee.takesRest, isTaken { return .else }
        if !route.pointee.events.isEmpty {
            guard let text = name.read(event, slot: rules.nameSlot), route.pointee.events.match(text) else {
                return .events
            }
        }
        for rule in route.pointee.match where !rule.matches(event, &decoder) { return .match }
        if !route.pointee.not.isEmpty, route.pointee.not.holds(event, &name, nameSlot: rules.nameSlot, &decoder) {
            return .not
        }
        if route.pointee.condition >= 0 {
            switch evaluator.decide(route.pointee.condition, event, around) {
            case .yes: break
            case .no: return .where
            case .error: return .whereErrors
            }
        }
        isTaken = true
        return nil
    }

    @inline(__always) private mutating func decide(_ event: ScannedEvent, _ index: Int) -> Decision {
        if let stage = filter(event, index) { return .refused(.filtered(stage)) }
        let route = rules.routes.baseAddress! + index
        switch gate.pass(event, route.pointee.demand, name: &name, nameSlot: rules.nameSlot) {
        case .denied(let denial): return .refused(.denied(denial))
        case .held: return .refused(.held)
        case .admitted(let admitted):
            var rate = 0
            if let sample = route.pointee.sample {
                switch sampled(sample, event) {
                case .out(let verdict): return .refused(verdict)
                case .isIn(let found): rate = found
                }
            }
            let hasSession = route.pointee.session.map { sessions.hasSubject($0, event) } ?? false
            let edit = route.pointee.edits.edit(level: admitted.stateLevel, rate: rate, hasSession: hasSession)
            return transformed(Copy(admitted: admitted, route: index, edit: edit), event)
        }
    }

    /// A copy that takes more than splices is made here, since that may hold the event back.
    @inline(__always) private mutating func transformed(_ copy: consuming Copy, _ event: ScannedEvent) -> Decision {
        guard let program = EditVariants.program(of: copy.edit) else { return .admitted(copy) }
        if isTrial { steps = transformer.trace(program, event, around, turn: turn) }
        made = transformer.run(program, event, around, turn: turn)
        transformErrors = transformer.errors
        return made == nil ? .refused(.withheld) : .admitted(copy)
    }

    mutating func keeps(_ condition: Int, _ event: ScannedEvent) -> Bool {
        let truth = evaluator.decide(condition, event, around)
        if truth == .error { keepErrors += 1 }
        return truth == .yes
    }

    /// The copy is edited once; the lanes of the route's other providers get the same bytes.
    @inline(__always) private mutating func append(
        _ copy: consuming Copy, _ event: ScannedEvent, _ arrival: Int64, _ parcels: UnsafeMutablePointer<Parcel>
    ) {
        let route = rules.routes.baseAddress! + copy.route
        let providers = route.pointee.providers
        guard let first = providers.first else { return }
        var note = Parcel.Note(
            route: route.pointee.number, isImmediate: isImmediate(first, event), arrival: arrival, subjects: gate.subjects(of: event))
        let line = write(copy, event, note, to: parcels + first)
        if let rule = route.pointee.session, let session = sessions.id(rule, event, at: arrival) {
            sessions.write(session, rule, on: line.text)
        }
        for provider in providers.dropFirst() {
            note.isImmediate = isImmediate(provider, event)
            parcels[provider].append(copy.admitted, note, copyOf: line)
        }
    }

    /// Writes the edited copy, and its message id where it lacks one and gets one.
    @inline(__always) private mutating func write(
        _ copy: borrowing Copy, _ event: ScannedEvent, _ note: Parcel.Note, to parcel: UnsafeMutablePointer<Parcel>
    ) -> Parcel.Line {
        var source = event
        var messageID = event.slots[rules.messageIDSlot]
        if EditVariants.program(of: copy.edit) != nil, let made {
            source = made.event
            messageID = rules.messageIDSlot == 0 ? Slot() : made.messageID
        }
        let isAdding = rules.routes[copy.route].addsMessageIDs && MessageIDs.lacks(messageID, in: source.block)
        let added = isAdding ? givenID ?? messageIDs.text(turn) : nil
        let edit = copy.edit
        let room = Int(source.end &- source.start) &+ editor.growth(edit) &+ 1 &+ Words.slack &+ MessageIDs.growth
        let out = parcel.pointee.place(forLineOf: room)
        // Only a string counts as an id. What stands in its quotes begins behind the first.
        let hasID = messageID.end != 0 && source.block[Int(messageID.start)] == UInt8(ascii: "\"")
        let isReplaced = added != nil && messageID.end != 0
        var writer = EditWriter(
            block: source.block, out: out, id: isReplaced ? messageID.start : hasID ? messageID.start &+ 1 : .max)
        if edit >= 0 {
            editor.write(source, root: edit, turn: turn, to: &writer)
        } else {
            writer.copy(source.start, source.end)
        }
        if let added { writer.idAt = writer.add(id: added, width: Int(messageID.end &- messageID.start)) }
        writer.put(UInt8(ascii: "\n"))
        assert(writer.out - out <= room, "a line fits the room that was made for it")
        var place = Parcel.MessageIDPlace()
        if let at = writer.idAt {
            place.offset = UInt32(truncatingIfNeeded: at - out)
            place.count = added == nil ? messageID.end &- messageID.start &- 2 : UInt32(MessageIDs.length - 2)
        }
        return parcel.pointee.append(copy.admitted, note, lineOf: writer.out - out, messageID: place)
    }

    @inline(__always) private mutating func isImmediate(_ provider: Int, _ event: ScannedEvent) -> Bool {
        let globs = rules.immediate[provider]
        return !globs.isEmpty && isImmediate(provider, event, globs)
    }

    @inline(never) private mutating func isImmediate(_ provider: Int, _ event: ScannedEvent, _ globs: Globs) -> Bool {
        if immediate[provider].turn != turn {
            let text = name.read(event, slot: rules.nameSlot)
            immediate[provider] = Immediate(turn: turn, isImmediate: text.map(globs.match) ?? false)
        }
        return immediate[provider].isImmediate
    }
}
