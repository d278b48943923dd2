// What is on record of an event's subjects, taken together: the strictest of what they have said, by the levels and purposes of one
// plan. What was said is worked out once for each plan and then found by its number.

internal import Admission
internal import Events

struct Standing: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable { case nothing, known, unreadable }
    var kind = Kind.nothing
    /// 0 unless it is known.
    var level = 0
    /// Empty unless it is known.
    var granted: Purposes
    /// Also of what no longer counts as consent: a refusal does not age.
    var refused: Purposes
}

/// One for each judge, since it holds scratch space.
struct Standings: ~Copyable {
    private let rules: ConsentRules
    private let records: ConsentRecords?
    /// Of the records.
    private let view: ConsentRecords.View?
    /// By number: what it means; `granted` and `refused` are its own.
    private var known: [Standing?] = []
    private var owned: [UnsafeMutablePointer<UInt64>] = []
    private let none: Standing
    private let unreadable: Standing
    /// What is on its way into the record, and holds for this judge already.
    private var foreseen: [SubjectKey: ConsentRecords.Number] = [:]
    /// Whom it was asked for since that was last forgotten.
    private(set) var asked = AskedSubjects()
    /// Room for two sets, where the subjects of an event are taken together, and for two where what one of them said is worked out.
    private let scratch: UnsafeMutablePointer<UInt64>
    private let spare: UnsafeMutablePointer<UInt64>

    init(_ rules: ConsentRules, _ records: ConsentRecords?) {
        self.rules = rules
        self.records = records
        view = records?.view
        scratch = .allocate(capacity: rules.width * 4)
        scratch.initialize(repeating: 0, count: rules.width * 4)
        spare = scratch + rules.width * 2
        none = Standing(granted: rules.nothing, refused: rules.nothing)
        unreadable = Standing(kind: .unreadable, granted: rules.nothing, refused: rules.nothing)
    }

    deinit {
        scratch.deallocate()
        for memory in owned { memory.deallocate() }
    }

    var hasRecords: Bool { records != nil }

    /// Whether it is for the clock alone that nothing can be told.
    var isClockBehind: Bool { records?.isClockBehind ?? false }

    /// They will be asked for soon.
    @inline(__always) func prepare(_ keys: UnsafeBufferPointer<SubjectKey>) {
        guard let view else { return }
        for key in keys { view.prepare(key) }
    }

    /// Of all these subjects; valid until the next call. The strictest of what is on record holds, and nothing is on record only when it
    /// is of none of them.
    @inline(__always) mutating func of(_ keys: UnsafeBufferPointer<SubjectKey>) -> Standing {
        guard let view else { return none }
        if view.isUnreadable { return unreadable }
        var whole = none
        var isFirst = true
        for key in keys {
            let number = number(of: key, view)
            // Nothing takes nothing away.
            if number <= ConsentRecords.nothing { continue }
            whole = isFirst ? standing(number) : join(whole, standing(number), in: scratch)
            isFirst = false
        }
        return whole
    }

    /// Into memory for two sets, which may be that of the first.
    private func join(_ one: Standing, _ other: Standing, in memory: UnsafeMutablePointer<UInt64>) -> Standing {
        if one.kind == .unreadable || other.kind == .unreadable { return unreadable }
        let (granted, refused) = (memory, memory + rules.width)
        var whole = Standing(kind: .known, level: min(one.level, other.level), granted: granted, refused: refused)
        switch (one.kind, other.kind) {
        case (.nothing, .nothing): whole.kind = .nothing
        case (.nothing, _): whole.level = other.level
        case (_, .nothing): whole.level = one.level
        default: break
        }
        for i in 0..<rules.width {
            let ofOne = one.kind == .known ? one.granted[i] : ~0
            let ofOther = other.kind == .known ? other.granted[i] : ~0
            let both = one.refused[i] | other.refused[i]
            granted[i] = ofOne & ofOther & ~both
            refused[i] = both
        }
        if whole.kind == .known, rules.levelsHavePurposes { whole.level = rules.amount(granted) }
        return whole
    }

    @inline(__always) private mutating func number(of key: SubjectKey, _ view: ConsentRecords.View) -> ConsentRecords.Number {
        asked.note(key)
        return (foreseen.isEmpty ? nil : foreseen[key]) ?? view.number(of: key)
    }

    @inline(__always) private mutating func standing(_ number: ConsentRecords.Number) -> Standing {
        if Int(number) < known.count, let standing = known[Int(number)] { return standing }
        return compile(number)
    }

    mutating func forgetAsked() { asked.removeAll() }

    /// From now on this holds of the subject, for this judge alone, until it is on record or forgotten.
    mutating func foresee(_ key: SubjectKey, _ terms: [ConsentTerms]) {
        if let records { foreseen[key] = records.number(of: terms) }
    }

    mutating func forgetForeseen() { foreseen.removeAll(keepingCapacity: true) }

    @inline(never) private mutating func compile(_ number: ConsentRecords.Number) -> Standing {
        guard let records, number != ConsentRecords.unreadable else { return unreadable }
        let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: rules.width * 2)
        owned.append(memory)
        var whole = none
        for terms in records.terms(number) { whole = join(whole, rules.standing(of: terms, in: memory), in: spare) }
        memory.update(from: whole.granted, count: rules.width)
        (memory + rules.width).update(from: whole.refused, count: rules.width)
        (whole.granted, whole.refused) = (Purposes(memory), Purposes(memory + rules.width))
        while known.count <= Int(number) { known.append(nil) }
        known[Int(number)] = whole
        return whole
    }
}

extension ConsentRules {
    /// What one person said, into memory for two sets.
    fileprivate func standing(of terms: ConsentTerms, in memory: UnsafeMutablePointer<UInt64>) -> Standing {
        let (granted, refused) = (memory, memory + width)
        for i in 0..<width {
            granted[i] = 0
            refused[i] = terms.isWithdrawn ? ~0 : 0
        }
        var standing = Standing(kind: .known, granted: granted, refused: refused)
        func add(_ names: [String], to set: UnsafeMutablePointer<UInt64>) {
            for name in names {
                guard let bit = purpose(named: name) else { continue }
                set[bit / 64] = set[bit / 64] | 1 << UInt64(bit % 64)
            }
        }
        add(terms.denied, to: refused)
        guard !terms.isWithdrawn else { return standing }
        if !isRecent(terms.version) {
            standing.kind = .nothing
            return standing
        }
        if let name = terms.level {
            // A level that the plan does not know any more cannot be weighed.
            guard let level = level(named: name) else {
                standing.kind = .unreadable
                return standing
            }
            standing.level = level
            for i in 0..<width { granted[i] = levels[level].purposes[i] }
        }
        add(terms.granted, to: granted)
        for i in 0..<width { granted[i] = granted[i] & ~refused[i] }
        if levelsHavePurposes { standing.level = amount(granted) }
        return standing
    }

    func purpose(named name: String) -> Int? {
        var name = name
        return name.withUTF8 { text in text.baseAddress.flatMap { purpose(ByteRun(base: $0, count: text.count)) } }
    }

    private func level(named name: String) -> Int? {
        var name = name
        return name.withUTF8 { text in text.baseAddress.flatMap { level(ByteRun(base: $0, count: text.count)) } }
    }
}
