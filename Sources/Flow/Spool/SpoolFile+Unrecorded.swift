// Handles a spool file on a full disk. Confirmed events that cannot be recorded in the spool are noted in a file that was created for this
// purpose (SettledFile.swift). Settled events are not given out and do not count. The next transaction that succeeds first records what is
// only noted.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform
internal import StateFiles

extension SpoolFile {
    /// After the disk was full, work is only noted for this time before the spool itself is tried again.
    private static let pause = Duration.seconds(1)

    var settledMark: SettledMark { SettledMark(database: file.proof.database, sequence: file.proof.sequence) }

    /// Runs the body in a transaction that first records what is only noted. Every transaction of the spool must use this function.
    func transaction<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        let result = try file.transaction { () throws(StorageFault) in
            if !unrecorded.isEmpty { try record() }
            if !unrecordedDestroyed.isEmpty { try recordDestroyed() }
            return try body()
        }
        noteDestroyedRecorded()
        unrecorded = Unrecorded()
        recordAgain = nil
        if hasReportedUnrecorded { say("\(path): confirmed events are recorded again") }
        hasReportedUnrecorded = false
        return result
    }

    // MARK: - Noting

    /// Notes work for which the spool has no space. Throws a fault if the work cannot be noted either.
    func note(_ work: SpoolWork, _ fault: StorageFault) throws(StorageFault) {
        try database.checkPlace()
        guard !isLetGo else { throw fault }
        var next = unrecorded
        try next.add(work, orThrow: fault, in: database)
        do throws(StorageFault) {
            if settled?.isInPlace != true { settled = try SettledFile(making: SettledFile.path(beside: path), settledMark) }
            try settled?.note(next.facts, settledMark, isSynced: options.isSynced)
        } catch {
            throw StorageFault(.full, "\(fault); \(error)")
        }
        assert(unrecorded.gone.ranges.allSatisfy(next.gone.covers), "a row that was settled waits again")
        unrecorded = next
        unrecordedDestroyed.add(work.destroyed)
        recordAgain = options.clock.now() + SpoolFile.pause
        reportUnrecorded()
        if !work.remove.isEmpty { renewIfSettled() }
    }

    /// Notes the work without trying the spool, if the spool had no space a moment ago. Returns true if the work was noted.
    func noteAtOnce(_ work: SpoolWork) -> Bool {
        guard let recordAgain, options.clock.now() < recordAgain else { return false }
        return (try? note(work, StorageFault(.full, "\(path): has no space"))) != nil
    }

    private func reportUnrecorded() {
        if !hasReportedUnrecorded {
            say("\(path): has no space to record confirmed events; they are noted in \(SettledFile.path(beside: path)) until there is")
        }
        hasReportedUnrecorded = true
    }

    // MARK: - Facts of an earlier run

    /// Takes over the facts that an earlier run noted. `damage` describes what was wrong with the spool, if it has just been rebuilt.
    func takeNoted(_ sight: SettledSight?, after damage: Damage?) throws(StorageFault) {
        var found = sight?.found ?? []
        let place = SettledFile.path(beside: path)
        if let words = sight?.damage { say("\(words); the events of unusable records were delivered and may be sent again") }
        // If the spool cannot be identified as the one that the facts describe, no fact can be used.
        let isKnown = damage.map { !$0.isOther && $0.proof?.database == file.proof.database } ?? true
        let others = found.filter { $0.mark.database != file.proof.database || !isKnown }
        if !others.isEmpty { say("\(place): belongs to another file, not to \(path); it is ignored") }
        let since = damage?.proof?.sequence ?? file.proof.sequence
        found = found.filter { isKnown && $0.mark.database == file.proof.database && $0.mark.sequence >= since }
        // Facts can be newer than the spool: under `process` a loss of power can take its last transactions. New rows may then get the
        // numbers of lost rows. So the facts are limited to the rows that exist.
        let mark = settledMark
        let mustRestart = sight?.damage != nil || !others.isEmpty || damage != nil || found.contains { $0.mark != mark }
        unrecorded = try Unrecorded(found.map(\.fact), in: database)
        do throws(StorageFault) {
            if sight == nil {
                settled = try SettledFile(making: place, settledMark)
            } else if mustRestart {
                settled = try restarted(place)
            } else {
                settled = try SettledFile(place, settledMark, counting: found)
            }
        } catch {
            // The next start must not use any of the old facts.
            if mustRestart { SettledFile.remove(place) }
            settled = nil
            say("\(error); while the disk is full, confirmed events cannot be recorded")
        }
    }

    private func restarted(_ place: String) throws(StorageFault) -> SettledFile {
        // A file with the wrong size is created again.
        if let sight = SettledFile.look(place), sight.hasSize {
            let file = try SettledFile(place, settledMark, counting: [])
            try file.restart(unrecorded.facts, settledMark)
            return file
        }
        let file = try SettledFile(making: place, settledMark)
        try file.restart(unrecorded.facts, settledMark)
        return file
    }

    /// Notes the facts again after the spool was rebuilt while it was open, since its number of transactions has changed.
    func noteAnew() {
        do throws(StorageFault) {
            unrecorded = try Unrecorded(unrecorded.facts, in: database)
            try settled?.restart(unrecorded.facts, settledMark)
        } catch {
            if settled != nil { SettledFile.remove(SettledFile.path(beside: path)) }
            settled = nil
        }
    }

    /// Records what is only noted, if there is space now.
    func recordIfSpace() throws(StorageFault) {
        guard !unrecorded.isEmpty else { return }
        do throws(StorageFault) {
            try transaction { () throws(StorageFault) in }
        } catch {
            guard error.kind == .full else { throw error }
            reportUnrecorded()
            renewIfSettled()
        }
    }

    // MARK: - Recording

    /// Records what is only noted. Must be called inside a transaction.
    private func record() throws(StorageFault) {
        var left: [(id: Int64, batch: Batch, rows: Set<Int64>)] = []
        for (id, places) in unrecorded.rewritten {
            // A row that has become damaged stays, and is set aside when it is read.
            if let (batch, rows) = try gather(places) { left.append((id, batch, rows)) }
        }
        for range in unrecorded.gone.ranges {
            for row in try database.rows(in: range) { try take(row, deleting: true, keepsTries: unrecorded.rewritten[row] != nil) }
        }
        for (id, batch, rows) in left {
            for row in rows { try take(row, deleting: row != id) }
            try put(batch, row: id, sql: rows.contains(id) ? SpoolFile.update : SpoolFile.insert, isNew: false)
        }
        for (id, tried) in unrecorded.tried { try putTries(id, attempts: tried.attempts, first: tried.first) }
    }

    /// Returns the events at these places and the rows that they were read from. Returns nil if none can be read.
    private func gather(_ places: [SpoolPlace]) throws(StorageFault) -> (Batch, Set<Int64>)? {
        var batches: [Batch] = []
        var rows: Set<Int64> = []
        var rest = places[...]
        while let first = rest.first {
            let run = rest.prefix { $0.row == first.row }
            rest = rest.dropFirst(run.count)
            guard let whole = try stored(first.row), run.allSatisfy({ $0.index < whole.count }) else { continue }
            batches.append(whole.subset(run.map(\.index)))
            rows.insert(first.row)
        }
        return batches.isEmpty ? nil : (batches.count == 1 ? batches[0] : Batch(joining: batches), rows)
    }

    private func stored(_ row: Int64) throws(StorageFault) -> Batch? {
        let select = try database.statement("SELECT \(RowReader.columns), batches.checksum FROM batches WHERE id = ?1").bind(1, row)
        defer { select.reset() }
        return try select.step() ? reader.batch(select, checksum: 8) : nil
    }

    // MARK: - Visible rows

    /// Returns the events of a row that still wait. Returns nil if the row is settled or its events now belong to another row.
    func seen(_ row: Int64, _ batch: Batch) throws(StorageFault) -> Batch? {
        if let places = unrecorded.rewritten[row] {
            return places.allSatisfy { $0.row == row && $0.index < batch.count }
                ? batch.subset(places.map(\.index)) : try gather(places)?.0
        }
        return isHidden(row) ? nil : batch
    }

    /// Returns true if no event may be given out under the number of the row.
    func isHidden(_ row: Int64) -> Bool {
        unrecorded.rewritten[row] == nil && (unrecorded.gone.contains(row) || unrecorded.parts[row] != nil)
    }

    /// Returns the sums and the number of the rows that wait. While something is only noted, the proof counts more than what waits.
    func seenSums() throws(StorageFault) -> (sums: [UInt16: Sum], rows: Int) {
        var sums: [UInt16: Sum] = [:]
        var count = 0
        var partly: [Int64] = []
        let all = try database.statement("SELECT id, routes FROM batches")
        defer { all.reset() }
        while try all.step() {
            let row = all.int(0)
            if isHidden(row) { continue }
            count += 1
            if unrecorded.rewritten[row] != nil {
                partly.append(row)
                continue
            }
            for part in SpoolFile.parts(all.text(1)) {
                guard let known = routes.run(part.route) else { continue }
                sums[known, default: Sum()].events += part.events
                sums[known, default: Sum()].bytes += part.bytes
            }
        }
        all.reset()
        for row in partly {
            guard let places = unrecorded.rewritten[row], let (batch, _) = try gather(places) else { continue }
            for index in 0..<batch.count {
                let route = batch.entries[index].route
                sums[route, default: Sum()].events += 1
                sums[route, default: Sum()].bytes += batch.event(index).count + 1
            }
        }
        return (sums, count)
    }
}

