// Converts a spool file of version 1 or 2, whose rows have no checksums, to the current format, inside one transaction of
// `ProvenFile.open`. It takes over the rows as they are, since nobody can tell whether they were damaged before.

internal import Database
internal import Platform
internal import StateFiles

enum SpoolUpgrade {
    private static let application = SpoolSchema.format.application

    static func upgrade(_ file: ProvenFile, _ reader: RowReader) throws(StorageFault) {
        let database = file.database
        try database.run(SpoolSchema.upgrade)
        var (routes, levels) = (reader.routes, reader.levels)
        try routes.sum(database)
        try levels.sum(database)
        try routes.read(database)
        try levels.read(database)
        file.proof.digest = routes.digest &+ levels.digest
        try sumCheck(database)
        try sumTries(database)
        try sumBatches(file, routes)
        file.proof.last = max(try database.number("SELECT seq FROM sqlite_sequence WHERE name = 'batches'") ?? 0, file.proof.last)
    }

    private static func sumCheck(_ database: Database) throws(StorageFault) {
        let find = try database.statement("SELECT value FROM about WHERE name = 'check'")
        defer { find.reset() }
        guard try find.step() else { return }
        let value = [UInt8](find.bytes(0))
        find.reset()
        try value.withUnsafeBufferPointer { (bytes) throws(StorageFault) in
            try database.putCheck(UnsafeRawBufferPointer(bytes), application)
        }
    }

    private static func sumTries(_ database: Database) throws(StorageFault) {
        var rows: [(Int64, Int64)] = []
        let all = try database.statement("SELECT id, attempts, first FROM tries")
        while try all.step() { rows.append((all.int(0), RowReader.checksum(ofTry: all.int(0), all.int(1), all.int(2)))) }
        all.reset()
        for (id, sum) in rows { try database.statement("UPDATE tries SET checksum = ?2 WHERE id = ?1").bind(1, id).bind(2, sum).run() }
    }

    private static func sumBatches(_ file: ProvenFile, _ routes: FileNumbers) throws(StorageFault) {
        let database = file.database
        var last: Int64 = .min
        while true {
            // Rows are read one at a time, since they are large and are changed meanwhile.
            let next = try database.statement("SELECT \(RowReader.columns) FROM batches WHERE id > ?1 ORDER BY id LIMIT 1").bind(1, last)
            guard try next.step() else { break }
            last = next.int(0)
            let sum = RowReader.checksum(of: next)
            for part in SpoolFile.parts(next.text(4)) {
                file.proof[routes.key(part.route)].came += Int64(part.events)
                file.proof[routes.key(part.route)].bytes += Int64(part.bytes)
            }
            next.reset()
            try database.statement("UPDATE batches SET checksum = ?2 WHERE id = ?1").bind(1, last).bind(2, sum).run()
        }
        file.proof.last = max(0, last)
    }
}
