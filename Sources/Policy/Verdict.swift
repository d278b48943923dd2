// What a route says of an event, and how often it said so.

/// How one route judged one event.
public enum Verdict: Hashable, Sendable {
    case admitted
    /// A stage of the filter did not match.
    case filtered(FilterStage)
    case denied(Denial)
    case sampledOut
}

public enum FilterStage: UInt8, Hashable, Sendable, CaseIterable { case events, match }

/// Why the gate said no. The raw values are the words that accounts and metrics use.
public enum Denial: String, Hashable, Sendable, CaseIterable {
    /// Nothing is known of the subject and the policy for that is to deny.
    case unknown
    /// The level is lower than what is demanded.
    case level
    /// A demanded purpose was not granted, or refused.
    case purpose
    /// The event carries consent in a known shape that is broken.
    case broken
}

/// How often each verdict fell, by route. A worker fills one for each block. Of each route, the verdicts add up to
/// the events.
public struct Tally: Sendable {
    /// Indexed by route, then by `Tally.column(of:)`.
    public private(set) var counts: [Int]
    public private(set) var events = 0
    /// Events that came before, by their `messageId`; no route saw them again.
    public private(set) var duplicates = 0
    let routes: Int
    public init(routes: Int) {
        self.routes = routes
        counts = Array(repeating: 0, count: routes * Tally.width)
    }

    /// Every verdict that can fall, in the order of the columns.
    public static let columns: [Verdict] =
        [.admitted] + FilterStage.allCases.map(Verdict.filtered) + Denial.allCases.map(Verdict.denied) + [.sampledOut]
    private static let width = 8

    /// The place of a verdict in `columns`.
    public static func column(of verdict: Verdict) -> Int {
        switch verdict {
        case .admitted: 0
        case .filtered(.events): 1
        case .filtered(.match): 2
        case .denied(.unknown): 3
        case .denied(.level): 4
        case .denied(.purpose): 5
        case .denied(.broken): 6
        case .sampledOut: 7
        }
    }

    public subscript(route: Int, verdict: Verdict) -> Int { counts[route * Tally.width + Tally.column(of: verdict)] }

    /// Adds what another block counted, for the same routes.
    public mutating func add(_ other: Tally) {
        precondition(routes == other.routes, "tallies of different plans")
        events += other.events
        duplicates += other.duplicates
        for i in counts.indices { counts[i] += other.counts[i] }
    }

    public mutating func removeAll() {
        events = 0
        duplicates = 0
        for i in counts.indices { counts[i] = 0 }
    }

    @inline(__always) mutating func countEvent() { events += 1 }
    public mutating func countDuplicate() { duplicates += 1 }
    @inline(__always) mutating func count(_ verdict: Verdict, route: Int) { counts[route * Tally.width + Tally.column(of: verdict)] += 1 }
}
