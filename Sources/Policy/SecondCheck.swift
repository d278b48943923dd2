// The second check: what waited passes the gate once more at the moment of hand-over, by its subjects alone, without being parsed. It
// promises that no event is handed over of a subject who has since refused what the event was admitted under, also when the subject
// consents again before the event could be destroyed. When it cannot tell it holds back and destroys nothing: what is on record may be
// readable again.

internal import Configuration
internal import Platform

public final class SecondCheck: Sendable {
    public enum Answer: Sendable, Equatable {
        case pass
        /// These events, by index, may not go any more.
        case refused([Int])
        /// Nobody can tell at the moment: all of them wait.
        case unreadable
    }

    private let records: ConsentRecords
    private let levels: RunNames
    private let state = Monitor(State())

    private struct State {
        var today: Today?
        var bans = Bans()
    }

    /// `levels`: the names of the levels that entries speak of.
    public init(_ records: ConsentRecords, levels: RunNames) {
        self.records = records
        self.levels = levels
    }

    /// From now on it goes by these rules.
    public func adopt(_ ruleset: Ruleset) {
        state.withLock { $0.today = Today(ruleset, records, levels.all) }
    }

    /// Until it is lifted no event of these subjects may go that came in by then, whatever they say later: of these purposes, or nil, of
    /// any.
    public func ban(_ number: Int64, _ subjects: [SubjectKey], purposes: [String]?, until time: Int64) {
        state.withLock { $0.bans.add(number, subjects, Bans.Ban(number: number, time: time, purposes: purposes)) }
    }

    public func lift(_ number: Int64) { state.withLock { $0.bans.lift(number) } }

    public func check(_ batch: Batch) -> Answer { check(batch.entries, batch.subjects) }

    /// Of one event that came in then and by this route; its subjects as a file has them, 16 bytes each.
    public func check(route: UInt16?, arrival: Int64, subjects: UnsafeRawBufferPointer) -> Answer {
        let count = min(subjects.count / 16, Int(UInt8.max))
        let keys = (0..<count).map { subjects.loadUnaligned(fromByteOffset: $0 * 16, as: SubjectKey.self) }
        let entry = Entry(
            end: 0, route: route ?? .max, isImmediate: false, subjectCount: UInt8(count), firstSubject: 0, messageIDOffset: 0,
            messageIDCount: 0, arrival: arrival)
        return withUnsafePointer(to: entry) { entry in
            keys.withUnsafeBufferPointer { check(UnsafeBufferPointer(start: entry, count: 1), $0) }
        }
    }

    /// The same, without the events themselves.
    public func check(_ entries: UnsafeBufferPointer<Entry>, _ subjects: UnsafeBufferPointer<SubjectKey>) -> Answer {
        state.withLock { $0.today?.check(entries, subjects, $0.bans) ?? .pass }
    }
}

/// What waiting events are asked for by the plan of the day.
private final class Today {
    private struct Demand {
        var level: Int
        var purposes: Purposes?
    }

    /// Owns what the demands point to.
    private let ruleset: Ruleset
    private let consent: ConsentRules
    private var standings: Standings
    /// By the number of the route.
    private var demands: [UInt16: Demand] = [:]
    /// By `EntryLevel`: the index of the level; one that the plan does not know is above all.
    private var levels: [Int]

    /// nil: the rules demand nothing of anybody.
    init?(_ ruleset: Ruleset, _ records: ConsentRecords, _ names: [String]) {
        guard let rules = ruleset.rules.gate else { return nil }
        self.ruleset = ruleset
        consent = rules.pointee.consent
        standings = Standings(consent, records)
        for route in ruleset.rules.routes {
            demands[route.number] = Demand(level: route.gate.level, purposes: route.gate.purposes)
        }
        levels = Array(repeating: consent.levels.count - 1, count: Int(EntryLevel.highest) + 1)
        levels[Int(EntryLevel.none)] = 0
        for (number, name) in names.enumerated() {
            let entry = EntryLevel.entry(of: UInt16(exactly: number))
            let known = consent.levels.firstIndex { $0.name.bytes.elementsEqual(name.utf8) }
            if entry != EntryLevel.highest, let known { levels[Int(entry)] = known }
        }
    }

    func check(_ entries: UnsafeBufferPointer<Entry>, _ all: UnsafeBufferPointer<SubjectKey>, _ bans: Bans) -> SecondCheck.Answer {
        var refused: [Int] = []
        for (index, entry) in entries.enumerated() {
            // What came by a route that is gone needs some consent, whatever it was.
            let demand = demands[entry.route] ?? Demand(level: min(1, consent.levels.count - 1), purposes: nil)
            let level = max(demand.level, levels[Int(entry.level)])
            guard level > 0 || demand.purposes != nil else { continue }
            let first = Int(entry.firstSubject)
            let subjects = UnsafeBufferPointer(rebasing: all[first..<first + Int(entry.subjectCount)])
            if !bans.isEmpty, isBanned(entry, subjects, level, demand.purposes, bans) {
                refused.append(index)
                continue
            }
            let standing = standings.of(subjects)
            switch standing.kind {
            case .unreadable: return .unreadable
            case .known:
                let isGranted = demand.purposes.map { consent.contains(standing.granted, $0) } ?? true
                if standing.level < level || !isGranted { refused.append(index) }
            case .nothing:
                // It was admitted by what it said itself, or by what is assumed; a refusal that is too old to count as consent counts.
                let isRefused = consent.meet(standing.refused, consent.levels[level].purposes)
                if isRefused || demand.purposes.map({ consent.meet(standing.refused, $0) }) ?? false { refused.append(index) }
            }
        }
        return refused.isEmpty ? .pass : .refused(refused)
    }

    private func isBanned(
        _ entry: Entry, _ subjects: UnsafeBufferPointer<SubjectKey>, _ level: Int, _ purposes: Purposes?, _ bans: Bans
    ) -> Bool {
        subjects.contains { subject in
            bans[subject].contains { ban in
                guard entry.arrival <= ban.time else { return false }
                guard let names = ban.purposes else { return true }
                return names.contains { name in
                    guard let bit = consent.purpose(named: name) else { return false }
                    func holds(_ set: Purposes) -> Bool { set[bit / 64] & 1 << UInt64(bit % 64) != 0 }
                    return holds(consent.levels[level].purposes) || purposes.map(holds) ?? false
                }
            }
        }
    }
}

/// Withdrawals whose destruction is not done: by subject.
private struct Bans {
    struct Ban {
        var number: Int64
        var time: Int64
        var purposes: [String]?
    }
    private var bans: [SubjectKey: [Ban]] = [:]
    private var subjects: [Int64: [SubjectKey]] = [:]

    var isEmpty: Bool { bans.isEmpty }
    subscript(subject: SubjectKey) -> [Ban] { bans[subject] ?? [] }

    mutating func add(_ number: Int64, _ keys: [SubjectKey], _ ban: Ban) {
        guard subjects[number] == nil else { return }
        subjects[number] = keys
        for key in keys { bans[key, default: []].append(ban) }
    }

    mutating func lift(_ number: Int64) {
        for key in subjects.removeValue(forKey: number) ?? [] {
            bans[key]?.removeAll { $0.number == number }
            if bans[key]?.isEmpty == true { bans[key] = nil }
        }
    }
}
