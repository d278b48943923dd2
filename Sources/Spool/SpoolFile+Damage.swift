// What a spool file does about damage: it keeps what is damaged for a person, counts what is lost, and goes on with the rest.

internal import Database
internal import Platform
@_spi(Spool) internal import Policy

extension SpoolFile {
    /// Rows that make no sense wait for a person in a table of their own.
    func setAside(_ rows: [Int64]) throws(SpoolFault) {
        let before = totals
        try database.transaction { () throws(SpoolFault) in
            var touched: Set<UInt16> = []
            for row in rows {
                try database.statement(
                    "INSERT OR REPLACE INTO damaged SELECT id, events, sealed, entries, payload FROM batches WHERE id = ?1"
                ).bind(1, row).run()
                try take(row, &touched, deleting: true)
            }
            for route in touched {
                try database.statement("INSERT OR REPLACE INTO waiting VALUES (?1,?2,?3)").bind(1, Int(route))
                    .bind(2, totals.events[route] ?? 0).bind(3, totals.bytes[route] ?? 0).run()
            }
        }
        note(lossSince: before, "are kept in its table 'damaged'")
    }

    /// The file turned out to be damaged: it is set aside, and what can be read of it goes into a new one.
    func repair(_ fault: SpoolFault) throws(SpoolFault) {
        let before = totals
        database.close()
        let damaged = try Salvage.setAside(path, at: options.clock.wall())
        database = try SpoolFile.open(damaged, in: path, options, fault, say)
        try readAbout()
        note(lossSince: before, "may be found in \(damaged)")
    }

    private func note(lossSince before: Totals, _ where: String) {
        var routes = loss?.routes ?? [:]
        var bytes = loss?.bytes ?? 0
        for (number, count) in before.events {
            let lost = count - (totals.events[number] ?? 0)
            if lost > 0, let known = self.routes.run(number) { routes[known, default: 0] += lost }
            bytes += max(0, (before.bytes[number] ?? 0) - (totals.bytes[number] ?? 0))
        }
        let count = routes.values.reduce(0, +)
        guard count > 0 else { return }
        loss = SpoolLoss(routes: routes, bytes: bytes, words: "\(path): \(grouped(count)) events are damaged; they \(`where`)")
    }
}
