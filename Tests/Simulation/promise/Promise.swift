// A simple, slow model of the promise: it holds the decision of each id and the ties. From these it computes, anew for each question, what
// may be done with an event. It shares no code with the router.

/// The record of one id.
struct LedgerRecord: Hashable {
    var isWithdrawn = false
    var granted: Set<String> = []
    var denied: Set<String> = []
    /// The level of the decision. A later withdrawal of a purpose needs it.
    var level: Int?
    var named: Set<String> = []
    var decided: Int64 = 0

    static func terms(level: Int?, granted named: Set<String>, denied: Set<String>, at time: Int64) -> LedgerRecord {
        let granted = Words.purposes(of: level ?? 0).union(named).subtracting(denied)
        return LedgerRecord(granted: granted, denied: denied, level: level, named: named.subtracting(denied), decided: time)
    }

    static func withdrawn(at time: Int64) -> LedgerRecord { LedgerRecord(isWithdrawn: true, decided: time) }

    /// The purposes that are allowed.
    var allowed: Set<String> { isWithdrawn ? [] : granted }

    var undated: LedgerRecord {
        var record = self
        record.decided = 0
        return record
    }

    /// Returns what both allow, with everything that either refuses.
    func stricter(_ other: LedgerRecord) -> LedgerRecord {
        if isWithdrawn || other.isWithdrawn { return .withdrawn(at: decided) }
        let level = level.flatMap { level in other.level.map { min(level, $0) } }
        return .terms(level: level, granted: named.intersection(other.named), denied: denied.union(other.denied), at: decided)
    }

    /// Returns what is left if these purposes are refused.
    func refusing(_ purposes: Set<String>) -> LedgerRecord {
        isWithdrawn ? self : .terms(level: level, granted: named, denied: denied.union(purposes), at: decided)
    }
}

struct Promise {
    private(set) var said: [String: LedgerRecord] = [:]
    /// Each id is in at most one set. A set has at least two ids.
    private(set) var persons: [Set<String>] = []

    func person(_ id: String) -> Set<String> { persons.first { $0.contains(id) } ?? [id] }

    // MARK: - Decisions of people

    mutating func set(_ id: String, _ terms: LedgerRecord) {
        // The later of two decisions counts. Of two decisions of the same moment, what both allow counts.
        guard let old = said[id], old.decided >= terms.decided else {
            said[id] = terms
            return
        }
        if old.decided == terms.decided { said[id] = old.stricter(terms) }
    }

    /// The records that apply to the id: its own and those of the ids that are tied to it.
    func effective(_ id: String) -> Set<LedgerRecord> {
        Set(person(id).compactMap { said[$0] }.map { $0.undated })
    }

    mutating func withdraw(_ id: String, _ purposes: [String]?, at time: Int64) {
        guard let purposes else {
            said[id] = .withdrawn(at: time)
            return
        }
        let old = said[id] ?? LedgerRecord()
        if old.isWithdrawn {
            said[id]?.decided = time
            return
        }
        said[id] = .terms(level: old.level, granted: old.named.subtracting(purposes), denied: old.denied.union(purposes), at: time)
    }

    mutating func tie(_ ids: [String]) {
        let joined = ids.reduce(into: Set<String>()) { $0.formUnion(person($1)) }
        guard joined.count > 1 else { return }
        persons.removeAll { !$0.isDisjoint(with: joined) }
        persons.append(joined)
    }

    mutating func untie(_ id: String) {
        guard let index = persons.firstIndex(where: { $0.contains(id) }) else { return }
        persons[index].remove(id)
        if persons[index].count < 2 { persons.remove(at: index) }
    }

    // MARK: - What events may do

    /// Returns the purposes that all of the ids allow. It is nil if no id has a record.
    func allowed(_ ids: [String]) -> Set<String>? {
        let all = ids.flatMap { person($0) }.compactMap { said[$0] }
        return all.isEmpty ? nil : all.reduce(Set(Words.purposes)) { $0.intersection($1.allowed) }
    }

    /// Returns true if an event is to be admitted. What the event itself says can only make the result stricter.
    func admits(_ event: Event, _ demanded: Set<String>, assumed: Int?) -> Bool {
        demanded.isSubset(of: allowed(event, assumed: assumed))
    }

