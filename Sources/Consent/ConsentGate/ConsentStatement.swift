// Which events speak to the ledger, and what they say. To find out that one does not costs a look at the length of its type. What is
// read is by the rules of the gate; of what cannot be read nothing is taken.

public import Admission
internal import Configuration
public import Events

/// In which way an event speaks to the ledger.
public enum ConsentStatement: UInt8, Sendable {
    case none
    /// An event of type `consent`.
    case own
    /// Segment's event of a consent platform.
    case preferences
    case alias, identify, reset

    /// Whether it says that ids are one person's, or are not.
    public var concernsTies: Bool { self == .alias || self == .identify || self == .reset }
}

/// Where an event says it.
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
    /// Whether `userId` and `anonymousId` are both among the subjects.
    public let tiesUsers: Bool

    public init(_ slots: [Int], tiesUsers: Bool) {
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

    // MARK: - Whether it speaks

    @inline(__always) public mutating func statement(_ event: ScannedEvent) -> ConsentStatement {
        guard let type = event.slots[rules.type].string(in: event.block) else { return .none }
        // The shortest of the words with a letter escaped has ten bytes.
        switch type.count {
        case 5 where type.base[0] == UInt8(ascii: "t"): return mayPrefer(event) ? statement(type, event) : .none
        case 5, 7, 8: return statement(type, event)
        case 10...: return type.hasEscape ? unescaped(event) : .none
        default: return .none
        }
    }

    /// Whether the name is long enough to be that of preferences, which most names are not.
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

    // MARK: - What it says

    public mutating func action(_ event: ScannedEvent, _ statement: ConsentStatement) -> ConsentAction {
        var action = ConsentAction(act: .tie, ids: [], time: nil)
        switch statement {
        case .none: action.act = .broken("says nothing")
        case .own, .preferences:
            action.ids = subjects.compactMap { id($0, event) }.unique
            action.time = time(event)
            action.act = statement == .own ? own(event) : preferred(event)
        case .alias: action.ids = [rules.previousID, rules.userID].compactMap { id($0, event) }.unique
        case .identify: action.ids = [rules.userID, rules.anonymousID].compactMap { id($0, event) }.unique
        case .reset:
            action.ids = Array([rules.anonymousID, rules.userID].compactMap { id($0, event) }.prefix(1))
            action.act = .untie
        }
        if action.ids.isEmpty { action.act = .broken("it carries no id that can be used") }
        if action.act == .tie, action.ids.count < 2 { action.act = .broken("it carries no two ids to tie") }
        return action
    }

    public mutating func tiedSubjects(of event: ScannedEvent, under key: SipKey) -> (SubjectKey, SubjectKey)? {
        guard let user = subject(rules.userID, event, key), let device = subject(rules.anonymousID, event, key) else { return nil }
        return (user, device)
    }

    private mutating func subject(_ slot: Int, _ event: ScannedEvent, _ key: SipKey) -> SubjectKey? {
        guard let id = decoder.identity(event.slots[slot], in: event.block, booleans: false) else { return nil }
        let (low, high) = key.hash128(id)
        return SubjectKey(high: high, low: low)
    }

    private mutating func id(_ slot: Int, _ event: ScannedEvent) -> [UInt8]? {
        decoder.identity(event.slots[slot], in: event.block, booleans: false).map { Array($0.bytes) }
    }

    private mutating func time(_ event: ScannedEvent) -> Int64? {
        guard let raw = event.slots[rules.timestamp].string(in: event.block), let text = decoder.decode(raw) else { return nil }
        return Times.parse(text.bytes)
    }

    private mutating func preferred(_ event: ScannedEvent) -> ConsentAction.Act {
        let slot = event.slots[rules.preferences]
        guard slot.isPresent, slot.value(in: event.block).isObject else {
            return .broken("context.consent.categoryPreferences is no object")
        }
        var granted: Set<String> = []
        var denied: Set<String> = []
        var isBroken = false
        members(event.block + Int(slot.start)) { name, value in
            isBroken = isBroken || !value.isTrue && !value.isFalse
            if value.isTrue { granted.formUnion(meanings(name)) } else { denied.formUnion(meanings(name)) }
        }
        if isBroken { return .broken("context.consent.categoryPreferences must hold true and false") }
        return .state(ConsentTerms(granted: Array(granted), denied: Array(denied)))
    }

    private mutating func own(_ event: ScannedEvent) -> ConsentAction.Act {
        let slot = event.slots[rules.consent]
        guard slot.isPresent, slot.value(in: event.block).isObject else { return .broken("its consent is no object") }
        var form = OwnForm()
        members(event.block + Int(slot.start)) { name, value in
            if let fault = read(name, value, into: &form), form.fault == nil { form.fault = fault }
        }
        return form.act
    }

    /// Why the member cannot be read; nil: it was.
    private mutating func read(_ name: ByteRun, _ value: ByteRun, into form: inout OwnForm) -> String? {
        guard let member = decoder.decode(name).flatMap(OwnForm.Member.init), form.seen.insert(member).inserted else {
            return "its consent holds level, granted, denied, version and withdrawn, each once, and no other"
        }
        switch member {
        case .level:
            guard let text = text(value), let level = consent.level(text) else { return "consent.level is none of routes.json" }
            form.level = consent.name(ofLevel: level)
        case .version:
            guard let text = text(value), text.count > 0 else { return "consent.version is no text" }
            form.version = String(decoding: text.bytes, as: UTF8.self)
        case .granted, .denied:
            guard let names = names(value) else { return "consent.\(member.rawValue) is no list of purposes of routes.json" }
            if member == .granted { form.granted = names } else { form.denied = names }
        case .withdrawn:
            if value.isTrue || value.isFalse { form.isWithdrawn = value.isTrue } else { form.withdrawn = names(value) }
            if !value.isTrue, !value.isFalse, form.withdrawn?.isEmpty ?? true {
                return "consent.withdrawn is neither true nor a list of purposes of routes.json"
            }
        }
        return nil
    }

    private mutating func text(_ value: ByteRun) -> ByteRun? {
        guard value.base[0] == UInt8(ascii: "\"") else { return nil }
        return decoder.decode(ByteRun(base: value.base + 1, count: value.count - 2))
    }

    /// The purposes in a list of names, all of them known; nil: it is no such list.
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

    /// The purposes that a name stands for, as it stands between quotes.
    private mutating func meanings(_ raw: ByteRun) -> [String] {
        decoder.decode(raw).map(consent.purposes(named:)) ?? []
    }
}

