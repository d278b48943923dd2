// Recognises events that make a statement for the ledger, and reads the statement. The length of the type alone rules out most other
// events. A statement is read by the rules of the gate. If a part of it is invalid, nothing of it is used, except that a withdrawal of
// everything always counts.

public import Admission
public import Events

/// The kind of statement that an event makes for the ledger.
public enum ConsentStatement: UInt8, Sendable {
    case none
    /// An event of type `consent`.
    case own
    /// Segment's event for changed preferences, from a consent platform.
    case preferences
    case alias, identify, reset

    /// True if the event ties or unties ids.
    public var concernsTies: Bool { self == .alias || self == .identify || self == .reset }
}

/// The slots of the members that make up a statement.
public struct ConsentStatementRules: BitwiseCopyable {
    public static let paths: [[String]] = [
        ["type"], ["event"], ["consent"], ["previousId"], ["userId"], ["anonymousId"], ["timestamp"],
        ["context", "consent", "categoryPreferences"],
    ]
    public let type: Int
    public let event: Int
    public let consent: Int
    let previousID: Int
    let userID: Int
    let anonymousID: Int
    public let timestamp: Int
    public let preferences: Int
    /// True if `userId` and `anonymousId` are both among the subjects.
    public let tiesUsers: Bool

    /// `slots` has the slots of `paths`, in their order.
    public init(_ slots: [Int], tiesUsers: Bool) {
        precondition(slots.count == ConsentStatementRules.paths.count, "a member of a statement has no slot")
        type = slots[0]
        event = slots[1]
        consent = slots[2]
        previousID = slots[3]
        userID = slots[4]
        anonymousID = slots[5]
        timestamp = slots[6]
        preferences = slots[7]
        self.tiesUsers = tiesUsers
    }
}

public struct ConsentStatementReader: ~Copyable {
    private let rules: ConsentStatementRules
    private let consent: ConsentRules
    private let subjects: UnsafeBufferPointer<Int>
    private var decoder = Decoder()

    private static let preferencesName: StaticString = "Segment Consent Preference Updated"

    public init(_ rules: ConsentStatementRules, _ section: ConsentSection, subjects: UnsafeBufferPointer<Int>) {
        self.rules = rules
        consent = section.rules.pointee.consent
        self.subjects = subjects
    }

    // MARK: - Kind of statement

    @inline(__always) public mutating func statement(_ event: ScannedEvent) -> ConsentStatement {
        guard let type = event.slots[rules.type].string(in: event.block) else { return .none }
        // The shortest type with one escaped letter has ten bytes.
        switch type.count {
        case 5 where type.base[0] == UInt8(ascii: "t"): return mayPrefer(event) ? statement(type, event) : .none
        case 5, 7, 8: return statement(type, event)
        case 10...: return type.hasEscape ? unescaped(event) : .none
        default: return .none
        }
    }

    /// True if the name is long enough to be the name of a preferences event. Most names are shorter.
    @inline(__always) private func mayPrefer(_ event: ScannedEvent) -> Bool {
        guard let name = event.slots[rules.event].string(in: event.block) else { return false }
        return name.count >= ConsentStatementReader.preferencesName.utf8CodeUnitCount
    }

    @inline(never) private mutating func unescaped(_ event: ScannedEvent) -> ConsentStatement {
        guard let raw = event.slots[rules.type].string(in: event.block), let type = decoder.decode(raw) else { return .none }
        return statement(type, event)
    }

    private mutating func statement(_ type: ByteRun, _ event: ScannedEvent) -> ConsentStatement {
        func isPresent(_ slot: Int) -> Bool { event.slots[slot].isPresent }
        if type.equals("track") { return isPreferences(event) ? .preferences : .none }
        if type.equals("consent") { return .own }
        if type.equals("alias") { return .alias }
        if type.equals("reset") { return .reset }
        guard type.equals("identify"), rules.tiesUsers, isPresent(rules.userID), isPresent(rules.anonymousID) else { return .none }
        return .identify
    }

    @inline(__always) private mutating func isPreferences(_ event: ScannedEvent) -> Bool {
        let name = ConsentStatementReader.preferencesName
        guard let raw = event.slots[rules.event].string(in: event.block), raw.count >= name.utf8CodeUnitCount else { return false }
        if raw.count == name.utf8CodeUnitCount { return raw.equals(name) }
        return raw.hasEscape && decoder.decode(raw)?.equals(name) ?? false
    }

    // MARK: - Content of the statement

