// The second check: waiting events pass the gate again at the moment of hand-over. It uses only their entries and subjects; the events are
// not parsed. It promises that no event of a subject is handed over if the subject has since refused what the event was admitted under.
// This holds even if the subject consents again before the event is destroyed. If the records cannot be read, the check holds the events
// back and destroys nothing, because the records may become readable again.

public import Admission
internal import Events
public import Platform

public final class SecondCheck: Sendable {
    public enum Answer: Sendable, Equatable {
        case pass
        /// These events must not be handed over.
        case refused(Refused)
        /// The records cannot be read at the moment, so all events wait.
        case unreadable
    }

    /// Events of a batch that must not be handed over. It is a collection of their indices.
    public struct Refused: Sendable, Equatable, RandomAccessCollection, ExpressibleByArrayLiteral {
        public var events: [Int]
        /// For each of the events, the receipt of the withdrawal that destroys it. It is 0 if the event is refused without a withdrawal.
        public var receipts: [Int64]

        public init(_ events: [Int], receipts: [Int64]) {
            assert(events.count == receipts.count, "an event has no receipt")
            self.events = events
            self.receipts = receipts
        }

        public init(arrayLiteral events: Int...) { self.init(events, receipts: events.map { _ in 0 }) }

        public var startIndex: Int { 0 }
        public var endIndex: Int { events.count }
        public subscript(position: Int) -> Int { events[position] }

        /// Two answers are equal if they refuse the same events.
        public static func == (one: Refused, other: Refused) -> Bool { one.events == other.events }
    }

    /// What the answers depend on, as numbers of changes. If it is the same before a check and after it, an answer of that check is what
    /// another check would answer now.
    public struct Version: Sendable, Equatable {
        fileprivate var check: UInt32
        fileprivate var records: UInt32
    }

    private let records: ConsentRecords
    private let levels: RunNames
    private let clock: Clock
    private let look: @Sendable () -> Void
    /// The number of changes of the section and of the bans.
    private let changes = ChangeCounter()
    private let state = Monitor(State())

    private struct State {
        var current: CurrentDemands?
        /// The latest demand of each route, by its number. A route that a reload removed keeps its demand for the events that still wait.
        var demands: [UInt16: RouteDemand] = [:]
        var bans = Bans()
        /// True if the withdrawals on record could not be read, so that nobody knows what is banned.
        var isBlind = false
    }

    /// Makes a check. `levels` has the names of the levels that entries refer to. `look` runs before each check, and updates whether the
    /// records can be trusted. `clock` is the one that gives events the time at which they come in.
    public init(_ records: ConsentRecords, levels: RunNames, clock: Clock = .system, look: @escaping @Sendable () -> Void = {}) {
        self.records = records
        self.levels = levels
        self.clock = clock
        self.look = look
    }

    /// From now on, uses this section. If it is nil, nothing is demanded.
    public func adopt(_ section: ConsentSection?) {
        state.withLock { state in
            for demand in section.map(RouteDemand.all) ?? [] { state.demands[demand.number] = demand }
            state.current = section.map { CurrentDemands($0, records: records, names: levels.all, known: state.demands) }
            changes.advance()
        }
    }

    /// Refuses events of these subjects that came in at `time` or before, whatever the subjects say later. It refuses the events that need
    /// one of `purposes`, or all events if `purposes` is nil. `isFinished` is true if nothing is left to destroy.
    public func ban(_ number: Int64, _ subjects: [SubjectKey], purposes: [String]?, until time: Int64, isFinished: Bool = false) {
        state.withLock { state in
            state.bans.add(Bans.Ban(number: number, time: time, purposes: purposes), of: subjects, isFinished: isFinished)
            changes.advance()
        }
    }

    /// True if no withdrawal is known.
    public var isWithoutBans: Bool { state.withLock { $0.bans.isEmpty } }

    /// Returns true if an event of these subjects came in before one of them withdrew any consent, or if that is not known. For what is only
    /// looked at, the purposes of the withdrawal do not count.
    public func isWithdrawn(arrival: Int64, subjects: [SubjectKey]) -> Bool {
        let now = clock.wall()
        return state.withLock { state in
            if state.isBlind { return true }
            if state.bans.isEmpty { return false }
            return subjects.withUnsafeBufferPointer { subjects in
                state.bans.receipt(of: subjects, arrival: arrival, now: now) { _ in true } != nil
            }
        }
    }

    /// Notes that the events of a receipt are destroyed. Its ban stays, for events that came in at `time` or before.
    public func finish(_ number: Int64, _ subjects: [SubjectKey], until time: Int64) {
        state.withLock { state in
            if state.bans.finish(number, of: subjects, until: time) { changes.advance() }
        }
    }

    /// Limits the times of the finished withdrawals to this one, after the ledger has done so because a clock was ahead.
    public func limitBans(to time: Int64) {
        state.withLock { state in
            state.bans.limit(to: time)
            changes.advance()
        }
    }