/// The members of an object that was scanned: the inside of the key, and the value.
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

/// What stands in the `consent` of an event of that type.
private struct OwnForm {
    enum Member: String, CaseIterable {
        case level, granted, denied, version, withdrawn

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
    var fault: String?

    var act: ConsentAction.Act {
        // Who withdraws everything has said everything, whatever else stands there.
        if isWithdrawn { return .withdraw(nil) }
        if let fault { return .broken(fault) }
        let isState = level != nil || seen.contains(.granted)
        if let withdrawn {
            return isState || !denied.isEmpty ? .broken("consent.withdrawn stands beside what else is said") : .withdraw(withdrawn)
        }
        if isState { return .state(ConsentTerms(level: level, granted: granted, denied: denied, version: version)) }
        return denied.isEmpty ? .broken("its consent names no level and no purpose") : .refuse(denied)
    }
}

extension ByteRun {
    fileprivate func equals(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && sameBytes(base, word.utf8Start, count)
    }
}

extension Array where Element == [UInt8] {
    fileprivate var unique: [Element] { indices.filter { !self[..<$0].contains(self[$0]) }.map { self[$0] } }
}

extension ConsentRules {
    fileprivate func name(ofLevel level: Int) -> String { String(decoding: levels[level].name.bytes, as: UTF8.self) }

    /// Those that the name means, as the gate reads it.
    fileprivate func purposes(named name: ByteRun) -> [String] {
        var found = purpose(name).map { [$0] } ?? []
        if let others = alias(name) { found += names.indices.filter { others[$0 / 64] & 1 << UInt64($0 % 64) != 0 } }
        return found.map { String(decoding: names[$0].bytes, as: UTF8.self) }
    }
}
