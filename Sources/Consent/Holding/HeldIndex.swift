// What is held, as memory knows it: how much of whom, and what is to be done about it next. Pure: it is told the time, and the thread that
// has the file does what it says.

internal import Admission
internal import Plans
internal import Platform
internal import Spool

/// What becomes of rows once the lanes have what was released of them.
struct HeldChange: Sendable {
    var remove: [HeldRow] = []
    var narrow: [HeldRow] = []
    var isEmpty: Bool { remove.isEmpty && narrow.isEmpty }
}

struct HeldIndex {
    enum Step {
        case change(HeldChange)
        /// Those that came in before that time are destroyed.
        case expire(before: Int64)
        /// The events of these subjects, behind that number, are judged again.
        case release([SubjectKey], after: Int64)
        case tidy
        case end
    }

    /// The most subjects whose events are released in one go, in the order in which they came.
    private static let mostSubjects = 256
    /// How long a step waits that has failed, or could do nothing.
    private static let pause = Duration.seconds(1)

    var bounds: HoldPlan
    /// What there is room taken for.
    private(set) var total = HoldPlan.Bounds(events: 0, bytes: 0)
    /// Of that, what is on its way to the file.
    private var coming = HoldPlan.Bounds(events: 0, bytes: 0)
    private var shares: [SubjectKey: HoldPlan.Bounds] = [:]
    /// When the oldest came in, or an older one that is gone; nil: none waits.
    private(set) var oldest: Int64?
    /// Subjects that have answered, and whose events were not looked at since.
    private var asked: [SubjectKey] = []
    private var isAsked: Set<SubjectKey> = []
    private var releasing: (subjects: [SubjectKey], after: Int64)?
    /// Rows that are being judged, or that lanes are about to have.
    private var onTheirWay: Set<Int64> = []
    /// Of those, the ones that a withdrawal has destroyed in the file.
    private var destroyed: Set<Int64> = []
    private var due = HeldChange()
    /// How many withdrawals have not yet seen to what is held.
    private var withdrawals = 0
    private var isEnding = false
    private var isHurried = false
    private var tidyAt: Instant?
    private var notBefore: Instant?
    private var expireNotBefore: Instant?

    init(_ bounds: HoldPlan) { self.bounds = bounds }

    // MARK: - How much

    /// What is in the file.
    var stored: HoldPlan.Bounds { .init(events: total.events - coming.events, bytes: total.bytes - coming.bytes) }

    /// Takes room for a row, if there is some; `came` must follow.
    mutating func take(_ row: HeldRow) -> Bool {
        func fits(_ held: HoldPlan.Bounds, _ most: HoldPlan.Bounds) -> Bool {
            held.events < most.events && held.bytes + row.bytes <= most.bytes
        }
        let own = row.subjects.allSatisfy { fits(shares[$0] ?? .init(events: 0, bytes: 0), bounds.subject) }
        guard own, fits(total, bounds.total) else { return false }
        change(row, 1)
        coming = .init(events: coming.events + 1, bytes: coming.bytes + row.bytes)
        return true
    }

    /// The row is in the file, or could not be stored.
    mutating func came(_ row: HeldRow, isStored: Bool) {
        coming = .init(events: coming.events - 1, bytes: coming.bytes - row.bytes)
        if isStored { note(row) } else { remove(row) }
    }

    /// A row that the file has.
    mutating func add(_ row: HeldRow) {
        change(row, 1)
        note(row)
    }

    private mutating func note(_ row: HeldRow) { oldest = min(oldest ?? row.arrival, row.arrival) }

    /// When the oldest of the file came in.
    mutating func note(oldest: Int64?) { self.oldest = oldest }

    mutating func remove(_ row: HeldRow) {
        change(row, -1)
        if total.events == 0 { oldest = nil }
    }

    private mutating func change(_ row: HeldRow, _ sign: Int) {
        total.events += sign
        total.bytes += sign * row.bytes
        for subject in row.subjects {
            var share = shares[subject] ?? .init(events: 0, bytes: 0)
            share.events += sign
            share.bytes += sign * row.bytes
            shares[subject] = share.events == 0 ? nil : share
        }
    }

    // MARK: - Answers

    /// These have said something; whether events wait for one of them.
    mutating func ask(_ subjects: some Sequence<SubjectKey>) -> Bool {
        var isNew = false
        for subject in subjects where shares[subject] != nil && isAsked.insert(subject).inserted {
            asked.append(subject)
            isNew = true
        }
        return isNew
    }

    /// The subjects that events wait for, of which this holds.
    func subjects(where condition: (SubjectKey) -> Bool) -> [SubjectKey] { shares.keys.filter(condition) }

