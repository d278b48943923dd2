// What a person says: consent and withdrawal. Of two decisions the later one holds, whichever came here first; of two of the same
// moment the stricter. Each stays in the history.

public import Admission
public import ConsentGate
internal import Database
public import Platform

/// An id of which more or less holds than before.
public struct LedgerChange: Hashable, Sendable {
    public var short: ShortHash
    /// What was said for the id and those tied to it, sorted, each once; the strictest of them holds. None: it is unknown.
    public var effective: [ConsentTerms]

    /// The key under which the gate knows the id.
    public var key: SubjectKey { SubjectKey(short) }
}

public struct LedgerOutcome: Sendable {
    /// Whether it is on record now; not if a later decision was.
    public var holds: Bool
    public var changes: [LedgerChange]
}

extension LedgerFile {
    /// Writes down what a person agreed to. One that says it was decided later than now was decided now.
    @discardableResult
    public func set(_ id: LedgerID, _ terms: ConsentTerms, decided: Int64? = nil, origin: String) throws(StorageFault) -> LedgerOutcome {
        try write { () throws(StorageFault) in
            try record(terms, of: try rowToWrite(id), decided, origin)
        }
    }

    /// Refuses these purposes for a person, or everything, whatever purposes there will be.
    @discardableResult
    public func withdraw(
        _ id: LedgerID, purposes: [String]? = nil, decided: Int64? = nil, origin: String
    ) throws(StorageFault) -> LedgerOutcome {
        try write { () throws(StorageFault) in
            let row = try rowToWrite(id)
            guard let purposes else { return try record(.withdrawn, of: row, decided, origin) }
            let terms = try row.terms.map { (number) throws(StorageFault) in try names.terms(number, in: database) }
            return try record((terms ?? ConsentTerms()).refusing(purposes), of: row, decided, origin)
        }
    }

    private func record(
        _ terms: ConsentTerms, of row: SubjectRow, _ decided: Int64?, _ origin: String
    ) throws(StorageFault) -> LedgerOutcome {
        let decided = min(decided ?? now, now)
        let origin = try names.origin(origin, in: database)
        let number = try names.number(of: terms, in: database)
        let holds = row.terms == nil || decided >= row.decided
        try database.statement(
            """
            INSERT INTO history (subject, number, terms, decided, received, origin, held)
            SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM history WHERE subject = ?1
            """
        ).bind(1, row.number).bind(2, number).bind(3, decided).bind(4, now).bind(5, origin).bind(6, holds ? 1 : 0).run()
        guard holds else { return LedgerOutcome(holds: false, changes: []) }
        var held = number
        if let old = row.terms, old != number, row.decided == decided {
            let known = try names.terms(old, in: database)
            held = try names.number(of: known.stricter(terms, levels: levels), in: database)
        }
        let before = try members(of: row)
        try database.statement("UPDATE subjects SET terms = ?2, decided = ?3, received = ?4, origin = ?5 WHERE number = ?1")
            .bind(1, row.number).bind(2, held).bind(3, decided).bind(4, now).bind(5, origin).run()
        var after = before
        for index in after.indices where after[index].number == row.number { after[index].terms = held }
        return LedgerOutcome(holds: true, changes: try changes(before, after))
    }

    /// The rows of one person, before and after.
    private func changes(_ before: [SubjectRow], _ after: [SubjectRow]) throws(StorageFault) -> [LedgerChange] {
        let effective = try effective(after)
        let isSame = effective == (try self.effective(before))
        return isSame && !tellsAll ? [] : after.map { LedgerChange(short: $0.id.short, effective: effective) }
    }
}
