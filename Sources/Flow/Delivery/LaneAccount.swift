// What became of every event that a lane took, by route. It balances at any moment:
// taken + resumed = delivered + rejected + expired + dropped + unknown + undelivered + damaged + withdrawn + aged + waiting. What waits when
// the run ends waits on disk for the next one.

public struct LaneAccount: Sendable, Equatable {
    /// What can become of an event. The raw values are the words that accounts and metrics use.
    public enum Fate: String, Sendable, CaseIterable {
        case delivered
        /// Refused for good by the provider; in the dead-letter file.
        case rejected
        /// Tried for as long as `retry.for` allows, and not delivered; in the dead-letter file.
        case expired
        /// Dropped because the queue was full, as `queue.full` asks.
        case dropped
        /// It may have been delivered: the lane ended while the provider had it in its hands, or it would be `expired` or `undelivered`
        /// but for an attempt that came to an unknown end. In the dead-letter file, unless the provider closed the lane.
        case unknown
        /// Left over when the lane ended, and not delivered; in the dead-letter file, unless the provider closed the lane.
        case undelivered
        /// Its place on disk was damaged, or removed while it waited there.
        case damaged
        /// Its subject refused while it waited: it was destroyed.
        case withdrawn
        /// It waited for longer than `retention` allows: it was destroyed.
        case aged
    }

    /// Indexed by route.
    public private(set) var taken: [Int]
    /// Those that an earlier run had left on disk.
    public private(set) var resumed: [Int]
    private var settled: [[Int]]
    /// Of those that belong into the dead-letter file: how many could not be kept there either.
    public var lost = 0
    /// Of those that are undelivered or unknown: how many are in no dead-letter file, since the provider closed the lane.
    public var unkept = 0
    /// Deliveries that did not succeed and were tried again.
    public var retries = 0
    /// Deliveries that were given up as unknown because their deadline had passed.
    public var abandoned = 0
    /// Of those: how many the provider ended afterwards, which changed nothing.
    public var late = 0

    init(routes: Int) {
        taken = Array(repeating: 0, count: routes)
        resumed = taken
        settled = Array(repeating: taken, count: Fate.allCases.count)
    }

    /// Of a queue on disk that no lane took over, and of which so much turned out to be damaged, by route.
    public init(damaged: [UInt16: Int]) {
        self.init(routes: 0)
        for (route, count) in damaged {
            resume(route, count)
            settle(route, .damaged, count)
        }
    }

    public subscript(fate: Fate) -> [Int] { settled[LaneAccount.index(fate)] }
    public func total(_ fate: Fate) -> Int { self[fate].reduce(0, +) }
    /// How many it took of a route, also of one that came up later than its last event.
    public func taken(route: Int) -> Int { route < taken.count ? taken[route] : 0 }
    public var totalTaken: Int { taken.reduce(0, +) }
    public var totalResumed: Int { resumed.reduce(0, +) }

    /// Events of a route that are neither delivered nor given up.
    public func waiting(route: Int) -> Int { settled.reduce(taken[route] + resumed[route]) { $0 - $1[route] } }
    public var totalWaiting: Int { taken.indices.reduce(0) { $0 + waiting(route: $1) } }

    mutating func take(_ route: UInt16) {
        makeRoom(for: route)
        taken[Int(route)] += 1
    }

    mutating func resume(_ route: UInt16, _ count: Int) {
        makeRoom(for: route)
        resumed[Int(route)] += count
    }

    mutating func settle(_ route: UInt16, _ fate: Fate, _ count: Int = 1) { settled[LaneAccount.index(fate)][Int(route)] += count }

    /// Routes come up that the plan did not have: of an earlier run, or of a plan that came later.
    private mutating func makeRoom(for route: UInt16) {
        let more = Int(route) + 1 - taken.count
        guard more > 0 else { return }
        let zeros = Array(repeating: 0, count: more)
        taken += zeros
        resumed += zeros
        for fate in settled.indices { settled[fate] += zeros }
    }

    private static func index(_ fate: Fate) -> Int { Fate.allCases.firstIndex(of: fate)! }
}
