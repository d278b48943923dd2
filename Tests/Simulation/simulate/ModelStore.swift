// A spool in memory that keeps all its promises, and checks those of the lane: no row is stored twice, and no missing row is changed. It
// survives the lives of the router, and it fails when `health` says so.

import Admission
import Platform
import Spool

final class ModelStore {
    enum Health { case well, full, failing }
    struct Row {
        var batch: Batch
        var attempts = 0
        var firstTried: Int64?
        /// The numbers of its events.
        var events: [Int]
    }

    private(set) var rows: [Int64: Row] = [:]
    private var order: [Int64] = []
    private var lastRow: Int64 = 0
    var health = Health.well
    /// The last forbidden action of the lane.
    private(set) var breach: String?

    var contents: SpoolContents {
        var contents = SpoolContents()
        contents.lastRow = lastRow
        contents.rows = rows.count
        for row in rows.values {
            contents.events += row.batch.count
            contents.bytes += row.batch.bytes.count
            for entry in row.batch.entries { contents.routes[entry.route, default: 0] += 1 }
        }
        return contents
    }

    /// The events that a start finds, in order.
    var events: [Int] { order.flatMap { rows[$0]!.events } }

    func read(after row: Int64, most bytes: Int) -> Result<[SpoolRow], SpoolFault> {
        if health == .failing { return .failure(SpoolFault(.failed, "the disk fails")) }
        var found: [SpoolRow] = []
        var size = 0
        for id in order where id > row {
            let next = rows[id]!
            if !found.isEmpty, size + next.batch.bytes.count > bytes { break }
            size += next.batch.bytes.count
            found.append(SpoolRow(id: id, batch: next.batch, attempts: next.attempts, firstTried: next.firstTried))
        }
        return .success(found)
    }

    /// Returns the fault that this work would meet now, or nil.
    func fault(_ work: SpoolWork) -> SpoolFault? {
        switch health {
        case .well: nil
        case .full: work.insert.isEmpty ? nil : SpoolFault(.full, "the disk is full")
        case .failing: SpoolFault(.failed, "the disk fails")
        }
    }

    func apply(_ work: SpoolWork) {
        for (id, batch) in work.insert {
            if rows[id] != nil { breach = "row \(id) was stored twice" }
            if id <= 0 { breach = "a row got the number \(id)" }
            rows[id] = Row(batch: batch, events: numbers(batch))
            lastRow = max(lastRow, id)
        }
        for (id, batch) in work.rewrite {
            guard let old = rows[id] else {
                breach = "row \(id) was rewritten and is not there"
                continue
            }
            rows[id] = Row(batch: batch, attempts: old.attempts, firstTried: old.firstTried, events: numbers(batch))
        }
        for (id, attempts, firstTried) in work.tried {
            guard rows[id] != nil else {
                breach = "tries of row \(id) were noted and it is not there"
                continue
            }
            rows[id]!.attempts = attempts
            rows[id]!.firstTried = firstTried
        }
        for id in work.remove where rows.removeValue(forKey: id) == nil { breach = "row \(id) was removed and is not there" }
        order = rows.keys.sorted()
    }

    /// The planted bug `loss`: loses the newest row.
    func loseOne() {
        guard let last = order.popLast() else { return }
        rows[last] = nil
    }
}

/// Returns the numbers of a batch's events. The text of each event begins with the digits of its number.
func numbers(_ batch: Batch) -> [Int] {
    var numbers: [Int] = []
    var start = 0
    for end in batch.ends {
        var number = 0
        var at = start
        while batch.bytes[at] >= 0x30, batch.bytes[at] <= 0x39 {
            number = number * 10 + Int(batch.bytes[at] - 0x30)
            at += 1
        }
        numbers.append(number)
        start = Int(end)
    }
    return numbers
}
