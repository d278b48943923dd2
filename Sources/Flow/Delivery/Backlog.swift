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

    /// The part of an origin that a batch in the queue consists of.
    struct Share {
        var origin: Int64
        /// The indices into the origin's batch. It is nil if the share is the whole batch.
        var members: [Int]?
    }

    private var limits: DeliveryPlan.Batch
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

    private(set) var gathered: [SpoolRow] = []
    private var gatheredEvents = 0
    private var gatheredBytes = 0
    private var began: Instant?
    private var isUrgent = false

    private(set) var origins: [Int64: Origin] = [:]
    private var removals: [Int64] = []
    private var removedBytes = 0
    private var changed: Set<Int64> = []
    private var tried: [Int64: (attempts: Int, first: Int64)] = [:]

    init(_ limits: DeliveryPlan.Batch, _ contents: SpoolContents) {
        self.limits = limits
        var rows = limits
        rows.wait = .zero
        forming = Assembly(rows)
        away = contents.routes
        awayBytes = contents.bytes
        diskBytes = contents.bytes
        oldest = contents.oldest
        cursor = 0
        lastRow = contents.lastRow
    }

    /// Changes the limits of new rows and batches.
    mutating func adopt(_ limits: DeliveryPlan.Batch) {
        self.limits = limits
        var rows = limits
        rows.wait = .zero
        forming.limits = rows
    }

    // MARK: - Towards the disk

    /// True if events are on disk, or on their way there, that have not come back. New events must go behind them.
    var isBehind: Bool { awayBytes > 0 || !away.isEmpty || !unstored.isEmpty || !forming.isEmpty || isStoring || !gathered.isEmpty }
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
        var rows: [(id: Int64, row: Unstored)]
        var removals: [Int64]
        var removedBytes: Int
        var changed: Set<Int64>
        var tried: [Int64: (attempts: Int, first: Int64)]
        /// The origins that are rewritten as one row, as they were before.
        var merged: [Int64: Origin] = [:]
    }
    private var commit: Commit?

    /// The maximum number of bytes that one commit stores. A larger row is stored alone.
    private static let commitBytes = 4 << 20

    var hasWork: Bool { !forming.isEmpty || !unstored.isEmpty || hasRecords }
    var hasRecords: Bool { !removals.isEmpty || !changed.isEmpty || !tried.isEmpty }

    /// Returns everything that must be stored and recorded, or nil if there is nothing. With `onlyRecords` it includes no new rows.
    mutating func work(at now: Instant, onlyRecords: Bool) -> SpoolWork? {
        guard commit == nil, onlyRecords ? hasRecords : hasWork else { return nil }
        var begun = Commit(rows: [], removals: removals, removedBytes: removedBytes, changed: changed, tried: tried)
        if !onlyRecords {
            form { forming, sealed in forming.sealIfDue(at: now, always: true) { sealed.append($0) } }
            var bytes = 0
            while let next = unstored.first, bytes == 0 || bytes + next.batch.bytes.count <= Backlog.commitBytes {
                bytes += next.batch.bytes.count
                if next.id == nil { lastRow += 1 }
                begun.rows.append((next.id ?? lastRow, unstored.removeFirst()))
            }
        }
        removals = []
        removedBytes = 0
        changed = []
        tried = [:]

        var work = SpoolWork()
        work.insert = begun.rows.map { ($0.id, $0.row.batch) }
        work.tried = begun.rows.compactMap { id, row in row.firstTried.map { (id, row.attempts, $0) } }
        work.tried += begun.tried.map { ($0.key, $0.value.attempts, $0.value.first) }
        work.remove = begun.removals
        for id in begun.changed {
            guard let origin = origins[id] else { continue }
            let left = origin.isSettled.indices.filter { !origin.isSettled[$0] }
            work.rewrite.append((id, origin.batch.subset(left)))
            work.left[id] = origin.places(of: left)
            begun.merged[id] = origin
            work.remove += origin.rows.dropFirst()
            (origins[id]!.rows, origins[id]!.counts, origins[id]!.wasSettled) = ([id], [left.count], origin.isSettled)
        }
        commit = begun
        return work
    }

    /// Finishes a successful commit. Rows that fit into memory are gathered for delivery; the others leave memory. Returns the number of
    /// bytes that left memory.
    mutating func committed(roomFor room: Int, at now: Instant, seal: (Batch, Share, Int, Int64?) -> Void) -> Int {
        guard let done = commit else { return 0 }
        commit = nil
        diskBytes -= done.removedBytes
        var letGo = 0
        var room = room
        for (id, row) in done.rows {
            let bytes = row.batch.bytes.count
            unstoredBytes -= bytes
            diskBytes += bytes
            stored = max(stored, row.position)
            if awayBytes == 0, away.isEmpty, bytes <= room {
                room -= bytes
                cursor = id
                gather(SpoolRow(id: id, batch: row.batch, attempts: row.attempts, firstTried: row.firstTried), at: now, seal: seal)
            } else {
                letGo += bytes
                awayBytes += bytes
                for entry in row.batch.entries { away[entry.route, default: 0] += 1 }
            }
        }
        return letGo
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
        removals = failed.removals + removals
        removedBytes += failed.removedBytes
        for (id, before) in failed.merged {
            if origins[id] == nil {
                removals += before.rows.dropFirst()
            } else {
                (origins[id]!.rows, origins[id]!.counts, origins[id]!.wasSettled) = (before.rows, before.counts, before.wasSettled)
            }
        }
        changed.formUnion(failed.changed.filter { origins[$0] != nil })
        tried.merge(failed.tried) { new, _ in new }
    }

    // MARK: - Back from the disk

    var hasMore: Bool { awayBytes > 0 || !away.isEmpty }
    var position: Int64 { cursor }

    /// Gathers rows that were read after the cursor. Returns the number of bytes of their events.
    mutating func gather(read rows: [SpoolRow], at now: Instant, seal: (Batch, Share, Int, Int64?) -> Void) -> Int {
        var bytes = 0
        for row in rows {
            advance(past: row)
            bytes += row.batch.bytes.count
            gather(row, at: now, seal: seal)
        }
        if rows.isEmpty { (away, awayBytes) = ([:], 0) }
        return bytes
    }

    /// Moves the cursor past a row that is no longer only on disk.
    mutating func advance(past row: SpoolRow) {
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
        removals.append(row.id)
        removedBytes += row.batch.bytes.count
    }

    // MARK: - Rows to batches

    /// The time at which the gathered rows must leave because of their age.
    var deadline: Instant? { began.map { isUrgent ? $0 : $0 + limits.wait } }
    var hasGathered: Bool { !gathered.isEmpty }

    private mutating func gather(_ row: SpoolRow, at now: Instant, seal: (Batch, Share, Int, Int64?) -> Void) {
        let fits = gatheredEvents + row.batch.count <= limits.events && gatheredBytes + row.batch.bytes.count <= limits.bytes
        // A row that was tried before gets a batch of its own, so that its number of attempts and its time stay true.
        let isTried = row.attempts > 0 || row.firstTried != nil
        if isTried || !fits { close(seal) }
        gathered.append(row)
        gatheredEvents += row.batch.count
        gatheredBytes += row.batch.bytes.count
        began = began ?? now
        isUrgent = isUrgent || row.batch.entries.contains { $0.isImmediate }
        if isTried || gatheredEvents >= limits.events || gatheredBytes >= limits.bytes { close(seal) }
    }

    mutating func sealIfDue(at now: Instant, always: Bool, seal: (Batch, Share, Int, Int64?) -> Void) {
        if always || (deadline.map { $0 <= now } ?? false) { close(seal) }
    }

    private mutating func close(_ seal: (Batch, Share, Int, Int64?) -> Void) {
        guard let first = gathered.first else { return }
        var batch = first.batch
        if gathered.count > 1 { batch = Batch(joining: gathered.map(\.batch)) }
        origins[first.id] = Origin(
            rows: gathered.map(\.id), counts: gathered.map(\.batch.count), batch: batch, left: batch.count)
        gathered.removeAll(keepingCapacity: true)
        (gatheredEvents, gatheredBytes, began, isUrgent) = (0, 0, nil, false)
        seal(batch, Share(origin: first.id), first.attempts, first.firstTried)
    }

    // MARK: - Fates

    /// Releases these events of an origin, so that they leave the disk.
    mutating func release(_ share: Share) {
        guard var origin = origins[share.origin] else { return }
        if let members = share.members {
            if origin.isSettled.isEmpty { origin.isSettled = Array(repeating: false, count: origin.batch.count) }
            for member in members where !origin.isSettled[member] {
                origin.isSettled[member] = true
                origin.left -= 1
            }
        } else {
            origin.left = 0
        }
        if origin.left > 0 {
            origins[share.origin] = origin
            changed.insert(share.origin)
        } else {
            origins[share.origin] = nil
            tried[share.origin] = nil
            changed.remove(share.origin)
            removals += origin.rows
            removedBytes += origin.batch.bytes.count
        }
    }

    mutating func noteTry(_ share: Share, attempts: Int, first: Int64) {
        if origins[share.origin] != nil { tried[share.origin] = (attempts, first) }
    }

    /// Leaves the gathered rows on disk.
    mutating func forgetGathered() {
        gathered = []
        began = nil
    }

    /// Removes the events that must go from the rows that are not stored yet. Returns them, and the time at which the next of the others is
    /// too old.
    mutating func sweep(at now: Instant, _ find: (Batch) -> RetentionSweep.Finds?) -> (gone: [(batch: Batch, isRefused: Bool)], due: Int64?)
    {
        form { forming, sealed in forming.sealIfDue(at: now, always: true) { sealed.append($0) } }
        var gone: [(batch: Batch, isRefused: Bool)] = []
        var kept: [Unstored] = []
        var due: Int64?
        for var next in unstored.removeAll() {
            if let found = find(next.batch) {
                if let other = found.due { due = min(due ?? .max, other) }
                if !found.refused.isEmpty { gone.append((next.batch.subset(found.refused), true)) }
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
        return (gone, due)
    }

    private mutating func pass(_ position: UInt64) {
        let count = commit?.rows.count ?? 0
        if count > 0 { commit!.rows[count - 1].row.position.raise(to: position) } else { stored.raise(to: position) }
    }

    /// Returns the batches that are not stored yet or are being stored.
    mutating func unstoredBatches(at now: Instant) -> [Batch] {
        form { forming, sealed in forming.sealIfDue(at: now, always: true) { sealed.append($0) } }
        return (commit?.rows.map(\.row.batch) ?? []) + (0..<unstored.count).map { unstored[$0].batch }
    }

    /// Removes and returns all rows that could not be stored.
    mutating func takeUnstored(at now: Instant) -> [Unstored] {
        form { forming, sealed in forming.sealIfDue(at: now, always: true) { sealed.append($0) } }
        unstoredBytes = 0
        return unstored.removeAll()
    }
}

extension UInt64 {
    fileprivate mutating func raise(to other: UInt64) { self = Swift.max(self, other) }
}
