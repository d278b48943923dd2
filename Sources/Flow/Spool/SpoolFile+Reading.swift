// Reads rows from a spool file in the order of their numbers. A row that has a wrong checksum or makes no sense is set aside and never
// given out. Settled events that are only noted beside the file are not given out either (SpoolFile+Unrecorded.swift). If no rows are left,
// the sums must confirm this.

@_spi(Spool) internal import Admission
internal import Database
public import Platform

extension SpoolFile {
    public func read(after row: Int64, most bytes: Int) throws(StorageFault) -> [SpoolRow] {
        if try isWithoutFile() { return [] }
        return try mended { () throws(StorageFault) in
            let rows = try rows(after: row, most: bytes)
            if rows.isEmpty { try verifySums() }
            return rows
        }
    }

    func rows(after row: Int64, most bytes: Int) throws(StorageFault) -> [SpoolRow] {
        var rows: [SpoolRow] = []
        var damaged: [Int64] = []
        var held = 0
        let reader = reader
        var last = row
        let select = try database.statement(
            """
            SELECT \(RowReader.columns), batches.checksum, attempts, first, tries.checksum, tries.id
            FROM batches LEFT JOIN tries ON tries.id = batches.id WHERE batches.id > ?1 ORDER BY batches.id
            """
        ).bind(1, row)
        defer { select.reset() }
        while try select.step() {
            let id = select.int(0)
            guard id > last else { throw StorageFault(.damaged, "\(path): its rows are out of order") }
            last = id
            if isHidden(id) { continue }
            // The row is not verified yet, so its size is limited.
            let size = Int(min(max(0, select.int(2)), 1 << 40))
            if !rows.isEmpty, held + size > bytes { break }
            guard let batch = reader.batch(select, checksum: 8) else {
                damaged.append(id)
                continue
            }
            guard let batch = try seen(id, batch) else { continue }
            held += batch.bytes.count
            var whole = SpoolRow(id: id, batch: batch)
            if !select.isNull(12) {
                guard !select.isNull(11), select.int(11) == RowReader.checksum(ofTry: id, select.int(9), select.int(10)) else {
                    throw StorageFault(.damaged, "\(path): the record of attempts for batch \(id) is damaged")
                }
                whole.attempts = Int(clamping: select.int(9))
                whole.firstTried = select.int(10)
            }
            if let tried = unrecorded.tried[id] { (whole.attempts, whole.firstTried) = (tried.attempts, tried.first) }
            rows.append(whole)
            if held >= bytes { break }
        }
        select.reset()
        assert(rows.allSatisfy { $0.id > row && $0.batch.count > 0 }, "a row was read twice or without events")
        if !damaged.isEmpty { try setAside(damaged) }
        return rows
    }
}
