// The plan compiled for the hot path, and the judge that applies it: Event in, Verdicts out.

public import Configuration
public import Events

/// The routes of a plan, compiled once, shared by all workers.
public final class Ruleset: Sendable {
    /// The paths that the rules name; the scanner locates just these.
    public let paths: PathTrie
    public let routeCount: Int
    public let providerCount: Int

    public init(_ plan: Plan) {
        fatalError("in work")
    }
}

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

/// How often each verdict fell, by route. A worker fills one for each block.
public struct Tally: Sendable {
    /// Indexed by route, then by `Tally.column(of:)`.
    public private(set) var counts: [Int]
    public private(set) var events = 0
    let routes: Int
    public init(routes: Int) {
        self.routes = routes
        counts = Array(repeating: 0, count: routes * Tally.columns.count)
    }

    /// Every verdict that can fall, in the order of the columns.
    public static let columns: [Verdict] =
        [.admitted] + FilterStage.allCases.map(Verdict.filtered) + Denial.allCases.map(Verdict.denied) + [.sampledOut]

    public mutating func add(_ other: Tally) { events += other.events }
    public func total(route: Int) -> Int { 0 }
    public subscript(route: Int, verdict: Verdict) -> Int {
        get { counts[route * Tally.columns.count + Tally.columns.firstIndex(of: verdict)!] }
    }
}

/// Judges events. One for each worker, since it holds scratch space.
public struct Judge: ~Copyable {
    public init(_ ruleset: Ruleset) {
        fatalError("in work")
    }

    /// Judges one event by every route; the admitted copies, edited, are appended to the parcels of their lanes.
    /// `parcels` holds one for each provider of the plan, in order.
    public mutating func judge(_ event: ScannedEvent, arrival: Int64, into parcels: UnsafeMutablePointer<Parcel>, tally: inout Tally) {
        fatalError("in work")
    }
}
