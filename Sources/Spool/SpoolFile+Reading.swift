// How rows come back from a spool file, in the order of their numbers. A row that makes no sense is set aside and never given out.

internal import Database
public import Platform
@_spi(Spool) internal import Policy

extension SpoolFile {
    public func read(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] {
        do throws(SpoolFault) {
            return try rows(after: row, most: bytes)
        } catch {
            guard error.kind == .damaged else { throw error }
            try repair(error)
            return try rows(after: row, most: bytes)
        }
    }

    func rows(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] {
        var rows: [SpoolRow] = []
        var senseless: [Int64] = []
        var held = 0
        let select = try database.statement(
            """
            SELECT batches.id, events, bytes, sealed, entries, payload, attempts, first
            FROM batches LEFT JOIN tries ON tries.id = batches.id WHERE batches.id > ?1 ORDER BY batches.id
            """
        ).bind(1, row)
        defer { select.reset() }
        while try select.step() {
            let size = Int(select.int(2))
            if !rows.isEmpty, held + size > bytes { break }
            guard let batch = batch(select) else {
                senseless.append(select.int(0))
                continue
            }
            held += batch.bytes.count
            rows.append(
                SpoolRow(
                    id: select.int(0), batch: batch, attempts: Int(select.int(6)), firstTried: select.isNull(7) ? nil : select.int(7)))
            if held >= bytes { break }
        }
        select.reset()
        if !senseless.isEmpty { try setAside(senseless) }
        return rows
    }

    private func batch(_ row: Statement) -> Batch? {
        let count = Int(row.int(1))
        let route: (UInt16) -> UInt16? = { self.routes.run($0) }
        guard row.int(3) == 1 else {
            return Batch(restoring: row.bytes(5), index: row.bytes(4), count: count, route: route, level: runLevel)
        }
        guard let cipher = options.cipher, let entries = cipher.open(row.bytes(4), at: "entries \(row.int(0))"),
            let payload = cipher.open(row.bytes(5), at: "payload \(row.int(0))")
        else { return nil }
        return entries.withUnsafeBytes { entries in
            payload.withUnsafeBytes { Batch(restoring: $0, index: entries, count: count, route: route, level: runLevel) }
        }
    }

    func fileLevel(_ entry: UInt8) -> UInt8 {
        EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.file($0)) } ?? entry
    }

    func runLevel(_ entry: UInt8) -> UInt8 {
        EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.run($0)) } ?? entry
    }
}
