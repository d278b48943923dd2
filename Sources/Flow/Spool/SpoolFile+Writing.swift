// Writes work to a spool file: rows and the sums of their routes change together in one transaction.

@_spi(Spool) internal import Admission
internal import Database
internal import Events
public import Platform
internal import StateFiles

extension SpoolFile {
    public func commit(_ work: SpoolWork) throws(StorageFault) {
        let isRecord = work.insert.isEmpty
        if isRecord, try isWithoutFile() { return }
        try rebuildIfDamaged()
        if isRecord, noteAtOnce(work) { return }
        do throws(StorageFault) {
            try store(work)
        } catch {
            guard error.kind == .full, isRecord else { throw error }
            try note(work, error)
        }
    }

    /// Does the work like `commit`, but never notes it beside the file instead. When this function returns, the file has recorded the work.
    func store(_ work: SpoolWork) throws(StorageFault) {
        assert(damage == nil && !isRenewing, "the spool has no file")
        assert(zip(work.insert, work.insert.dropFirst()).allSatisfy { $0.id < $1.id }, "the numbers of new rows do not rise")
        assert(Set(work.remove).isDisjoint(with: work.rewrite.map(\.id)), "a row is both removed and rewritten")
        let growth = work.insert.reduce(0) { $0 + $1.batch.bytes.count }
        if growth > 0 { try options.budget?.allow(growth) }
        let before = (routes, levels, unrecordedDestroyed)
        unrecordedDestroyed.add(work.destroyed)
        do throws(StorageFault) {
            try transaction { () throws(StorageFault) in
                for row in work.remove { try take(row, deleting: true) }
                for (row, batch) in work.rewrite {
                    // A row that was lost to damage in the meantime comes back with its remaining events.
                    let isThere = try take(row, deleting: false)
                    try put(batch, row: row, sql: isThere ? SpoolFile.update : SpoolFile.insert, isNew: !isThere)
                }
                for (row, batch) in work.insert { try put(batch, row: row, sql: SpoolFile.insert, isNew: true) }
                for (row, attempts, first) in work.tried {
                    try putTries(row, attempts: attempts, first: first)
                }
                file.proof.digest = routes.digest &+ levels.digest
            }
        } catch {
            (routes, levels, unrecordedDestroyed) = before
            if error.kind == .damaged { try repair(error) }
            throw error
        }
        updateBudget()
    }

    func putTries(_ row: Int64, attempts: Int, first: Int64) throws(StorageFault) {
        try database.statement("INSERT OR REPLACE INTO tries VALUES (?1,?2,?3,?4)").bind(1, row).bind(2, attempts).bind(3, first)
            .bind(4, RowReader.checksum(ofTry: row, Int64(attempts), first)).run()
    }

    static let insert = "INSERT INTO batches VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)"
    static let update =
        "UPDATE batches SET events=?2,bytes=?3,arrival=?4,routes=?5,sealed=?6,entries=?7,payload=?8,checksum=?9 WHERE id=?1"

    /// Subtracts a row from the sums, and deletes it if `deleting` is true. Returns true if the row existed.
    @discardableResult
    func take(_ row: Int64, deleting: Bool, keepsTries: Bool = false) throws(StorageFault) -> Bool {
        let find = try database.statement("SELECT routes FROM batches WHERE id = ?1").bind(1, row)
        let isThere = try find.step()
        let parts = isThere ? SpoolFile.parts(find.text(0)) : []
        find.reset()
        for part in parts {
            file.proof[routes.key(part.route)].gone += Int64(part.events)
            file.proof[routes.key(part.route)].bytes -= Int64(part.bytes)
        }
        guard deleting else { return isThere }
        try database.statement("DELETE FROM batches WHERE id = ?1").bind(1, row).run()
        if !keepsTries { try database.statement("DELETE FROM tries WHERE id = ?1").bind(1, row).run() }
        return isThere
    }

