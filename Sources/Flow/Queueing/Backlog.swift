// Tracks what a durable lane has on disk, what is on its way there and what comes back. It is a pure value: `Lane` calls the store. Events
// go to disk in rows, in the order in which they came. Rows come back in that order and are joined to batches. It promises that `stored`
// never passes an event that is neither stored nor destroyed, and that an event stays on disk until it is released or dropped.
//
//   parcels ──► forming ──► unstored ──commit──► rows on disk ──read──► gathering ──► batches for the provider
//                                  └── stored, and memory has space: the row stays there ───┘

internal import Admission
internal import ConsentGate
internal import Plans
internal import Platform
internal import Spool

struct Backlog: ~Copyable {
    /// A row that waits to be stored.
    struct Unstored {
        var batch: Batch
        /// The end of the row in the stream of all bytes that were taken.
        var position: UInt64
        /// The row number, if the order demands a certain one.
        var id: Int64?
        var attempts = 0
        var firstTried: Int64?
        var mayHaveArrived = false
    }

    /// The part of an origin that a batch in the queue consists of.
    struct Share {
        var origin: Int64
        /// The indices into the origin's batch. It is nil if the share is the whole batch.
        var members: [Int]?
    }

    /// A batch that is made of rows and ready for the queue.
    struct Sealed {
        var batch: Batch
        var share: Share
        var attempts: Int
        var firstTried: Int64?
    }

    private var forming: Assembly
    private var formed: UInt64 = 0
    private var unstored = Deque<Unstored>()
    private(set) var unstoredBytes = 0
    /// The number of bytes that were taken so far, and the number of those that are stored.
    private(set) var taken: UInt64 = 0
    private(set) var stored: UInt64 = 0

    /// The number of events that are only on disk, after the cursor, by route.
    private var away: [UInt16: Int] = [:]
    private(set) var awayBytes = 0
    /// The arrival of the oldest event that an earlier run left, in nanoseconds since 1970.
    let oldest: Int64?
    private var cursor: Int64
    private(set) var lastRow: Int64
    /// True if batches that are only in memory follow the last row, so that row numbers must be left free for them.
    private var isFloor = false
    /// The number of such batches that have got a row number.
    private var kept: Int64 = 0
    private(set) var diskBytes: Int

    private(set) var gathering: RowGathering
    private var batches = StoredBatches()

    init(_ limits: DeliveryPlan.Batch, _ contents: SpoolContents) {
        gathering = RowGathering(limits)
        forming = Assembly(Backlog.limits(ofRows: limits))
        away = contents.routes
        awayBytes = contents.bytes
        diskBytes = contents.bytes
        oldest = contents.oldest
        cursor = 0
        lastRow = contents.lastRow
    }

    /// Changes the limits of new rows and batches.
    mutating func adopt(_ limits: DeliveryPlan.Batch) {
        gathering.limits = limits
        forming.limits = Backlog.limits(ofRows: limits)
    }

    /// Rows do not wait until they are full, since a batch of several rows waits.
    private static func limits(ofRows batches: DeliveryPlan.Batch) -> DeliveryPlan.Batch {
        var rows = batches
        rows.wait = .zero
        return rows
    }

    // MARK: - Towards the disk

    /// True if events are on disk, or on their way there, that have not come back. New events must go behind them.
    var isBehind: Bool { awayBytes > 0 || !away.isEmpty || !unstored.isEmpty || !forming.isEmpty || isStoring || !gathering.isEmpty }
    /// True if the commit under way stores new rows and does not only record outcomes.
    var isStoring: Bool { commit.map { !$0.rows.isEmpty } ?? false }

    mutating func take(_ parcel: inout Parcel, at now: Instant) {
        if isFloor { lastRow += Backlog.gap }
        isFloor = false
        taken += UInt64(parcel.byteCount)
        unstoredBytes += parcel.byteCount
        form { forming, sealed in forming.add(&parcel, at: now) { sealed.append($0) } }
    }

    /// The quantity of row numbers that stay free between batches that are only in memory and the rows that follow them. When the lane
    /// ends, the batches can be stored in front of those rows. No row ever had one of these numbers.
    private static let gap: Int64 = 1 << 20

    /// Returns the number of the row that a new batch in memory follows.
    mutating func floor() -> Int64 {
        isFloor = true
        return lastRow
    }

    private mutating func form(_ body: (inout Assembly, inout [Batch]) -> Void) {
        var sealed: [Batch] = []
        body(&forming, &sealed)
        for batch in sealed {
            formed += UInt64(batch.bytes.count)
            unstored.append(Unstored(batch: batch, position: formed))
        }
    }

