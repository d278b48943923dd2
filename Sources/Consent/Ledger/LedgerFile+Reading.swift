// Reads the ledger: the entry of one id, the effective terms of all ids, and a summary.

public import ConsentGate
internal import Database
public import Platform

public struct LedgerEntry: Sendable {
    public struct Decision: Hashable, Sendable {
        public var record: ConsentRecord
        /// True if the decision held when it was written. It is false if a later decision was on record.
        public var held: Bool
        /// What came with the decision, if it is kept and can be read.
        public var evidence: ConsentEvidence?
    }
    public var id: HashedID
    /// The decision that holds for this id alone. It is nil if the id is only tied to others.
    public var record: ConsentRecord?
    public var ties: [HashedID]
    /// The terms of the id and of all ids tied to it, sorted and without duplicates.
    public var effective: [ConsentTerms]
    /// The decisions, in the order in which they were written.
    public var history: [Decision]
}

public struct LedgerSummary: Sendable, Equatable {
    /// The number of ids, and the number of tied ids among them.
    public var subjects = 0
    public var tied = 0
    /// The number of persons with more than one id.
    public var persons = 0
    public var withdrawn = 0
    /// The number of ids by level, without withdrawn ids and ids without a decision. The level is empty if the decision names none.
    public var levels: [String: Int] = [:]
    /// The number of ids by the name of the key that they are hashed under.
    public var keys: [String: Int] = [:]
    public var decisions = 0
    /// The time when the latest decision was written, in nanoseconds since 1970. It is nil if there is no decision.
    public var lastReceived: Int64?
    public var unfinishedReceipts = 0
    public init() {}
}

extension LedgerFile {
    /// Returns everything that the ledger holds for an id, or nil if it does not have the id.
    public func get(_ id: LedgerID) throws(StorageFault) -> LedgerEntry? {
        try LedgerFile.advised { () throws(StorageFault) in
            guard let row = try row(of: id) else { return nil }
            let members = try members(of: row)
            return LedgerEntry(
                id: row.id, record: try record(of: row), ties: members.filter { $0.number != row.number }.map(\.id),
                effective: try effective(members), history: try history(of: row))
        }
    }

    /// Returns the short hash of the id, even if the id is not on record.
    public func short(of id: LedgerID) -> ShortHash { short(id) }

    /// Returns the short hashes of the id and of all ids tied to it.
    public func person(of id: LedgerID) throws(StorageFault) -> [ShortHash] {
        try LedgerFile.advised { () throws(StorageFault) in
            guard let row = try row(of: id) else { return [short(id)] }
            return try members(of: row).map(\.id.short)
        }
    }

    /// Returns the terms and the time of the decision for this id alone, or nil if there is none.
    public func lastDecision(of id: LedgerID) throws(StorageFault) -> (terms: ConsentTerms, decided: Int64)? {
        try LedgerFile.advised { () throws(StorageFault) in
            guard let row = try row(of: id), let number = row.terms else { return nil }
            return (try names.terms(number, in: database), row.decided)
        }
    }

    /// Returns the decision for this id. If it has none, returns the decisions of the ids tied to it, each under its own id.
    public func lastDecisions(of id: LedgerID) throws(StorageFault) -> [(id: LedgerID, terms: ConsentTerms, decided: Int64)] {
        try LedgerFile.advised { () throws(StorageFault) in
            guard let row = try row(of: id) else { return [] }
            var found: [(id: LedgerID, terms: ConsentTerms, decided: Int64)] = []
            for member in row.terms == nil ? try members(of: row) : [row] {
                guard let number = member.terms else { continue }
                found.append((.hashed(member.id), try names.terms(number, in: database), member.decided))
            }
            return found
        }
    }

    /// Returns the terms of each id and of the ids tied to it, all read at one moment. A list is empty if nothing is on record.
    public func terms(of shorts: [ShortHash]) throws(StorageFault) -> [[ConsentTerms]] {
        try LedgerFile.advised { () throws(StorageFault) in
            try database.run("BEGIN")
            defer { try? database.run("COMMIT") }
            try readTime()
            var all: [[ConsentTerms]] = []
            for short in shorts {
                // Without a key, the row is found by its short hash and not verified by its HMAC.
                let row = try row(of: .hashed(HashedID(hmac: [], key: "", short: short)))
                all.append(try row.map { (row) throws(StorageFault) in try effective(members(of: row)) } ?? [])
            }
            return all
        }
    }

    private func record(of row: SubjectRow) throws(StorageFault) -> ConsentRecord? {
        guard let terms = row.terms else { return nil }
        let find = try database.statement(
            """
            SELECT decided, received, name FROM subjects JOIN origins ON origins.number = origin
            WHERE subjects.number = ?1 AND \(LedgerSchema.subjectIsWhole) AND \(LedgerSchema.originIsWhole)
            """
        ).bind(1, row.number)
        defer { find.reset() }
        guard try find.step() else { throw StorageFault(.damaged, "\(path): row \(row.number) of subjects is invalid") }
        return ConsentRecord(
            terms: try names.terms(terms, in: database), decided: find.int(0), received: find.int(1), origin: find.text(2))
    }

