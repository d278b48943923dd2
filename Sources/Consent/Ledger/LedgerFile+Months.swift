// Counts the decisions on record by month, for a report. It reads each decision once.

internal import Database
public import Platform

/// The number of decisions of one kind in one month.
public struct ConsentMonth: Sendable, Equatable {
    /// The month of the decisions in UTC, such as `2026-11`.
    public var month: String
    public var isWithdrawn: Bool
    /// The level. It is empty if the decisions name none.
    public var level: String
    public var decisions: Int

    public init(month: String, isWithdrawn: Bool, level: String, decisions: Int) {
        self.month = month
        self.isWithdrawn = isWithdrawn
        self.level = level
        self.decisions = decisions
    }
}

extension LedgerFile {
    /// Returns the counts by the month in which it was decided, in order.
    public func decisionsByMonth() throws(StorageFault) -> [ConsentMonth] {
        try LedgerFile.advised { () throws(StorageFault) in
            let find = try database.statement(
                """
                SELECT coalesce(strftime('%Y-%m', decided / 1000000000, 'unixepoch'), 'unknown'), withdrawn,
                  iif(withdrawn, '', level), count(*)
                FROM history JOIN terms ON terms.number = history.terms GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
                """)
            defer { find.reset() }
            var months: [ConsentMonth] = []
            while try find.step() {
                months.append(
                    ConsentMonth(
                        month: find.text(0), isWithdrawn: find.int(1) != 0, level: find.text(2), decisions: Int(find.int(3))))
            }
            return months
        }
    }
}
