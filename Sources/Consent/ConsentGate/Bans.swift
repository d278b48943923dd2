// The withdrawals on record, by subject. An event that came in before a withdrawal is never delivered, even if the subject consents again,
// and even if the event was in no file of the router when its withdrawal was carried out. So a ban stays after the destruction is finished.

internal import Admission

struct Bans {
    struct Ban {
        /// The number of the withdrawal's receipt.
        var number: Int64
        /// The time when the withdrawal was written, in nanoseconds since 1970.
        var time: Int64
        /// The withdrawn purposes. It is nil if everything was withdrawn.
        var purposes: [String]?
    }

    /// The bans of a subject. Most subjects have one, which then needs no list.
    private enum Entry {
        case one(Ban)
        case many([Ban])

        mutating func change(_ body: (inout Ban) -> Void) {
            switch self {
            case .one(var ban):
                body(&ban)
                self = .one(ban)
            case .many(var all):
                for index in all.indices { body(&all[index]) }
                self = .many(all)
            }
        }
    }

    private var bans: [SubjectKey: Entry] = [:]
    /// The receipts whose destruction is not finished.
    private var unfinished: Set<Int64> = []
    /// The time of the latest withdrawal. An event that came in after it is in no ban.
    private(set) var latest = Int64.min

    var isEmpty: Bool { bans.isEmpty }

    mutating func add(_ ban: Ban, of keys: [SubjectKey], isFinished: Bool) {
        if !isFinished { unfinished.insert(ban.number) }
        latest = max(latest, ban.time)
        for key in keys { add(ban, to: key) }
    }

    private mutating func add(_ ban: Ban, to key: SubjectKey) {
        var all: [Ban] =
            switch bans[key] {
            case nil: []
            case .one(let known): [known]
            case .many(let known): known
            }
        if all.contains(where: { $0.number == ban.number }) { return }
        // A later withdrawal of everything covers what an earlier one covers. The earlier one is kept while it counts what it destroys.
        if ban.purposes == nil { all.removeAll { $0.time <= ban.time && !unfinished.contains($0.number) } }
        all.append(ban)
        bans[key] = all.count == 1 ? .one(ban) : .many(all)
    }

    /// Notes that the destruction of a withdrawal of these subjects is finished. Its ban stays, for events that came in at `time` or before.
    /// Returns true if it refused later ones until now.
    mutating func finish(_ number: Int64, of keys: [SubjectKey], until time: Int64) -> Bool {
        unfinished.remove(number)
        var isChanged = false
        for key in keys {
            bans[key]?.change { ban in
                guard ban.number == number, ban.time > time else { return }
                ban.time = time
                isChanged = true
            }
        }
        return isChanged
    }

    /// Replaces times that are later than this one by it, except those of withdrawals whose destruction is not finished.
    mutating func limit(to time: Int64) {
        guard latest > time else { return }
        latest = time
        for key in bans.keys {
            bans[key]?.change { [unfinished] ban in
                if !unfinished.contains(ban.number) { ban.time = min(ban.time, time) }
                latest = max(latest, ban.time)
            }
        }
    }

    /// Returns the number of the receipt that destroys an event of these subjects, or nil if there is none. `isMeant` tells if a purpose is
    /// one that the event needs. An event from the future came in under a clock that was wrong, so nobody knows if it came before a
    /// withdrawal. Then it did. A receipt that is not finished comes first.
    func receipt(
        of subjects: UnsafeBufferPointer<SubjectKey>, arrival: Int64, now: Int64, isMeant: (String) -> Bool
    ) -> Int64? {
        guard arrival <= latest || arrival > now else { return nil }
        var found: Int64?
        func look(_ ban: Ban) -> Bool {
            guard arrival <= ban.time || arrival > now, ban.purposes.map({ $0.contains(where: isMeant) }) ?? true else { return false }
            found = found ?? ban.number
            guard unfinished.contains(ban.number) else { return false }
            found = ban.number
            return true
        }
        for subject in subjects {
            switch bans[subject] {
            case nil: continue
            case .one(let ban): if look(ban) { return found }
            case .many(let all): for ban in all where look(ban) { return found }
            }
        }
        return found
    }
}
