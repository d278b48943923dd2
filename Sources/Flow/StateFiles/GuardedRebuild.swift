// Rebuilds a damaged file of guarded rows: copies the rows that are whole into a new file, and sets the damaged file aside as it was found.
// It never writes to the damaged file and never copies the log into it.

internal import Database
internal import Platform

struct GuardedRebuild {
    private let kind: GuardedKind
    private let damage: Damage
    /// True if the rows have checksums. In a file of an older format they have none, and all rows are copied as they are.
    private let isProven: Bool
    private(set) var loss: FileLoss?

    init(_ kind: GuardedKind, _ damage: Damage) {
        self.kind = kind
        self.damage = damage
        isProven = damage.witness != nil || damage.proof != nil
    }

    private var key: UInt64 { RowGuard.key(kind.events) }

    mutating func run(
        _ path: String, options: ProvenFile.Options, at now: Int64, admit: (Database) throws(StorageFault) -> Void
    ) throws(StorageFault) -> ProvenFile {
        var copied: Int64 = 0
        var found: FileLoss?
        let (kind, damage, key) = (kind, damage, key)
        let file = try ProvenFile.rebuild(
            path, as: kind.format, options: options, damage: damage, at: now,
            fill: { (file, old) throws(StorageFault) in
                let rows = try RowGuard(file.database, application: kind.application, kind.tables)
                try rows.install()
                if let old { try copy(from: old, into: file.database) }
                try kind.complete(file.database)
                // This throws if the file is under another key, so that the file is not replaced.
                try admit(file.database)
                rows.settle(into: &file.proof)
                copied = file.proof[key].left
                let known = damage.witness?.counts.first { $0.key == key }?.came ?? damage.proof?[key].came ?? 0
                file.proof[key].came = max(known, copied)
                file.proof[key].gone = file.proof[key].came - copied
                assert(file.proof[key].left == copied, "the new file counts other rows than it has")
                let lost = damage.losses(kept: [key: copied])?.first { $0.key == key }?.lost ?? 0
                // Lost rows may have had greater numbers, and no number may be used twice.
                file.proof.last = max(damage.proof?.last ?? 0, try GuardedFile.greatest(in: file.database, kind)) + lost
            },
            tell: { aside in
                let new = GuardedRebuild.loss(damage, kept: copied, kind: kind, aside: aside)
                found = new
                options.warn(new.message)
            })
        loss = found
        return file
    }

    private static func loss(_ damage: Damage, kept: Int64, kind: GuardedKind, aside: String?) -> FileLoss {
        let key = RowGuard.key(kind.events)
        var message = damage.words
        if let aside { message += "; it was set aside as \(aside), \(grouped(Int(kept))) \(kind.noun) were read from it" }
        message += aside == nil ? "; " : ", "
        guard let losses = damage.losses(kept: [key: kept]) else {
            return FileLoss(events: 1, message: message + "an unknown number of \(kind.noun) are lost")
        }
        let own = losses.first { $0.key == key }
        let lost = Int(own?.lost ?? 0)
        let isLeast = own?.isLeast ?? false
        message += "\(isLeast ? "at least " : "")\(grouped(lost)) of \(grouped(Int(own?.expected ?? 0))) \(kind.noun) are lost"
        if isLeast {
            message += ", and some of those that were read may have left it already and come again"
        } else if let again = own?.again, again > 0 {
            message += ", and up to \(grouped(Int(again))) that had left it may come again"
        }
        return FileLoss(events: lost, message: message)
    }

    // MARK: - Copying

    private func copy(from old: Database, into new: Database) throws(StorageFault) {
        // The guard registers the SQL functions that verify rows.
        guard let rows = try? RowGuard(old, application: kind.application, kind.tables) else { return }
        defer { withExtendedLifetime(rows) {} }
        for (index, table) in kind.tables.enumerated() where !kind.derived.contains(index) { try copy(table, from: old, into: new) }
    }

    private func copy(_ table: GuardedTable, from old: Database, into new: Database) throws(StorageFault) {
        let there = columns(of: table, in: old)
        let isSummed = there.contains("checksum")
        let all = table.key + table.columns
        let columns = all.filter(there.contains)
        // If a column is missing, no row is as it was written.
        guard isSummed ? columns.count == all.count : !isProven && !columns.isEmpty else { return }
        let isWhole = isSummed ? kind.tables.isWhole("\(table.name)") : "1"
        let select = "SELECT \(columns.joined(separator: ", ")), \(isWhole) FROM \(table.name) ORDER BY \(table.key[0])"
        let values = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let insert = try new.statement("INSERT OR IGNORE INTO \(table.name) (\(columns.joined(separator: ", "))) VALUES (\(values))")
        // Reads from the front to the first row that cannot be read, then from the end back to it.
        for order in ["", " DESC"] {
            guard let row = try? old.statement(select + order) else { return }
            defer { row.reset() }
            while true {
                guard let isThere = try? row.step() else { break }
                guard isThere else { return }
                guard row.int(Int32(columns.count)) == 1 else { continue }
                for index in columns.indices { insert.bind(Int32(index + 1), column: Int32(index), of: row) }
                try insert.run()
            }
        }
    }

    private func columns(of table: GuardedTable, in database: Database) -> Set<String> {
        guard let all = try? database.statement("SELECT name FROM pragma_table_info('\(table.name)')") else { return [] }
        defer { all.reset() }
        var names: Set<String> = []
        while (try? all.step()) == true { names.insert(all.text(0)) }
        return names
    }
}
