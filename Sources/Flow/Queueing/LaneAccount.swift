// Counts the fates of all events that a lane took, by route. The account balances at any moment:
// taken + resumed = delivered + filtered + rejected + expired + dropped + unknown + undelivered + damaged + withdrawn + aged + waiting.
// Events that wait when the run ends wait on disk for the next run.

public struct LaneAccount: Sendable, Equatable {
    /// The fate of an event. The raw values are the words that accounts and metrics use.
    public enum Fate: String, Sendable, CaseIterable {
        case delivered
        /// The provider's own filter left it out at the hand-over, or its transform withheld it.
        case filtered
        /// The provider refused it for good. It is in the dead-letter file.
        case rejected
        /// It was tried for as long as `retry.for` allows and not delivered. It is in the dead-letter file.
        case expired
        /// It was dropped because the queue was full, as `queue.full` demands.
        case dropped
        /// It may have been delivered. Either the lane ended while it was in flight, or it would be `expired` or `undelivered` but one
        /// attempt had an unknown outcome. It is in the dead-letter file, unless the provider closed the lane.
        case unknown
        /// It was left over when the lane ended and not delivered. It is in the dead-letter file, unless the provider closed the lane.
        case undelivered
        /// Its place on disk was damaged, or was removed while it waited there.
        case damaged
        /// Its subject refused while it waited, so it was destroyed.
        case withdrawn
        /// It waited for longer than `retention` allows, so it was destroyed.
        case aged
    }

    /// The number of events that the lane took, by route.
    public private(set) var taken: [Int]
    /// The number of events that an earlier run left on disk, by route.
    public private(set) var resumed: [Int]
    private var settled: [[Int]]
    /// The number of filtered events by reason. Their sum is the fate `filtered`.
    public private(set) var exclusions: [Exclusion: Int] = [:]
    /// The number of events that were given up and could not be kept anywhere.
    public var lost = 0
    /// The number of undelivered or unknown events that are in no dead-letter file, because the provider closed the lane.
    public var unkept = 0
    /// The number of deliveries that did not succeed and were tried again.
    public var retries = 0
    /// The number of deliveries that were given up as unknown because their deadline had passed.
    public var abandoned = 0
    /// The number of abandoned deliveries that the provider ended later. Such a late answer changes nothing.
    public var late = 0

    init(routes: Int) {
        taken = Array(repeating: 0, count: routes)
        resumed = taken
        settled = Array(repeating: taken, count: Fate.allCases.count)
    }

    /// Creates the account of a queue on disk that no lane took over. `damaged` is the number of its damaged events by route.
    public init(damaged: [UInt16: Int]) {
        self.init(routes: 0)
        for (route, count) in damaged {
            resume(route, count)
            settle(route, fate: .damaged, count: count)
        }
    }

    public subscript(fate: Fate) -> [Int] { settled[LaneAccount.index(fate)] }
    public func total(_ fate: Fate) -> Int { self[fate].reduce(0, +) }
    /// Returns the number of events that the lane took from a route. The route may be newer than the lane's last event.
    public func taken(route: Int) -> Int { route < taken.count ? taken[route] : 0 }
    public var totalTaken: Int { taken.reduce(0, +) }
    public var totalResumed: Int { resumed.reduce(0, +) }

    /// Returns the number of events of a route that are neither delivered nor given up.
    public func waiting(route: Int) -> Int { settled.reduce(taken[route] + resumed[route]) { $0 - $1[route] } }
    public var totalWaiting: Int { taken.indices.reduce(0) { $0 + waiting(route: $1) } }

    mutating func take(_ route: UInt16) {
        addRoutes(upTo: route)
        taken[Int(route)] += 1
    }

    mutating func resume(_ route: UInt16, _ count: Int) {
        addRoutes(upTo: route)
        resumed[Int(route)] += count
    }

    mutating func settle(_ route: UInt16, fate: Fate, count: Int = 1) {
        settled[LaneAccount.index(fate)][Int(route)] += count
        assert(waiting(route: Int(route)) >= 0, "more events of a route have a fate than came in")
    }

    mutating func exclude(_ count: Int, for reason: Exclusion) { exclusions[reason, default: 0] += count }

    /// Adds routes that the plan did not have: those of an earlier run, or of a later plan.
    private mutating func addRoutes(upTo route: UInt16) {
        let more = Int(route) + 1 - taken.count
        guard more > 0 else { return }
        let zeros = Array(repeating: 0, count: more)
        taken += zeros
        resumed += zeros
        for fate in settled.indices { settled[fate] += zeros }
    }

    private static func index(_ fate: Fate) -> Int { Fate.allCases.firstIndex(of: fate)! }
}
