// Writes decisions: consent and withdrawal. Of two decisions the later one holds, whichever was written first. Of two decisions of the same
// moment, the stricter combination of both holds. The history keeps every decision until `forget` deletes it.

public import Admission
public import ConsentGate
internal import Database
public import Platform

/// An id whose effective terms changed.
public struct LedgerChange: Hashable, Sendable {
    public var short: ShortHash
    /// The terms of the id and of all ids tied to it, sorted and without duplicates. The strictest of them holds. The list is empty if
    /// nothing is on record.
    public var effective: [ConsentTerms]

    /// The key of the id in the gate's table.
    public var key: SubjectKey { SubjectKey(short) }
}

public struct LedgerOutcome: Sendable {
    /// True if the decision holds now. It is false if a later decision was on record.
    public var holds: Bool
    public var changes: [LedgerChange]
}

extension LedgerFile {
    /// Records what a person agreed to. A time in the future is replaced by now.
    @discardableResult
    public func set(_ id: LedgerID, _ terms: ConsentTerms, decided: Int64? = nil, origin: String, evidence: ConsentEvidence? = nil)
        throws(StorageFault) -> LedgerOutcome
    {
        try write { () throws(StorageFault) in
            try record(terms, of: try rowToWrite(id), decided: decided, origin: origin, evidence)
        }
    }

    /// Refuses these purposes for a person. If `purposes` is nil, refuses everything, including purposes that are defined later.
    @discardableResult
    public func withdraw(
        _ id: LedgerID, purposes: [String]? = nil, decided: Int64? = nil, origin: String, evidence: ConsentEvidence? = nil
    ) throws(StorageFault) -> LedgerOutcome {
        try write { () throws(StorageFault) in
            let row = try rowToWrite(id)
            guard let purposes else { return try record(.withdrawn, of: row, decided: decided, origin: origin, evidence) }
            let terms = try row.terms.map { (number) throws(StorageFault) in try names.terms(number, in: database) }
            return try record((terms ?? ConsentTerms()).refusing(purposes), of: row, decided: decided, origin: origin, evidence)
        }
    }

    private func record(
        _ terms: ConsentTerms, of row: SubjectRow, decided: Int64?, origin: String, _ evidence: ConsentEvidence?
    ) throws(StorageFault) -> LedgerOutcome {
        let decided = min(decided ?? now, now)
        let name = origin
        let origin = try names.origin(name, in: database)
        assert(row.number > 0, "an id has no row")
        let number = try names.number(of: terms, in: database)
        let holds = row.terms == nil || decided >= row.decided
        try database.statement(
            """
            INSERT INTO history (subject, number, terms, decided, received, origin, held)
            SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM history WHERE subject = ?1
            """
        ).bind(1, row.number).bind(2, number).bind(3, decided).bind(4, now).bind(5, origin).bind(6, holds ? 1 : 0).run()
        if let evidence {
            let last = try database.statement("SELECT max(number) FROM history WHERE subject = ?1").bind(1, row.number)
            let decision = try last.step() ? last.int(0) : 0
            last.reset()
            try keep(evidence, subject: row.number, decision: decision)
        }
        acts.append(.decided(row.id.short, terms, decided: decided, received: now, origin: name, holds: holds))
        guard holds else { return LedgerOutcome(holds: false, changes: []) }
        var held = number
        if let old = row.terms, old != number, row.decided == decided {
            let known = try names.terms(old, in: database)
            held = try names.number(of: known.stricter(terms, levels: levels), in: database)
        }
        if terms.isWithdrawn { keep(row.id, purposes: nil, decided: decided) }
        let before = try members(of: row)
        try database.statement("UPDATE subjects SET terms = ?2, decided = ?3, received = ?4, origin = ?5 WHERE number = ?1")
            .bind(1, row.number).bind(2, held).bind(3, decided).bind(4, now).bind(5, origin).run()
        var after = before
        for index in after.indices where after[index].number == row.number { after[index].terms = held }
        return LedgerOutcome(holds: true, changes: try changes(before, after))
    }

    /// Returns the changes of one person's ids, given the rows before and after a write.
    private func changes(_ before: [SubjectRow], _ after: [SubjectRow]) throws(StorageFault) -> [LedgerChange] {
        let effective = try effective(after)
        assert(before.map(\.number) == after.map(\.number), "a decision has changed who belongs to a person")
        let isSame = effective == (try self.effective(before))
        return isSame && !tellsAll ? [] : after.map { LedgerChange(short: $0.id.short, effective: effective) }
    }
}