    private func allowed(_ event: Event, assumed: Int?) -> Set<String> {
        event.signals.allowed(allowed(event.ids), assumed: Words.purposes(of: assumed ?? 0))
    }

    /// Returns the highest level whose purposes are all allowed.
    func level(_ event: Event, assumed: Int?) -> Int {
        let allowed = allowed(event, assumed: assumed)
        return Words.levels.indices.last { Words.purposes(of: $0).isSubset(of: allowed) } ?? 0
    }

    /// Returns true if an admitted event may still be handed over.
    func keeps(_ ids: [String], _ demanded: Set<String>) -> Bool {
        demanded.isEmpty || allowed(ids).map { demanded.isSubset(of: $0) } ?? true
    }
}

extension Demand {
    var demanded: Set<String> { Words.purposes(of: level).union(purposes) }
}

/// An event as the source reads it.
struct Event {
    /// The ids of its subjects, by member.
    var members: [String: String]
    /// True if it has an id that cannot be used.
    var hasBrokenID = false
    var signals = Signals()
    var statement = Statement.none
    /// The time in the event. It is nil if it has none.
    var time: Int64?
    var isPoison: Bool
    /// True if it came with the member that demands a level of its own.
    var hasField: Bool
    var text = ""
    var received: Int64

    /// The ids, without duplicates, in the order of the members of the configuration.
    var ids: [String] {
        var ids: [String] = []
        for member in Words.members { if let id = members[member], !ids.contains(id) { ids.append(id) } }
        return ids
    }
}

/// One event for one route in one lane.
final class Copy {
    let event: Int
    let route: Int
    let lane: Int
    /// The purposes that its route, and the field that it keeps, demanded when it was admitted. They stay demanded until the end.
    let admitted: Set<String>
    var isAcknowledged = false
    /// True if it was refused at some moment since its admission. Then it may be destroyed.
    var wasRefused = false
    /// True if the first thing that refused it was a withdrawal, so that a receipt counts it when it is destroyed.
    var isFirstRefusedByWithdrawal = false
    /// True if a receipt named it in flight. Then it counts as destroyed only if it came back.
    var wasNamedInFlight = false
    /// The acknowledged withdrawals that apply to it, with the receipt and the purposes of each. Nil purposes mean all purposes.
    var dooms: [(receipt: Int64, purposes: Set<String>?)] = []
    var isDelivered = false
    /// How many dead letters were made of it. A router that is killed between the letter and the removal from the queue makes a second one.
    var letters = 0
    /// True if the router was killed after a letter was made of it. Then it may wait in its queue beside the letter.
    var mayWaitBesideLetter = false
    /// True if its loss is allowed, for example because it was only in memory when the router was killed.
    var isGone = false
    var inHands = 0
    /// The damaged files that held it, or may have. Each may have lost it.
    var mayBeLostIn: Set<String> = []
    /// How often it was released from the held events. A kill before they are removed there repeats it.
    var releases = 0

    init(event: Int, route: Int, lane: Int, admitted: Set<String>) {
        self.event = event
        self.route = route
        self.lane = lane
        self.admitted = admitted
    }
}

/// An event that waits for the consent of its subjects.
final class Hold {
    let event: Int
    /// The routes for which it waits.
    let routes: [Int]
    /// True if it was refused at some moment, or nobody has to wait for an answer any more. Then it may be destroyed.
    var wasRefused = false
    var isFirstRefusedByWithdrawal = false
    var dooms: [(receipt: Int64, purposes: Set<String>?)] = []
    /// The life in which it was released, and the copies that were made.
    var releasedIn: Int?
    var copies: [Copy] = []
    /// True if it was old enough to be destroyed at some moment.
    var mayHaveExpired = false
    /// True if its file was damaged while it waited there, or after.
    var mayBeLost = false

    init(event: Int, routes: [Int]) {
        self.event = event
        self.routes = routes
    }
}

/// A recorded withdrawal.
struct Withdrawal {
    var receipt: Int64
    /// All ids of the person at that time.
    var person: Set<String>
    /// It is nil if all purposes were withdrawn.
    var purposes: Set<String>?
    var time: Int64
    var isAcknowledged = false
    /// The index of the event of the stream that brought it. It is nil if a command did.
    var event: Int?
    /// The ids whose consent on record has changed with it.
    var changed: Set<String> = []
}
