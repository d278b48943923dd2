// The state of consent of one event: what is on record of its subjects, and what the event itself says. Read at most once for each
// event and only when a rule asks for it.
//
// What the event says is a cap, and the strictest holds:
// - `context.consent.level` caps the level, and grants the purposes of that level and no other;
// - `context.consent.purposes`, `.categoryPreferences` and `context.consentManagement.allowedConsentIds` each grant the
//   purposes they name; a purpose is granted when every signal that grants at all grants it;
// - `deniedConsentIds`, and `context.gpc: true`, grant nothing and refuse what they name, also from an assumed level;
// - `context.consent.tcf`, `.gpp` and `.google` say what the section's map makes of them: a purpose that they speak of is
//   capped, and granted where no other signal grants at all; of other purposes they say nothing. Opt-outs only refuse;
// - the level is the lower of the levels named and the level that the granted purposes amount to.
// Where something is on record, all this can only take away from it. Where nothing is, what the event says is the state.
// Where levels have no purposes, the two are apart: without a level signal the level is that on record or else the lowest, without
// a purpose signal the purposes are those on record or else none, and Global Privacy Control means the lowest level.

internal import Admission
internal import Events

/// What an event says of consent, taken alone.
struct ConsentSaid: BitwiseCopyable {
    var isBroken = false
    /// The highest level if none is named.
    var level: Int
    var namesLevel = false
    var namesPurposes = false
    /// Signals that the section maps say something, of the purposes that they speak of.
    var isMapped = false
    /// Global Privacy Control is on, and refuses something.
    var isPrivate = false
    /// All of them if none are named.
    var granted: Purposes
    var refused: Purposes
    var spoken: Purposes
}

struct ConsentReader: ~Copyable {
    private let rules: ConsentRules
    // Written as `granted[i] = granted[i] & …`: with `&=` the compiler (6.3.1) fails under the thread sanitizer, since the
    // pointer is a member of a noncopyable value.
    private let granted: UnsafeMutablePointer<UInt64>
    private let refused: UnsafeMutablePointer<UInt64>
    private let named: UnsafeMutablePointer<UInt64>
    private let settled: UnsafeMutablePointer<UInt64>
    /// What the mapped signals speak of.
    private let spoken: UnsafeMutablePointer<UInt64>
    private var state: ConsentState
    private var isRead = false
    /// A bit for each `ConsentMember` that was broken in some event.
    private var broken: UInt16 = 0
    private var memo: ConsentMemo
    private var decoder = Decoder()

    init(_ rules: ConsentRules) {
        self.rules = rules
        granted = .allocate(capacity: rules.width * 5)
        refused = granted + rules.width
        named = refused + rules.width
        settled = named + rules.width
        spoken = settled + rules.width
        granted.initialize(repeating: 0, count: rules.width * 5)
        state = ConsentState(kind: .unknown, level: 0, granted: settled)
        memo = ConsentMemo(width: rules.width)
    }

    deinit { granted.deallocate() }

    mutating func forget() { isRead = false }

    /// What is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed { rules.unknown.assumed(of: event, &decoder) }

    /// The state of this event, once it was read. Valid until the next event is read.
    @inline(__always) var known: ConsentState? { isRead ? state : nil }

    /// The state is valid until the next event is read. `standing`: what is on record of the event's subjects.
    mutating func read(_ event: ScannedEvent, standing: Standing) -> ConsentState {
        isRead = true
        state = settle(find(event), standing, event)
        return state
    }

    /// What is remembered goes by the bytes of the one member alone: a reader that serves more than one event must be shown
    /// slots as the scanner left them.
    private mutating func find(_ event: ScannedEvent) -> ConsentSaid {
        guard let member = onlySignal(event) else { return evaluate(event) }
        let text = event.slots[member].value(in: event.block)
        guard let place = memo.place(of: text) else { return evaluate(event) }
        if let known = memo.said(at: place, member, text) { return known }
        let found = evaluate(event)
        memo.keep(found, at: place, member, text)
        return found
    }

    /// The slot of the one member that says everything the event says of consent; nil when there is none, or another.
    @inline(__always) private func onlySignal(_ event: ScannedEvent) -> Int? {
        let members = rules.members
        let gpc = event.slots[members.gpc]
        guard gpc.end == 0 || gpc.value(in: event.block).isFalse else { return nil }
        let hasConsent = event.slots[members.consent].end != 0
        let hasManagement = event.slots[members.management].end != 0
        guard hasConsent != hasManagement else { return nil }
        return hasConsent ? members.consent : members.management
    }

