// Computes what is on record for an event's subjects together: the strictest combination of their terms, as levels and purposes of one plan.
// Each list of terms is compiled once per plan and then found by its number.

internal import Admission
internal import Events

struct Standing: BitwiseCopyable {
    enum Kind: UInt8, BitwiseCopyable { case nothing, known, unreadable }
    var kind = Kind.nothing
    /// The level. It is 0 unless the standing is known.
    var level = 0
    /// The granted purposes. They are empty unless the standing is known.
    var granted: Purposes
    /// The refused purposes. They include refusals in terms whose version is too old to count as consent, because a refusal does not
    /// expire.
    var refused: Purposes
}

/// The standings of one plan, for one judge, because it holds scratch memory.
struct Standings: ~Copyable {
    private let rules: ConsentRules
    private let records: ConsentRecords?
    /// A view of the records for fast reading.
    private let view: ConsentRecords.View?
    /// The compiled standings by number. Each owns the memory of its sets.
    private var known: [Standing?] = []
    private var owned: [UnsafeMutablePointer<UInt64>] = []
    private let none: Standing
    private let unreadable: Standing
    /// Terms that are about to be recorded and already hold for this judge.
    private var foreseen: [SubjectKey: ConsentRecords.Number] = [:]
    /// The subjects that were looked up since `forgetAsked`.
    private(set) var asked = AskedSubjects()
    /// Memory for two sets that combine the subjects of an event. `spare` has memory for two sets that compile a list of terms.
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

    /// True if records cannot be read only because the clock is behind.
    var isClockBehind: Bool { records?.isClockBehind ?? false }

    /// Prefetches the table entries of subjects that will be looked up soon.
    @inline(__always) func prepare(_ keys: UnsafeBufferPointer<SubjectKey>) {
        guard let view else { return }
        for key in keys { view.prepare(key) }
    }

    /// Returns the strictest combination of what is on record for these subjects. Its kind is `nothing` only if none of them has a record.
    /// The result is valid until the next call.
    @inline(__always) mutating func of(_ keys: UnsafeBufferPointer<SubjectKey>) -> Standing {
        guard let view else { return none }
        if view.isUnreadable { return unreadable }
        var whole = none
        var isFirst = true
        for key in keys {
            let number = number(of: key, view)
            // A subject without a record does not restrict the others.
            if number <= ConsentRecords.nothing { continue }
            whole = isFirst ? standing(number) : join(whole, standing(number), in: scratch)
            isFirst = false
        }
        return whole
    }

    /// Combines two standings in memory for two sets, which may be the memory of the first one.
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
        assert((0..<rules.width).allSatisfy { granted[$0] & refused[$0] == 0 }, "a purpose is both granted and refused")
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

    /// From now on, these terms hold for the subject, for this judge alone, until `forgetForeseen`.
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
    /// Returns the standing of one subject's terms, in memory for two sets.
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
            // A level that the plan no longer has cannot be compared.
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
