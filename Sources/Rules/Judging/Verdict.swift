// What a route says of an event, and how often it said so.

public import Admission

/// How one route judged one event.
public enum Verdict: Hashable, Sendable {
    case admitted
    /// A stage of the filter did not match.
    case filtered(FilterStage)
    case denied(Denial)
    /// It waits until its subjects say whether they consent; the account counts it so until then.
    case held
    case sampledOut
    /// In the sample, and over its limit.
    case limited
    /// A transform holds it back.
    case withheld
    /// It was held to the end of its time.
    case expired
    /// It was held, and its subject withdrew consent.
    case withdrawn
    /// It was held, and when its subjects answered the plan had no such route any more, or took it for no valid event.
    case outdated

    /// Whether the gate did not let it through.
    var isOfGate: Bool {
        switch self {
        case .denied, .held, .expired, .withdrawn, .outdated: true
        case .admitted, .filtered, .sampledOut, .limited, .withheld: false
        }
    }

    /// Whether the route took the event from those with `else`: its filter let it in, and consent and the sample decided only
    /// what became of it. Else what was denied or sampled out would leave by another door.
    var isTaking: Bool { if case .filtered = self { false } else { true } }
}

/// The raw values are the words that accounts and metrics use.
public enum FilterStage: String, Hashable, Sendable, CaseIterable {
    /// The key that the event was sent with is good for other routes.
    case key
    /// A route before took the event, and this one takes only what is left.
    case `else`
    case events, match
    /// A name or a member that keeps the event out.
    case not
    case `where`
    /// The expression of `where` errs on the event: a missing member, or a type that does not fit.
    case whereErrors = "where_errors"
}

/// How often each verdict fell, by route. A worker fills one for each block. Of each route, the verdicts add up to
/// the events and those that were made of them.
public struct Tally: Sendable {
    /// Indexed by route, then by `Tally.column(of:)`.
    public private(set) var counts: [Int]
    public private(set) var events = 0
    /// Events that came before, by their `messageId`; no route saw them again.
    public private(set) var duplicates = 0
    /// Events that were made of others; every route judged them like any other.
    public private(set) var emitted = 0
    /// How often an expression of a rule that makes events erred, and so made none.
    public private(set) var emitErrors = 0
    /// By route.
    private var keepErrors: [Int]
    private var transformErrors: [Int]
    private(set) var routes: Int
    public init(routes: Int) {
        self.routes = routes
        keepErrors = Array(repeating: 0, count: routes)
        transformErrors = keepErrors
        counts = Array(repeating: 0, count: routes * Tally.width)
    }

    /// Every verdict that can fall, in the order of the columns.
    public static let columns: [Verdict] =
        [.admitted] + FilterStage.allCases.map(Verdict.filtered) + Denial.allCases.map(Verdict.denied) + [
            .held, .sampledOut, .limited, .withheld, .expired, .withdrawn, .outdated,
        ]
    private static let width = 23

    /// The place of a verdict in `columns`.
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
        }
    }

    /// Of a route that no block has counted: none.
    public subscript(route: Int, verdict: Verdict) -> Int {
        route < routes ? counts[route * Tally.width + Tally.column(of: verdict)] : 0
    }

    /// How often the expression of the route's `sample.keep` erred, and so kept nothing. Besides the verdicts.
    public func keepErrors(route: Int) -> Int { route < routes ? keepErrors[route] : 0 }

    /// How often an expression of the route's transform had no value, and so set nothing. Besides the verdicts.
    public func transformErrors(route: Int) -> Int { route < routes ? transformErrors[route] : 0 }

    /// Adds what another block counted, for the same routes.
    public mutating func add(_ other: Tally) {
        precondition(routes == other.routes, "tallies of different plans")
        addTotals(other)
        for i in counts.indices { counts[i] += other.counts[i] }
        for i in keepErrors.indices { keepErrors[i] += other.keepErrors[i] }
        for i in transformErrors.indices { transformErrors[i] += other.transformErrors[i] }
    }

    /// Adds what another block counted, whose routes have these numbers here.
    public mutating func add(_ other: Tally, numbers: [UInt16]) {
        addTotals(other)
        if let most = numbers.max() { makeRoom(for: most) }
        for (route, number) in numbers.enumerated() {
            keepErrors[Int(number)] += other.keepErrors[route]
            transformErrors[Int(number)] += other.transformErrors[route]
            for column in 0..<Tally.width { counts[Int(number) * Tally.width + column] += other.counts[route * Tally.width + column] }
        }
    }

    private mutating func makeRoom(for route: UInt16) {
        let lacking = Int(route) + 1 - routes
        guard lacking > 0 else { return }
        counts += Array(repeating: 0, count: lacking * Tally.width)
        keepErrors += Array(repeating: 0, count: lacking)
        transformErrors += Array(repeating: 0, count: lacking)
        routes += lacking
    }

    /// So many events more have this verdict at the route.
    public mutating func count(_ verdict: Verdict, _ count: Int = 1, route: UInt16) {
        makeRoom(for: route)
        counts[Int(route) * Tally.width + Tally.column(of: verdict)] += count
    }

    /// What was counted as held has another verdict now.
    public mutating func settle(held count: Int = 1, as verdict: Verdict, route: UInt16) {
        self.count(.held, -count, route: route)
        self.count(verdict, count, route: route)
    }

    private mutating func addTotals(_ other: Tally) {
        events += other.events
        duplicates += other.duplicates
        emitted += other.emitted
        emitErrors += other.emitErrors
    }

    public mutating func removeAll() {
        (events, duplicates, emitted, emitErrors) = (0, 0, 0, 0)
        for i in counts.indices { counts[i] = 0 }
        for i in keepErrors.indices { keepErrors[i] = 0 }
        for i in transformErrors.indices { transformErrors[i] = 0 }
    }

    mutating func countTransformErrors(_ count: Int, route: Int) { transformErrors[route] += count }
    mutating func countKeepErrors(_ count: Int, route: Int) { keepErrors[route] += count }
    mutating func countEmitted() { emitted += 1 }
    mutating func countEmitErrors(_ count: Int) { emitErrors += count }
    @inline(__always) mutating func countEvent() { events += 1 }
    public mutating func countDuplicate() { duplicates += 1 }
    @inline(__always) mutating func count(_ verdict: Verdict, route: Int) { counts[route * Tally.width + Tally.column(of: verdict)] += 1 }
}
