// Ties ids that belong to one person. As long as they are tied, a decision for one of them holds for all of them.

internal import Database
public import Platform

public enum TieOutcome: Sendable {
    case tied([LedgerChange])
    /// Nothing was done, for this reason.
    case refused(String)
}

extension LedgerFile {
    /// Ties the ids, and all ids that are already tied to one of them.
    @discardableResult
    public func tie(_ ids: [LedgerID]) throws(StorageFault) -> TieOutcome {
        try write { () throws(StorageFault) in
            var groups: [[SubjectRow]] = []
            var fresh: Set<ShortHash> = []
            for id in ids {
                if let row = try row(of: id) {
                    if !groups.contains(where: { $0.contains { $0.number == row.number } }) { groups.append(try members(of: row)) }
                } else {
                    fresh.insert(short(id))
                }
            }
            let count = fresh.count + groups.reduce(0) { $0 + $1.count }
            guard count <= options.mostTied else {
                return .refused("would tie \(count) ids together, and a person can have at most \(options.mostTied)")
            }
            guard fresh.count + groups.count > 1 else { return .tied([]) }
            for id in ids {
                let row = try rowToWrite(id)
                if fresh.remove(short(id)) != nil { groups.append([row]) }
            }
            assert(fresh.isEmpty, "a tied id has no row")
            assert(Set(groups.flatMap { $0.map(\.number) }).count == count, "an id is in two groups")
            acts.append(.tied(groups.flatMap { $0.map(\.id.short) }))
            return .tied(try join(groups))
        }
    }

    private func join(_ groups: [[SubjectRow]]) throws(StorageFault) -> [LedgerChange] {
        guard groups.count > 1 else { return [] }
        var person = groups.compactMap { $0[0].person }.min() ?? 0
        if person == 0 { person = try database.number("SELECT coalesce(max(person), 0) + 1 FROM subjects") ?? 1 }
        assert(person > 0, "the number 0 stands for no person")
        let effective = try effective(groups.flatMap { $0 })
        var changes: [LedgerChange] = []
        for group in groups {
            for row in group where row.person != person { try setPerson(person, of: row) }
            if try self.effective(group) != effective {
                changes += group.map { LedgerChange(short: $0.id.short, effective: effective) }
            }
        }
        return changes
    }

    /// Unties the id from all ids that it is tied to.
    @discardableResult
    public func untie(_ id: LedgerID) throws(StorageFault) -> [LedgerChange] {
        try write { () throws(StorageFault) in
            guard let row = try row(of: id), row.person != nil else { return [] }
            let group = try members(of: row)
            let before = try effective(group)
            unties += 1
            acts.append(.untied(row.id.short))
            let rest = group.filter { $0.number != row.number }
            assert(rest.count < group.count, "an id is not among the ids of its own person")
            var changes: [LedgerChange] = []
            for part in [[row], rest] {
                let after = try effective(part)
                if after != before { changes += part.map { LedgerChange(short: $0.id.short, effective: after) } }
                // A single id is not a tied person.
                if part.count == 1 { try setApart(part[0]) }
            }
            return changes
        }
    }

    /// Removes the id from its person. Deletes the row of an id without a decision.
    private func setApart(_ row: SubjectRow) throws(StorageFault) {
        guard row.terms == nil else { return try setPerson(nil, of: row) }
        try database.statement("DELETE FROM subjects WHERE number = ?1").bind(1, row.number).run()
    }

    private func setPerson(_ person: Int64?, of row: SubjectRow) throws(StorageFault) {
        // Person numbers begin at 1, so 0 stands for no person.
        try database.statement("UPDATE subjects SET person = nullif(?2, 0) WHERE number = ?1").bind(1, row.number).bind(2, person ?? 0)
            .run()
    }
}
