// What becomes of a damaged file: it is moved aside whole, and what can be read of it is copied into a new one. It never
// writes to the damaged file and never deletes it.

internal import Database
internal import Glibc
internal import Platform

enum Salvage {
    struct Found {
        var events = 0
        /// How many there should have been, where the file still says so.
        var expected: Int?
    }

    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Gives the file and its companions another name, with the time in it; that name.
    static func setAside(_ path: String, at time: Int64) throws(SpoolFault) -> String {
        let base = "\(path).damaged-\(time / 1_000_000_000)"
        var target = base
        var number = 1
        while access(target, F_OK) == 0 {
            number += 1
            target = "\(base)-\(number)"
        }
        for companion in ["-wal", ""] where access(path + companion, F_OK) == 0 {
            guard rename(path + companion, target + companion) == 0 else {
                throw SpoolFault(.failed, "\(path)\(companion): is damaged and cannot be set aside: \(SystemFault())")
            }
        }
        unlink(path + "-shm")
        return target
    }

    /// Copies every row that can be read: from the front to the first that cannot, and from the end back to it.
    static func takeOver(from damaged: String, into database: Database, vfs: String?) throws(SpoolFault) -> Found {
        var found = Found()
        guard let old = try? Database(damaged, makes: false, vfs: vfs) else { return found }
        defer { old.close() }
        found.expected = (try? old.number("SELECT sum(events) FROM waiting")).flatMap { $0 }.map(Int.init)
        try database.transaction { () throws(SpoolFault) in
            copy("SELECT number, name FROM routes", from: old) { row throws(SpoolFault) in
                try database.statement("INSERT OR IGNORE INTO routes VALUES (?1,?2)").bind(1, row.int(0)).bind(2, row.text(1)).run()
            }
            copy("SELECT number, name FROM levels", from: old) { row throws(SpoolFault) in
                try database.statement("INSERT OR IGNORE INTO levels VALUES (?1,?2)").bind(1, row.int(0)).bind(2, row.text(1)).run()
            }
            copy("SELECT name, value FROM about", from: old) { row throws(SpoolFault) in
                try database.statement("INSERT OR IGNORE INTO about VALUES (?1,?2)").bind(1, row.text(0)).bind(2, lending: row.bytes(1))
                    .run()
            }
            copy("SELECT id, attempts, first FROM tries", from: old) { row throws(SpoolFault) in
                try database.statement("INSERT OR IGNORE INTO tries VALUES (?1,?2,?3)").bind(1, row.int(0)).bind(2, row.int(1)).bind(
                    3, row.int(2)
                )
                .run()
            }
            var last: Int64 = .min
            let columns = "SELECT id, events, bytes, arrival, routes, sealed, entries, payload FROM batches ORDER BY id"
            var failed = copy(columns, from: old) { row throws(SpoolFault) in
                last = row.int(0)
                found.events += try take(row, into: database)
            }
            if failed != nil {
                copy(columns + " DESC", from: old) { row throws(SpoolFault) in
                    guard row.int(0) > last else { throw SpoolFault(.damaged, "") }
                    found.events += try take(row, into: database)
                }
            }
            if let fault = failed, fault.kind == .full { throw fault }
            failed = nil
        }
        return found
    }

    /// Gives every row to the body until one cannot be read or taken; why.
    @discardableResult
    private static func copy(_ sql: String, from database: Database, _ body: (Statement) throws(SpoolFault) -> Void) -> SpoolFault? {
        do throws(SpoolFault) {
            let statement = try database.statement(sql)
            defer { statement.reset() }
            while try statement.step() { try body(statement) }
            return nil
        } catch {
            return error
        }
    }

    /// Copies a row of batches and adds it to the sums; how many events it holds.
    private static func take(_ row: Statement, into database: Database) throws(SpoolFault) -> Int {
        let parts = SpoolFile.parts(row.text(4))
        guard !parts.isEmpty else { return 0 }
        try database.statement("INSERT OR IGNORE INTO batches VALUES (?1,?2,?3,?4,?5,?6,?7,?8)").bind(1, row.int(0)).bind(2, row.int(1))
            .bind(3, row.int(2)).bind(4, row.int(3)).bind(5, row.text(4)).bind(6, row.int(5)).bind(7, lending: row.bytes(6))
            .bind(8, lending: row.bytes(7)).run()
        for part in parts {
            try database.statement(
                """
                INSERT INTO waiting VALUES (?1,?2,?3)
                ON CONFLICT (route) DO UPDATE SET events = events + excluded.events, bytes = bytes + excluded.bytes
                """
            ).bind(1, Int(part.route)).bind(2, part.events).bind(3, part.bytes).run()
        }
        return parts.reduce(0) { $0 + $1.events }
    }
}