    /// Puts together what the event says and what is on record.
    @inline(__always) private mutating func settle(_ said: ConsentSaid, _ standing: Standing, _ event: ScannedEvent) -> ConsentState {
        let width = rules.width
        guard !said.isBroken, standing.kind != .unreadable else {
            for i in 0..<width { settled[i] = 0 }
            return ConsentState(kind: said.isBroken ? .broken : .unreadable, level: 0, granted: settled)
        }
        let isOnRecord = standing.kind == .known
        let isSaid = said.namesLevel || said.namesPurposes
        var level = said.level
        if isOnRecord {
            for i in 0..<width { settled[i] = said.granted[i] & standing.granted[i] }
            if !rules.levelsHavePurposes { level = min(level, standing.level) }
        } else if isSaid {
            for i in 0..<width { settled[i] = said.granted[i] }
            if !rules.levelsHavePurposes {
                if !said.namesLevel { level = 0 }
                if !said.namesPurposes { for i in 0..<width { settled[i] = 0 } }
            }
        } else if said.isMapped {
            // The rest is as unknown as it was.
            let assumed = rules.unknown.assumed(of: event, &decoder)
            for i in 0..<width {
                settled[i] = said.granted[i] & (said.spoken[i] | (assumed >= 0 ? rules.levels[assumed].purposes[i] : 0))
            }
            if !rules.levelsHavePurposes { level = 0 }
        } else {
            level = rules.unknown.assumed(of: event, &decoder)
            guard level >= 0 else {
                for i in 0..<width { settled[i] = 0 }
                return ConsentState(kind: .unknown, level: 0, granted: settled)
            }
            for i in 0..<width { settled[i] = rules.levels[level].purposes[i] }
        }
        for i in 0..<width { settled[i] = settled[i] & ~said.refused[i] & ~standing.refused[i] }
        if rules.levelsHavePurposes {
            level = min(level, rules.amount(settled))
        } else if said.isPrivate {
            level = 0
        }
        return ConsentState(kind: .known, level: level, granted: settled)
    }

    mutating func takeBroken() -> Set<ConsentMember> {
        guard broken != 0 else { return [] }
        defer { broken = 0 }
        return Set(ConsentMember.allCases.filter { broken & 1 << $0.rawValue != 0 })
    }

    private mutating func breaks(_ member: ConsentMember) -> Signal {
        broken |= 1 << member.rawValue
        return .broken
    }

    /// Of several, the highest counts.
    enum Signal: Int, Comparable {
        case silent, said, broken
        static func < (a: Signal, b: Signal) -> Bool { a.rawValue < b.rawValue }
    }

    private mutating func evaluate(_ event: ScannedEvent) -> ConsentSaid {
        for i in 0..<rules.width {
            granted[i] = ~0
            refused[i] = 0
            spoken[i] = 0
        }
        var said = ConsentSaid(level: rules.levels.count - 1, granted: granted, refused: refused, spoken: spoken)
        let ofLevel = readLevel(event, &said.level)
        let ofPurposes = readPurposes(event)
        var mapped = MappedSignals(rules, granted: granted, refused: refused, spoken: spoken)
        let ofMap = mapped.read(event, &decoder)
        broken |= mapped.broken
        said.isPrivate = mapped.isGlobalControl
        said.isBroken = ofLevel == .broken || ofPurposes == .broken || ofMap == .broken || !readRefusals(event, &said.isPrivate)
        said.namesLevel = ofLevel == .said
        said.namesPurposes = ofPurposes == .said
        said.isMapped = ofMap == .said
        return said
    }

    private mutating func readLevel(_ event: ScannedEvent, _ level: inout Int) -> Signal {
        let consent = event.slots[rules.members.consent]
        guard consent.end == 0 || consent.value(in: event.block).isObject else { return breaks(.consent) }
        let slot = event.slots[rules.members.level]
        guard slot.end != 0 else { return .silent }
        guard let raw = slot.string(in: event.block), let name = decoder.decode(raw), let named = rules.level(name) else {
            return breaks(.level)
        }
        level = named
        if rules.levelsHavePurposes {
            for i in 0..<rules.width { granted[i] = granted[i] & rules.levels[named].purposes[i] }
        }
        return .said
    }

