// The counts of a run, summed over all its generations. Routes are summed by name, and providers by lane.

public import Judging
public import Platform
public import Workers

public struct Totals {
    /// The counts of each source.
    public private(set) var sources: [SourceCounts] = []
    /// The verdicts, by the numbers of all routes of the run.
    public private(set) var tally = Tally(routes: 0)
    /// The number of events that each route judged.
    public private(set) var judged: [Int] = []
    /// The number of events that were admitted for each lane, by lane and route.
    public private(set) var routed: [[Int]] = []
    /// The number of held events that an earlier run left.
    public private(set) var resumed = 0
    public var inputFault: SystemFault?
    public var consent: ConsentCounts { sources.reduce(into: ConsentCounts()) { $0.add($1.consent) } }

    public init() {}

    public mutating func add(_ block: Tally, rejected: Int, heard: ConsentCounts, source: Int, of generation: Generation) {
        assert(source >= 0 && rejected >= 0, "a block has no source, or rejected a negative number of lines")
        while sources.count <= source { sources.append(SourceCounts()) }
        sources[source].events += block.events + block.duplicates
        sources[source].rejected += rejected
        sources[source].consent.add(heard)
        tally.add(block, numbers: generation.routes)
        guard block.events > 0 else { return }
        for (route, number) in generation.routes.enumerated() {
            Totals.add(block.events + block.emitted, at: Int(number), to: &judged)
            let admitted = block[route, .admitted]
            assert(admitted <= block.events + block.emitted, "a route admitted more events than it judged")
            guard admitted > 0 else { continue }
            count(admitted, of: number, to: generation.targets[route])
        }
    }

    /// Counts a held event that an earlier run left and that waits for these routes.
    public mutating func resume(held routes: [UInt16]) {
        resumed += 1
        for route in routes {
            heldRoutes.insert(Int(route))
            tally.count(.held, route: route)
            Totals.add(1, at: Int(route), to: &judged)
        }
    }

    /// The numbers of the routes that such held events wait for.
    public private(set) var heldRoutes: Set<Int> = []

    /// Counts the verdict of this route on a held event. If the event was admitted, these lanes got it.
    public mutating func settle(held route: UInt16, as verdict: Verdict, targets: [Int] = []) {
        tally.settle(as: verdict, route: route)
        if case .admitted = verdict { count(1, of: route, to: targets) }
    }

    private mutating func count(_ events: Int, of route: UInt16, to targets: [Int]) {
        for target in targets {
            if target >= routed.count { routed += Array(repeating: [], count: target + 1 - routed.count) }
            Totals.add(events, at: Int(route), to: &routed[target])
        }
    }

    private static func add(_ count: Int, at index: Int, to counts: inout [Int]) {
        assert(count >= 0, "a count of the account falls")
        if index >= counts.count { counts += Array(repeating: 0, count: index + 1 - counts.count) }
        counts[index] += count
    }
}

/// The counts of one source.
public struct SourceCounts: Sendable, Equatable {
    /// The number of valid events, including duplicates.
    public var events = 0
    /// The number of lines that were not valid events.
    public var rejected = 0
    public var consent = ConsentCounts()
    public init() {}
}
