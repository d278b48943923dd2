// A lane's spool as a file of SQLite's. It promises that what a commit has taken is there after the process was killed (or,
// where `power` is asked for, after the machine went down), that what was removed is overwritten, and that damage is set aside and told,
// never thrown away in silence.

internal import Database
internal import Events
public import Platform
@_spi(Spool) public import Policy

public final class SpoolFile: SpoolStore, @unchecked Sendable {
    public struct Options: Sendable {
        /// Whether a commit returns only when the disk has it.
        public var isSynced = false
        /// nil: what is new is kept in the clear.
        public var cipher: Cipher?
        /// What the folder as a whole may hold; nil: as much as the disk does.
        public var budget: DiskBudget?
        /// Another file system than SQLite's own, for tests.
        public var vfs: String?
        public var clock = Clock.system
        /// The names of the levels that events were admitted under.
        public var levels = RunNames()
        /// Larger pages carry more megabytes a second, and cost more when events come one by one, since pages are written whole.
        public var pageSize = 16384
        public init() {}
    }

    public let path: String
    private let options: Options
    private let say: @Sendable (String) -> Void
    private var database: Database
    private var routes: FileNumbers
    private var levels: FileNumbers
    private var totals = Totals()
    /// What the budget knows of.
    private var told = 0
    private var loss: SpoolLoss?
    private var index = ByteBuffer()

    /// What waits, by the file's numbers of routes.
    struct Totals {
        var events: [UInt16: Int] = [:]
        var bytes: [UInt16: Int] = [:]

        mutating func add(_ parts: [Part], times sign: Int) {
            for part in parts {
                events[part.route, default: 0] += sign * part.events
                bytes[part.route, default: 0] += sign * part.bytes
            }
        }
    }

    /// What a row holds of one route.
    struct Part {
        var route: UInt16
        var events: Int
        var bytes: Int
    }

    /// Opens the file, or makes it. One that is damaged is set aside, and what can be read of it is taken over.
    public init(path: String, names: RunNames, options: Options = Options(), say: @escaping @Sendable (String) -> Void) throws(SpoolFault) {
        self.path = path
        routes = FileNumbers(table: "routes", names: names)
        levels = FileNumbers(table: "levels", names: options.levels)
        self.options = options
        self.say = say
        do throws(SpoolFault) {
            database = try SpoolFile.open(path, options)
            try readAbout()
        } catch {
            guard error.kind == .damaged else { throw error }
            database = try SpoolFile.open(try Salvage.setAside(path, at: options.clock.wall()), in: path, options, error, say)
            try readAbout()
        }
    }

    private static func open(_ path: String, _ options: Options) throws(SpoolFault) -> Database {
        try makePrivate(path)
        let database = try Database(path, vfs: options.vfs, patience: 5000)
        try database.settle(as: SpoolSchema.format, isSynced: options.isSynced, pageSize: options.pageSize)
        return database
    }

    /// A new file with what can be read of the one that was set aside.
    private static func open(
        _ damaged: String, in path: String, _ options: Options, _ fault: SpoolFault, _ say: @Sendable (String) -> Void
    ) throws(SpoolFault) -> Database {
        let database = try open(path, options)
        let found = try Salvage.takeOver(from: damaged, into: database, vfs: options.vfs)
        let lost = found.expected.map { "\(grouped(max(0, $0 - found.events))) of \(grouped($0))" } ?? "an unknown number of"
        say("\(fault); it was set aside as \(damaged), \(grouped(found.events)) events were read from it, \(lost) events are lost")
        return database
    }

    private func readAbout() throws(SpoolFault) {
        totals = Totals()
        try routes.read(database)
        try levels.read(database)
        let waiting = try database.statement("SELECT route, events, bytes FROM waiting")
        defer { waiting.reset() }
        while try waiting.step() {
            guard let number = UInt16(exactly: waiting.int(0)) else { continue }
            totals.events[number] = Int(waiting.int(1))
            totals.bytes[number] = Int(waiting.int(2))
        }
        try database.check(options.cipher, sealing: "batches")
        tellBudget()
    }

    public var contents: SpoolContents {
        var contents = SpoolContents()
        for (number, count) in totals.events where count > 0 {
            contents.events += count
            if let known = routes.run(number) { contents.routes[known, default: 0] += count }
        }
        contents.bytes = totals.bytes.values.reduce(0, +)
        contents.rows = (try? database.number("SELECT count(*) FROM batches")).flatMap { $0 }.map(Int.init) ?? 0
        contents.lastRow = (try? database.number("SELECT seq FROM sqlite_sequence WHERE name = 'batches'")).flatMap { $0 } ?? 0
        contents.oldest = (try? database.number("SELECT arrival FROM batches ORDER BY id LIMIT 1")).flatMap { $0 }
        return contents
    }

    public func takeLoss() -> SpoolLoss? {
        defer { loss = nil }
        return loss
    }

