// Reads held events: by their subjects, by their time, or the stored values of all of them.

public import Admission
internal import Database
public import Platform
internal import StateFiles

extension HeldFile {
    private static let columns = "id, arrival, bytes, routes, source, key, level, subjects, given"

    /// Passes every row to the body, in order.
    public func readAll(_ body: (HeldRow) -> Void) throws(StorageFault) {
        let all = try database.statement("SELECT \(HeldFile.columns) FROM events WHERE \(HeldSchema.isWhole) ORDER BY id")
        defer { all.reset() }
        while try all.step() { body(row(all)) }
    }

    /// Returns the time at which the oldest event came in. Returns nil if there is no event.
    public func oldest() throws(StorageFault) -> Int64? {
        try database.number("SELECT arrival FROM events ORDER BY arrival LIMIT 1")
    }

    /// Returns the rows of the oldest events that came in before that time, at most `most`.
    public func rows(before arrival: Int64, most: Int) throws(StorageFault) -> [HeldRow] {
        let some = try database.statement(
            "SELECT \(HeldFile.columns) FROM events WHERE arrival < ?1 AND \(HeldSchema.isWhole) ORDER BY arrival LIMIT ?2"
        ).bind(1, arrival).bind(2, most)
        defer { some.reset() }
        var rows: [HeldRow] = []
        while try some.step() { rows.append(row(some)) }
        return rows
    }

    /// Returns the rows with a higher number than `id` that came in before that time, in the order of their numbers, at most `most`.
    public func rows(before arrival: Int64, after id: Int64, most: Int) throws(StorageFault) -> [HeldRow] {
        let some = try database.statement(
            "SELECT \(HeldFile.columns) FROM events WHERE id > ?1 AND arrival < ?2 AND \(HeldSchema.isWhole) ORDER BY id LIMIT ?3"
        ).bind(1, id).bind(2, arrival).bind(3, most)
        defer { some.reset() }
        var rows: [HeldRow] = []
        while try some.step() { rows.append(row(some)) }
        return rows
    }

    /// Returns the next events of these subjects after the number `id`, in order. Returns at most `most` events and as many as fit into
    /// `bytes`, but at least one. Skips the numbers for which `except` returns true. The next page begins after `next`. It is nil if there
    /// are no more.
    public func events(
        of subjects: [SubjectKey], after id: Int64, most: Int, bytes: Int, except: (Int64) -> Bool
    ) throws(StorageFault) -> (events: [HeldEvent], next: Int64?) {
        var ids: Set<Int64> = []
        var isWhole = true
        for subject in subjects {
            let found = try numbers(of: subject, after: id, most: most)
            if found.count == most { isWhole = false }
            ids.formUnion(found)
        }
        // A subject with `most` numbers may have more that were not read. So only the first `most` numbers are certain to be complete.
        let page = ids.sorted().prefix(most)
        var next = isWhole && page.count == ids.count ? nil : page.last
        var events: [HeldEvent] = []
        var left = bytes
        for (index, id) in page.enumerated() where !except(id) {
            guard let event = try event(id) else { continue }
            if !events.isEmpty, event.body.count > left {
                next = page[index - 1]
                break
            }
            left -= event.body.count
            events.append(event)
        }
        assert(zip(events, events.dropFirst()).allSatisfy { $0.row.id < $1.row.id }, "the events are not in order")
        return (events, next)
    }

    private func numbers(of subject: SubjectKey, after id: Int64, most: Int) throws(StorageFault) -> [Int64] {
        let sql = "SELECT event FROM waiting WHERE subject = ?1 AND event > ?2 AND \(HeldSchema.isWaitWhole) ORDER BY event LIMIT ?3"
        return try with(subject, sql: sql) { (find) throws(StorageFault) in
            find.bind(2, id).bind(3, most)
            defer { find.reset() }
            var numbers: [Int64] = []
            while try find.step() { numbers.append(find.int(0)) }
            return numbers
        }
    }

    /// Returns the event with this number. Returns nil if there is none.
    public func event(_ id: Int64) throws(StorageFault) -> HeldEvent? {
        let find = try database.statement(
            "SELECT \(HeldFile.columns), sealed, body FROM events WHERE id = ?1 AND \(HeldSchema.isWhole)"
        ).bind(1, id)
        defer { find.reset() }
        guard try find.step() else { return nil }
        let row = row(find)
        let body: [UInt8]? = find.int(9) == 1 ? options.cipher?.open(find.bytes(10), at: HeldFile.place(id)) : Array(find.bytes(10))
        return HeldEvent(row: row, body: body.map { $0.count == row.bytes + row.given ? $0 : [] } ?? [])
    }

    private func row(_ values: Statement) -> HeldRow {
        var row = HeldRow(
            arrival: values.int(1), bytes: Int(values.int(2)), subjects: HeldFile.subjects(values.bytes(7)),
            routes: values.text(3).split(separator: " ").compactMap { UInt16($0) }.compactMap { routes.run($0) }, source: values.text(4))
        row.id = values.int(0)
        row.key = values.isNull(5) ? nil : values.text(5)
        row.level = values.isNull(6) ? nil : values.text(6)
        row.given = max(0, Int(values.int(8)))
        return row
    }
}