    /// From now on, every answer is `unreadable`, because the withdrawals on record could not be read.
    public func goBlind() {
        state.withLock { state in
            state.isBlind = true
            changes.advance()
        }
    }

    public func check(_ batch: Batch) -> Answer { check(batch.entries, batch.subjects) }

    /// The present version. A change is in it before the function that made the change returns. Reading it takes no lock.
    public var version: Version { Version(check: changes.value, records: records.changeCount) }

    /// Updates whether the records can be trusted. It may send a message to a person, so the caller holds no lock.
    public func refresh() { look() }

    /// Checks a batch like `check`, but does not refresh first.
    public func answer(_ batch: Batch) -> Answer { answer(batch.entries, batch.subjects) }

    /// Returns the entry level for the level name of a stored event. Nil stands for the highest level.
    public func entryLevel(_ name: String?) -> UInt8 {
        guard let name else { return EntryLevel.highest }
        return name.isEmpty ? EntryLevel.none : EntryLevel.entry(of: levels.number(of: name))
    }

    /// Checks one event by its level, its arrival time and its subjects. The demand of its route does not count.
    public func check(level: UInt8, arrival: Int64, subjects: [SubjectKey]) -> Answer {
        check(level: level, arrival: arrival, subjects: subjects) { _ in Demand() }
    }

    /// Checks one event by its route, its level, its arrival time and its subjects.
    public func check(route: UInt16?, level: UInt8, arrival: Int64, subjects: [SubjectKey]) -> Answer {
        check(level: level, arrival: arrival, subjects: subjects) { $0.demand(ofRoute: route) }
    }

    private func check(
        level: UInt8, arrival: Int64, subjects: [SubjectKey], demand: (CurrentDemands) -> Demand
    ) -> Answer {
        look()
        let now = clock.wall()
        return state.withLock { state in
            if state.isBlind { return .unreadable }
            guard let current = state.current else { return .pass }
            let result = subjects.withUnsafeBufferPointer { subjects in
                current.check(demand(current), entryLevel: level, arrival: arrival, subjects: subjects, bans: state.bans, now: now)
            }
            return switch result {
            case .pass: .pass
            case .refused(let receipt): .refused(Refused([0], receipts: [receipt]))
            case .unreadable: .unreadable
            }
        }
    }

    /// Checks events by their entries and subjects.
    public func check(_ entries: UnsafeBufferPointer<Entry>, _ subjects: UnsafeBufferPointer<SubjectKey>) -> Answer {
        look()
        return answer(entries, subjects)
    }

    private func answer(_ entries: UnsafeBufferPointer<Entry>, _ subjects: UnsafeBufferPointer<SubjectKey>) -> Answer {
        let now = clock.wall()
        return state.withLock { state in
            if state.isBlind { return .unreadable }
            return state.current?.check(entries, all: subjects, bans: state.bans, now: now) ?? .pass
        }
    }
}

/// The demand of a route, by names, so that it stays valid after its plan is gone.
private struct RouteDemand {
    var number: UInt16
    var level: [UInt8]
    var purposes: [[UInt8]]

    static func all(of section: ConsentSection) -> [RouteDemand] {
        let consent = section.rules.pointee.consent
        return section.routes.map { route in
            let purposes = consent.names.indices.filter { bit in
                route.demand.purposes.map { $0[bit / 64] & 1 << UInt64(bit % 64) != 0 } ?? false
            }
            return RouteDemand(
                number: route.number, level: Array(consent.levels[route.demand.level].name.bytes),
                purposes: purposes.map { Array(consent.names[$0].bytes) })
        }
    }
}

/// The demands of the current plan on waiting events.
private final class CurrentDemands {
    /// The section owns the memory that the demands point to.
    private let section: ConsentSection
    private let store = Store()
    private let consent: ConsentRules
    private var standings: Standings
    /// The demands by route number.
    private var demands: [UInt16: Demand] = [:]
    /// For an unknown route, the highest level and all purposes that any route demands. The level is at least the second lowest.
    private var strictest = Demand()
    /// The index of the level by `EntryLevel`. A level that the plan does not have counts as the highest.
    private var levels: [Int]

    /// Compiles the demands. `known` has the demands of all routes, including those of earlier plans.
    init(_ section: ConsentSection, records: ConsentRecords, names: [String], known: [UInt16: RouteDemand]) {
        self.section = section
        consent = section.rules.pointee.consent
        standings = Standings(consent, records)
        levels = Array(repeating: consent.levels.count - 1, count: Int(EntryLevel.highest) + 1)
        levels[Int(EntryLevel.none)] = 0
        for (number, name) in names.enumerated() {
            let entry = EntryLevel.entry(of: UInt16(exactly: number))
            if entry != EntryLevel.highest, let known = level(named: Array(name.utf8)) { levels[Int(entry)] = known }
        }
        for demand in known.values { demands[demand.number] = self.demand(demand) }
        for route in section.routes { demands[route.number] = route.demand }
        let routes = section.routes.map(\.demand)
        strictest = Demand(
            level: max(routes.map(\.level).max() ?? 0, min(1, consent.levels.count - 1)), purposes: union(routes.compactMap(\.purposes)))
    }

