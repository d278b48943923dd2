// The verdicts of routes on events, and how often each was given.

public import Admission
internal import TrackingPlans

/// The verdict of one route on one event.
public enum Verdict: Hashable, Sendable {
    case admitted
    /// A stage of the filter did not match.
    case filtered(FilterStage)
    case denied(Denial)
    /// The event waits until its subjects say whether they consent. Until then the account counts it as held.
    case held
    case sampledOut
    /// The event is in the sample, but over its limit.
    case limited
    /// A transform withholds the event.
    case withheld
    /// The event was held until its time was over.
    case expired
    /// The event was held, and its subject withdrew consent.
    case withdrawn
    /// The event was held. When its subjects answered, the plan no longer had the route, or the event was invalid under the plan.
    case outdated
    /// The event violates the tracking plan, and is kept as a dead letter of the route's providers.
    case violating

    /// True if the gate did not admit the event.
    var isOfGate: Bool {
        switch self {
        case .denied, .held, .expired, .withdrawn, .outdated: true
        case .admitted, .filtered, .sampledOut, .limited, .withheld, .violating: false
        }
    }

    /// True if the route took the event, so that later routes with `else` do not get it. Only the filter decides this. Otherwise an event
    /// that was denied or sampled out would leave by a route with `else`.
    var isTaking: Bool { if case .filtered = self { false } else { true } }
}

/// The raw values are the words that accounts and metrics use.
public enum FilterStage: String, Hashable, Sendable, CaseIterable {
    /// The key that the event was sent with does not allow this route.
    case key
    /// An earlier route took the event, and this one takes only what is left.
    case `else`
    case events, match
    /// A name or a member under `not` excludes the event.
    case not
    case `where`
    /// The expression of `where` fails on the event: a member is missing, or a type does not fit.
    case whereErrors = "where_errors"
}

/// The number of times that each verdict was given, by route. A worker fills one tally for each block. For each route, the verdicts add up
/// to the events and the emitted events.
public struct Tally: Sendable {
    /// The counts, indexed by route and then by `Tally.column(of:)`.
    public private(set) var counts: [Int]
    public private(set) var events = 0
    /// The number of events whose `messageId` came before. No route judged them.
    public private(set) var duplicates = 0
    /// The number of emitted events. Every route judged them like any other event.
    public private(set) var emitted = 0
    /// The number of times that a rule of `emit` emitted nothing because an expression failed.
    public private(set) var emitErrors = 0
    /// The number of events and emitted events that violated the tracking plan, by what was done with them: the order is that of
    /// `ViolationAction.allCases`.
    private var violations = [Int](repeating: 0, count: ViolationAction.allCases.count)
    /// The same numbers with the words for what was done.
    public var violationsByAction: [(action: String, count: Int)] {
        zip(ViolationAction.allCases, violations).map { ($0.rawValue, $1) }
    }
    /// The errors of expressions, by route.
    private var keepErrors: [Int]
    private var transformErrors: [Int]
    private(set) var routes: Int
    public init(routes: Int) {
        self.routes = routes
        assert(Tally.columns.indices.allSatisfy { Tally.column(of: Tally.columns[$0]) == $0 }, "two verdicts share a column")
        assert(Tally.columns.count == Tally.width, "a column has no verdict")
        keepErrors = Array(repeating: 0, count: routes)
        transformErrors = keepErrors
        counts = Array(repeating: 0, count: routes * Tally.width)
    }

    /// Every verdict that can be given, in the order of the columns.
    public static let columns: [Verdict] =
        [.admitted] + FilterStage.allCases.map(Verdict.filtered) + Denial.allCases.map(Verdict.denied) + [
            .held, .sampledOut, .limited, .withheld, .expired, .withdrawn, .outdated, .violating,
        ]
    private static let width = 24

    /// Returns the index of a verdict in `columns`.
    public static func column(of verdict: Verdict) -> Int {
        switch verdict {
        case .admitted: 0
        case .filtered(.key): 1
        case .filtered(.else): 2
        case .filtered(.events): 3
        case .filtered(.match): 4
        case .filtered(.not): 5
        case .filtered(.where): 6
        case .filtered(.whereErrors): 7
        case .denied(.unknown): 8
        case .denied(.level): 9
        case .denied(.purpose): 10
        case .denied(.broken): 11
        case .denied(.unreadable): 12
        case .denied(.clock): 13
        case .denied(.full): 14
        case .denied(.unstored): 15
        case .held: 16
        case .sampledOut: 17
        case .limited: 18
        case .withheld: 19
        case .expired: 20
        case .withdrawn: 21
        case .outdated: 22
        case .violating: 23
        }
    }

