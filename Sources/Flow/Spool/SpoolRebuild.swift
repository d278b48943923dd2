// Rebuilds a damaged spool: copies what can be read into a new file, verifies each row, and sets the damaged file aside together with its
// log. It never writes to the damaged file, never copies the log into it, and never deletes either.

@_spi(Spool) internal import Admission
internal import Database
internal import Platform
internal import StateFiles

enum SpoolRebuild {
    /// Rebuilds the spool, reports the loss with `say`, and returns the new file. `reader` has the names of the run and the key.
    static func rebuild(
        _ path: String, options: SpoolFile.Options, damage: Damage, reader: RowReader, say: @escaping @Sendable (String) -> Void
    ) throws(StorageFault) -> (file: ProvenFile, loss: SpoolLoss?) {
        var copy = Copy(reader, isProven: damage.witness != nil || damage.proof != nil)
        var loss: SpoolLoss?
        let file = try ProvenFile.rebuild(
            path, as: SpoolSchema.format, options: options.proven(say), damage: damage, at: options.clock.wall(),
            fill: { file, old throws(StorageFault) in
                if let old { try copy.take(from: old, into: file.database) }
                try copy.reader.routes.read(file.database)
                try copy.reader.levels.read(file.database)
                let losses = damage.losses(kept: copy.kept.mapValues { Int64($0.events) })
                for lost in losses ?? [] where lost.key != 0 {
                    file.proof[lost.key].came =
                        damage.witness?.counts.first { $0.key == lost.key }?.came ?? damage.proof?[lost.key].came ?? 0
                }
                for key in copy.kept.keys where losses == nil || file.proof[key].came == 0 {
                    file.proof[key].came = Int64(copy.kept[key]!.events)
                }
                for count in file.proof.counts {
                    file.proof[count.key].gone = count.came - Int64(copy.kept[count.key]?.events ?? 0)
                    file.proof[count.key].bytes = Int64(copy.kept[count.key]?.bytes ?? 0)
                }
                file.proof.last = max(damage.proof?.last ?? 0, copy.last)
                file.proof.digest = copy.reader.routes.digest &+ copy.reader.levels.digest
            },
            tell: { aside in loss = tell(path, damage: damage, copy: copy, aside: aside, say: say) })
        return (file, loss)
    }

    private static func tell(
        _ path: String, damage: Damage, copy: Copy, aside: String?, say: (String) -> Void
    ) -> SpoolLoss? {
        let kept = copy.kept.values.reduce(0) { $0 + $1.events }
        let losses = damage.losses(kept: copy.kept.mapValues { Int64($0.events) })
        let lost = losses.map { Int($0.reduce(0) { $0 + $1.lost }) }
        let again = losses?.reduce(0) { $0 + $1.again } ?? 0
        var words = damage.words
        if let aside { words += "; it was set aside as \(aside), \(grouped(kept)) events were read from it" }
        let expected = losses.map { Int($0.reduce(0) { $0 + $1.expected }) } ?? 0
        words += aside == nil ? "; " : ", "
        if losses?.contains(where: \.isLeast) == true { words += "at least " }
        words += (lost.map { "\(grouped($0)) of \(grouped(expected))" } ?? "an unknown number of") + " events are lost"
        if losses?.contains(where: \.isLeast) == true {
            words += ", and some of those that were read may have left it already and be sent again"
        } else if again > 0 {
            words += ", and up to \(grouped(Int(again))) that had left it may be sent again"
        }
        say(words)
        let place = aside.map { "they may be found in \($0)" } ?? "nothing is left of its file"
        guard let losses, let lost else {
            guard let unknown = copy.reader.routes.run(ofKey: 0) else { return nil }
            return SpoolLoss(
                routes: [unknown: 1], bytes: 0, words: "\(path): an unknown number of events is damaged and counts as 1; \(place)")
        }
        guard lost > 0 else { return nil }
        var loss = SpoolLoss(routes: [:], bytes: 0, words: "\(path): \(grouped(lost)) events are damaged; \(place)")
        for one in losses where one.lost > 0 {
            if let route = copy.reader.routes.run(ofKey: one.key) { loss.routes[route, default: 0] += Int(one.lost) }
        }
        // Only the proof counts bytes, and it may be older than the loss. So this number may be too small.
        for count in damage.proof?.counts ?? [] { loss.bytes += max(0, Int(count.bytes) - (copy.kept[count.key]?.bytes ?? 0)) }
        return loss
    }
}

/// Copies the contents of a damaged file into a new one.
private struct Copy {
    var reader: RowReader
    /// True if the rows have checksums. In a file of an older format they have none, and rows that make sense are copied as they are.
    let isProven: Bool
    var kept: [UInt64: SpoolFile.Sum] = [:]
    var last: Int64 = 0

