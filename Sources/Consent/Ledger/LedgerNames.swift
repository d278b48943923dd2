// Maps keys, origins and terms to the row numbers that other rows use for them. A million rows then do not repeat the same texts.

internal import CJansson
internal import ConsentGate
internal import Database
internal import Platform

struct LedgerNames {
    /// The maximum size of each cache of origins and terms. A full cache is emptied.
    private static let most = 10_000

    private var keys: [String: Int64] = [:]
    private var keyNames: [Int64: String] = [:]
    private var origins: [String: Int64] = [:]
    private var terms: [ConsentTerms: Int64] = [:]
    private var termsByNumber: [Int64: ConsentTerms] = [:]

    mutating func key(_ name: String, in database: Database) throws(StorageFault) -> Int64 {
        if let known = keys[name] { return known }
        let number = try LedgerNames.number(name, in: "keys", isWhole: LedgerSchema.keyIsWhole, database: database)
        keys[name] = number
        return number
    }

    mutating func origin(_ name: String, in database: Database) throws(StorageFault) -> Int64 {
        if let known = origins[name] { return known }
        let number = try LedgerNames.number(name, in: "origins", isWhole: LedgerSchema.originIsWhole, database: database)
        if origins.count >= LedgerNames.most { origins = [:] }
        origins[name] = number
        return number
    }

    private static func number(
        _ name: String, in table: String, isWhole: String, database: Database
    ) throws(StorageFault) -> Int64 {
        let find = try database.statement("SELECT number FROM \(table) WHERE name = ?1 AND \(isWhole)").bind(1, name)
        defer { find.reset() }
        if try find.step() { return find.int(0) }
        try database.statement("INSERT INTO \(table) (name) VALUES (?1)").bind(1, name).run()
        return try database.number("SELECT last_insert_rowid()") ?? 0
    }

    mutating func name(ofKey number: Int64, in database: Database) throws(StorageFault) -> String {
        if let known = keyNames[number] { return known }
        let find = try database.statement("SELECT name FROM keys WHERE number = ?1 AND \(LedgerSchema.keyIsWhole)").bind(1, number)
        defer { find.reset() }
        guard try find.step() else { throw StorageFault(.damaged, "\(database.path): refers to a key that it does not have") }
        keyNames[number] = find.text(0)
        return find.text(0)
    }

    func name(ofOrigin number: Int64, in database: Database) throws(StorageFault) -> String {
        let find = try database.statement("SELECT name FROM origins WHERE number = ?1 AND \(LedgerSchema.originIsWhole)").bind(1, number)
        defer { find.reset() }
        guard try find.step() else { throw StorageFault(.damaged, "\(database.path): refers to an origin that it does not have") }
        return find.text(0)
    }

    // MARK: - Terms

    mutating func number(of wanted: ConsentTerms, in database: Database) throws(StorageFault) -> Int64 {
        if let known = terms[wanted] { return known }
        assert(stringList(jsonList(wanted.granted)) == wanted.granted, "the granted purposes cannot be read back")
        assert(stringList(jsonList(wanted.denied)) == wanted.denied, "the denied purposes cannot be read back")
        let columns = [wanted.level ?? "", jsonList(wanted.granted), jsonList(wanted.denied), wanted.version ?? ""]
        func bound(_ statement: Statement) -> Statement {
            statement.bind(1, wanted.isWithdrawn ? 1 : 0)
            for (index, column) in columns.enumerated() { statement.bind(Int32(index + 2), column) }
            return statement
        }
        let find = bound(
            try database.statement(
                """
                SELECT number FROM terms WHERE withdrawn = ?1 AND level = ?2 AND granted = ?3 AND denied = ?4 AND version = ?5
                AND \(LedgerSchema.termsAreWhole)
                """))
        defer { find.reset() }
        let number: Int64
        if try find.step() {
            number = find.int(0)
        } else {
            try bound(
                try database.statement("INSERT INTO terms (withdrawn, level, granted, denied, version) VALUES (?1,?2,?3,?4,?5)")
            ).run()
            number = try database.number("SELECT last_insert_rowid()") ?? 0
        }
        remember(wanted, number)
        return number
    }

    mutating func terms(_ number: Int64, in database: Database) throws(StorageFault) -> ConsentTerms {
        if let known = termsByNumber[number] { return known }
        let find = try database.statement(
            "SELECT withdrawn, level, granted, denied, version FROM terms WHERE number = ?1 AND \(LedgerSchema.termsAreWhole)"
        ).bind(1, number)
        defer { find.reset() }
        guard try find.step(), let granted = stringList(find.text(2)), let denied = stringList(find.text(3)) else {
            throw StorageFault(.damaged, "\(database.path): refers to terms that it does not have")
        }
        let terms =
            find.int(0) != 0
            ? ConsentTerms.withdrawn : ConsentTerms(level: find.text(1), granted: granted, denied: denied, version: find.text(4))
        remember(terms, number)
        return terms
    }

    private mutating func remember(_ terms: ConsentTerms, _ number: Int64) {
        assert(number > 0, "terms have no row")
        assert(termsByNumber[number].map { $0 == terms } ?? true, "one row stands for two terms")
        if self.terms.count >= LedgerNames.most {
            self.terms = [:]
            termsByNumber = [:]
        }
        self.terms[terms] = number
        termsByNumber[number] = terms
    }
}

/// Returns the texts as a JSON list, or the empty text if there are none.
func jsonList(_ texts: [String]) -> String { texts.isEmpty ? "" : "[" + texts.map(jsonQuoted).joined(separator: ",") + "]" }

/// Returns the texts of a JSON list, or nil if it is not a list of texts.
func stringList(_ json: String) -> [String]? {
    if json.isEmpty { return [] }
    let list = Array(json.utf8).withUnsafeBytes { json_loadb($0.baseAddress, $0.count, Int(JSON_ALLOW_NUL), nil) }
    guard let list else { return nil }
    defer { json_decref(list) }
    return strings(list)
}

func strings(_ list: UnsafeMutablePointer<json_t>) -> [String]? {
    guard list.pointee.type == JSON_ARRAY else { return nil }
    var texts: [String] = []
    for index in 0..<json_array_size(list) {
        guard let text = string(json_array_get(list, index)) else { return nil }
        texts.append(text)
    }
    return texts
}

func string(_ value: UnsafeMutablePointer<json_t>?) -> String? {
    guard let text = json_string_value(value) else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: text, count: json_string_length(value)), as: UTF8.self)
}
