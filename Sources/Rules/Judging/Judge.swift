// The judge decides for each route what becomes of an event: filter, consent, sample, in this order. It appends the edited copy to the
// parcel of each lane. It promises the same verdict for the same event, whether it routes the event or explains it. It reads the scanned
// event in place and never builds objects from it.

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
    /// The number of the present event. A cached answer is used only if it has this number.
    private(set) var turn: UInt64 = 0
    var name = EventName()
    var gate: Gate
    var sampler: Sampler
    private var editor: Editor
    private var transformer: Transformer
    /// The result of the program that ran last.
    private var made: Transformer.Made?
    private var transformErrors = 0
    /// The findings of the steps of the present route. They are collected only in a trial.
    private var steps: [StepFinding] = []
    var messageIDs: MessageIDs
    /// The message id that a held event was given when it came. It is nil if it was given none.
    var givenID: ByteRun?
    /// The events that must be held, since the last call of `forgetHeld`.
    public internal(set) var held = HeldEvents()
    /// The routes that hold the present event.
    var holding: [Int] = []
    var decoder = Decoder()
    var evaluator: Evaluator
    private var sessions: SessionWriter
    private var emitter: Emitter
    /// The time at which the present event came, and its source.
    private(set) var around = EvaluationContext(now: 0)
    private var keepErrors = 0
    /// True if nothing of the event is remembered, so that it does not change the verdicts on later events.
    var isTrial = false
    /// For each route, whether the key of the event allows it. It is nil if all routes are allowed.
    private var bounds: UnsafePointer<Bool>?
    /// True if a route took the event: its filter matched, whatever consent and the sample decided afterwards.
    private var isTaken = false
    /// Reads the statements that events make to the ledger. It is nil if there is no ledger.
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

    /// Judges one event by every route, and appends the edited copies to the parcels of their lanes. `parcels` has one parcel for each
    /// provider of the plan, in order. The event must have been scanned with the ruleset's paths. `source` is an index into the plan's
    /// sources. `key` is the key of the source with which the event came, counted from 1; 0 means no key.
    public mutating func judge(
        _ event: ScannedEvent, arrival: Int64, source: Int = 0, key: Int = 0, into parcels: UnsafeMutablePointer<Parcel>,
        tally: inout Tally
    ) {
        tally.countEvent()
        bounds = key == 0 ? nil : rules.bounds[source][key - 1]
        judgeAlone(event, arrival: arrival, source: source, parcels: parcels, tally: &tally)
        if !emitter.isIdle { emit(event, arrival: arrival, source: source, parcels: parcels, tally: &tally) }
    }

    /// True if the judge is faster when it is told about later events.
    public var looksAhead: Bool { gate.looksAhead }

    /// Announces the event that comes after the next one, so that the memory that it needs is fetched early. The event must not change
    /// until then.
    @inline(__always) public mutating func expect(_ event: ScannedEvent) {
        if !rules.namesDecide || isNamed(event) { gate.expect(event) }
    }

    /// Returns true if some route takes events with the name of this one.
    @inline(__always) private func isNamed(_ event: ScannedEvent) -> Bool {
        guard let name = event.slots[rules.nameSlot].string(in: event.block) else { return false }
        // It does not pay to decode a name only for a prefetch.
        return name.hasEscape || rules.routes.contains { $0.events.match(name) }
    }

    /// Forgets all announced events, because they are no longer valid.
    public mutating func expectNothing() { gate.expectNothing() }

    /// Sets the subjects of all later events, whatever ids they carry: these events were edited before.
    public mutating func know(subjects: [SubjectKey]) { gate.know(subjects) }

    /// Returns the keys of the event's subjects.
    public mutating func subjects(of event: ScannedEvent) -> [SubjectKey] {
        begin(0, 0)
        return Array(gate.subjects(of: event))
    }

    /// Returns the signals of consent that were broken in the events so far, and forgets them.
    public mutating func takeBrokenSignals() -> Set<ConsentMember> { gate.takeBroken() }

    /// Returns the events that are emitted for the event, one line each.
    public mutating func emissions(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [[UInt8]] {
        begin(arrival, source)
        guard !emitter.isIdle else { return [] }
        _ = emitter.make(of: event, &evaluator, editor: &editor, around: around, turn: turn)
        return (0..<emitter.count).map { emitter.line($0) }
    }

    @inline(never) private mutating func emit(
        _ event: ScannedEvent, arrival: Int64, source: Int, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally
    ) {
        let raised = gate.raise(of: event, &name, rules.nameSlot)
        tally.countEmitErrors(emitter.make(of: event, &evaluator, editor: &editor, around: around, turn: turn))
        for index in 0..<emitter.count {
            guard let made = emitter.event(index) else {
                tally.countEmitErrors(1)
                continue
            }
            tally.countEmitted()
            judgeAlone(made, arrival: arrival, source: source, parcels: parcels, tally: &tally, raisedFrom: raised)
        }
    }

    @inline(__always) private mutating func judgeAlone(
        _ event: ScannedEvent, arrival: Int64, source: Int, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally,
        raisedFrom: Int = 0
    ) {
        begin(arrival, source, raisedFrom: raisedFrom)
        for route in 0..<rules.routes.count {
            switch decide(event, route) {
            case .admitted(let copy):
                tally.count(.admitted, route: route)
                append(copy, event: event, arrival: arrival, parcels: parcels)
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

    /// Forgets the events that must be held, after the caller has taken care of them.
    public mutating func forgetHeld() { held.removeAll() }

    /// Begins with an event that was held.
    mutating func begin(held terms: HeldTerms) {
        begin(terms.arrival, terms.source ?? -1, raisedFrom: terms.level)
        bounds = terms.source.flatMap { source in terms.key == 0 ? nil : rules.bounds[source][terms.key - 1] }
    }

    /// Returns the verdict of a route on an event that was held. Appends an admitted copy, except in a trial.
    @inline(never) mutating func decide(
        held event: ScannedEvent, _ route: Int, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>
    ) -> Verdict {
        defer { (keepErrors, transformErrors) = (0, 0) }
        switch decide(event, route) {
        case .refused(let verdict): return verdict
        case .admitted(let copy):
            if !isTrial { append(copy, event: event, arrival: arrival, parcels: parcels) }
            return .admitted
        }
    }

    /// Returns whether an event with the same `messageId` came before. If not, the id is noted.
    public mutating func note(_ event: ScannedEvent, in seen: SeenIDs, at time: Int64) -> Repetition {
        guard let id = decoder.identity(event.slots[rules.messageIDSlot], in: event.block, booleans: false) else { return .none }
        return seen.note(id, at: time).map(Repetition.new) ?? .duplicate
    }

    /// Returns the verdict of each route, in order. Appends nothing and remembers nothing.
    public mutating func verdicts(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Verdict] {
        tried(event, arrival: arrival, source: source).map(\.verdict)
    }

    /// Returns the verdict of each route with the findings of its steps.
    mutating func tried(_ event: ScannedEvent, arrival: Int64, source: Int) -> [(verdict: Verdict, steps: [StepFinding])] {
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

    /// The copy that a route makes of an admitted event.
    private struct Copy: ~Copyable {
        let admitted: Admitted
        let route: Int
        /// An index into the ruleset's edits. It is -1 if there is no edit; lower numbers mean a program.
        let edit: Int
    }

    /// Begins with another event.
    @inline(__always) private mutating func begin(_ arrival: Int64, _ source: Int, raisedFrom: Int = 0) {
        around = EvaluationContext(now: arrival, source: source)
        turn &+= 1
        isTaken = false
        name.forget()
        gate.forget(raisedFrom: raisedFrom)
    }

    /// Returns the stage of the filter that excludes the event. Returns nil if the route takes the event.
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
        if !route.pointee.not.isEmpty, route.pointee.not.holds(event, name: &name, nameSlot: rules.nameSlot, decoder: &decoder) {
            return .not
        }
        if route.pointee.condition >= 0 {
            switch evaluator.decide(route.pointee.condition, event: event, around: around) {
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

    /// Runs the program of a copy that needs more than splices. It runs before the verdict, since it may withhold the event.
    @inline(__always) private mutating func transformed(_ copy: consuming Copy, _ event: ScannedEvent) -> Decision {
        guard let program = EditVariants.program(of: copy.edit) else { return .admitted(copy) }
        if isTrial { steps = transformer.trace(program, event: event, around: around, turn: turn) }
        made = transformer.run(program, event: event, around: around, turn: turn)
        transformErrors = transformer.errors
        return made == nil ? .refused(.withheld) : .admitted(copy)
    }

    mutating func keeps(_ condition: Int, _ event: ScannedEvent) -> Bool {
        let truth = evaluator.decide(condition, event: event, around: around)
        if truth == .error { keepErrors += 1 }
        return truth == .yes
    }

    /// Appends the copy to the parcels of the route's providers. It is edited once, and all lanes get the same bytes.
    @inline(__always) private mutating func append(
        _ copy: consuming Copy, event: ScannedEvent, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>
    ) {
        let route = rules.routes.baseAddress! + copy.route
        let providers = route.pointee.providers
        guard let first = providers.first else { return }
        var note = Parcel.Note(
            route: route.pointee.number, isImmediate: isImmediate(first, event), arrival: arrival, subjects: gate.subjects(of: event))
        let line = write(copy, event: event, note: note, to: parcels + first)
        if let rule = route.pointee.session, let session = sessions.id(rule, event, at: arrival) {
            sessions.write(session, rule, on: line.text)
        }
        for provider in providers.dropFirst() {
            note.isImmediate = isImmediate(provider, event)
            parcels[provider].append(copy.admitted, note, copyOf: line)
        }
    }

    /// Writes the edited copy. Adds a message id if the copy has none and the route adds one.
    @inline(__always) private mutating func write(
        _ copy: borrowing Copy, event: ScannedEvent, note: Parcel.Note, to parcel: UnsafeMutablePointer<Parcel>
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
        // Only a string counts as an id. Its text begins behind the first quote.
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
        assert(writer.out - out <= room, "a line fits the space that was reserved for it")
        var place = Parcel.MessageIDPlace()
        if let at = writer.idAt {
            place.offset = UInt32(truncatingIfNeeded: at - out)
            place.count = added == nil ? messageID.end &- messageID.start &- 2 : UInt32(MessageIDs.length - 2)
        }
        return parcel.pointee.append(copy.admitted, note, lineOf: writer.out - out, messageID: place)
    }

    @inline(__always) private mutating func isImmediate(_ provider: Int, _ event: ScannedEvent) -> Bool {
        let globs = rules.immediate[provider]
        return !globs.isEmpty && isImmediate(provider, event: event, globs: globs)
    }

    @inline(never) private mutating func isImmediate(_ provider: Int, event: ScannedEvent, globs: Globs) -> Bool {
        if immediate[provider].turn != turn {
            let text = name.read(event, slot: rules.nameSlot)
            immediate[provider] = Immediate(turn: turn, isImmediate: text.map(globs.match) ?? false)
        }
        return immediate[provider].isImmediate
    }
}
