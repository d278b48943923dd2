// Collects what the signals of one event state, as levels and sets of purposes of the plan. The strictest signal holds: a level is an upper
// limit, a granting signal removes the purposes that it does not grant, and a refusal removes a purpose from every result. A broken signal
// breaks the whole event. If no signal grants anything, `granted` has all purposes, and `statesLevel`, `statesPurposes` and
// `covered` say that nothing was stated. It allocates nothing for an event.

internal import Admission
internal import Events

/// The consent that the event itself states.
struct StatedConsent: BitwiseCopyable {
    var isBroken = false
    /// The stated level, or the highest level if none is stated.
    var level: Int
    var statesLevel = false
    var statesPurposes = false
    /// True if a signal with a configured meaning states something about a purpose that it covers.
    var isMapped = false
    /// True if Global Privacy Control is on and refuses something.
    var isPrivate = false
    /// The granted purposes. They are all purposes if no signal grants any.
    var granted: Purposes
    var refused: Purposes
    /// The purposes that the signals with configured meanings cover.
    var covered: Purposes
}

struct ConsentReading: ~Copyable {
    let rules: ConsentRules
    // The sets are changed with `granted[i] = granted[i] & …`: `&=` makes the compiler (6.3.1) fail under the thread sanitizer, because the
    // pointer is a member of a noncopyable value.
    private let granted: UnsafeMutablePointer<UInt64>
    private let refused: UnsafeMutablePointer<UInt64>
    private let covered: UnsafeMutablePointer<UInt64>
    /// The purposes that the value that was read last names.
    private let named: UnsafeMutablePointer<UInt64>
    private var stated: StatedConsent
    private var privacyControl = PrivacyControl.off
    private var event: ScannedEvent?
    /// The number of signals that were read.
    private var readCount = 0
    /// One bit for each member that was broken in an event.
    private var broken: UInt64 = 0
    var decoder = Decoder()

    private enum PrivacyControl {
        case off, on
        case broken(SignalMember)
    }

    init(_ rules: ConsentRules) {
        self.rules = rules
        granted = .allocate(capacity: rules.width * 4)
        refused = granted + rules.width
        covered = refused + rules.width
        named = covered + rules.width
        granted.initialize(repeating: 0, count: rules.width * 4)
        stated = StatedConsent(level: 0, granted: granted, refused: refused, covered: covered)
    }

    deinit { granted.deallocate() }

    /// Begins to read an event. Every signal is visited after this.
    @inline(__always)
    mutating func begin(_ event: ScannedEvent) {
        for i in 0..<rules.width {
            granted[i] = ~0
            refused[i] = 0
            covered[i] = 0
        }
        stated = StatedConsent(level: rules.levels.count - 1, granted: granted, refused: refused, covered: covered)
        privacyControl = .off
        self.event = event
        readCount = 0
    }

    /// Returns what the event states, after every signal was visited. It is valid until the next event is read.
    @inline(__always)
    mutating func end() -> StatedConsent {
        assert(readCount == rules.signals.count, "a signal was not read")
        applyPrivacyControl()
        return stated
    }

    /// Returns the numbers of the members that were broken in the events so far, one bit for each, and forgets them.
    mutating func takeBroken() -> UInt64 {
        defer { broken = 0 }
        return broken
    }

    /// Applies Global Privacy Control at the end, because several signals can state it.
    private mutating func applyPrivacyControl() {
        guard !stated.isBroken else { return }
        switch privacyControl {
        case .off: break
        case .broken(let member): breaks(member)
        case .on:
            refuse(rules.gpc)
            stated.isPrivate = rules.gpcRefuses
        }
    }
}

extension ConsentReading: ConsentSignalVisitor {
    @inline(__always)
    mutating func visit<Signal: ConsentSignal>(_: Signal.Type) {
        guard let event else { preconditionFailure("no event is being read") }
        let signal = rules.signals.signal(readCount, Signal.self)
        readCount &+= 1
        signal.pointee.read(event, &self)
    }
}

// MARK: - What a signal can state

extension ConsentReading {
    /// Reports that the value of this member is not in its form. Then the event is broken.
    mutating func breaks(_ member: SignalMember) {
        assert(member.index < UInt64.bitWidth, "a member has no bit")
        broken |= 1 << UInt64(member.index)
        stated.isBroken = true
    }

    /// States a level: an upper limit, which grants the purposes of that level and no others.
    mutating func limit(to level: Int) {
        assert(rules.levels.indices.contains(level), "the plan does not have this level")
        stated.level = level
        stated.statesLevel = true
        guard rules.levelsHavePurposes else { return }
        for i in 0..<rules.width { granted[i] = granted[i] & rules.levels[level].purposes[i] }
    }

    /// States that the purposes named last are granted, and no others.
    mutating func grantNamed() {
        stated.statesPurposes = true
        for i in 0..<rules.width { granted[i] = granted[i] & named[i] }
    }

