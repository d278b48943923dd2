// The judge decides for each route what becomes of an event: filter, consent, sample, transform, in this order. It appends the edited copy
// to the parcel of each lane. It promises the same verdict for the same event, whether it routes the event or explains it. It reads the
// scanned event in place and never builds objects from it.

public import Admission
public import ConsentGate
public import Events
internal import Matching
internal import TrackingPlans

/// Judges events. One for each worker, since it holds scratch space.
public struct Judge: ~Copyable {
    let ruleset: Ruleset
    let rules: Rules
    var context: EventContext
    var filter: RouteFilter
    var gate: Gate
    var sampling: RouteSampling
    var copies: CopyWriter
    /// The check of the tracking plan. It is nil if there is none.
    var plan: PlanStage?
    private var emitter: Emitter
    var sheet: VerdictSheet
    /// The events that somebody watches.
    var watched = EventWatch()
    private var candidates: RouteCandidates
    /// The events that must be held, since the last call of `forgetHeld`.
    public internal(set) var held = HeldEvents()
    /// The copies of events that the tracking plan rejects, since the last call of `forgetHeld`.
    public internal(set) var rejected: [RejectedEvents] = []
    /// For each event of `held`, its row for the audit trail. It is empty if no verdicts are collected.
    private var heldRows: [Int] = []
    /// The routes that hold the present event.
    var holding: [Int] = []
    /// Reads the statements that events make to the ledger. It is nil if there is no ledger.
    var statement: ConsentStatementReader?

    public init(_ ruleset: Ruleset) {
        self.ruleset = ruleset
        rules = ruleset.rules
        context = EventContext(ruleset.conditions, sources: ruleset.sources, nameSlot: rules.nameSlot)
        filter = RouteFilter(rules)
        gate = Gate(ruleset.consent, subjects: Subjects(slots: rules.subjects, key: rules.subjectKey), records: ruleset.records)
        sampling = RouteSampling(rules)
        copies = CopyWriter(ruleset)
        plan = ruleset.trackingPlan.map { PlanStage($0, ruleset.paths) }
        emitter = Emitter(rules.emits, markSlot: rules.markSlot, messageIDSlot: rules.messageIDSlot, paths: ruleset.paths)
        sheet = VerdictSheet(ruleset.verdictKeeping, routes: rules.routes.count)
        candidates = RouteCandidates(rules.index)
        if let statement = rules.statement, let consent = ruleset.consent {
            self.statement = ConsentStatementReader(statement.pointee, consent, subjects: rules.subjects)
        }
    }

    /// Judges one event by every route, and appends the edited copies to the parcels of their lanes. `parcels` has one parcel for each
    /// provider of the plan, in order. The event must have been scanned with the ruleset's paths. `source` is an index into the plan's
    /// sources. `key` is the key of the source with which the event came, counted from 1; 0 means no key.
    public mutating func judge(
        _ event: ScannedEvent, arrival: Int64, source: Int = 0, key: Int = 0, into parcels: UnsafeMutablePointer<Parcel>,
        tally: inout Tally
    ) {
        tally.countEvent()
        filter.limit(source: source, key: key)
        judgeAlone(event, arrival: arrival, source: source, parcels: parcels, tally: &tally)
        if !emitter.isIdle { emit(event, arrival: arrival, source: source, parcels: parcels, tally: &tally) }
    }

    /// True if the judge is faster when later events are announced to it.
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

