// How a spool file takes work: rows go in and out, and the sums by route go with them, in one transaction.

internal import Database
internal import Events
public import Platform
@_spi(Spool) internal import Policy

extension SpoolFile {
    public func commit(_ work: SpoolWork) throws(SpoolFault) {
        let growth = work.insert.reduce(0) { $0 + $1.batch.bytes.count }
        if growth > 0 { try options.budget?.allow(growth) }
        let before = (totals, routes, levels)
        do throws(SpoolFault) {
            try database.transaction { () throws(SpoolFault) in
                var touched: Set<UInt16> = []
                for row in work.remove { try take(row, &touched, deleting: true) }
                for (row, batch) in work.rewrite {
                    try take(row, &touched, deleting: false)
                    try put(
                        batch, row,
                        "UPDATE batches SET events=?2,bytes=?3,arrival=?4,routes=?5,sealed=?6,entries=?7,payload=?8 WHERE id=?1", &touched)
                }
                for (row, batch) in work.insert { try put(batch, row, "INSERT INTO batches VALUES (?1,?2,?3,?4,?5,?6,?7,?8)", &touched) }
                for (row, attempts, first) in work.tried {
                    try database.statement("INSERT OR REPLACE INTO tries VALUES (?1,?2,?3)").bind(1, row).bind(2, attempts).bind(3, first)
                        .run()
                }
                for route in touched {
                    try database.statement("INSERT OR REPLACE INTO waiting VALUES (?1,?2,?3)").bind(1, Int(route))
                        .bind(2, totals.events[route] ?? 0).bind(3, totals.bytes[route] ?? 0).run()
                }
            }
        } catch {
            (totals, routes, levels) = before
            if error.kind == .damaged { try repair(error) }
            throw error
        }
        tellBudget()
    }

    /// Takes a row out of the sums, and out of the file if asked to.
    func take(_ row: Int64, _ touched: inout Set<UInt16>, deleting: Bool) throws(SpoolFault) {
        let find = try database.statement("SELECT routes FROM batches WHERE id = ?1").bind(1, row)
        let parts = try find.step() ? SpoolFile.parts(find.text(0)) : []
        find.reset()
        totals.add(parts, times: -1)
        touched.formUnion(parts.map(\.route))
        guard deleting else { return }
        try database.statement("DELETE FROM batches WHERE id = ?1").bind(1, row).run()
        try database.statement("DELETE FROM tries WHERE id = ?1").bind(1, row).run()
    }

    private func put(_ batch: Batch, _ row: Int64, _ sql: String, _ touched: inout Set<UInt16>) throws(SpoolFault) {
        let parts = try parts(of: batch)
        index.removeAll()
        batch.appendIndex(to: &index, route: { routes.file($0)! }, level: fileLevel)
        let statement = try database.statement(sql)
        statement.bind(1, row).bind(2, batch.count).bind(3, batch.bytes.count).bind(4, batch.arrivals.first ?? 0)
        statement.bind(5, parts.map { "\($0.route):\($0.events):\($0.bytes)" }.joined(separator: " ")).bind(
            6, options.cipher == nil ? 0 : 1)
        if let cipher = options.cipher {
            let entries = cipher.seal(index.bytes, at: "entries \(row)")
            let payload = cipher.seal(batch.bytes, at: "payload \(row)")
            try entries.withUnsafeBufferPointer { (entries) throws(SpoolFault) in
                try payload.withUnsafeBufferPointer { (payload) throws(SpoolFault) in
                    try statement.bind(7, lending: UnsafeRawBufferPointer(entries)).bind(8, lending: UnsafeRawBufferPointer(payload)).run()
                }
            }
        } else {
            try statement.bind(7, lending: index.bytes).bind(8, lending: batch.bytes).run()
        }
        totals.add(parts, times: 1)
        touched.formUnion(parts.map(\.route))
    }

    /// What the batch holds of each route, in the order in which they come; each of them has its number in the file.
    private func parts(of batch: Batch) throws(SpoolFault) -> [Part] {
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
        return parts
    }

    static func parts(_ text: String) -> [Part] {
        text.split(separator: " ").compactMap { part in
            let numbers = part.split(separator: ":").compactMap { Int($0) }
            guard numbers.count == 3, let route = UInt16(exactly: numbers[0]) else { return nil }
            return Part(route: route, events: numbers[1], bytes: numbers[2])
        }
    }
}
