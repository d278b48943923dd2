// The time when the present session of each subject began. It promises to remember the subjects that came last, as many as it was made
// for, and no more. It holds hashes, never ids.

internal import Admission
internal import Platform

struct Sessions: Sendable {
    private struct Visit: BitwiseCopyable {
        var subject: SubjectKey
        /// The time when the session began, in nanoseconds since 1970.
        var start: Int64
        /// The time when its last event came, in nanoseconds since 1970.
        var last: Int64
        /// The neighbours in the order of their last events. -1 means that there is none.
        var newer = -1
        var older = -1
    }

    private let idle: Int64
    private let most: Int
    private var visits: [Visit] = []
    /// A table with open addressing. An entry is the visit's place plus 1; 0 means free.
    private var table: [Int32] = Array(repeating: 0, count: 64)
    private var newest = -1
    private var oldest = -1

    init(idle: Duration, most: Int) {
        self.idle = idle.nanoseconds
        self.most = most
    }

    /// Returns when the session of an event of the subject began. Times are in nanoseconds since 1970.
    mutating func start(of subject: SubjectKey, at now: Int64) -> Int64 {
        guard let place = place(of: subject) else {
            add(Visit(subject: subject, start: now, last: now))
            return now
        }
        let gap = now &- visits[place].last
        if gap >= idle { visits[place].start = now }
        // A block that was overtaken, or a clock that was set back a little, ends no session. After a large step back, the new time counts.
        if gap > 0 || -gap >= idle { visits[place].last = now }
        if place != newest {
            unlink(place)
            link(place)
        }
        return visits[place].start
    }

    // MARK: - The order

    private mutating func link(_ place: Int) {
        assert(newest < 0 || visits[newest].newer < 0, "the newest visit has a newer one")
        visits[place].older = newest
        visits[place].newer = -1
        if newest >= 0 { visits[newest].newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        let visit = visits[place]
        assert((visit.newer < 0) == (place == newest) && (visit.older < 0) == (place == oldest), "a visit is not in the order")
        if visit.newer >= 0 { visits[visit.newer].older = visit.older } else { newest = visit.older }
        if visit.older >= 0 { visits[visit.older].newer = visit.newer } else { oldest = visit.newer }
    }

    private mutating func add(_ visit: Visit) {
        var place = visits.count
        if place == most {
            place = oldest
            unlink(place)
            forget(visits[place].subject)
            visits[place] = visit
        } else {
            visits.append(visit)
        }
        link(place)
        assert(visits.count <= most, "more subjects are remembered than allowed")
        if visits.count * 3 > table.count * 2 { grow() } else { enter(place) }
    }

    // MARK: - The table

    private func home(_ subject: SubjectKey) -> Int { Int(truncatingIfNeeded: subject.low) & (table.count - 1) }
    private func next(_ slot: Int) -> Int { (slot + 1) & (table.count - 1) }

    private func slot(of subject: SubjectKey) -> Int? {
        var slot = home(subject)
        while table[slot] != 0 {
            if visits[Int(table[slot]) - 1].subject == subject { return slot }
            slot = next(slot)
        }
        return nil
    }

    private func place(of subject: SubjectKey) -> Int? { slot(of: subject).map { Int(table[$0]) - 1 } }

    private mutating func enter(_ place: Int) {
        var slot = home(visits[place].subject)
        while table[slot] != 0 { slot = next(slot) }
        table[slot] = Int32(truncatingIfNeeded: place + 1)
    }

    private mutating func grow() {
        assert(table.count.nonzeroBitCount == 1, "the places of a table are found by a mask")
        table = Array(repeating: 0, count: table.count * 2)
        for place in visits.indices { enter(place) }
    }

    private mutating func forget(_ subject: SubjectKey) {
        guard var hole = slot(of: subject) else { return assertionFailure("a visit is not in the table") }
        // An entry that would not be found behind the hole moves into it.
        var slot = next(hole)
        while table[slot] != 0 {
            let wanted = home(visits[Int(table[slot]) - 1].subject)
            if (slot - wanted) & (table.count - 1) >= (slot - hole) & (table.count - 1) {
                table[hole] = table[slot]
                hole = slot
            }
            slot = next(slot)
        }
        table[hole] = 0
    }
}