    /// Stores a batch that was only in memory at its place in the order: after `floor`, the last row when it was sealed.
    mutating func store(_ batch: Batch, behind floor: Int64, attempts: Int, firstTried: Int64?, mayHaveArrived: Bool) {
        kept += 1
        assert(kept < Backlog.gap, "more batches in memory than free row numbers")
        unstoredBytes += batch.bytes.count
        lastRow = max(lastRow, floor + kept)
        unstored.append(
            Unstored(
                batch: batch, position: 0, id: floor + kept, attempts: attempts, firstTried: firstTried, mayHaveArrived: mayHaveArrived))
    }

    // MARK: - What the store is to do

    private struct Commit {
        var rows: [(id: Int64, row: Unstored)] = []
        var records: StoredBatches.Records
    }
    private var commit: Commit?

    /// The maximum number of bytes that one commit stores. A larger row is stored alone.
    private static let commitBytes = 4 << 20

    var hasWork: Bool { !forming.isEmpty || !unstored.isEmpty || hasRecords }
    var hasRecords: Bool { batches.hasRecords }

    /// Returns everything that must be stored and recorded, or nil if there is nothing. With `onlyRecords` it includes no new rows.
    mutating func work(at now: Instant, onlyRecords: Bool) -> SpoolWork? {
        guard commit == nil, onlyRecords ? hasRecords : hasWork else { return nil }
        var work = SpoolWork()
        let rows = onlyRecords ? [] : rowsToStore(at: now)
        work.insert = rows.map { ($0.id, $0.row.batch) }
        work.tried = rows.compactMap { id, row in row.firstTried.map { (id, row.attempts, $0) } }
        commit = Commit(rows: rows, records: batches.takeRecords(into: &work))
        return work
    }

    /// Removes the rows that one commit stores from those that wait, and gives each its number.
    private mutating func rowsToStore(at now: Instant) -> [(id: Int64, row: Unstored)] {
        form { forming, sealed in forming.sealOpen { sealed.append($0) } }
        var rows: [(id: Int64, row: Unstored)] = []
        var bytes = 0
        while let next = unstored.first, bytes == 0 || bytes + next.batch.bytes.count <= Backlog.commitBytes {
            bytes += next.batch.bytes.count
            if next.id == nil { lastRow += 1 }
            assert(next.id ?? lastRow <= lastRow, "a row gets a number that a later row may have")
            rows.append((next.id ?? lastRow, unstored.removeFirst()))
        }
        return rows
    }

    /// Finishes a successful commit. Rows that fit into the space in memory are gathered for delivery; the others leave memory. Returns the
    /// batches that are complete, and the number of bytes that left memory.
    mutating func committed(space: Int, at now: Instant) -> (sealed: [Sealed], bytesGone: Int) {
        guard let done = commit else { return ([], 0) }
        commit = nil
        diskBytes -= done.records.removedBytes
        var sealed: [Sealed] = []
        var bytesGone = 0
        var space = space
        for (id, row) in done.rows {
            let bytes = row.batch.bytes.count
            unstoredBytes -= bytes
            diskBytes += bytes
            stored = max(stored, row.position)
            if id <= cursor {
                // It was kept in front of rows that are in memory, so no later read or sweep of the disk finds it.
                bytesGone += bytes
                sealed.append(seal([SpoolRow(id: id, batch: row.batch, attempts: row.attempts, firstTried: row.firstTried)]))
            } else if awayBytes == 0, away.isEmpty, bytes <= space {
                space -= bytes
                cursor = id
                let row = SpoolRow(id: id, batch: row.batch, attempts: row.attempts, firstTried: row.firstTried)
                sealed += gather(row, at: now)
            } else {
                bytesGone += bytes
                awayBytes += bytes
                for entry in row.batch.entries { away[entry.route, default: 0] += 1 }
            }
        }
        assert(unstoredBytes >= 0, "more bytes were stored than waited")
        return (sealed, bytesGone)
    }

    /// Takes the work of a failed commit back. All of it is still to be done.
    mutating func failed() {
        guard let failed = commit else { return }
        commit = nil
        for (id, row) in failed.rows.reversed() {
            var row = row
            row.id = id
            unstored.prepend(row)
        }
        batches.takeBack(failed.records)
    }

    // MARK: - Back from the disk

    var hasMore: Bool { awayBytes > 0 || !away.isEmpty }
    var position: Int64 { cursor }

    /// Gathers rows that were read after the cursor. Returns the batches that are complete, and the number of bytes that came into memory.
    mutating func gather(read rows: [SpoolRow], at now: Instant) -> (sealed: [Sealed], bytes: Int) {
        var sealed: [Sealed] = []
        var bytes = 0
        for row in rows {
            advance(past: row)
            bytes += row.batch.bytes.count
            sealed += gather(row, at: now)
        }
        if rows.isEmpty { (away, awayBytes) = ([:], 0) }
        return (sealed, bytes)
    }

