// The state of the held events in memory: how many each subject has, and the next step. It is pure: the caller passes the time, and the
// thread that owns the file carries out the steps.

internal import Admission
internal import HeldEventStore
internal import Plans
internal import Platform

/// A change of the file, which is due after the lanes have the released events. The rows in `remove` leave the file; the rows in `narrow`
/// wait for fewer routes.
struct HeldChange: Sendable {
    var remove: [HeldRow] = []
    var narrow: [HeldRow] = []
    /// The hashes of the rows in `narrow` for the audit trail, by their numbers, as far as they are known.
    var hashes: [Int64: [UInt8]] = [:]
    var isEmpty: Bool { remove.isEmpty && narrow.isEmpty }
}

struct HeldIndex {
    enum Step {
        case change(HeldChange)
        /// Destroys the events that came in before that time.
        case expire(before: Int64)
        /// Destroys the events that are too old by the `retention` of their routes and providers.
        case age(at: Int64)
        /// Judges the events of these subjects again, those with a higher number than `after`.
        case release([SubjectKey], after: Int64)
        case tidy
        case end
    }

    /// The maximum number of subjects whose events are released together, in the order of arrival.
    private static let mostSubjects = 256
    /// The delay of a step that failed or could do nothing.
    private static let pause = Duration.seconds(1)

    var bounds: HoldPlan
    /// The reserved events and bytes: those in the file and those on their way to it.
    private(set) var total = HoldPlan.Bounds(events: 0, bytes: 0)
    /// The part of `total` that is not in the file yet.
    private var coming = HoldPlan.Bounds(events: 0, bytes: 0)
    private var shares: [SubjectKey: HoldPlan.Bounds] = [:]
    /// The arrival time of the oldest event, or of an older one that is gone. It is nil if no event waits.
    private(set) var oldest: Int64?
    /// The subjects that have answered and whose events were not judged since then.
    private var asked: [SubjectKey] = []
    private var isAsked: Set<SubjectKey> = []
    private var releasing: (subjects: [SubjectKey], after: Int64)?
    /// True while events are judged to be released, and until the lanes have what was released.
    private(set) var isHandingOver = false
    /// The rows that are being judged, or that lanes are about to get.
    private var onTheirWay: Set<Int64> = []
    /// The rows of `onTheirWay` that a withdrawal has destroyed in the file.
    private var destroyed: Set<Int64> = []
    private var due = HeldChange()
    /// The number of withdrawals that have not swept the held events yet.
    private var withdrawals = 0
    private var isEnding = false
    private var isHurried = false
    private var tidyAt: Instant?
    private var notBefore: Instant?
    private var expireNotBefore: Instant?
    /// The shortest maximum age of a route, in nanoseconds. It is nil if no route has one.
    var shortestLimit: Int64?
    private var ageNotBefore: Instant?

    init(_ bounds: HoldPlan, shortestLimit: Int64? = nil) {
        self.bounds = bounds
        self.shortestLimit = shortestLimit
    }

    // MARK: - Limits

    /// The events and bytes in the file.
    var stored: HoldPlan.Bounds { .init(events: total.events - coming.events, bytes: total.bytes - coming.bytes) }

    /// Reserves space for a row. Returns false if there is none. After true, the caller must call `came`.
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

    /// Notes that a reserved row is in the file, or that it could not be stored.
    mutating func came(_ row: HeldRow, isStored: Bool) {
        coming = .init(events: coming.events - 1, bytes: coming.bytes - row.bytes)
        assert(coming.events >= 0 && coming.bytes >= 0, "a row came for which no space was reserved")
        if isStored { note(row) } else { remove(row) }
    }

    /// Adds a row that is in the file.
    mutating func add(_ row: HeldRow) {
        change(row, 1)
        note(row)
    }

    private mutating func note(_ row: HeldRow) { oldest = min(oldest ?? row.arrival, row.arrival) }

    /// Sets the arrival time of the oldest event in the file.
    mutating func note(oldest: Int64?) { self.oldest = oldest }

    mutating func remove(_ row: HeldRow) {
        change(row, -1)
        if total.events == 0 { oldest = nil }
    }

    private mutating func change(_ row: HeldRow, _ sign: Int) {
        assert(row.bytes >= 0, "an event has a negative size")
        total.events += sign
        total.bytes += sign * row.bytes
        assert(total.events >= 0 && total.bytes >= 0, "a row was removed twice")
        for subject in row.subjects {
            var share = shares[subject] ?? .init(events: 0, bytes: 0)
            share.events += sign
            share.bytes += sign * row.bytes
            assert(share.events > 0 || share == .init(events: 0, bytes: 0), "a subject has bytes without events")
            shares[subject] = share.events == 0 ? nil : share
        }
    }

    // MARK: - Answers

    /// Notes that these subjects have answered. Returns true if events wait for one that was not noted yet.
    mutating func ask(_ subjects: some Sequence<SubjectKey>) -> Bool {
        var isNew = false
        for subject in subjects where shares[subject] != nil && isAsked.insert(subject).inserted {
            asked.append(subject)
            isNew = true
        }
        return isNew
    }

    /// Returns the subjects that events wait for and that meet the condition.
    func subjects(where condition: (SubjectKey) -> Bool) -> [SubjectKey] { shares.keys.filter(condition) }

    /// Nothing is released until every withdrawal that began here has ended.
    mutating func beginWithdrawal() { withdrawals += 1 }
    mutating func endWithdrawal() {
        withdrawals -= 1
        assert(withdrawals >= 0, "a withdrawal ended twice")
    }
    var isWithdrawing: Bool { withdrawals > 0 }

    // MARK: - Steps

