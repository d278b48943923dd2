// Destroys events of a spool file that must not be kept any longer, after a withdrawal or because of their age.

internal import Admission
@_spi(Spool) public import ConsentGate
internal import Database
public import Platform

extension SpoolFile {
    /// The greatest number of rows that one call examines.
    private static let sweepRows = 256

    public func sweep(after row: Int64, _ sweep: RetentionSweep) throws(StorageFault) -> SpoolSwept {
        if try isWithoutFile() { return SpoolSwept() }
        try rebuildIfDamaged()
        let before = file
        do throws(StorageFault) {
            return try sweepRows(after: row, sweep)
        } catch {
            // A commit that finds damage rebuilds the file itself.
            if error.kind == .damaged, file === before { try repair(error) }
            throw error
        }
    }

    /// Examines the entries of rows. Reads the events of a row only if some of them must be destroyed. For a withdrawal it also verifies each
    /// row: a damaged row may hold events of any subject, so it is destroyed as well.
    private func sweepRows(after row: Int64, _ sweep: RetentionSweep) throws(StorageFault) -> SpoolSwept {
        var swept = SpoolSwept()
        var hit: [Int64] = []
        var damaged: [Int64] = []
        var seen = 0
        let verifies = sweep.isForWithdrawal
        let columns = verifies ? "\(RowReader.columns), batches.checksum" : "id, events, NULL, NULL, NULL, sealed, entries"
        let select = try database.statement(
            "SELECT \(columns) FROM batches WHERE id > ?1 ORDER BY id LIMIT \(SpoolFile.sweepRows)"
        ).bind(1, row)
        let reader = reader
        while try select.step() {
            seen += 1
            swept.next = select.int(0)
            if isHidden(select.int(0)) { continue }
            // The checksum covers the events too, so without a withdrawal it is verified only for rows in which something is destroyed. A
            // damaged row is then set aside when it is read.
            guard let index = reader.index(select, checksum: verifies ? 8 : nil) else {
                if verifies { damaged.append(select.int(0)) }
                continue
            }
            guard let finds = index.finds(sweep) else {
                select.reset()
                throw StorageFault(.failed, "\(path): the consent records of its subjects cannot be read")
            }
            if let due = finds.due { swept.due = min(swept.due ?? .max, due) }
            if !finds.isEmpty { hit.append(select.int(0)) }
        }
        select.reset()
        if seen < SpoolFile.sweepRows { swept.next = nil }
        if !damaged.isEmpty { try setAside(damaged) }
        var work = SpoolWork()
        for id in hit {
            guard let found = try rows(after: id - 1, most: 1).first, found.id == id, let finds = sweep.finds(in: found.batch),
                !finds.isEmpty
            else { continue }
            let (refused, aged) = (found.batch.subset(finds.refused), found.batch.subset(finds.aged))
            for entry in refused.entries { swept.routes[entry.route, default: 0] += 1 }
            for entry in aged.entries { swept.aged[entry.route, default: 0] += 1 }
            swept.bytes += refused.bytes.count
            swept.destroyed.add(finds.destroyed(of: found.batch))
            swept.agedBytes += aged.bytes.count
            let left = finds.left(of: found.batch.count)
            assert(refused.count + aged.count + left.count == found.batch.count, "an event is neither destroyed nor left")
            if left.isEmpty { work.remove.append(id) } else { work.rewrite.append((id, found.batch.subset(left))) }
        }
        // A note beside the file is not enough: a receipt says that the events are destroyed, so the file itself must be rid of them.
        work.destroyed = swept.destroyed
        if !work.isEmpty { try store(work) }
        if sweep.isForWithdrawal, swept.next == nil { try dropDamaged() }
        return swept
    }

    /// Destroys the damaged rows that are kept for a person. Nobody can tell whose events they hold, so a withdrawal means them too.
    private func dropDamaged() throws(StorageFault) {
        guard let count = try database.number("SELECT count(*) FROM damaged"), count > 0 else { return }
        try transaction { () throws(StorageFault) in try database.run("DELETE FROM damaged") }
        say("\(path): \(grouped(Int(count))) damaged batches in its table 'damaged' were destroyed, since they may hold withdrawn events")
    }
}
