// Limits how many lines a second each provider logs. Further lines are dropped and counted, and the count is logged. Errors and
// warnings have a budget of their own, so that many lines of lower levels do not suppress them.

internal import Platform

/// The log of one provider. Any thread may call it.
final class LogGate: Sendable {
    /// The beginning of every line.
    private let prefix: String
    private let clock: Clock
    private let log: @Sendable (LogLevel, String) -> Void
    private let budgets = Monitor([LogLevel: LineBudget]())

    /// `provider` is empty if the receiver of the lines adds the name.
    init(provider: String, clock: Clock, log: @escaping @Sendable (LogLevel, String) -> Void) {
        prefix = provider.isEmpty ? "" : provider + ": "
        self.clock = clock
        self.log = log
    }

    /// Logs the line if the budget allows it. `text` is called only in that case.
    func say(_ level: LogLevel, _ text: () -> String) {
        let now = clock.now()
        // Errors use the budget of the warnings.
        let bucket = min(level, .warning)
        let (verdict, most) = budgets.withLock { budgets in
            let verdict = budgets[bucket, default: LineBudget()].take(at: now)
            return (verdict, budgets[bucket]!.perSecond)
        }
        switch verdict {
        case .said(let leftOut):
            tell(leftOut, of: bucket)
            let text = text()
            if !text.isEmpty { log(level, prefix + text) }
        case .leftOut(let isFirst):
            guard isFirst else { return }
            log(notice(bucket), prefix + "logs more than \(most) lines a second; the others are left out and counted")
        }
    }

    /// Logs the counts of dropped lines that were not logged yet. It is called when no more lines follow.
    func end() {
        let left = budgets.withLock { budgets in
            LogLevel.allCases.map { level in (level, budgets[level]?.takeLeftOut() ?? 0) }
        }
        for (bucket, leftOut) in left { tell(leftOut, of: bucket) }
    }

    private func tell(_ leftOut: Int, of bucket: LogLevel) {
        if leftOut > 0 { log(notice(bucket), prefix + "\(grouped(leftOut)) of its lines were left out") }
    }

    /// Returns the level of the notices about dropped lines. If debug lines are not shown, notices about them are not shown either.
    private func notice(_ bucket: LogLevel) -> LogLevel { bucket == .debug ? .debug : .warning }
}
