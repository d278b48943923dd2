// Joins rows from the disk to batches, in their order. A pure value. It promises that no batch exceeds the limits, except for a single row
// that exceeds them alone, and that a row that was tried before gets a batch of its own.

internal import Admission
internal import Plans
internal import Platform
internal import Spool

struct RowGathering {
    var limits: DeliveryPlan.Batch
    private(set) var rows: [SpoolRow] = []
    private var events = 0
    private var bytes = 0
    /// The time at which the first of these rows was added.
    private var began: Instant?
    private var isUrgent = false

    init(_ limits: DeliveryPlan.Batch) { self.limits = limits }

    var isEmpty: Bool { rows.isEmpty }

    /// Returns the time from which the gathered rows leave if the provider is free. It is nil if there are none. `isAlone` is true if no
    /// other batch of the lane is in flight or waits.
    func due(isAlone: Bool) -> Instant? { began.map { limits.due(for: $0, isUrgent: isUrgent, isAlone: isAlone) } }

    /// Adds a row. Returns the rows of each batch that is complete now.
    mutating func add(_ row: SpoolRow, at now: Instant) -> [[SpoolRow]] {
        var complete: [[SpoolRow]] = []
        let fits = events + row.batch.count <= limits.events && bytes + row.batch.bytes.count <= limits.bytes
        // A row that was tried before gets a batch of its own, so that its number of attempts and its time stay true.
        let isTried = row.attempts > 0 || row.firstTried != nil
        if isTried || !fits, !isEmpty { complete.append(takeAll()) }
        rows.append(row)
        events += row.batch.count
        bytes += row.batch.bytes.count
        began = began ?? now
        isUrgent = isUrgent || row.batch.entries.contains { $0.isImmediate }
        if isTried || events >= limits.events || bytes >= limits.bytes { complete.append(takeAll()) }
        return complete
    }

    /// Returns and removes the gathered rows. Returns nil if there are none.
    mutating func take() -> [SpoolRow]? { isEmpty ? nil : takeAll() }

    private mutating func takeAll() -> [SpoolRow] {
        assert(rows.reduce(0) { $0 + $1.batch.count } == events, "the number of gathered events does not match the rows")
        assert(rows.reduce(0) { $0 + $1.batch.bytes.count } == bytes, "the number of gathered bytes does not match the rows")
        defer { (rows, events, bytes, began, isUrgent) = ([], 0, 0, nil, false) }
        return rows
    }
}