    public mutating func action(_ event: ScannedEvent, _ statement: ConsentStatement) -> ConsentAction {
        var action = ConsentAction(act: .tie, ids: [], time: nil)
        switch statement {
        case .none: action.act = .broken("it makes no statement")
        case .own, .preferences:
            action.ids = subjects.compactMap { id($0, event) }.unique
            action.time = time(event)
            if statement == .own { read(own: event, into: &action) } else { action.act = preferred(event) }
        case .alias: action.ids = [rules.previousID, rules.userID].compactMap { id($0, event) }.unique
        case .identify: action.ids = [rules.userID, rules.anonymousID].compactMap { id($0, event) }.unique
        case .reset:
            action.ids = Array([rules.anonymousID, rules.userID].compactMap { id($0, event) }.prefix(1))
            action.act = .untie
        }
        if action.ids.isEmpty { action.act = .broken("it carries no usable id") }
        // The statement of a person who is known only in part may refuse, and may not grant.
        if case .state(let terms) = action.act, terms.grants, subjects.contains(where: { isBroken($0, event) }) {
            action.act = .broken("one of its ids is not usable")
        }
        if action.act == .tie, action.ids.count < 2 { action.act = .broken("it does not carry two ids to tie") }
        return action
    }

    public mutating func tiedSubjects(of event: ScannedEvent, under key: SipKey) -> (SubjectKey, SubjectKey)? {
        guard let user = subject(rules.userID, event: event, key: key), let device = subject(rules.anonymousID, event: event, key: key)
        else { return nil }
        return (user, device)
    }

    private mutating func subject(_ slot: Int, event: ScannedEvent, key: SipKey) -> SubjectKey? {
        guard let id = decoder.subject(event.slots[slot], in: event.block) else { return nil }
        let (low, high) = key.hash128(id)
        return SubjectKey(high: high, low: low)
    }

    private mutating func id(_ slot: Int, _ event: ScannedEvent) -> [UInt8]? {
        decoder.subject(event.slots[slot], in: event.block).map { Array($0.bytes) }
    }

    private func isBroken(_ slot: Int, _ event: ScannedEvent) -> Bool { event.slots[slot].isBrokenSubject(in: event.block) }

    private mutating func time(_ event: ScannedEvent) -> Int64? {
        guard let raw = event.slots[rules.timestamp].string(in: event.block), let text = decoder.decode(raw) else { return nil }
        return Times.parse(text.bytes)
    }

    private mutating func preferred(_ event: ScannedEvent) -> ConsentAction.Act {
        let slot = event.slots[rules.preferences]
        guard slot.isPresent, slot.value(in: event.block).isObject else {
            return .broken("context.consent.categoryPreferences is not an object")
        }
        var granted: Set<String> = []
        var denied: Set<String> = []
        var isBroken = false
        members(event.block + Int(slot.start)) { name, value in
            isBroken = isBroken || !value.isTrue && !value.isFalse
            if value.isTrue { granted.formUnion(meanings(name)) } else { denied.formUnion(meanings(name)) }
        }
        if isBroken { return .broken("context.consent.categoryPreferences must hold only true and false") }
        return .state(ConsentTerms(granted: Array(granted), denied: Array(denied)))
    }

    private mutating func read(own event: ScannedEvent, into action: inout ConsentAction) {
        let slot = event.slots[rules.consent]
        guard slot.isPresent, slot.value(in: event.block).isObject else {
            action.act = .broken("its consent is not an object")
            return
        }
        var form = OwnForm()
        members(event.block + Int(slot.start)) { name, value in
            if let fault = read(name, value, into: &form), form.fault == nil { form.fault = fault }
        }
        action.act = form.act
        action.erases = form.erases
        if !form.evidence.isEmpty { action.evidence = form.evidence }
    }

    /// Reads a member. Returns the reason why it is invalid, or nil if it is valid.
    private mutating func read(_ name: ByteRun, _ value: ByteRun, into form: inout OwnForm) -> String? {
        guard let member = decoder.decode(name).flatMap(OwnForm.Member.init), form.seen.insert(member).inserted else {
            return "its consent may hold only level, granted, denied, version, withdrawn, erase, ipAddress, userAgent and text, each once"
        }
        switch member {
        case .level:
            guard let text = text(value), let level = consent.level(text) else { return "consent.level is not a level of routes.json" }
            form.level = consent.name(ofLevel: level)
        case .version:
            guard let text = text(value), text.count > 0 else { return "consent.version is not a non-empty string" }
            form.version = String(decoding: text.bytes, as: UTF8.self)
        case .granted, .denied:
            guard let names = names(value) else { return "consent.\(member.rawValue) is not a list of purposes of routes.json" }
            if member == .granted { form.granted = names } else { form.denied = names }
        case .ipAddress: form.evidence.ipAddress = evidence(value)
        case .userAgent: form.evidence.userAgent = evidence(value)
        case .text: form.evidence.text = evidence(value)
        case .erase:
            guard value.isTrue || value.isFalse else { return "consent.erase is neither true nor false" }
            form.erases = value.isTrue
        case .withdrawn:
            if value.isTrue || value.isFalse { form.isWithdrawn = value.isTrue } else { form.withdrawn = names(value) }
            if !value.isTrue, !value.isFalse, form.withdrawn?.isEmpty ?? true {
                return "consent.withdrawn is neither true nor a list of purposes of routes.json"
            }
        }
        return nil
    }