    init(_ reader: RowReader, isProven: Bool) {
        self.reader = reader
        self.isProven = isProven
    }

    private static let application = SpoolSchema.format.application

    mutating func take(from old: Database, into new: Database) throws(StorageFault) {
        try takeNames("routes", from: old, into: new)
        try takeNames("levels", from: old, into: new)
        try each("SELECT value\(isProven ? ", checksum" : "") FROM about WHERE name = 'check'", of: old) { row throws(StorageFault) in
            var sum = RowChecksum(Copy.application, table: "about", row: "check")
            sum.add(0...0, of: row)
            guard !isProven || row.int(1) == sum.value else { return }
            try new.putCheck(row.bytes(0), Copy.application)
        }
        if isProven, let counts = try? old.readDestroyed(application: Copy.application, skipsDamaged: true) {
            try new.writeDestroyed(counts, of: counts.counts.keys, application: Copy.application)
        }
        // This throws if the file is under another key. Otherwise all of its rows would look damaged.
        if try new.admits(reader.cipher, sealing: "batches", application: Copy.application) {
            try new.note(reader.cipher, application: Copy.application)
        }
        try each("SELECT id, attempts, first\(isProven ? ", checksum" : "") FROM tries", of: old) { row throws(StorageFault) in
            let sum = RowReader.checksum(ofTry: row.int(0), row.int(1), row.int(2))
            guard !isProven || row.int(3) == sum else { return }
            try new.statement("INSERT OR IGNORE INTO tries VALUES (?1,?2,?3,?4)").bind(1, row.int(0)).bind(2, row.int(1)).bind(
                3, row.int(2)
            )
            .bind(4, sum).run()
        }
        try reader.routes.read(new)
        try reader.levels.read(new)
        let columns = "SELECT \(RowReader.columns)\(isProven ? ", batches.checksum" : "") FROM batches ORDER BY id"
        // Reads from the front to the first row that cannot be read, then from the end back to it.
        var front: Int64 = .min
        var isOver = false
        let isWhole = try each(columns, of: old) { row throws(StorageFault) in
            guard row.int(0) > front else { return }
            front = row.int(0)
            try take(row, into: new)
        }
        if isWhole { return }
        try each(columns + " DESC", of: old) { row throws(StorageFault) in
            if row.int(0) <= front { isOver = true }
            if !isOver { try take(row, into: new) }
        }
    }

    private func takeNames(_ table: StaticString, from old: Database, into new: Database) throws(StorageFault) {
        try each("SELECT number, name\(isProven ? ", checksum" : "") FROM \(table)", of: old) { row throws(StorageFault) in
            var sum = RowChecksum(Copy.application, table: table, row: row.int(0))
            sum.add(row.text(1))
            guard !isProven || row.int(2) == sum.value else { return }
            try new.statement("INSERT OR IGNORE INTO \(table) VALUES (?1,?2,?3)").bind(1, row.int(0)).bind(2, row.text(1)).bind(
                3, sum.value
            )
            .run()
        }
    }

    /// Passes rows to the body until a row cannot be read. Returns true if all rows could be read. Throws only what the body throws.
    @discardableResult
    private func each(
        _ sql: String, of database: Database, _ body: (Statement) throws(StorageFault) -> Void
    ) throws(StorageFault) -> Bool {
        guard let statement = try? database.statement(sql) else { return false }
        defer { statement.reset() }
        while true {
            guard let isThere = try? statement.step() else { return false }
            guard isThere else { return true }
            try body(statement)
        }
    }

    /// Copies a row. A row that is not whole goes into the table `damaged`.
    private mutating func take(_ row: Statement, into new: Database) throws(StorageFault) {
        let id = row.int(0)
        let parts = SpoolFile.parts(row.text(4))
        guard let batch = reader.batch(row, checksum: isProven ? 8 : nil), batch.count == parts.reduce(0, { $0 + $1.events }) else {
            try new.statement("INSERT OR IGNORE INTO damaged VALUES (?1,?2,?3,?4,?5)").bind(1, id).bind(2, row.int(1)).bind(3, row.int(5))
                .bind(4, lending: row.bytes(6)).bind(5, lending: row.bytes(7)).run()
            return
        }
        try new.statement("INSERT OR IGNORE INTO batches VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)").bind(1, id).bind(2, row.int(1))
            .bind(3, row.int(2)).bind(4, row.int(3)).bind(5, row.text(4)).bind(6, row.int(5)).bind(7, lending: row.bytes(6))
            .bind(8, lending: row.bytes(7)).bind(9, RowReader.checksum(of: row)).run()
        guard new.changes == 1 else { return }
        last = max(last, id)
        for part in parts {
            kept[reader.routes.key(part.route), default: SpoolFile.Sum()].events += part.events
            kept[reader.routes.key(part.route), default: SpoolFile.Sum()].bytes += part.bytes
        }
    }
}
