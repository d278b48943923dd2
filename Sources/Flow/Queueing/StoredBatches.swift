// The batches of a lane that were made of rows on disk, and what must be recorded about their rows. A pure value. It promises that a row
// stays on disk until each of its events is released, and that no release is forgotten when a commit fails.

internal import Admission
internal import Spool

struct StoredBatches {
    /// A batch that was made of rows. The rows, or what is left of them, stay on disk until all events are released.
    struct Origin {
        var rows: [Int64]
        /// The number of events of each row in the store.
        var counts: [Int]
        let batch: Batch
        var left: Int
        /// True for each event that is settled. It is empty while no event is settled.
        var isSettled: [Bool] = []
        /// The value of `isSettled` when the batch was last rewritten as one row. It is empty if it was never rewritten.
        var wasSettled: [Bool] = []

        init(_ rows: [SpoolRow]) {
            self.rows = rows.map(\.id)
            counts = rows.map(\.batch.count)
            batch = rows.count == 1 ? rows[0].batch : Batch(joining: rows.map(\.batch))
            left = batch.count
            assert(left == counts.reduce(0, +), "a batch has other events than its rows")
        }

        /// Settles these events, or all events if `members` is nil.
        mutating func settle(_ members: [Int]?) {
            if let members {
                if isSettled.isEmpty { isSettled = Array(repeating: false, count: batch.count) }
                for member in members where !isSettled[member] {
                    isSettled[member] = true
                    left -= 1
                }
            } else {
                left = 0
            }
            assert(left >= 0, "more events of a batch were settled than it has")
        }

        /// Returns the places of these events in the store.
        func places(of events: [Int]) -> [SpoolPlace] {
            var places: [SpoolPlace] = []
            var (row, start) = (0, 0)
            var rank = 0
            var next = 0
            for event in events {
                if wasSettled.isEmpty {
                    while event >= start + counts[row] { (row, start) = (row + 1, start + counts[row]) }
                    places.append(SpoolPlace(row: rows[row], index: event - start))
                } else {
                    while next < event {
                        if !wasSettled[next] { rank += 1 }
                        next += 1
                    }
                    places.append(SpoolPlace(row: rows[0], index: rank))
                }
            }
            return places
        }
    }

    /// What must be recorded on disk, besides new rows.
    struct Records {
        var removals: [Int64] = []
        /// The number of bytes of the removed events.
        var removedBytes = 0
        /// The origins of which some events are settled.
        var changed: Set<Int64> = []
        var tried: [Int64: (attempts: Int, first: Int64)] = [:]
        /// The origins that are rewritten as one row, as they were before.
        var merged: [Int64: Origin] = [:]
        /// What withdrawals have destroyed.
        var destroyed = Destroyed()

        var isEmpty: Bool { removals.isEmpty && changed.isEmpty && tried.isEmpty && destroyed.isEmpty }
    }

    private var origins: [Int64: Origin] = [:]
    private var records = Records()

    var hasRecords: Bool { !records.isEmpty }

    /// Adds a batch of these rows. Returns it, with the number of its origin.
    mutating func add(_ rows: [SpoolRow]) -> (batch: Batch, origin: Int64) {
        let origin = Origin(rows)
        origins[rows[0].id] = origin
        return (origin.batch, rows[0].id)
    }

    /// Releases these events of an origin, so that they leave the disk.
    mutating func release(_ share: Backlog.Share) {
        guard var origin = origins[share.origin] else { return }
        origin.settle(share.members)
        if origin.left > 0 {
            origins[share.origin] = origin
            records.changed.insert(share.origin)
        } else {
            origins[share.origin] = nil
            records.tried[share.origin] = nil
            records.changed.remove(share.origin)
            records.removals += origin.rows
            records.removedBytes += origin.batch.bytes.count
        }
    }

    mutating func note(_ destroyed: Destroyed) { records.destroyed.add(destroyed) }

    mutating func noteTry(_ share: Backlog.Share, attempts: Int, first: Int64) {
        if origins[share.origin] != nil { records.tried[share.origin] = (attempts, first) }
    }

    /// Removes a row that never became part of a batch.
    mutating func remove(_ row: SpoolRow) {
        records.removals.append(row.id)
        records.removedBytes += row.batch.bytes.count
    }

    /// Adds everything that is to be recorded to the work. Returns it, so that it can be taken back if the work fails.
    mutating func takeRecords(into work: inout SpoolWork) -> Records {
        var taken = records
        records = Records()
        work.tried += taken.tried.map { ($0.key, $0.value.attempts, $0.value.first) }
        work.remove = taken.removals
        work.destroyed = taken.destroyed
        for id in taken.changed {
            guard let origin = origins[id] else { continue }
            let left = origin.isSettled.indices.filter { !origin.isSettled[$0] }
            assert(left.count == origin.left, "the number of events that are left of a batch does not match the events")
            work.rewrite.append((id, origin.batch.subset(left)))
            work.left[id] = origin.places(of: left)
            taken.merged[id] = origin
            work.remove += origin.rows.dropFirst()
            (origins[id]!.rows, origins[id]!.counts, origins[id]!.wasSettled) = ([id], [left.count], origin.isSettled)
        }
        return taken
    }

    /// Takes records back that could not be written. All of them are still to be recorded.
    mutating func takeBack(_ failed: Records) {
        records.removals = failed.removals + records.removals
        records.removedBytes += failed.removedBytes
        for (id, before) in failed.merged {
            if origins[id] == nil {
                records.removals += before.rows.dropFirst()
            } else {
                (origins[id]!.rows, origins[id]!.counts, origins[id]!.wasSettled) = (before.rows, before.counts, before.wasSettled)
            }
        }
        records.changed.formUnion(failed.changed.filter { origins[$0] != nil })
        records.tried.merge(failed.tried) { new, _ in new }
        records.destroyed.add(failed.destroyed)
    }
}
