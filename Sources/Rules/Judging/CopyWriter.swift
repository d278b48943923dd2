// Writes the edited copy of an admitted event into the parcels of the route's providers. The copy is edited once, and all lanes get the same
// bytes. Only the parcel can add a line, and it demands the `Admitted` of the copy.

internal import Admission
internal import ConsentGate
internal import Editing
internal import Events

/// The copy that a route makes of an admitted event.
struct RouteCopy: ~Copyable {
    let admitted: Admitted
    /// The event that is edited: the original, or the copy that the tracking plan changed.
    let source: ScannedEvent
    let route: Int
    /// An index into the ruleset's edits. It is -1 if there is no edit; lower numbers mean a program.
    let edit: Int
}

struct CopyWriter: ~Copyable {
    let rules: Rules
    var editor: Editor
    var transform: CopyTransform
    var messageIDs: MessageIDs
    /// The message id that a held event was given when it came. It is nil if it was given none.
    var givenID: ByteRun?
    private var sessions: SessionWriter
    private let immediate: ImmediateNames

    init(_ ruleset: Ruleset) {
        rules = ruleset.rules
        editor = Editor(
            edits: rules.edits, growth: rules.growth,
            digests: Digests(rules.digests, keys: rules.keys, editedDigests: rules.editedDigests, keepsDigests: ruleset.keepsDigests))
        transform = CopyTransform(ruleset)
        messageIDs = MessageIDs(key: SipKey(ruleset.messageIDKey ?? Ruleset.chance()))
        sessions = SessionWriter(ruleset.sessionPaths, key: rules.subjectKey)
        immediate = ImmediateNames(rules.immediate)
    }

    /// Returns the edit for a copy of the event. `level` is the level of its state, and `rate` is the index of its rate.
    @inline(__always) mutating func edit(_ route: UnsafePointer<RouteRules>, level: Int, rate: Int, _ event: ScannedEvent) -> Int {
        let hasSession = route.pointee.session.map { sessions.hasSubject($0, event) } ?? false
        return route.pointee.edits.edit(level: level, rate: rate, hasSession: hasSession)
    }

    /// Runs the program of a copy that needs more than splices. Returns false if it withholds the event.
    @inline(__always) mutating func prepare(_ edit: Int, _ event: ScannedEvent, context: borrowing EventContext) -> Bool {
        guard let program = EditVariants.program(of: edit) else { return true }
        return transform.run(program, event, context: context)
    }

    /// Appends the copy to the parcels of the route's providers.
    @inline(__always) mutating func append(
        _ copy: consuming RouteCopy, event: ScannedEvent, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>, gate: inout Gate,
        context: inout EventContext
    ) {
        let route = rules.routes.baseAddress! + copy.route
        let providers = route.pointee.providers
        guard let first = providers.first else { return }
        var note = Parcel.Note(
            route: route.pointee.number, isImmediate: immediate.contains(first, event, context: &context), arrival: arrival,
            subjects: gate.subjects(of: event))
        let line = write(copy, note: note, to: parcels + first, turn: context.turn)
        if let rule = route.pointee.session, let session = sessions.id(rule, event, at: arrival) {
            sessions.write(session, rule, on: line.text)
        }
        for provider in providers.dropFirst() {
            note.isImmediate = immediate.contains(provider, event, context: &context)
            parcels[provider].append(copy.admitted, note, copyOf: line)
        }
    }

    /// Appends the copy of an event that the tracking plan rejects.
    mutating func append(_ copy: borrowing RouteCopy, _ note: Parcel.Note, to rejected: RejectedEvents, turn: UInt64) {
        _ = withUnsafeMutablePointer(to: &rejected.parcel) { write(copy, note: note, to: $0, turn: turn) }
    }

    /// Writes the edited copy. Adds a message id if the copy has none and the route adds one.
    @inline(__always) private mutating func write(
        _ copy: borrowing RouteCopy, note: Parcel.Note, to parcel: UnsafeMutablePointer<Parcel>, turn: UInt64
    ) -> Parcel.Line {
        var source = copy.source
        var messageID = source.slots[rules.messageIDSlot]
        if EditVariants.program(of: copy.edit) != nil, let made = transform.made {
            source = made.event
            messageID = rules.messageIDSlot == 0 ? Slot() : made.messageID
        }
        let isAdding = rules.routes[copy.route].addsMessageIDs && MessageIDs.lacks(messageID, in: source.block)
        let added = isAdding ? givenID ?? messageIDs.text(turn) : nil
        let edit = copy.edit
        assert(edit < rules.edits.count, "an edit that the plan does not have")
        let most = Int(source.end &- source.start) &+ editor.growth(edit) &+ 1 &+ Words.slack &+ MessageIDs.growth
        let out = parcel.pointee.place(forLineOf: most)
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
        assert(writer.out - out <= most, "a line fits the space that was reserved for it")
        var place = Parcel.MessageIDPlace()
        if let at = writer.idAt {
            place.offset = UInt32(truncatingIfNeeded: at - out)
            place.count = added == nil ? messageID.end &- messageID.start &- 2 : UInt32(MessageIDs.length - 2)
            assert(at > out && at[-1] == UInt8(ascii: "\"") && at[Int(place.count)] == UInt8(ascii: "\""), "the id stands between quotes")
        }
        return parcel.pointee.append(copy.admitted, note, lineOf: writer.out - out, messageID: place)
    }
}
