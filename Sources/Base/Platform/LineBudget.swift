// How many lines somebody who is not trusted may say: a bucket that fills with time. A value; its owner guards it and hands it the time.

public struct LineBudget: Sendable {
    public enum Verdict: Equatable, Sendable {
        /// The line may be said; so many before it were left out and nobody was told yet.
        case said(leftOut: Int)
        /// The line is left out. `isFirst`: the one before it was said.
        case leftOut(isFirst: Bool)
    }

    public let burst: Int
    public let perSecond: Int
    /// What is in the bucket, in lines times nanoseconds a second.
    private var credit: Int64
    private var filledAt: Instant?
    /// Lines that were left out and of which nobody was told yet.
    private var leftOut = 0

    private static let second: Int64 = 1_000_000_000

    /// `burst` lines at once, and then so many a second.
    public init(burst: Int = 100, perSecond: Int = 10) {
        self.burst = burst
        self.perSecond = perSecond
        credit = Int64(burst) * LineBudget.second
    }

    public mutating func take(at now: Instant) -> Verdict {
        fill(at: now)
        // Once it was empty it has to hold the lines of a second again, so that lines come together and not one by one between
        // reports of what was left out.
        let least = leftOut > 0 ? Int64(min(perSecond, burst)) : 1
        guard credit >= least * LineBudget.second else {
            leftOut += 1
            return .leftOut(isFirst: leftOut == 1)
        }
        credit -= LineBudget.second
        return .said(leftOut: takeLeftOut())
    }

    /// Whether the last line was left out.
    public var isLeavingOut: Bool { leftOut > 0 }

    /// Whether these lines are left out, as the last one was, for whoever need not look at them then; they are counted.
    public mutating func leavesOut(_ lines: Int, at now: Instant) -> Bool {
        guard isLeavingOut else { return false }
        fill(at: now)
        guard credit < Int64(min(perSecond, burst)) * LineBudget.second else { return false }
        leftOut += lines
        return true
    }

    /// The lines that were left out and of which nobody was told yet; from now on they count as told.
    public mutating func takeLeftOut() -> Int {
        defer { leftOut = 0 }
        return leftOut
    }

    private mutating func fill(at now: Instant) {
        let last = filledAt ?? now
        filledAt = max(now, last)
        let most = Int64(burst) * LineBudget.second
        let (gained, isOver) = max(0, (now - last).nanoseconds).multipliedReportingOverflow(by: Int64(perSecond))
        credit = isOver || gained >= most - credit ? most : credit + gained
    }
}