    /// States that the purposes named last are refused.
    mutating func refuseNamed() {
        for i in 0..<rules.width { refused[i] = refused[i] | named[i] }
    }

    /// States that the purpose with this bit is refused.
    mutating func refuse(purpose bit: Int) {
        assert(bit / 64 < rules.width, "the plan does not have this purpose")
        refused[bit / 64] = refused[bit / 64] | 1 << UInt64(bit % 64)
    }

    private mutating func refuse(_ purposes: Purposes) {
        for i in 0..<rules.width { refused[i] = refused[i] | purposes[i] }
    }

    /// States by the configured meaning of the signal whether a purpose is granted. All other purposes stay as they are.
    mutating func cover(purpose bit: Int, isGranted: Bool) {
        assert(bit / 64 < rules.width, "the plan does not have this purpose")
        stated.isMapped = true
        covered[bit / 64] = covered[bit / 64] | 1 << UInt64(bit % 64)
        if !isGranted { granted[bit / 64] = granted[bit / 64] & ~(1 << UInt64(bit % 64)) }
    }

    /// States that Global Privacy Control is on.
    mutating func turnOnPrivacyControl() {
        if case .off = privacyControl { privacyControl = .on }
    }

    /// Reports that the member for Global Privacy Control is not in its form. The member counts as broken only if nothing else is broken.
    mutating func breakPrivacyControl(_ member: SignalMember) { privacyControl = .broken(member) }
}

// MARK: - Reading values; the scanner has verified that they are JSON

extension ConsentReading {
    /// Returns the text of a string, valid until the next text is read. Returns nil if the value is not a string with a text.
    mutating func text(_ slot: Slot, in block: Bytes) -> ByteRun? {
        guard let raw = slot.string(in: block) else { return nil }
        return decoder.decode(raw)
    }

    /// Returns the lowest level in a list of names. Returns nil if the list is empty, or holds anything but names of levels.
    mutating func lowestLevel(in list: Bytes) -> Int? {
        var lowest: Int?
        var p = skipSpace(list + 1)
        while p[0] != UInt8(ascii: "]") {
            guard p[0] == UInt8(ascii: "\"") else { return nil }
            let end = stringEnd(p)
            guard let name = decoder.decode(ByteRun(base: p + 1, count: end - p - 2)), let level = rules.level(name) else { return nil }
            lowest = min(level, lowest ?? level)
            p = skipSpace(end)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return lowest
    }

    /// Names the purposes in a list of strings. Returns false if the value is anything else.
    mutating func nameStrings(_ slot: Slot, _ block: Bytes) -> Bool {
        guard block[Int(slot.start)] == UInt8(ascii: "[") else { return false }
        clearNamed()
        var p = skipSpace(block + Int(slot.start) + 1)
        while p[0] != UInt8(ascii: "]") {
            guard p[0] == UInt8(ascii: "\"") else { return false }
            let end = stringEnd(p)
            name(ByteRun(base: p + 1, count: end - p - 2))
            p = skipSpace(end)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return true
    }

    /// Names the purposes that are true in an object of booleans. Returns false if the value is anything else. A purpose that occurs twice
    /// is named only if both values are true.
    mutating func nameFlags(_ slot: Slot, _ block: Bytes) -> Bool {
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
                let text = ByteRun(base: p + 1, count: end - p - 2)
                if wanted { name(text) } else { removeName(text) }
            }
            p = skipSpace(value + (isTrue ? 4 : 5))
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return true
    }

    func clearNamed() {
        for i in 0..<rules.width { named[i] = 0 }
    }

    private mutating func name(_ raw: ByteRun) {
        if let name = decoder.decode(raw) { addName(name) }
    }

    private mutating func removeName(_ raw: ByteRun) {
        if let name = decoder.decode(raw) { takeName(name) }
    }

    /// Names the purposes that this text means.
    func name(text: UnsafeBufferPointer<UInt8>) {
        if let base = text.baseAddress { addName(ByteRun(base: base, count: text.count)) }
    }

    /// Names the purposes that this text means no longer.
    func removeName(text: UnsafeBufferPointer<UInt8>) {
        if let base = text.baseAddress { takeName(ByteRun(base: base, count: text.count)) }
    }

    private func addName(_ name: ByteRun) {
        if let bit = rules.purpose(name) { named[bit / 64] = named[bit / 64] | 1 << UInt64(bit % 64) }
        guard let others = rules.alias(name) else { return }
        for i in 0..<rules.width { named[i] = named[i] | others[i] }
    }

    private func takeName(_ name: ByteRun) {
        if let bit = rules.purpose(name) { named[bit / 64] = named[bit / 64] & ~(1 << UInt64(bit % 64)) }
        guard let others = rules.alias(name) else { return }
        for i in 0..<rules.width { named[i] = named[i] & ~others[i] }
    }
}