    public func close() {
        try? tidy()
        database.close()
        // Who opens the file again tells anew what it holds.
        options.budget?.hold(-told)
        told = 0
    }

    public func tidy() throws(SpoolFault) {
        // In steps, so that what comes in meanwhile does not wait long.
        for _ in 0..<64 where (try database.number("PRAGMA freelist_count") ?? 0) > 64 {
            try database.run("PRAGMA incremental_vacuum(256)")
        }
        if try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 1 {
            throw SpoolFault(.taken, "\(path): somebody is reading it, so its log cannot be emptied")
        }
    }

    public func clearGaps() throws(SpoolFault) { try database.clearGaps() }

    // MARK: - Writing

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

    private func tellBudget() {
        let now = totals.bytes.values.reduce(0, +)
        options.budget?.hold(now - told)
        told = now
    }

    private static let update = """
        UPDATE batches SET events = ?2, bytes = ?3, arrival = ?4, routes = ?5, sealed = ?6, entries = ?7, payload = ?8 WHERE id = ?1
        """

    /// Takes a row out of the sums, and out of the file if asked to.
    private func take(_ row: Int64, _ touched: inout Set<UInt16>, deleting: Bool) throws(SpoolFault) {
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

    // MARK: - Reading

    public func read(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] {
        do throws(SpoolFault) {
            return try rows(after: row, most: bytes)
        } catch {
            guard error.kind == .damaged else { throw error }
            try repair(error)
            return try rows(after: row, most: bytes)
        }
    }

    private func rows(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] {
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

    private func fileLevel(_ entry: UInt8) -> UInt8 {
        EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.file($0)) } ?? entry
    }

    private func runLevel(_ entry: UInt8) -> UInt8 {
        EntryLevel.number(of: entry).map { EntryLevel.entry(of: levels.run($0)) } ?? entry
    }

    // MARK: - Withdrawal

    /// How many rows are looked at in one go.
    private static let sweepRows = 256

    public func sweep(after row: Int64, _ broom: Broom) throws(SpoolFault) -> SpoolSwept {
        do throws(SpoolFault) {
            return try sweepRows(after: row, broom)
        } catch {
            if error.kind == .damaged { try repair(error) }
            throw error
        }
    }

    /// Reads what the entries say; only where something is to be destroyed, also the events.
    private func sweepRows(after row: Int64, _ broom: Broom) throws(SpoolFault) -> SpoolSwept {
        var swept = SpoolSwept()
        var hit: [Int64] = []
        var seen = 0
        let select = try database.statement(
            "SELECT id, events, sealed, entries FROM batches WHERE id > ?1 ORDER BY id LIMIT \(SpoolFile.sweepRows)"
        ).bind(1, row)
        while try select.step() {
            seen += 1
            swept.next = select.int(0)
            // What makes no sense is set aside when it is read.
            guard let index = index(select) else { continue }
            guard let finds = index.finds(broom) else {
                select.reset()
                throw SpoolFault(.failed, "\(path): what is on record of its subjects cannot be told")
            }
            if let due = finds.due { swept.due = min(swept.due ?? .max, due) }
            if !finds.isEmpty { hit.append(select.int(0)) }
        }
        select.reset()
        if seen < SpoolFile.sweepRows { swept.next = nil }
        var work = SpoolWork()
        for id in hit {
            guard let found = try rows(after: id - 1, most: 1).first, found.id == id, let finds = broom.finds(in: found.batch),
                !finds.isEmpty
            else { continue }
            let (refused, aged) = (found.batch.subset(finds.refused), found.batch.subset(finds.aged))
            for entry in refused.entries { swept.routes[entry.route, default: 0] += 1 }
            for entry in aged.entries { swept.aged[entry.route, default: 0] += 1 }
            swept.bytes += refused.bytes.count
            swept.agedBytes += aged.bytes.count
            let left = finds.left(of: found.batch.count)
            if left.isEmpty { work.remove.append(id) } else { work.rewrite.append((id, found.batch.subset(left))) }
        }
        if !work.isEmpty { try commit(work) }
        return swept
    }

    private func index(_ row: Statement) -> BatchIndex? {
        let count = Int(row.int(1))
        let route: (UInt16) -> UInt16? = { self.routes.run($0) }
        guard row.int(2) == 1 else { return BatchIndex(row.bytes(3), count: count, route: route, level: runLevel) }
        return options.cipher?.open(row.bytes(3), at: "entries \(row.int(0))")?.withUnsafeBytes {
            BatchIndex($0, count: count, route: route, level: runLevel)
        }
    }

    // MARK: - Damage

    /// Rows that make no sense wait for a person in a table of their own.
    private func setAside(_ rows: [Int64]) throws(SpoolFault) {
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
    private func repair(_ fault: SpoolFault) throws(SpoolFault) {
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