    private mutating func readPurposes(_ event: ScannedEvent) -> Signal {
        let members = rules.members
        let block = event.block
        var signal = Signal.silent

        let purposes = event.slots[members.purposes]
        if purposes.end != 0 {
            guard nameStrings(purposes, block) || nameFlags(purposes, block) else { return breaks(.purposes) }
            grantNamed()
            signal = .said
        }
        let preferences = event.slots[members.preferences]
        if preferences.end != 0 {
            guard nameFlags(preferences, block) else { return breaks(.categoryPreferences) }
            grantNamed()
            signal = .said
        }
        let management = event.slots[members.management]
        guard management.end != 0 else { return signal }
        guard management.value(in: block).isObject else { return breaks(.management) }
        let allowed = event.slots[members.allowed]
        if allowed.end != 0 {
            guard nameStrings(allowed, block) else { return breaks(.allowed) }
            grantNamed()
            signal = .said
        }
        let denied = event.slots[members.denied]
        if denied.end != 0 {
            guard nameStrings(denied, block) else { return breaks(.denied) }
            for i in 0..<rules.width { refused[i] = refused[i] | named[i] }
        }
        return signal
    }

    /// Global Privacy Control, also where another signal told of it; false when it is broken.
    private mutating func readRefusals(_ event: ScannedEvent, _ gpc: inout Bool) -> Bool {
        let slot = event.slots[rules.members.gpc]
        var isOn = gpc
        if slot.end != 0 {
            let value = slot.value(in: event.block)
            guard value.isTrue || value.isFalse else { return breaks(.gpc) != .broken }
            isOn = isOn || value.isTrue
        }
        guard isOn else { return true }
        gpc = rules.gpcRefuses
        for i in 0..<rules.width { refused[i] = refused[i] | rules.gpc[i] }
        return true
    }

    private func grantNamed() {
        for i in 0..<rules.width { granted[i] = granted[i] & named[i] }
    }

    // MARK: - Lists and objects, which the scanner has proved to be JSON

    /// Fills `named` from a list of strings; false when the value is anything else.
    private mutating func nameStrings(_ slot: Slot, _ block: Bytes) -> Bool {
        guard block[Int(slot.start)] == UInt8(ascii: "[") else { return false }
        clearNamed()
        var p = skipSpace(block + Int(slot.start) + 1)
        while p[0] != UInt8(ascii: "]") {
            guard p[0] == UInt8(ascii: "\"") else { return false }
            let end = stringEnd(p)
            set(ByteRun(base: p + 1, count: end - p - 2))
            p = skipSpace(end)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return true
    }

    /// Fills `named` from an object of booleans; false when the value is anything else. A name that stands there twice
    /// is granted only when both say so.
    private mutating func nameFlags(_ slot: Slot, _ block: Bytes) -> Bool {
        guard block[Int(slot.start)] == UInt8(ascii: "{") else { return false }
        // Two walks: what is true, then what is false taken away, whatever their order.
        clearNamed()
        return walkFlags(block + Int(slot.start) + 1, true) && walkFlags(block + Int(slot.start) + 1, false)
    }

    private mutating func walkFlags(_ start: Bytes, _ wanted: Bool) -> Bool {
        var p = skipSpace(start)
        while p[0] != UInt8(ascii: "}") {
            let end = stringEnd(p)
            let value = skipSpace(skipSpace(end) + 1)
            let isTrue = value[0] == UInt8(ascii: "t")
            guard isTrue || value[0] == UInt8(ascii: "f") else { return false }
            if isTrue == wanted {
                let name = ByteRun(base: p + 1, count: end - p - 2)
                if wanted { set(name) } else { unset(name) }
            }
            p = skipSpace(value + (isTrue ? 4 : 5))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return true
    }

    private func clearNamed() {
        for i in 0..<rules.width { named[i] = 0 }
    }

    private mutating func set(_ raw: ByteRun) {
        guard let name = decoder.decode(raw) else { return }
        if let bit = rules.purpose(name) { named[bit / 64] = named[bit / 64] | 1 << UInt64(bit % 64) }
        guard let others = rules.alias(name) else { return }
        for i in 0..<rules.width { named[i] = named[i] | others[i] }
    }

    private mutating func unset(_ raw: ByteRun) {
        guard let name = decoder.decode(raw) else { return }
        if let bit = rules.purpose(name) { named[bit / 64] = named[bit / 64] & ~(1 << UInt64(bit % 64)) }
        guard let others = rules.alias(name) else { return }
        for i in 0..<rules.width { named[i] = named[i] & ~others[i] }
    }
}
