// What modules say, on its way to the log: so many lines a second for each provider. The others are left out and counted, and the
// count is told. Errors and warnings have a bucket of their own, so that chatter does not keep them out.

internal import Platform

/// The lines of one provider. It may be called by any thread.
final class LogGate: Sendable {
    /// With which every line begins.
    private let prefix: String
    private let clock: Clock
    private let log: @Sendable (LogLevel, String) -> Void
    private let budgets = Monitor([LogLevel: LineBudget]())

    /// An empty name: whoever gets the lines puts the name before them.
    init(provider: String, clock: Clock, log: @escaping @Sendable (LogLevel, String) -> Void) {
        prefix = provider.isEmpty ? "" : provider + ": "
        self.clock = clock
        self.log = log
    }

    /// `text` is made only where it is said.
    func say(_ level: LogLevel, _ text: () -> String) {
        let now = clock.now()
        // An error has the bucket of the warnings.
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
            log(notice(bucket), prefix + "says more than \(most) lines a second; the others are left out and counted")
        }
    }

    /// Tells what was left out and was not told yet, since nothing follows.
    func end() {
        let left = budgets.withLock { budgets in
            LogLevel.allCases.map { level in (level, budgets[level]?.takeLeftOut() ?? 0) }
        }
        for (bucket, leftOut) in left { tell(leftOut, of: bucket) }
    }

    private func tell(_ leftOut: Int, of bucket: LogLevel) {
        if leftOut > 0 { log(notice(bucket), prefix + "\(grouped(leftOut)) of its lines were left out") }
    }

    /// Where nobody sees the lines, nobody is told of those that are missing.
    private func notice(_ bucket: LogLevel) -> LogLevel { bucket == .debug ? .debug : .warning }
}