    func history(of row: SubjectRow) throws(StorageFault) -> [LedgerEntry.Decision] {
        let find = try database.statement(
            """
            SELECT terms, decided, received, origins.name, held, history.number FROM history JOIN origins ON origins.number = origin
            WHERE subject = ?1 AND \(LedgerSchema.decisionIsWhole) AND \(LedgerSchema.originIsWhole) ORDER BY history.number
            """
        ).bind(1, row.number)
        defer { find.reset() }
        var decisions: [LedgerEntry.Decision] = []
        while try find.step() {
            let record = ConsentRecord(
                terms: try names.terms(find.int(0), in: database), decided: find.int(1), received: find.int(2), origin: find.text(3))
            decisions.append(
                LedgerEntry.Decision(
                    record: record, held: find.int(4) != 0, evidence: try evidence(subject: row.number, decision: find.int(5))))
        }
        return decisions
    }

    // MARK: - All ids

    /// Calls the body with each id and its effective terms, to fill a table in memory.
    public func readAll(_ body: (ShortHash, [ConsentTerms]) -> Void) throws(StorageFault) {
        try LedgerFile.advised { () throws(StorageFault) in
            try forEachAlone(body)
            try forEachPerson { members throws(StorageFault) in
                let effective = try effective(members)
                for row in members { body(row.id.short, effective) }
            }
        }
    }

    private func forEachAlone(_ body: (ShortHash, [ConsentTerms]) -> Void) throws(StorageFault) {
        let all = try database.statement(
            "SELECT short, terms FROM subjects WHERE person IS NULL AND \(LedgerSchema.subjectIsWhole)")
        defer { all.reset() }
        // Lists are cached by number, so that no list is allocated for each id.
        var lists: [Int64: [ConsentTerms]] = [:]
        while try all.step() {
            guard let short = ShortHash(all.bytes(0)) else { throw StorageFault(.damaged, "\(path): a row of subjects is invalid") }
            let number = all.int(1)
            if let list = lists[number] {
                body(short, list)
            } else {
                let list = all.isNull(1) ? [] : [try names.terms(number, in: database)]
                lists[number] = list
                body(short, list)
            }
        }
    }

    /// Calls the body with the ids of each person that has more than one.
    func forEachPerson(_ body: ([SubjectRow]) throws(StorageFault) -> Void) throws(StorageFault) {
        let tied = try database.statement(
            """
            SELECT number, hmac, key, short, terms, decided, person FROM subjects
            WHERE person IS NOT NULL AND \(LedgerSchema.subjectIsWhole) ORDER BY person
            """)
        defer { tied.reset() }
        var members: [SubjectRow] = []
        while try tied.step() {
            let row = try subject(tied)
            if let first = members.first, first.person != row.person {
                try body(members)
                members.removeAll(keepingCapacity: true)
            }
            members.append(row)
        }
        if !members.isEmpty { try body(members) }
    }

    // MARK: - Summary

    /// Returns the number of ids. It is much faster than `summary`.
    public func subjectCount() throws(StorageFault) -> Int {
        try LedgerFile.advised { () throws(StorageFault) in try count("SELECT count(*) FROM subjects") }
    }

    private func count(_ sql: String) throws(StorageFault) -> Int { Int(try database.number(sql) ?? 0) }

    public func summary() throws(StorageFault) -> LedgerSummary {
        try LedgerFile.advised { () throws(StorageFault) in
            var summary = LedgerSummary()
            summary.subjects = try count("SELECT count(*) FROM subjects")
            summary.tied = try count("SELECT count(*) FROM subjects WHERE person IS NOT NULL")
            summary.persons = try count("SELECT count(DISTINCT person) FROM subjects WHERE person IS NOT NULL")
            summary.decisions = try count("SELECT count(*) FROM history")
            summary.unfinishedReceipts = try count("SELECT count(*) FROM receipts WHERE finished IS NULL")
            summary.lastReceived = try database.number("SELECT max(received) FROM history WHERE received IS NOT NULL")
            let terms = try database.statement(
                "SELECT withdrawn, level, count(*) FROM subjects JOIN terms ON terms.number = subjects.terms GROUP BY 1, 2")
            defer { terms.reset() }
            while try terms.step() {
                if terms.int(0) != 0 {
                    summary.withdrawn += Int(terms.int(2))
                } else {
                    summary.levels[terms.text(1), default: 0] += Int(terms.int(2))
                }
            }
            let keys = try database.statement("SELECT name, count(*) FROM subjects JOIN keys ON keys.number = key GROUP BY 1")
            defer { keys.reset() }
            while try keys.step() { summary.keys[keys.text(0)] = Int(keys.int(1)) }
            return summary
        }
    }
}