    /// Sets the subjects of all later events, whatever ids they carry, and the level that their members demand, whatever names these have:
    /// the events were edited before.
    public mutating func know(subjects: [SubjectKey], level: Int) { gate.know(subjects, level: level) }

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
        _ = emitter.make(of: event, editor: &copies.editor, &context)
        return (0..<emitter.count).map { emitter.line($0) }
    }

    @inline(never) private mutating func emit(
        _ event: ScannedEvent, arrival: Int64, source: Int, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally
    ) {
        let raised = gate.raise(of: event, &context.name, rules.nameSlot)
        context.beginEmit()
        tally.countEmitErrors(emitter.make(of: event, editor: &copies.editor, &context))
        for index in 0..<emitter.count {
            guard let made = emitter.event(index) else {
                tally.countEmitErrors(1)
                continue
            }
            tally.countEmitted()
            judgeAlone(made, arrival: arrival, source: source, parcels: parcels, tally: &tally, raisedFrom: raised, isEmitted: true)
        }
    }

    @inline(__always) private mutating func judgeAlone(
        _ event: ScannedEvent, arrival: Int64, source: Int, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally,
        raisedFrom: Int = 0, isEmitted: Bool = false
    ) {
        begin(arrival, source, raisedFrom: raisedFrom, isForLedger: !isEmitted && isForLedger(event))
        assert(holding.isEmpty, "routes that hold an earlier event")
        sheet.begin()
        if candidates.isUsed, !sheet.isKeeping, filter.asksFiltersFirst, candidates.choose(event, &context) {
            if sheet.isOn { sheet.setAll(.filtered(.events)) }
            visitChosen(event, arrival: arrival, parcels: parcels, tally: &tally)
        } else {
            for route in 0..<rules.routes.count { visit(route, event, arrival: arrival, parcels: parcels, tally: &tally) }
        }
        if let action = takeAction() { tally.count(action) }
        if sheet.isOn { useVerdicts(on: event, arrival: arrival) }
        if !holding.isEmpty {
            // An event that is held always has a row: the last one.
            if sheet.isKeeping { heldRows.append(sheet.count - 1) }
            hold(event, arrival, level: raisedFrom)
        }
    }

    /// Lets the chosen routes judge the event, in their order.
    @inline(never) private mutating func visitChosen(
        _ event: ScannedEvent, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally
    ) {
        let chosen = candidates.chosen
        for word in chosen.indices {
            var bits = chosen[word]
            while bits != 0 {
                let route = word &* UInt64.bitWidth &+ bits.trailingZeroBitCount
                visit(route, event, arrival: arrival, parcels: parcels, tally: &tally)
                bits &= bits &- 1
            }
        }
    }

    /// Lets one route judge the event.
    @inline(__always) private mutating func visit(
        _ route: Int, _ event: ScannedEvent, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally
    ) {
        switch decide(event, route) {
        case .admitted(let copy):
            tally.count(.admitted, route: route)
            if sheet.isOn { sheet.set(.admitted, route: route) }
            copies.append(copy, event: event, arrival: arrival, parcels: parcels, gate: &gate, context: &context)
        case .rejected(let copy):
            tally.count(.violating, route: route)
            if sheet.isOn { sheet.set(.violating, route: route) }
            reject(copy, event: event, arrival: arrival)
        case .refused(let verdict):
            tally.count(verdict, route: route)
            if sheet.isOn { sheet.set(verdict, route: route) }
            if case .held = verdict { holding.append(route) }
        }
        let keepErrors = sampling.takeErrors()
        if keepErrors > 0 { tally.countKeepErrors(keepErrors, route: route) }
        let transformErrors = copies.transform.takeErrors()
        if transformErrors > 0 { tally.countTransformErrors(transformErrors, route: route) }
    }

    /// Adds the verdicts of the routes that were left out since the last call, because their filters cannot take the events. Without this
    /// call the verdicts of a route do not add up to the events.
    public mutating func countLeftOut(into tally: inout Tally) { candidates.count(into: &tally) }

    /// Adds a row with the verdicts of the event for the audit trail, and shows the event to those who look for it.
    @inline(never) private mutating func useVerdicts(on event: ScannedEvent, arrival: Int64) {
        if sheet.wants { sheet.keep(identity(of: event)) }
        guard watched.looksFor(sheet.verdicts) else { return }
        let subjects = gate.subjects(of: event)
        watched.look(event, sheet.columns, subjects: subjects, arrival: arrival, held: holding.isEmpty ? nil : held.count)
    }

    /// Returns the `messageId` of the event or, if it has none, its line.
    private mutating func identity(of event: ScannedEvent) -> ByteRun {
        context.decoder.identity(event.slots[rules.messageIDSlot], in: event.block, booleans: false)
            ?? ByteRun(base: event.block + Int(event.start), count: Int(event.end - event.start))
    }

    /// Returns the hash under which the audit trail has the verdicts on the event. Returns nil if none are collected.
    public mutating func auditHash(of event: ScannedEvent) -> [UInt8]? { sheet.isKeeping ? sheet.hash(of: identity(of: event)) : nil }

    /// Denies the event with this index among `held`, because it cannot wait: its row gets the denial in place of `held`.
    public mutating func deny(held index: Int, _ denial: Denial) {
        guard sheet.isOn else { return }
        for route in held.routes(index) {
            if sheet.isKeeping { sheet.change(row: heldRows[index], route: route, to: .denied(denial)) }
            watched.settle(held: index, route: route, as: UInt8(Tally.column(of: .denied(denial))))
        }
    }

    /// Returns the rows of verdicts since the last call, for the audit trail.
    public mutating func takeVerdicts() -> [UInt8] { sheet.take() }

    /// Forgets the rows of verdicts and the watched events, since the events are judged again, given back or done.
    public mutating func forgetVerdicts() {
        sheet.removeAll()
        if watched.isOn { watched.forget() }
    }

    /// Forgets the events that must be held and those that were rejected, after the caller has taken care of them.
    public mutating func forgetHeld() {
        held.removeAll()
        rejected.removeAll(keepingCapacity: true)
        heldRows.removeAll(keepingCapacity: true)
    }

    /// Returns whether an event with the same `messageId` came before. If not, the id is noted.
    public mutating func note(_ event: ScannedEvent, in seen: SeenIDs, at time: Int64) -> Repetition {
        guard let id = context.decoder.identity(event.slots[rules.messageIDSlot], in: event.block, booleans: false) else { return .none }
        return seen.note(id, at: time).map(Repetition.new) ?? .duplicate
    }

    enum Decision: ~Copyable {
        case admitted(RouteCopy)
        /// The tracking plan rejects the event. The copy is for the dead letters.
        case rejected(RouteCopy)
        case refused(Verdict)
    }

    /// Begins with another event.
    @inline(__always) mutating func begin(_ arrival: Int64, _ source: Int, raisedFrom: Int = 0, isForLedger: Bool = false) {
        context.begin(arrival, source)
        filter.begin(isForLedger: isForLedger)
        gate.forget(raisedFrom: raisedFrom)
        beginPlan()
    }

    /// True if the event only speaks to the ledger: its type is `consent` or `reset`, and a ledger is kept. `identify`, `alias` and the
    /// preferences of Segment's platform are events that routes take like any other. Emitted events never speak to the ledger.
    @inline(__always) mutating func isForLedger(_ event: ScannedEvent) -> Bool {
        guard statement != nil else { return false }
        switch statement(event) {
        case .own, .reset: return emitter.isIdle || !event.slots[rules.markSlot].isPresent
        case .none, .preferences, .alias, .identify: return false
        }
    }

    /// Returns what becomes of the event on one route.
    @inline(__always) mutating func decide(_ event: ScannedEvent, _ index: Int) -> Decision {
        if let stage = filter.stage(event, route: index, context: &context) { return .refused(.filtered(stage)) }
        let route = rules.routes.baseAddress! + index
        switch gate.pass(event, route.pointee.demand, name: &context.name, nameSlot: rules.nameSlot) {
        case .denied(let denial): return .refused(.denied(denial))
        case .held: return .refused(.held)
        case .admitted(let admitted):
            var rate = 0
            if let sample = route.pointee.sample {
                switch sampling.decide(sample, event, context: &context) {
                case .out(let verdict): return .refused(verdict)
                case .isIn(let found): rate = found
                }
            }
            // The plan is asked last, so that it never looks at an event that no route takes.
            let planned = ruleset.trackingPlan == nil ? .passes(event) : checkPlan(event)
            let edit = copies.edit(route, level: admitted.stateLevel, rate: rate, event)
            switch planned {
            case .passes(let source):
                guard copies.prepare(edit, source, context: context) else { return .refused(.withheld) }
                return .admitted(RouteCopy(admitted: admitted, source: source, route: index, edit: edit))
            case .rejected:
                guard copies.prepare(edit, event, context: context) else { return .refused(.withheld) }
                return .rejected(RouteCopy(admitted: admitted, source: event, route: index, edit: edit))
            }
        }
    }
}
