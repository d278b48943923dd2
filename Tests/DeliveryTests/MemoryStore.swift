// A spool in memory that outlives its lane, and that fails or blocks when a test demands it.

import Admission
import ConsentGate
import Platform
import Spool

final class MemoryStore: SpoolStore, Sendable {
    private struct State {
        var rows: [SpoolRow] = []
        var lastRow: Int64 = 0
        var fault: SpoolFault?
        /// True if even commits that free space fail because the disk is full.
        var failsRecords = false
        var isHeld = false
    }
    private let state = Monitor(State())

    var contents: SpoolContents {
        state.withLock { state in
            var contents = SpoolContents()
            contents.lastRow = state.lastRow
            contents.rows = state.rows.count
            for row in state.rows {
                contents.events += row.batch.count
                contents.bytes += row.batch.bytes.count
                for entry in row.batch.entries { contents.routes[entry.route, default: 0] += 1 }
            }
            return contents
        }
    }

    func read(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] {
        try state.withLock { state throws(SpoolFault) in
            if let fault = state.fault, fault.kind != .full { throw fault }
            var size = 0
            var found: [SpoolRow] = []
            for next in state.rows where next.id > row {
                size += next.batch.bytes.count
                if !found.isEmpty, size > bytes { break }
                found.append(next)
            }
            return found
        }
    }

    func sweep(after row: Int64, _ sweep: RetentionSweep) throws(SpoolFault) -> SpoolSwept {
        var swept = SpoolSwept()
        try state.withLock { state throws(SpoolFault) in
            if let fault = state.fault { throw fault }
            for index in state.rows.indices where state.rows[index].id > row {
                let batch = state.rows[index].batch
                guard let finds = sweep.finds(in: batch) else { continue }
                if let due = finds.due { swept.due = min(swept.due ?? .max, due) }
                let (refused, aged) = (batch.subset(finds.refused), batch.subset(finds.aged))
                for entry in refused.entries { swept.routes[entry.route, default: 0] += 1 }
                for entry in aged.entries { swept.aged[entry.route, default: 0] += 1 }
                swept.bytes += refused.bytes.count
                swept.destroyed.add(finds.destroyed(of: batch))
                swept.agedBytes += aged.bytes.count
                state.rows[index].batch = batch.subset(finds.left(of: batch.count))
            }
            state.rows.removeAll { $0.batch.count == 0 }
        }
        return swept
    }

    func commit(_ work: SpoolWork) throws(SpoolFault) {
        state.wait(while: { $0.isHeld })
        try state.withLock { state throws(SpoolFault) in
            if let fault = state.fault, fault.kind != .full || !work.insert.isEmpty || state.failsRecords { throw fault }
            state.rows += work.insert.map { SpoolRow(id: $0.id, batch: $0.batch) }
            for (id, batch) in work.rewrite {
                for index in state.rows.indices where state.rows[index].id == id { state.rows[index].batch = batch }
            }
            for (id, attempts, first) in work.tried {
                for index in state.rows.indices where state.rows[index].id == id {
                    (state.rows[index].attempts, state.rows[index].firstTried) = (attempts, first)
                }
            }
            state.rows.removeAll { work.remove.contains($0.id) }
            state.rows.sort { $0.id < $1.id }
            state.lastRow = max(state.lastRow, work.insert.map(\.id).max() ?? 0)
        }
        state.wake()
    }

    func takeLoss() -> SpoolLoss? { nil }
    func tidy() throws(SpoolFault) {}
    func clearGaps() throws(SpoolFault) {}
    func close() {}

    // MARK: - The hands of a test

    var events: [String] { state.withLock { $0.rows.flatMap { texts($0.batch) } } }
    var attempts: [Int] { state.withLock { $0.rows.map(\.attempts) } }
    func fail(_ fault: SpoolFault?, records: Bool = false) { state.withLock { ($0.fault, $0.failsRecords) = (fault, records) } }
    func hold(_ isHeld: Bool) {
        state.withLock { $0.isHeld = isHeld }
        state.wake()
    }
    func wait(until condition: ([String]) -> Bool) { state.wait(while: { !condition($0.rows.flatMap { texts($0.batch) }) }) }
}