    private func level(named name: [UInt8]) -> Int? { consent.levels.firstIndex { $0.name.bytes.elementsEqual(name) } }

    /// Returns the demand of a route of an earlier plan. A level or purpose that this plan does not have counts as the highest level.
    private func demand(_ old: RouteDemand) -> Demand {
        let bits = old.purposes.map { name in consent.names.firstIndex { $0.bytes.elementsEqual(name) } }
        var demand = Demand(level: level(named: old.level) ?? consent.levels.count - 1, purposes: nil)
        if bits.contains(nil) { demand.level = consent.levels.count - 1 }
        let known = bits.compactMap { $0 }
        guard !known.isEmpty else { return demand }
        var words = [UInt64](repeating: 0, count: consent.width)
        for bit in known { words[bit / 64] |= 1 << UInt64(bit % 64) }
        demand.purposes = store.list(words).baseAddress
        return demand
    }

    private func union(_ sets: [Purposes]) -> Purposes? {
        guard !sets.isEmpty else { return nil }
        return store.list((0..<consent.width).map { word in sets.reduce(0) { $0 | $1[word] } }).baseAddress
    }

    func demand(ofRoute number: UInt16?) -> Demand { number.flatMap { demands[$0] } ?? strictest }

    func check(
        _ entries: UnsafeBufferPointer<Entry>, all: UnsafeBufferPointer<SubjectKey>, bans: Bans, now: Int64
    ) -> SecondCheck.Answer {
        var refused: SecondCheck.Refused = []
        for (index, entry) in entries.enumerated() {
            let first = Int(entry.firstSubject)
            precondition(first + Int(entry.subjectCount) <= all.count, "the subjects of an entry lie outside the batch")
            let subjects = UnsafeBufferPointer(rebasing: all[first..<first + Int(entry.subjectCount)])
            let coming = min(first + CurrentDemands.ahead, all.count)
            standings.prepare(UnsafeBufferPointer(rebasing: all[coming..<min(coming + subjects.count, all.count)]))
            let result = check(
                demand(ofRoute: entry.route), entryLevel: entry.level, arrival: entry.arrival, subjects: subjects, bans: bans, now: now)
            switch result {
            case .pass: break
            case .refused(let receipt):
                refused.events.append(index)
                refused.receipts.append(receipt)
            case .unreadable: return .unreadable
            }
        }
        return refused.isEmpty ? .pass : .refused(refused)
    }

    /// The number of subjects by which the prefetch of records is ahead.
    private static let ahead = 16

    enum CheckResult {
        case pass
        /// Refused by the withdrawal with this receipt, or without a withdrawal if it is 0.
        case refused(Int64)
        case unreadable
    }

    /// Checks one event of a route with this demand, which was admitted under this level.
    func check(
        _ demand: Demand, entryLevel: UInt8, arrival: Int64, subjects: UnsafeBufferPointer<SubjectKey>, bans: Bans, now: Int64
    ) -> CheckResult {
        let level = max(demand.level, levels[Int(entryLevel)])
        assert(consent.levels.indices.contains(level), "the plan does not have this level")
        let demand = Demand(level: level, purposes: demand.purposes)
        guard !demand.isEmpty else { return .pass }
        if let receipt = receipt(arrival, subjects: subjects, bans: bans, demand: demand, now: now) { return .refused(receipt) }
        let standing = standings.of(subjects)
        switch standing.kind {
        case .unreadable: return .unreadable
        case .known:
            let isGranted = demand.purposes.map { consent.contains(standing.granted, $0) } ?? true
            return standing.level < level || !isGranted ? .refused(0) : .pass
        case .nothing:
            // The event was admitted by its own signals or by an assumption. A refusal still counts if its version is too old to count as
            // consent.
            let isRefused = consent.meet(standing.refused, consent.levels[level].purposes)
            return isRefused || demand.purposes.map({ consent.meet(standing.refused, $0) }) ?? false ? .refused(0) : .pass
        }
    }

    private func receipt(
        _ arrival: Int64, subjects: UnsafeBufferPointer<SubjectKey>, bans: Bans, demand: Demand, now: Int64
    ) -> Int64? {
        if bans.isEmpty { return nil }
        return bans.receipt(of: subjects, arrival: arrival, now: now) { purpose in
            guard let bit = consent.purpose(named: purpose) else { return false }
            func holds(_ set: Purposes) -> Bool { set[bit / 64] & 1 << UInt64(bit % 64) != 0 }
            return holds(consent.levels[demand.level].purposes) || demand.purposes.map(holds) ?? false
        }
    }
}