    /// Moves the cursor past a row that is no longer only on disk.
    private mutating func advance(past row: SpoolRow) {
        assert(row.id > cursor, "a row comes back from disk twice")
        cursor = row.id
        awayBytes = max(0, awayBytes - row.batch.bytes.count)
        for entry in row.batch.entries { forget(entry.route, 1) }
    }

    /// Records that events that were only on disk are lost.
    mutating func lose(_ loss: SpoolLoss) {
        awayBytes = max(0, awayBytes - loss.bytes)
        diskBytes = max(0, diskBytes - loss.bytes)
        for (route, count) in loss.routes { forget(route, count) }
    }

    private mutating func forget(_ route: UInt16, _ count: Int) {
        let left = (away[route] ?? 0) - count
        away[route] = left > 0 ? left : nil
    }

    /// Removes a row that never became part of a batch.
    mutating func drop(_ row: SpoolRow) {
        advance(past: row)
        batches.remove(row)
    }

    // MARK: - Rows to batches

    var hasGathered: Bool { !gathering.isEmpty }

    private mutating func gather(_ row: SpoolRow, at now: Instant) -> [Sealed] {
        gathering.add(row, at: now).map { seal($0) }
    }

    /// Returns a batch of the gathered rows, if there are some.
    mutating func sealGathered() -> Sealed? { gathering.take().map { seal($0) } }

    private mutating func seal(_ rows: [SpoolRow]) -> Sealed {
        let (batch, origin) = batches.add(rows)
        return Sealed(batch: batch, share: Share(origin: origin), attempts: rows[0].attempts, firstTried: rows[0].firstTried)
    }

    // MARK: - Fates

    /// Releases these events of an origin, so that they leave the disk.
    mutating func release(_ share: Share) { batches.release(share) }

    /// Records what withdrawals have destroyed, in the same commit as what they release.
    mutating func note(_ destroyed: Destroyed) { batches.note(destroyed) }

    mutating func noteTry(_ share: Share, attempts: Int, first: Int64) { batches.noteTry(share, attempts: attempts, first: first) }

    /// Removes the events that must go from the rows that are not stored yet. Returns them, and the time at which the next of the others is
    /// too old.
    mutating func sweep(
        at now: Instant, _ find: (Batch) -> RetentionSweep.Finds?
    ) -> (gone: [(batch: Batch, isRefused: Bool)], destroyed: Destroyed, due: Int64?) {
        form { forming, sealed in forming.sealOpen { sealed.append($0) } }
        var gone: [(batch: Batch, isRefused: Bool)] = []
        var destroyed = Destroyed()
        var kept: [Unstored] = []
        var due: Int64?
        for var next in unstored.removeAll() {
            if let found = find(next.batch) {
                if let other = found.due { due = min(due ?? .max, other) }
                if !found.refused.isEmpty { gone.append((next.batch.subset(found.refused), true)) }
                destroyed.add(found.destroyed(of: next.batch))
                if !found.aged.isEmpty { gone.append((next.batch.subset(found.aged), false)) }
                let left = found.left(of: next.batch.count)
                guard !left.isEmpty else {
                    // The receipt of the destroyed events is settled as soon as everything in front of them is stored.
                    if kept.isEmpty { pass(next.position) } else { kept[kept.count - 1].position.raise(to: next.position) }
                    continue
                }
                if left.count < next.batch.count { next.batch = next.batch.subset(left) }
            }
            kept.append(next)
        }
        for next in kept { unstored.append(next) }
        for (batch, _) in gone { unstoredBytes -= batch.bytes.count }
        assert(unstoredBytes >= 0, "more bytes were destroyed than waited")
        return (gone, destroyed, due)
    }

    private mutating func pass(_ position: UInt64) {
        let count = commit?.rows.count ?? 0
        if count > 0 { commit!.rows[count - 1].row.position.raise(to: position) } else { stored.raise(to: position) }
    }

    /// Returns the batches that are not stored yet or are being stored.
    mutating func unstoredBatches(at now: Instant) -> [Batch] {
        form { forming, sealed in forming.sealOpen { sealed.append($0) } }
        return (commit?.rows.map(\.row.batch) ?? []) + (0..<unstored.count).map { unstored[$0].batch }
    }

    /// Removes and returns all rows that could not be stored.
    mutating func takeUnstored(at now: Instant) -> [Unstored] {
        form { forming, sealed in forming.sealOpen { sealed.append($0) } }
        assert(commit == nil, "rows are taken while others are being stored")
        let rows = unstored.removeAll()
        assert(rows.reduce(0) { $0 + $1.batch.bytes.count } == unstoredBytes, "the number of bytes to store does not match the rows")
        unstoredBytes = 0
        return rows
    }
}

extension UInt64 {
    fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}
