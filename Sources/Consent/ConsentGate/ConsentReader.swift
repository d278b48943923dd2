// Computes the consent state of one event, from what is on record for its subjects and from what the event itself states. It reads an event
// at most once, and only if a rule needs the state.
//
// Each signal of the event states what it grants and refuses (see `ConsentReading` and the signals in the folder Signals). The strictest one
// holds, and the level is the lower of the stated level and the highest level whose purposes are all granted. If something is on record, the
// event can only restrict it. If nothing is on record, the signals of the event are the state.
// Signals with a configured meaning limit the purposes that they cover. If no other signal grants anything, they grant these purposes, and
// the other purposes are those of the assumed level.
// If levels have no purposes, levels and purposes are independent. Without a level signal, the level is the one on record, or else the
// lowest. Without a purpose signal, the purposes are those on record, or else none. Global Privacy Control means the lowest level.

internal import Admission
internal import Events

struct ConsentReader: ~Copyable {
    private let rules: ConsentRules
    private let settled: UnsafeMutablePointer<UInt64>
    private var state: ConsentState
    private var isRead = false
    private var memo: ConsentMemo
    private var reading: ConsentReading

    init(_ rules: ConsentRules) {
        self.rules = rules
        settled = .allocate(capacity: rules.width)
        settled.initialize(repeating: 0, count: rules.width)
        state = ConsentState(kind: .unknown, level: 0, granted: settled)
        memo = ConsentMemo(width: rules.width)
        reading = ConsentReading(rules)
    }

    deinit { settled.deallocate() }

    mutating func forget() { isRead = false }

    /// Returns what is assumed of the event's subjects if nothing is known of them.
    mutating func assumed(of event: ScannedEvent) -> UnknownRules.Assumed { rules.unknown.assumed(of: event, &reading.decoder) }

    /// The state of the event, if it was read. It is valid until the next event is read.
    @inline(__always) var known: ConsentState? { isRead ? state : nil }

    /// Reads the state of the event. `standing` is what is on record for its subjects. `isBroken` is true if one of its subjects cannot be
    /// read. The state is valid until the next event is read.
    @inline(__always) mutating func read(_ event: ScannedEvent, standing: Standing, isBroken: Bool = false) -> ConsentState {
        isRead = true
        var stated = find(event)
        if isBroken { stated.isBroken = true }
        state = settle(stated, standing: standing, event: event)
        return state
    }

    /// Returns what the event states, from the memo if it has the same bytes. The memo compares only the bytes of one member. A reader of
    /// several events must therefore get the slots as the scanner set them.
    private mutating func find(_ event: ScannedEvent) -> StatedConsent {
        guard let member = onlyRoot(event) else { return reading.read(event) }
        let text = event.slots[member].value(in: event.block)
        guard let place = memo.place(of: text) else { return reading.read(event) }
        if let known = memo.stated(at: place, member, text) { return known }
        let found = reading.read(event)
        memo.keep(found, at: place, member: member, text: text)
        return found
    }

    /// Returns the slot of the only outermost member that carries consent. Returns nil if there is no such member, or another one too.
    @inline(__always) private func onlyRoot(_ event: ScannedEvent) -> Int? {
        var (found, member) = (0, 0)
        for i in 0..<rules.signals.roots.count {
            let root = rules.signals.roots[i]
            let slot = event.slots[root.slot]
            if slot.end == 0 || root.isSilent(slot, in: event.block) { continue }
            found &+= 1
            member = root.slot
        }
        return found == 1 ? member : nil
    }

    /// Combines what the event states with what is on record.
    @inline(__always) private mutating func settle(_ stated: StatedConsent, standing: Standing, event: ScannedEvent) -> ConsentState {
        let width = rules.width
        guard !stated.isBroken, standing.kind != .unreadable else {
            for i in 0..<width { settled[i] = 0 }
            return ConsentState(kind: stated.isBroken ? .broken : .unreadable, level: 0, granted: settled)
        }
        let isOnRecord = standing.kind == .known
        let isStated = stated.statesLevel || stated.statesPurposes
        var level = stated.level
        if isOnRecord {
            for i in 0..<width { settled[i] = stated.granted[i] & standing.granted[i] }
            if !rules.levelsHavePurposes { level = min(level, standing.level) }
        } else if isStated {
            for i in 0..<width { settled[i] = stated.granted[i] }
            if !rules.levelsHavePurposes {
                if !stated.statesLevel { level = 0 }
                if !stated.statesPurposes { for i in 0..<width { settled[i] = 0 } }
            }
        } else if stated.isMapped {
            // The map does not cover the other purposes, so they stay unknown.
            let assumed = rules.unknown.assumed(of: event, &reading.decoder)
            for i in 0..<width {
                settled[i] = stated.granted[i] & (stated.covered[i] | (assumed >= 0 ? rules.levels[assumed].purposes[i] : 0))
            }
            if !rules.levelsHavePurposes { level = 0 }
        } else {
            level = rules.unknown.assumed(of: event, &reading.decoder)
            guard level >= 0 else {
                for i in 0..<width { settled[i] = 0 }
                return ConsentState(kind: .unknown, level: 0, granted: settled)
            }
            for i in 0..<width { settled[i] = rules.levels[level].purposes[i] }
        }
        for i in 0..<width { settled[i] = settled[i] & ~stated.refused[i] & ~standing.refused[i] }
        if rules.levelsHavePurposes {
            level = min(level, rules.amount(settled))
        } else if stated.isPrivate {
            level = 0
        }
        assert(rules.levels.indices.contains(level), "the plan does not have this level")
        return ConsentState(kind: .known, level: level, granted: settled)
    }

    /// Returns the numbers of the members that were broken in the events so far, one bit for each, and forgets them.
    mutating func takeBroken() -> UInt64 { reading.takeBroken() }
}

extension ConsentReading {
    /// Returns what the event states. It is valid until the next event is read.
    @inline(__always)
    fileprivate mutating func read(_ event: ScannedEvent) -> StatedConsent {
        begin(event)
        ConsentSignals.visit(&self)
        return end()
    }
}