    mutating func next(at now: Instant, wall: Int64) -> Readiness<Step> {
        let isWaiting = notBefore.map { now < $0 } ?? false
        if !isWaiting {
            notBefore = nil
            if let step = nextOfFile(at: now, wall: wall) { return .ready(step) }
        }
        if isEnding, isHurried || isWaiting || isIdle { return .ready(.end) }
        return .notBefore([notBefore, expiry(at: now, wall: wall), ageing(at: now, wall: wall), tidyAt].compactMap { $0 }.min())
    }

    private var isIdle: Bool { asked.isEmpty && releasing == nil }

    private mutating func nextOfFile(at now: Instant, wall: Int64) -> Step? {
        if !due.isEmpty {
            defer { due = HeldChange() }
            return .change(due)
        }
        if let expiry = expiry(at: now, wall: wall), expiry <= now { return .expire(before: wall - bounds.time.nanoseconds + 1) }
        if let ageing = ageing(at: now, wall: wall), ageing <= now { return .age(at: wall) }
        if !isIdle, withdrawals == 0, !isHurried { return release() }
        if let at = tidyAt, at <= now {
            tidyAt = nil
            return .tidy
        }
        return nil
    }

    private mutating func release() -> Step {
        assert(!isHandingOver, "two releases at the same time")
        isHandingOver = true
        if let releasing { return .release(releasing.subjects, after: releasing.after) }
        let subjects = Array(asked.prefix(HeldIndex.mostSubjects))
        assert(!subjects.isEmpty && asked.count == isAsked.count, "a subject is released that has not answered")
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

    private func ageing(at now: Instant, wall: Int64) -> Instant? {
        guard let oldest, let shortestLimit else { return nil }
        let at = now + .nanoseconds(max(0, oldest.addingReportingOverflow(shortestLimit).partialValue - wall))
        return max(at, ageNotBefore ?? at)
    }

    // MARK: - Results of steps

    /// Marks rows as being judged.
    mutating func begin(_ rows: [Int64]) {
        assert(onTheirWay.isDisjoint(with: rows), "a row is judged twice at the same time")
        onTheirWay.formUnion(rows)
    }
    func isOnItsWay(_ row: Int64) -> Bool { onTheirWay.contains(row) }

    /// Lets a row wait unchanged. Returns false if a withdrawal has destroyed it meanwhile.
    mutating func stays(_ row: HeldRow) -> Bool {
        assert(onTheirWay.contains(row.id), "a row stays that was not on its way")
        onTheirWay.remove(row.id)
        return destroyed.remove(row.id) == nil
    }

    /// Notes that a withdrawal has destroyed the row in the file. Returns true if the row is not on its way; then the withdrawal counts it.
    mutating func destroy(_ row: HeldRow) -> Bool {
        guard onTheirWay.contains(row.id) else {
            remove(row)
            return true
        }
        destroyed.insert(row.id)
        return false
    }

    /// Schedules a change of the file, after the lanes have the released events or if nothing was released.
    mutating func settle(_ change: HeldChange) {
        due.remove += change.remove
        due.narrow += change.narrow
        due.hashes.merge(change.hashes) { first, _ in first }
    }

    /// Notes that the file was changed. Returns the rows that were to wait for other routes and that a withdrawal has destroyed meanwhile.
    mutating func changed(_ change: HeldChange, at now: Instant) -> [HeldRow] {
        let gone = change.narrow.filter { destroyed.contains($0.id) }
        for row in change.remove + change.narrow {
            onTheirWay.remove(row.id)
            destroyed.remove(row.id)
        }
        assert(destroyed.isSubset(of: onTheirWay), "a destroyed row is neither on its way nor removed")
        for row in change.remove + gone { remove(row) }
        becomeUntidy(at: now)
        return gone
    }

    /// Notes the number after which the release continues. Nil means that all events of these subjects were judged.
    mutating func released(upTo next: Int64?) {
        assert(next.map { $0 > releasing?.after ?? 0 } ?? true, "a release goes back")
        isHandingOver = false
        releasing = next.flatMap { next in releasing.map { ($0.subjects, next) } }
    }

    /// Notes that these rows were destroyed because they expired.
    mutating func expired(_ rows: [HeldRow], at now: Instant) {
        for row in rows { remove(row) }
        // Overdue rows that are left are on their way, or were too many for one step. If none could be destroyed, the next try waits.
        expireNotBefore = rows.isEmpty ? now + HeldIndex.pause : nil
        if !rows.isEmpty { becomeUntidy(at: now) }
    }

    /// Notes that these rows were destroyed because of their age, and whether others lost routes. Rows of other routes may be as old, so the
    /// next look comes after a hundredth of the shortest limit, but between a second and a minute later.
    mutating func aged(_ rows: [HeldRow], narrowed: Bool, at now: Instant) {
        for row in rows { remove(row) }
        let pause = min(max((shortestLimit ?? 0) / 100, HeldIndex.pause.nanoseconds), 60_000_000_000)
        ageNotBefore = now + .nanoseconds(pause)
        if !rows.isEmpty || narrowed { becomeUntidy(at: now) }
    }

    mutating func becomeUntidy(at now: Instant) { tidyAt = tidyAt ?? now + HeldIndex.pause }

    /// Notes that a step failed. It is tried again after a pause.
    mutating func failed(_ change: HeldChange? = nil, at now: Instant) {
        isHandingOver = false
        notBefore = now + HeldIndex.pause
        if let change { settle(change) }
    }

    /// Ends after the events of subjects that have answered are released, or at once if `hurried` is true.
    mutating func end(hurried: Bool) {
        isEnding = true
        isHurried = isHurried || hurried
    }

    /// Returns the change that is still due when no more steps are taken.
    mutating func takeDue() -> HeldChange {
        defer { due = HeldChange() }
        return due
    }
}
