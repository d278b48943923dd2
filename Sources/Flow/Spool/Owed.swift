// What a spool file owes: that rows, or events of rows, were settled, which could not be recorded for want of room. A pure value. The lane
// knows rows by what it committed; the file still has them as they were before. This keeps track of what the one is in terms of
// the other.

internal import Admission
internal import Database
internal import Platform

struct Owed {
    /// A row of the file of which only some events are left.
    struct Part: Equatable {
        /// The row, as the lane knows it, that has what is left.
        var holder: Int64
        var checksum: Int64
        /// By 64 events.
        var settled: [UInt64]
    }

    /// What a row of the file is.
    struct Shape {
        var events: Int
        var checksum: Int64
    }

    /// Rows of the file that are settled.
    private(set) var gone = RowSet()
    /// By row as the lane knows it, of those that were rewritten: where its events stand in the file.
    private(set) var rewritten: [Int64: [SpoolPlace]] = [:]
    /// By row of the file.
    private(set) var parts: [Int64: Part] = [:]
    /// How often rows were tried, and when first. This is not noted: after a kill it counts anew.
    private(set) var tried: [Int64: (attempts: Int, first: Int64)] = [:]

    var isEmpty: Bool { gone.isEmpty && rewritten.isEmpty && tried.isEmpty }

    init() {}

    /// What facts of an earlier run say, of the rows that are there. Nothing else of the file is looked at.
    init(_ facts: [SettledFact], in database: Database) throws(SpoolFault) {
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
            if left.isEmpty { gone.insert(row) } else { keep(left.map { SpoolPlace(row: row, index: $0) }, row, shape) }
        }
    }

    /// What is to be noted.
    var facts: [SettledFact] {
        var facts = gone.ranges.map { SettledFact.rows($0) }
        for (row, part) in parts.sorted(by: { $0.key < $1.key }) {
            for (block, mask) in part.settled.enumerated() where mask != 0 {
                facts.append(.events(row: row, checksum: part.checksum, block: block, mask: mask))
            }
        }
        return facts
    }

    /// The rows of the file that a row is made of, as the lane knows it.
    private func rows(of id: Int64) -> [Int64] {
        if let places = rewritten[id] { return Array(Set(places.map(\.row))) }
        return gone.contains(id) || parts[id] != nil ? [] : [id]
    }

    /// Adds what could not be recorded. Throws `fault` where it cannot be said in terms of the file.
    mutating func add(_ work: SpoolWork, orThrow fault: SpoolFault, in database: Database) throws(SpoolFault) {
        var left: [Int64: [SpoolPlace]] = [:]
        for (id, batch) in work.rewrite {
            guard let places = work.left[id], places.count == batch.count, !places.isEmpty else { throw fault }
            left[id] = try places.map { place throws(SpoolFault) in
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
                keep(places.filter { $0.row == row }, id, shape, of: row)
            }
            rewritten[id] = places
        }
        for (id, attempts, first) in work.tried { tried[id] = (attempts, first) }
    }

    private mutating func keep(_ places: [SpoolPlace], _ row: Int64, _ shape: Shape) {
        keep(places, row, shape, of: row)
        rewritten[row] = places
    }

    private mutating func keep(_ places: [SpoolPlace], _ holder: Int64, _ shape: Shape, of row: Int64) {
        var settled = [UInt64](repeating: 0, count: (shape.events + 63) / 64)
        for index in 0..<shape.events { settled[index / 64] |= 1 << UInt64(index % 64) }
        for place in places { settled[place.index / 64] &= ~(1 << UInt64(place.index % 64)) }
        parts[row] = Part(holder: holder, checksum: shape.checksum, settled: settled)
    }
}
