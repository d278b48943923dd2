// Finds and stores the rows of ids. A row is found by the short hash and verified by the HMAC. It moves to the current key when it is
// written.

public import Admission
internal import ConsentGate
internal import Database
internal import Platform

/// The row of an id.
struct SubjectRow {
    var number: Int64
    var id: HashedID
    /// The number of its terms. It is nil if the id has no decision.
    var terms: Int64?
    var decided: Int64
    var person: Int64?
}

extension LedgerFile {
    func hashed(_ id: LedgerID) -> HashedID {
        switch id {
        case .raw(let raw):
            let key = options.keys.current
            return HashedID(hmac: key.hmac(raw), key: key.name, short: options.short(raw))
        case .hashed(let id): return id
        }
    }

    func short(_ id: LedgerID) -> ShortHash {
        switch id {
        case .raw(let raw): options.short(raw)
        case .hashed(let id): id.short
        }
    }

    /// Returns the key of the id in the gate's table.
    public func key(of id: LedgerID) -> SubjectKey { SubjectKey(short(id)) }

    /// Returns the row of the id, or nil if it has none.
    func row(of id: LedgerID) throws(StorageFault) -> SubjectRow? {
        let find = try database.statement(
            "SELECT number, hmac, key, short, terms, decided, person FROM subjects WHERE short = ?1 AND \(LedgerSchema.subjectIsWhole)")
        let row: SubjectRow? = try short(id).withBytes { (bytes) throws(StorageFault) in
            find.bind(1, lending: bytes)
            defer { find.reset() }
            return try find.step() ? try subject(find) : nil
        }
        guard let row else { return nil }
        try prove(id, row)
        return row
    }

    /// Reads a row with the columns number, hmac, key, short, terms, decided and person.
    func subject(_ row: Statement) throws(StorageFault) -> SubjectRow {
        guard let short = ShortHash(row.bytes(3)), row.bytes(1).count == 32 else {
            throw StorageFault(.damaged, "\(path): row \(row.int(0)) of subjects is invalid")
        }
        let key = try names.name(ofKey: row.int(2), in: database)
        return SubjectRow(
            number: row.int(0), id: HashedID(hmac: [UInt8](row.bytes(1)), key: key, short: short),
            terms: row.isNull(4) ? nil : row.int(4), decided: row.int(5), person: row.isNull(6) ? nil : row.int(6))
    }

    /// Throws if the row belongs to another id with the same short hash, because that would give one person's consent to another. A row
    /// cannot be verified if its key is not configured; then it is taken for the id's own.
    private func prove(_ id: LedgerID, _ row: SubjectRow) throws(StorageFault) {
        let isProved =
            switch id {
            case .raw(let raw): options.keys[row.id.key].map { $0.hmac(raw) == row.id.hmac } ?? true
            case .hashed(let id): id.key != row.id.key || id.hmac == row.id.hmac
            }
        guard isProved else { throw StorageFault(.damaged, "\(path): row \(row.number) of subjects belongs to two ids") }
    }

    /// Returns the row of the id, and inserts it if it is missing. For a raw id, the row moves to the current key.
    func rowToWrite(_ id: LedgerID) throws(StorageFault) -> SubjectRow {
        guard var row = try row(of: id) else {
            let hashed = hashed(id)
            try store(hashed, "INSERT INTO subjects (hmac, key, short) VALUES (?1,?2,?3)")
            return SubjectRow(
                number: try database.number("SELECT last_insert_rowid()") ?? 0, id: hashed, terms: nil, decided: .min, person: nil)
        }
        if case .raw = id, row.id.key != options.keys.current.name {
            row.id = hashed(id)
            try store(row.id, "UPDATE subjects SET hmac = ?1, key = ?2 WHERE short = ?3")
        }
        return row
    }

    private func store(_ id: HashedID, _ sql: String) throws(StorageFault) {
        assert(id.hmac.count == 32, "a row with this id counts as damaged when it is read")
        let key = try names.key(id.key, in: database)
        let statement = try database.statement(sql).bind(2, key)
        try id.short.withBytes { (short) throws(StorageFault) in
            try id.hmac.withUnsafeBufferPointer { (hmac) throws(StorageFault) in
                try statement.bind(1, lending: UnsafeRawBufferPointer(hmac)).bind(3, lending: short).run()
            }
        }
    }

    /// Returns the rows of all ids of the row's person.
    func members(of row: SubjectRow) throws(StorageFault) -> [SubjectRow] {
        guard let person = row.person else { return [row] }
        let find = try database.statement(
            """
            SELECT number, hmac, key, short, terms, decided, person FROM subjects
            WHERE person = ?1 AND \(LedgerSchema.subjectIsWhole) ORDER BY number
            """
        ).bind(1, person)
        defer { find.reset() }
        var rows: [SubjectRow] = []
        while try find.step() { rows.append(try subject(find)) }
        return rows
    }

    /// Returns the terms of all these rows, sorted and without duplicates.
    func effective(_ rows: [SubjectRow]) throws(StorageFault) -> [ConsentTerms] {
        var terms: Set<ConsentTerms> = []
        for row in rows {
            if let number = row.terms { terms.insert(try names.terms(number, in: database)) }
        }
        return terms.sorted()
    }
}