extension Database {
    /// Returns the number of events and the checksum of a row in `batches`. Returns nil if there is no such row, or if its number of events
    /// is impossible.
    func shape(of row: Int64) throws(StorageFault) -> Unrecorded.Shape? {
        let find = try statement("SELECT events, checksum, length(entries) FROM batches WHERE id = ?1").bind(1, row)
        defer { find.reset() }
        // The checksum is not verified here, so the number of events may be damaged. Each event has 24 bytes of entries.
        guard try find.step(), !find.isNull(1), (0...find.int(2) / 24).contains(find.int(0)) else { return nil }
        return Unrecorded.Shape(events: Int(find.int(0)), checksum: find.int(1))
    }

    /// Returns the numbers of the rows in `batches` that are in the range.
    func rows(in range: ClosedRange<Int64>) throws(StorageFault) -> [Int64] {
        var rows: [Int64] = []
        let find = try statement("SELECT id FROM batches WHERE id BETWEEN ?1 AND ?2").bind(1, range.lowerBound).bind(2, range.upperBound)
        defer { find.reset() }
        while try find.step() { rows.append(find.int(0)) }
        return rows
    }

    /// Returns what is noted beside the file as settled but not yet recorded in the file. Changes nothing.
    func unrecorded(_ proof: Proof) throws(StorageFault) -> Unrecorded {
        let found = SettledFile.look(SettledFile.path(beside: path))?.found ?? []
        let facts = found.filter { $0.mark.database == proof.database && $0.mark.sequence >= proof.sequence }.map(\.fact)
        return try Unrecorded(facts, in: self)
    }
}
