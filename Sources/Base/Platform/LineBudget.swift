// Limits the number of lines that an untrusted program may report. Credit for lines grows with time up to a burst. It is a value: its owner
// must protect it with a lock and pass the time to it.

public struct LineBudget: Sendable {
    public enum Verdict: Equatable, Sendable {
        /// The line may be reported. `leftOut` is the number of earlier lines that were left out and not reported yet.
        case said(leftOut: Int)
        /// The line is left out. `isFirst` is true if the line before it was reported.
        case leftOut(isFirst: Bool)
    }

    public let burst: Int
    public let perSecond: Int
    /// The credit, in lines multiplied by the nanoseconds of a second.
    private var credit: Int64
    private var filledAt: Instant?
    /// The number of lines that were left out and not reported yet.
    private var leftOut = 0

    private static let second: Int64 = 1_000_000_000

    /// Allows `burst` lines at once, and then `perSecond` lines a second.
    public init(burst: Int = 100, perSecond: Int = 10) {
        self.burst = burst
        self.perSecond = perSecond
        credit = Int64(burst) * LineBudget.second
        assert(burst >= 1 && perSecond >= 0, "no line can ever be reported")
    }

    public mutating func take(at now: Instant) -> Verdict {
        fill(at: now)
        // After the credit was used up, it must first grow to the lines of one second. So lines appear together, and not one by one between
        // reports of lines that were left out.
        guard credit >= (isLeavingOut ? refill : LineBudget.second) else {
            leftOut += 1
            return .leftOut(isFirst: leftOut == 1)
        }
        credit -= LineBudget.second
        assert(credit >= 0, "a line was reported without credit")
        return .said(leftOut: takeLeftOut())
    }

    /// True if the last line was left out.
    public var isLeavingOut: Bool { leftOut > 0 }

    /// Returns true if these lines are left out, as the last one was, and counts them. The caller then need not examine them.
    public mutating func leavesOut(_ lines: Int, at now: Instant) -> Bool {
        guard isLeavingOut else { return false }
        assert(lines >= 0, "a negative number of lines is left out")
        fill(at: now)
        guard credit < refill else { return false }
        leftOut += lines
        return true
    }

    /// The credit at which lines are reported again: the lines of one second, but at least one line and at most a burst.
    private var refill: Int64 { Int64(max(1, min(perSecond, burst))) * LineBudget.second }

    /// Returns the number of lines that were left out and not reported yet, and resets it.
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
        assert(credit <= most, "the credit is larger than a burst")
    }
}