    /// Returns a member of the evidence, cut to its largest size. A value that is no text is no evidence, and the statement counts without it.
    private mutating func evidence(_ value: ByteRun) -> String? {
        text(value).map { String(decoding: $0.bytes.prefix(ConsentEvidence.most), as: UTF8.self) }
    }

    private mutating func text(_ value: ByteRun) -> ByteRun? {
        guard value.base[0] == UInt8(ascii: "\"") else { return nil }
        return decoder.decode(ByteRun(base: value.base + 1, count: value.count - 2))
    }

    /// Returns the purposes in a list of names. Returns nil if the value is not such a list, or if a name is unknown.
    private mutating func names(_ value: ByteRun) -> [String]? {
        guard value.base[0] == UInt8(ascii: "[") else { return nil }
        var names: Set<String> = []
        var p = skipSpace(value.base + 1)
        while p[0] != UInt8(ascii: "]") {
            let end = valueEnd(p)
            guard p[0] == UInt8(ascii: "\"") else { return nil }
            let known = meanings(ByteRun(base: p + 1, count: end - p - 2))
            guard !known.isEmpty else { return nil }
            names.formUnion(known)
            p = skipSpace(end)
            if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
        }
        return names.sorted()
    }

    /// Returns the purposes that a name means, given the text between its quotes.
    private mutating func meanings(_ raw: ByteRun) -> [String] {
        decoder.decode(raw).map(consent.purposes(named:)) ?? []
    }
}

/// Calls the body with each member of a scanned object: the text inside the quotes of the key, and the value.
private func members(_ object: Bytes, _ body: (ByteRun, ByteRun) -> Void) {
    var p = skipSpace(object + 1)
    while p[0] != UInt8(ascii: "}") {
        let end = stringEnd(p)
        let value = skipSpace(skipSpace(end) + 1)
        let valueEnd = valueEnd(value)
        body(ByteRun(base: p + 1, count: end - p - 2), ByteRun(base: value, count: valueEnd - value))
        p = skipSpace(valueEnd)
        if p[0] == UInt8(ascii: ",") { p = skipSpace(p + 1) }
    }
}

/// The content of `consent` in an event of type `consent`.
private struct OwnForm {
    enum Member: String, CaseIterable {
        case level, granted, denied, version, withdrawn, erase, ipAddress, userAgent, text

        init?(_ name: ByteRun) {
            guard let member = Member.allCases.first(where: { name.bytes.elementsEqual($0.rawValue.utf8) }) else { return nil }
            self = member
        }
    }
    var seen: Set<Member> = []
    var level: String?
    var version: String?
    var granted: [String] = []
    var denied: [String] = []
    var withdrawn: [String]?
    var isWithdrawn = false
    var erases = false
    var evidence = ConsentEvidence()
    var fault: String?

    var act: ConsentAction.Act {
        // A withdrawal of everything counts, whatever else the object holds. An erasure withdraws, so that nothing arrives behind it.
        if isWithdrawn || erases { return .withdraw(nil) }
        if let fault { return .broken(fault) }
        let isState = level != nil || seen.contains(.granted)
        if let withdrawn {
            return isState || !denied.isEmpty ? .broken("consent.withdrawn stands beside other members") : .withdraw(withdrawn)
        }
        if isState { return .state(ConsentTerms(level: level, granted: granted, denied: denied, version: version)) }
        return denied.isEmpty ? .broken("its consent names no level and no purpose") : .refuse(denied)
    }
}

extension ByteRun {
    fileprivate func equals(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && sameBytes(base, b: word.utf8Start, count: count)
    }
}

extension Array where Element == [UInt8] {
    fileprivate var unique: [Element] { indices.filter { !self[..<$0].contains(self[$0]) }.map { self[$0] } }
}

extension ConsentRules {
    fileprivate func name(ofLevel level: Int) -> String { String(decoding: levels[level].name.bytes, as: UTF8.self) }

    /// Returns the purposes that the name means, as the gate reads it.
    fileprivate func purposes(named name: ByteRun) -> [String] {
        var found = purpose(name).map { [$0] } ?? []
        if let others = alias(name) { found += names.indices.filter { others[$0 / 64] & 1 << UInt64($0 % 64) != 0 } }
        return found.map { String(decoding: names[$0].bytes, as: UTF8.self) }
    }
}
