// The settled rows and events that a spool file could not record because the disk was full. The lane knows the rows as it committed them,
// but the file still has them as they were before. This value translates between the two. It reads the file and never writes to it.

internal import Admission
internal import Database
internal import Platform

struct Unrecorded {
    /// A row of the file that is partly settled.
    struct Part: Equatable {
        var checksum: Int64
        /// One bit for each event, set if the event is settled. Each word has the bits of 64 events.
        var settled: [UInt64]
    }

    /// The size and the checksum of a row in the file.
    struct Shape {
        var events: Int
        var checksum: Int64
    }

    /// The rows of the file that are completely settled.
    private(set) var gone = RowSet()
    /// For each row that the lane has rewritten, the places of its events in the file. The keys are the lane's row numbers.
    private(set) var rewritten: [Int64: [SpoolPlace]] = [:]
    /// The partly settled rows. The keys are the row numbers in the file.
    private(set) var parts: [Int64: Part] = [:]
    /// The number of attempts and the time of the first one for rows of the lane. They are not noted, so after a kill the count starts
    /// again.
    private(set) var tried: [Int64: (attempts: Int, first: Int64)] = [:]

    var isEmpty: Bool { gone.isEmpty && rewritten.isEmpty && tried.isEmpty }

    init() {}

    /// Restores the value from the facts of an earlier run. Rows that the file no longer has are ignored.
    init(_ facts: [SettledFact], in database: Database) throws(StorageFault) {
        var settled: [Int64: (sum: Int64, masks: [Int: UInt64])] = [:]
        for fact in facts {
            switch fact {
            case .rows(let rows): for row in try database.rows(in: rows) { gone.insert(row) }
            case .events(let row, let sum, let block, let mask): settled[row, default: (sum, [:])].masks[block, default: 0] |= mask
            }
        }
        for (row, known) in settled where !gone.contains(row) {
            guard let shape = try database.shape(of: row), shape.checksum == known.sum else { continue }
            let left = (0..<shape.events).filter { (known.masks[$0 / 64] ?? 0) >> UInt64($0 % 64) & 1 == 0 }
            if left.isEmpty {
                gone.insert(row)
            } else {
                let places = left.map { SpoolPlace(row: row, index: $0) }
                settleAll(of: row, shape, except: places)
                rewritten[row] = places
            }
        }
    }

    /// The facts that must be noted.
    var facts: [SettledFact] {
        var facts = gone.ranges.map { SettledFact.rows($0) }
        for (row, part) in parts.sorted(by: { $0.key < $1.key }) {
            for (block, mask) in part.settled.enumerated() where mask != 0 {
                facts.append(.events(row: row, checksum: part.checksum, block: block, mask: mask))
            }
        }
        return facts
    }

    /// Returns the rows of the file that have the events of a row of the lane.
    private func rows(of id: Int64) -> [Int64] {
        if let places = rewritten[id] { return Array(Set(places.map(\.row))) }
        return gone.contains(id) || parts[id] != nil ? [] : [id]
    }

    /// Adds work that could not be recorded. Throws `fault` if the work cannot be translated into rows of the file.
    mutating func add(_ work: SpoolWork, orThrow fault: StorageFault, in database: Database) throws(StorageFault) {
        var left: [Int64: [SpoolPlace]] = [:]
        for (id, batch) in work.rewrite {
            guard let places = work.left[id], places.count == batch.count, !places.isEmpty else { throw fault }
            left[id] = try places.map { place throws(StorageFault) in
                guard let known = rewritten[place.row] else { return place }
                guard known.indices.contains(place.index) else { throw fault }
                return known[place.index]
            }
        }
        let kept = Set(left.values.joined().map(\.row))
        for id in work.remove + work.rewrite.map(\.id) {
            for row in rows(of: id) {
                parts[row] = nil
                if !kept.contains(row) { gone.insert(row) }
            }
            rewritten[id] = nil
            if left[id] == nil { tried[id] = nil }
        }
        for (id, places) in left {
            for row in Set(places.map(\.row)) {
                guard let shape = try database.shape(of: row), places.allSatisfy({ $0.row != row || $0.index < shape.events }) else {
                    throw fault
                }
                settleAll(of: row, shape, except: places.filter { $0.row == row })
            }
            rewritten[id] = places
        }
        for (id, attempts, first) in work.tried { tried[id] = (attempts, first) }
    }

    /// Records that all events of a row of the file are settled except those at these places.
    private mutating func settleAll(of row: Int64, _ shape: Shape, except places: [SpoolPlace]) {
        assert(!places.isEmpty && !gone.contains(row), "a row with events that wait is settled")
        var settled = [UInt64](repeating: 0, count: (shape.events + 63) / 64)
        for index in 0..<shape.events { settled[index / 64] |= 1 << UInt64(index % 64) }
        for place in places {
            assert(place.row == row && (0..<shape.events).contains(place.index), "a place is not in its row")
            settled[place.index / 64] &= ~(1 << UInt64(place.index % 64))
        }
        parts[row] = Part(checksum: shape.checksum, settled: settled)
    }
}