    /// While some withdrawal has not seen to what is held, it is not released.
    mutating func beginWithdrawal() { withdrawals += 1 }
    mutating func endWithdrawal() { withdrawals -= 1 }
    var isWithdrawing: Bool { withdrawals > 0 }

    // MARK: - Steps

    mutating func next(at now: Instant, wall: Int64) -> Readiness<Step> {
        let isWaiting = notBefore.map { now < $0 } ?? false
        if !isWaiting {
            notBefore = nil
            if let step = nextOfFile(at: now, wall: wall) { return .ready(step) }
        }
        if isEnding, isHurried || isWaiting || isIdle { return .ready(.end) }
        return .notBefore([notBefore, expiry(at: now, wall: wall), tidyAt].compactMap { $0 }.min())
    }

    private var isIdle: Bool { asked.isEmpty && releasing == nil }

    private mutating func nextOfFile(at now: Instant, wall: Int64) -> Step? {
        if !due.isEmpty {
            defer { due = HeldChange() }
            return .change(due)
        }
        if let expiry = expiry(at: now, wall: wall), expiry <= now { return .expire(before: wall - bounds.time.nanoseconds + 1) }
        if !isIdle, withdrawals == 0, !isHurried { return release() }
        if let at = tidyAt, at <= now {
            tidyAt = nil
            return .tidy
        }
        return nil
    }

    private mutating func release() -> Step {
        if let releasing { return .release(releasing.subjects, after: releasing.after) }
        let subjects = Array(asked.prefix(HeldIndex.mostSubjects))
        asked.removeFirst(subjects.count)
        isAsked.subtract(subjects)
        releasing = (subjects, 0)
        return .release(subjects, after: 0)
    }

    private func expiry(at now: Instant, wall: Int64) -> Instant? {
        guard let oldest else { return nil }
        let at = now + .nanoseconds(max(0, oldest.addingReportingOverflow(bounds.time.nanoseconds).partialValue - wall))
        return max(at, expireNotBefore ?? at)
    }

    // MARK: - What came of them

    /// Rows are being judged.
    mutating func begin(_ rows: [Int64]) { onTheirWay.formUnion(rows) }
    func isOnItsWay(_ row: Int64) -> Bool { onTheirWay.contains(row) }

    /// A row goes on waiting as it was; false: a withdrawal has destroyed it meanwhile.
    mutating func stays(_ row: HeldRow) -> Bool {
        onTheirWay.remove(row.id)
        return destroyed.remove(row.id) == nil
    }

    /// A withdrawal has destroyed the row in the file; whether it is nobody else's.
    mutating func destroy(_ row: HeldRow) -> Bool {
        guard onTheirWay.contains(row.id) else {
            remove(row)
            return true
        }
        destroyed.insert(row.id)
        return false
    }

    /// The lanes have what was released, or nothing was: the file is to be changed.
    mutating func settle(_ change: HeldChange) {
        due.remove += change.remove
        due.narrow += change.narrow
    }

    /// The file was changed. What of it was to wait on, and a withdrawal has destroyed meanwhile.
    mutating func changed(_ change: HeldChange, at now: Instant) -> [HeldRow] {
        let gone = change.narrow.filter { destroyed.contains($0.id) }
        for row in change.remove + change.narrow {
            onTheirWay.remove(row.id)
            destroyed.remove(row.id)
        }
        for row in change.remove + gone { remove(row) }
        becomeUntidy(at: now)
        return gone
    }

    /// Where the release goes on; nil: all of these subjects' events were judged.
    mutating func released(upTo next: Int64?) { releasing = next.flatMap { next in releasing.map { ($0.subjects, next) } } }

    /// These were destroyed, since their time is up.
    mutating func expired(_ rows: [HeldRow], at now: Instant) {
        for row in rows { remove(row) }
        // What is overdue and still there is on its way, or was too much for one go.
        expireNotBefore = rows.isEmpty ? now + HeldIndex.pause : nil
        if !rows.isEmpty { becomeUntidy(at: now) }
    }

    mutating func becomeUntidy(at now: Instant) { tidyAt = tidyAt ?? now + HeldIndex.pause }

    /// A step has failed: it is tried again, but not at once.
    mutating func failed(_ change: HeldChange? = nil, at now: Instant) {
        notBefore = now + HeldIndex.pause
        if let change { settle(change) }
    }

    /// What was answered is seen to, unless it is to end at once; then no more.
    mutating func end(hurried: Bool) {
        isEnding = true
        isHurried = isHurried || hurried
    }

    /// What is to be done to the file still, when nobody takes steps any more.
    mutating func takeDue() -> HeldChange {
        defer { due = HeldChange() }
        return due
    }
}
