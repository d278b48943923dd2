// Computes the consent state of one event, from what is on record for its subjects and from what the event itself says. It reads an event at
// most once, and only if a rule needs the state.
//
// What the event says is a cap, and the strictest signal holds:
// - `context.consent.level` caps the level, and grants the purposes of that level and no others.
// - `context.consent.purposes`, `.categoryPreferences` and `context.consentManagement.allowedConsentIds` each grant the purposes that they
//   name. A purpose is granted if every granting signal of the event grants it.
// - `deniedConsentIds` and `context.gpc: true` grant nothing. They refuse purposes, also those of an assumed level.
// - `context.consent.tcf`, `.gpp` and `.google` are read by the section's map. They cap the purposes that they cover, and grant these
//   purposes if no other signal grants anything. They say nothing about other purposes. Opt-outs only refuse.
// - The level is the lower of the named level and the highest level whose purposes are all granted.
// If something is on record, the event can only restrict it. If nothing is on record, the signals of the event are the state.
// If levels have no purposes, levels and purposes are independent. Without a level signal, the level is the one on record, or else the
// lowest. Without a purpose signal, the purposes are those on record, or else none. Global Privacy Control means the lowest level.

internal import Admission
internal import Events

/// The consent that the event itself states.
struct ConsentSaid: BitwiseCopyable {
    var isBroken = false
    /// The named level, or the highest level if none is named.
    var level: Int
    var namesLevel = false
    var namesPurposes = false
    /// True if a mapped signal says something about a purpose that it covers.
    var isMapped = false
    /// True if Global Privacy Control is on and refuses something.
    var isPrivate = false
    /// The granted purposes. They are all purposes if none are named.
    var granted: Purposes
    var refused: Purposes
    var spoken: Purposes
}

struct ConsentReader: ~Copyable {
    private let rules: ConsentRules
    // The sets are changed with `granted[i] = granted[i] & …`: `&=` makes the compiler (6.3.1) fail under the thread sanitizer, because the
    // pointer is a member of a noncopyable value.
    private let granted: UnsafeMutablePointer<UInt64>
    private let refused: UnsafeMutablePointer<UInt64>
    private let named: UnsafeMutablePointer<UInt64>
    private let settled: UnsafeMutablePointer<UInt64>
    /// The purposes that the mapped signals cover.
    private let spoken: UnsafeMutablePointer<UInt64>
    private var state: ConsentState
    private var isRead = false
    /// One bit for each `ConsentMember` that was broken in an event.
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

    /// Returns what is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed { rules.unknown.assumed(of: event, &decoder) }

    /// The state of the event, if it was read. It is valid until the next event is read.
    @inline(__always) var known: ConsentState? { isRead ? state : nil }

    /// Reads the state of the event. `standing` is what is on record for its subjects. The state is valid until the next event is read.
    mutating func read(_ event: ScannedEvent, standing: Standing) -> ConsentState {
        isRead = true
        state = settle(find(event), standing: standing, event: event)
        return state
    }

    /// Returns what the event says, from the memo if it has the same bytes. The memo compares only the bytes of one member. A reader of
    /// several events must therefore get the slots as the scanner set them.
    private mutating func find(_ event: ScannedEvent) -> ConsentSaid {
        guard let member = onlySignal(event) else { return evaluate(event) }
        let text = event.slots[member].value(in: event.block)
        guard let place = memo.place(of: text) else { return evaluate(event) }
        if let known = memo.said(at: place, member, text) { return known }
        let found = evaluate(event)
        memo.keep(found, at: place, member: member, text: text)
        return found
    }

    /// Returns the slot of the only member that carries consent. Returns nil if there is no such member, or another one too.
    @inline(__always) private func onlySignal(_ event: ScannedEvent) -> Int? {
        let members = rules.members
        let gpc = event.slots[members.gpc]
        guard gpc.end == 0 || gpc.value(in: event.block).isFalse else { return nil }
        let hasConsent = event.slots[members.consent].end != 0
        let hasManagement = event.slots[members.management].end != 0
        guard hasConsent != hasManagement else { return nil }
        return hasConsent ? members.consent : members.management
    }

    /// Combines what the event says with what is on record.
    @inline(__always) private mutating func settle(_ said: ConsentSaid, standing: Standing, event: ScannedEvent) -> ConsentState {
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
            // The map does not cover the other purposes, so they stay unknown.
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

    /// The result of reading a signal. The highest of several results counts.
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

    /// Applies Global Privacy Control, which a GPP string may have set in `gpc` already. Returns false if `context.gpc` is broken.
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

    // MARK: - Lists and objects; the scanner has verified that they are JSON

    /// Fills `named` from a list of strings. Returns false if the value is anything else.
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

    /// Fills `named` from an object of booleans. Returns false if the value is anything else. A name that occurs twice is granted only if
    /// both values are true.
    private mutating func nameFlags(_ slot: Slot, _ block: Bytes) -> Bool {
        guard block[Int(slot.start)] == UInt8(ascii: "{") else { return false }
        // The first pass adds the true names; the second pass removes the false ones, whatever their order.
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
