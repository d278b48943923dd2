// A spool file on a full disk: what was confirmed and cannot be recorded is noted in the file that was made for it (SettledFile.swift), and
// is owed. Rows that are owed are not given out and do not count; each transaction does what is owed before anything else.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform

extension SpoolFile {
    /// How long nothing is tried in the spool itself after there was no room, where it can be noted.
    private static let pause = Duration.seconds(1)

    var settledMark: SettledMark { SettledMark(database: file.proof.database, sequence: file.proof.sequence) }

    /// Every transaction of the spool is one of these: what is owed is done with it.
    func transaction<R>(_ body: () throws(SpoolFault) -> R) throws(SpoolFault) -> R {
        let result = try file.transaction { () throws(SpoolFault) in
            if !owed.isEmpty { try pay() }
            return try body()
        }
        owed = Owed()
        recordAgain = nil
        if isOwing { say("\(path): what was confirmed is recorded again") }
        isOwing = false
        return result
    }

    // MARK: - Noting

    /// Notes what has found no room in the spool; where that cannot be done either, throws the fault.
    func note(_ work: SpoolWork, _ fault: SpoolFault) throws(SpoolFault) {
        try database.checkPlace()
        guard !isLetGo else { throw fault }
        var next = owed
        try next.add(work, orThrow: fault, in: database)
        do throws(SpoolFault) {
            if settled?.isInPlace != true { settled = try SettledFile(making: SettledFile.path(beside: path), settledMark) }
            try settled?.note(next.facts, settledMark, isSynced: options.isSynced)
        } catch {
            throw SpoolFault(.full, "\(fault); \(error)")
        }
        owed = next
        recordAgain = options.clock.now() + SpoolFile.pause
        owe()
        if !work.remove.isEmpty { renewIfSettled() }
    }

    /// Notes it where the spool had no room a moment ago; whether that was done.
    func noteAtOnce(_ work: SpoolWork) -> Bool {
        guard let recordAgain, options.clock.now() < recordAgain else { return false }
        return (try? note(work, SpoolFault(.full, "\(path): has no room"))) != nil
    }

    private func owe() {
        if !isOwing {
            say("\(path): what is confirmed finds no room in it, and is noted in \(SettledFile.path(beside: path)) until it does")
        }
        isOwing = true
    }

    // MARK: - What an earlier run noted

    /// Takes over what was noted. `damage`: what was wrong with the spool, if it has just been rebuilt.
    func takeNoted(_ sight: SettledSight?, after damage: Damage?) throws(SpoolFault) {
        var found = sight?.found ?? []
        let place = SettledFile.path(beside: path)
        if let words = sight?.damage { say("\(words); what cannot be used was delivered and may be sent again") }
        // Of a spool that cannot be told to be the one that the facts are about, none can be believed.
        let isKnown = damage.map { !$0.isOther && $0.proof?.database == file.proof.database } ?? true
        let others = found.filter { $0.mark.database != file.proof.database || !isKnown }
        if !others.isEmpty { say("\(place): belongs to another file than \(path); it is left out") }
        let since = damage?.proof?.sequence ?? file.proof.sequence
        found = found.filter { isKnown && $0.mark.database == file.proof.database && $0.mark.sequence >= since }
        // Newer facts than the spool: after a loss of power under `process` it has forgotten its last transactions. Rows that come now
        // may get the numbers of rows that are forgotten, so that the facts are cut to what is there.
        let mark = settledMark
        let mustRestart = sight?.damage != nil || !others.isEmpty || damage != nil || found.contains { $0.mark != mark }
        owed = try Owed(found.map(\.fact), in: database)
        do throws(SpoolFault) {
            if sight == nil {
                settled = try SettledFile(making: place, settledMark)
            } else if mustRestart {
                settled = try restarted(place)
            } else {
                settled = try SettledFile(place, settledMark, counting: found)
            }
        } catch {
            // Nothing of it may be believed at the next start.
            if mustRestart { SettledFile.remove(place) }
            settled = nil
            say("\(error); while the disk is full, what is confirmed cannot be recorded")
        }
    }

    private func restarted(_ place: String) throws(SpoolFault) -> SettledFile {
        // One whose size is not what it should be is made anew.
        if let sight = SettledFile.look(place), sight.hasSize {
            let file = try SettledFile(place, settledMark, counting: [])
            try file.restart(owed.facts, settledMark)
            return file
        }
        let file = try SettledFile(making: place, settledMark)
        try file.restart(owed.facts, settledMark)
        return file
    }