    /// The number of times that the route gave the verdict. It is 0 for a route that no block has counted.
    public subscript(route: Int, verdict: Verdict) -> Int {
        route < routes ? counts[route * Tally.width + Tally.column(of: verdict)] : 0
    }

    /// Returns how often the expression of the route's `sample.keep` failed and kept nothing. These errors are not verdicts.
    public func keepErrors(route: Int) -> Int { route < routes ? keepErrors[route] : 0 }

    /// Returns how often an expression of the route's transform had no value and set nothing. These errors are not verdicts.
    public func transformErrors(route: Int) -> Int { route < routes ? transformErrors[route] : 0 }

    /// Adds the counts of another block with the same routes.
    public mutating func add(_ other: Tally) {
        precondition(routes == other.routes, "tallies of different plans")
        addTotals(other)
        for i in counts.indices { counts[i] += other.counts[i] }
        for i in keepErrors.indices { keepErrors[i] += other.keepErrors[i] }
        for i in transformErrors.indices { transformErrors[i] += other.transformErrors[i] }
    }

    /// Adds the counts of another block. `numbers` are the numbers that its routes have here.
    public mutating func add(_ other: Tally, numbers: [UInt16]) {
        precondition(numbers.count == other.routes, "a route of the other tally has no number")
        addTotals(other)
        if let most = numbers.max() { addRoutes(upTo: most) }
        for (route, number) in numbers.enumerated() {
            keepErrors[Int(number)] += other.keepErrors[route]
            transformErrors[Int(number)] += other.transformErrors[route]
            for column in 0..<Tally.width { counts[Int(number) * Tally.width + column] += other.counts[route * Tally.width + column] }
        }
    }

    /// Adds routes with the count 0, up to this one.
    private mutating func addRoutes(upTo route: UInt16) {
        let lacking = Int(route) + 1 - routes
        guard lacking > 0 else { return }
        counts += Array(repeating: 0, count: lacking * Tally.width)
        keepErrors += Array(repeating: 0, count: lacking)
        transformErrors += Array(repeating: 0, count: lacking)
        routes += lacking
    }

    /// Counts events with this verdict of the route.
    public mutating func count(_ verdict: Verdict, _ count: Int = 1, route: UInt16) {
        addRoutes(upTo: route)
        counts[Int(route) * Tally.width + Tally.column(of: verdict)] += count
    }

    /// Counts events that were held under their final verdict instead.
    public mutating func settle(held count: Int = 1, as verdict: Verdict, route: UInt16) {
        self.count(.held, -count, route: route)
        self.count(verdict, count, route: route)
    }

    private mutating func addTotals(_ other: Tally) {
        events += other.events
        duplicates += other.duplicates
        emitted += other.emitted
        emitErrors += other.emitErrors
        for i in violations.indices { violations[i] += other.violations[i] }
    }

    public mutating func removeAll() {
        (events, duplicates, emitted, emitErrors) = (0, 0, 0, 0)
        for i in violations.indices { violations[i] = 0 }
        for i in counts.indices { counts[i] = 0 }
        for i in keepErrors.indices { keepErrors[i] = 0 }
        for i in transformErrors.indices { transformErrors[i] = 0 }
    }

    /// Counts events with this verdict of the route.
    mutating func count(_ verdict: Verdict, _ count: Int, route: Int) {
        assert(count >= 0, "verdicts are taken back")
        counts[route * Tally.width + Tally.column(of: verdict)] += count
    }

    mutating func countTransformErrors(_ count: Int, route: Int) { transformErrors[route] += count }
    mutating func countKeepErrors(_ count: Int, route: Int) { keepErrors[route] += count }
    mutating func countEmitted() { emitted += 1 }
    mutating func count(_ action: ViolationAction) { violations[ViolationAction.allCases.firstIndex(of: action)!] += 1 }
    mutating func countEmitErrors(_ count: Int) { emitErrors += count }
    @inline(__always) mutating func countEvent() { events += 1 }
    public mutating func countDuplicate() { duplicates += 1 }
    @inline(__always) mutating func count(_ verdict: Verdict, route: Int) { counts[route * Tally.width + Tally.column(of: verdict)] += 1 }
}