    func put(_ batch: Batch, row: Int64, sql: String, isNew: Bool) throws(StorageFault) {
        let parts = try parts(of: batch)
        index.removeAll()
        let reader = reader
        batch.appendIndex(to: &index, route: { reader.routes.file($0)! }, level: reader.fileLevel)
        assert(isReadBack(batch), "the entries of row \(row) cannot be read back as they were")
        if let cipher = options.cipher {
            let entries = cipher.seal(index.bytes, at: "entries \(row)")
            let payload = cipher.seal(batch.bytes, at: "payload \(row)")
            try entries.withUnsafeBufferPointer { (entries) throws(StorageFault) in
                try payload.withUnsafeBufferPointer { (payload) throws(StorageFault) in
                    try put(
                        batch, row: row, sql: sql, parts: parts, sealed: 1, entries: UnsafeRawBufferPointer(entries),
                        payload: UnsafeRawBufferPointer(payload))
                }
            }
        } else {
            try put(batch, row: row, sql: sql, parts: parts, sealed: 0, entries: index.bytes, payload: batch.bytes)
        }
        for part in parts {
            let key = routes.key(part.route)
            if isNew { file.proof[key].came += Int64(part.events) } else { file.proof[key].gone -= Int64(part.events) }
            file.proof[key].bytes += Int64(part.bytes)
        }
        file.proof.last = max(file.proof.last, row)
    }

    /// Returns true if the index, as it is about to be written, gives the same entries and subjects as the batch has.
    private func isReadBack(_ batch: Batch) -> Bool {
        let reader = reader
        let found = BatchIndex(index.bytes, count: batch.count, route: { reader.routes.run($0) }, level: reader.runLevel)
        guard let found, found.entries.count == batch.count else { return false }
        return found.entries.enumerated().allSatisfy { number, entry in
            let written = batch.entries[number]
            let first = Int(entry.firstSubject)
            return entry.end == written.end && entry.route == written.route && entry.level == written.level
                && entry.isImmediate == written.isImmediate && entry.arrival == written.arrival
                && found.subjects[first..<first + Int(entry.subjectCount)].elementsEqual(batch.subjects(of: number))
        }
    }

    private func put(
        _ batch: Batch, row: Int64, sql: String, parts: [Part], sealed: Int, entries: UnsafeRawBufferPointer,
        payload: UnsafeRawBufferPointer
    ) throws(StorageFault) {
        let routes = SpoolFile.text(parts)
        let arrival = batch.arrivals.first ?? 0
        let sum = RowReader.checksum(
            row, events: batch.count, bytes: batch.bytes.count, arrival: arrival, routes: routes, sealed: sealed, entries: entries,
            payload: payload)
        try database.statement(sql).bind(1, row).bind(2, batch.count).bind(3, batch.bytes.count).bind(4, arrival).bind(5, routes)
            .bind(6, sealed).bind(7, lending: entries).bind(8, lending: payload).bind(9, sum).run()
    }

    /// Returns the numbers of events and bytes of each route in the batch, in the order in which the routes appear. Gives new routes and
    /// levels their numbers in the file.
    private func parts(of batch: Batch) throws(StorageFault) -> [Part] {
        var parts: [Part] = []
        var start: UInt32 = 0
        for entry in batch.entries {
            let number = try routes.number(of: entry.route, in: database)
            if let level = EntryLevel.number(of: entry.level) { _ = try levels.number(of: level, in: database) }
            let bytes = Int(entry.end - start)
            start = entry.end
            if let known = parts.firstIndex(where: { $0.route == number }) {
                parts[known].events += 1
                parts[known].bytes += bytes
            } else {
                parts.append(Part(route: number, events: 1, bytes: bytes))
            }
        }
        assert(parts.reduce(0) { $0 + $1.events } == batch.count, "an event of the batch belongs to no route")
        assert(parts.reduce(0) { $0 + $1.bytes } == batch.bytes.count, "the routes of the batch have other bytes than the batch")
        return parts
    }
}
