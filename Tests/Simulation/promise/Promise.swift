// The promise, as a slow reader of it would write it down: what each person has said, who is tied to whom, and from that, asked anew
// each time, what may be done with an event. It knows nothing of how the router does it.

/// What is on record of one id.
struct Said: Equatable {
    var isWithdrawn = false
    var granted: Set<String> = []
    var denied: Set<String> = []
    /// The level that was named, for a later refusal of a purpose.
    var level: Int?
    var named: Set<String> = []
    var decided: Int64 = 0

    static func terms(level: Int?, granted named: Set<String>, denied: Set<String>, at time: Int64) -> Said {
        let granted = Words.purposes(of: level ?? 0).union(named).subtracting(denied)
        return Said(granted: granted, denied: denied, level: level, named: named, decided: time)
    }

    static func withdrawn(at time: Int64) -> Said { Said(isWithdrawn: true, decided: time) }

    /// What is granted, and nothing else is.
    var allowed: Set<String> { isWithdrawn ? [] : granted }
}

struct Promise {
    private(set) var said: [String: Said] = [:]
    /// Each id in one set at most; a set has two at least.
    private(set) var persons: [Set<String>] = []

    func person(_ id: String) -> Set<String> { persons.first { $0.contains(id) } ?? [id] }

    // MARK: - What people say

    mutating func set(_ id: String, _ terms: Said) {
        // Of two decisions the later holds.
        if let old = said[id], old.decided > terms.decided { return }
        said[id] = terms
    }

    mutating func withdraw(_ id: String, _ purposes: [String]?, at time: Int64) {
        guard let purposes else {
            said[id] = .withdrawn(at: time)
            return
        }
        let old = said[id] ?? Said()
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

    // MARK: - What follows from it

    /// What all of them allow; nil: nothing is on record of any of them.
    func allowed(_ ids: [String]) -> Set<String>? {
        let all = ids.flatMap { person($0) }.compactMap { said[$0] }
        return all.isEmpty ? nil : all.reduce(Set(Words.purposes)) { $0.intersection($1.allowed) }
    }

    /// Whether an event is to be let in; `own` is what it says itself, which can only make it stricter.
    func admits(_ ids: [String], own: Int?, _ demanded: Set<String>, assumed: Int?) -> Bool {
        if demanded.isEmpty { return true }
        let own = own.map { Words.purposes(of: $0) }
        if let known = allowed(ids) { return demanded.isSubset(of: own.map { known.intersection($0) } ?? known) }
        return demanded.isSubset(of: own ?? assumed.map { Words.purposes(of: $0) } ?? [])
    }

    /// The highest level of which all purposes are allowed to an event; of one that nothing is known of, the level that is assumed.
    func level(_ ids: [String], own: Int?, assumed: Int?) -> Int {
        guard let known = allowed(ids) else { return own ?? assumed ?? 0 }
        let allowed = own.map { known.intersection(Words.purposes(of: $0)) } ?? known
        return Words.levels.indices.last { Words.purposes(of: $0).isSubset(of: allowed) } ?? 0
    }

    /// Whether one that was let in may still be handed over.
    func keeps(_ ids: [String], _ demanded: Set<String>) -> Bool {
        demanded.isEmpty || allowed(ids).map { demanded.isSubset(of: $0) } ?? true
    }
}

extension Demand {
    var demanded: Set<String> { Words.purposes(of: level).union(purposes) }
}

/// An event as it came.
struct Event {
    var ids: [String]
    /// The level that it says itself.
    var own: Int?
    var isPoison: Bool
    var text: String
    var received: Int64
}

/// An event on its way by one route to one lane.
final class Copy {
    let event: Int
    let route: Int
    let lane: Int
    /// What its route and the field that it keeps demanded when it was let in: what it goes on being held to.
    let admitted: Set<String>
    var isAcknowledged = false
    /// It was refused at some moment since it was let in: it may be destroyed.
    var wasRefused = false
    /// Acknowledged withdrawals that it must not survive, by receipt, with the purposes of each; nil: all of them.
    var dooms: [(receipt: Int64, purposes: Set<String>?)] = []
    var isDelivered = false
    var isBuried = false
    /// It was in memory only when the router was killed.
    var isGone = false
    var inHands = 0

    init(event: Int, route: Int, lane: Int, admitted: Set<String>) {
        self.event = event
        self.route = route
        self.lane = lane
        self.admitted = admitted
    }
}

/// A withdrawal that was written down.
struct Withdrawal {
    var receipt: Int64
    /// All ids that were one person's then.
    var person: Set<String>
    /// nil: all.
    var purposes: Set<String>?
    var time: Int64
    var isAcknowledged = false
}