    /// The file was rebuilt while it was open, and has another number of transactions now.
    func noteAnew() {
        do throws(SpoolFault) {
            owed = try Owed(owed.facts, in: database)
            try settled?.restart(owed.facts, settledMark)
        } catch {
            if settled != nil { SettledFile.remove(SettledFile.path(beside: path)) }
            settled = nil
        }
    }

    /// Records what is owed, where there is room by now.
    func payIfRoom() throws(SpoolFault) {
        guard !owed.isEmpty else { return }
        do throws(SpoolFault) {
            try transaction { () throws(SpoolFault) in }
        } catch {
            guard error.kind == .full else { throw error }
            owe()
            renewIfSettled()
        }
    }

    // MARK: - In the file

    /// Does what is owed, as a part of a transaction.
    private func pay() throws(SpoolFault) {
        var left: [(id: Int64, batch: Batch, rows: Set<Int64>)] = []
        for (id, places) in owed.rewritten {
            // What has become damaged stays, and is set aside when it is read.
            if let (batch, rows) = try gather(places) { left.append((id, batch, rows)) }
        }
        for range in owed.gone.ranges {
            for row in try database.rows(in: range) { try take(row, deleting: true, keepsTries: owed.rewritten[row] != nil) }
        }
        for (id, batch, rows) in left {
            for row in rows { try take(row, deleting: row != id) }
            try put(batch, id, rows.contains(id) ? SpoolFile.update : SpoolFile.insert, isNew: false)
        }
        for (id, tried) in owed.tried { try putTries(id, tried.attempts, tried.first) }
    }

    /// The events that stand there, and the rows that they were read from; nil: none can be read.
    private func gather(_ places: [SpoolPlace]) throws(SpoolFault) -> (Batch, Set<Int64>)? {
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

    private func stored(_ row: Int64) throws(SpoolFault) -> Batch? {
        let select = try database.statement("SELECT \(RowReader.columns), batches.checksum FROM batches WHERE id = ?1").bind(1, row)
        defer { select.reset() }
        return try select.step() ? reader.batch(select, checksum: 8) : nil
    }

    // MARK: - What is seen of the file

    /// What a row of the file is for who reads it: nil: nothing, since it is settled, or stands in another.
    func seen(_ row: Int64, _ batch: Batch) throws(SpoolFault) -> Batch? {
        if let places = owed.rewritten[row] {
            return places.allSatisfy { $0.row == row && $0.index < batch.count }
                ? batch.subset(places.map(\.index)) : try gather(places)?.0
        }
        return isHidden(row) ? nil : batch
    }

    /// Whether nothing of the row is to be given out under its number.
    func isHidden(_ row: Int64) -> Bool {
        owed.rewritten[row] == nil && (owed.gone.contains(row) || owed.parts[row] != nil)
    }

    /// What waits, row by row: of a file that owes something its proof says more than there is.
    func seenSums() throws(SpoolFault) -> (sums: [UInt16: Sum], rows: Int) {
        var sums: [UInt16: Sum] = [:]
        var count = 0
        var partly: [Int64] = []
        let all = try database.statement("SELECT id, routes FROM batches")
        defer { all.reset() }
        while try all.step() {
            let row = all.int(0)
            if isHidden(row) { continue }
            count += 1
            if owed.rewritten[row] != nil {
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
            guard let places = owed.rewritten[row], let (batch, _) = try gather(places) else { continue }
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
    /// What a row of `batches` is; nil: it is not there, or cannot be what it says.
    func shape(of row: Int64) throws(SpoolFault) -> Owed.Shape? {
        let find = try statement("SELECT events, checksum, length(entries) FROM batches WHERE id = ?1").bind(1, row)
        defer { find.reset() }
        // Its checksum has not been verified: a number of events is not believed for which there is no room.
        guard try find.step(), !find.isNull(1), (0...find.int(2) / 24).contains(find.int(0)) else { return nil }
        return Owed.Shape(events: Int(find.int(0)), checksum: find.int(1))
    }

    /// The numbers of a range that rows of `batches` have.
    func rows(in range: ClosedRange<Int64>) throws(SpoolFault) -> [Int64] {
        var rows: [Int64] = []
        let find = try statement("SELECT id FROM batches WHERE id BETWEEN ?1 AND ?2").bind(1, range.lowerBound).bind(2, range.upperBound)
        defer { find.reset() }
        while try find.step() { rows.append(find.int(0)) }
        return rows
    }

    /// What is noted beside the file as settled and not recorded in it yet, for who only looks.
    func owed(_ proof: Proof) throws(SpoolFault) -> Owed {
        let found = SettledFile.look(SettledFile.path(beside: path))?.found ?? []
        let facts = found.filter { $0.mark.database == proof.database && $0.mark.sequence >= proof.sequence }.map(\.fact)
        return try Owed(facts, in: self)
    }
}
