// The sums of a run, over all its generations: routes by their names, providers by their lanes.

public import Judging
public import Platform
public import Workers

public struct Totals {
    /// By source.
    public private(set) var sources: [SourceCounts] = []
    /// By the numbers of all routes of the run.
    public private(set) var tally = Tally(routes: 0)
    /// By route: how many events it judged.
    public private(set) var judged: [Int] = []
    /// By lane and route: how many events were admitted for it.
    public private(set) var routed: [[Int]] = []
    /// Events that an earlier run had left waiting for consent.
    public private(set) var resumed = 0
    public var inputFault: SystemFault?
    public var consent: ConsentCounts { sources.reduce(into: ConsentCounts()) { $0.add($1.consent) } }

    public init() {}

    public mutating func add(_ block: Tally, rejected: Int, heard: ConsentCounts, source: Int, of generation: Generation) {
        while sources.count <= source { sources.append(SourceCounts()) }
        sources[source].events += block.events + block.duplicates
        sources[source].rejected += rejected
        sources[source].consent.add(heard)
        tally.add(block, numbers: generation.routes)
        guard block.events > 0 else { return }
        for (route, number) in generation.routes.enumerated() {
            Totals.add(block.events + block.emitted, at: Int(number), to: &judged)
            let admitted = block[route, .admitted]
            guard admitted > 0 else { continue }
            count(admitted, of: number, to: generation.targets[route])
        }
    }

    /// An event that an earlier run had left waits for these routes.
    public mutating func resume(held routes: [UInt16]) {
        resumed += 1
        for route in routes {
            heldRoutes.insert(Int(route))
            tally.count(.held, route: route)
            Totals.add(1, at: Int(route), to: &judged)
        }
    }

    /// The routes that such events wait for, by number.
    public private(set) var heldRoutes: Set<Int> = []

    /// An event that waited has a verdict at this route; when it was admitted, these lanes got it.
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
        if index >= counts.count { counts += Array(repeating: 0, count: index + 1 - counts.count) }
        counts[index] += count
    }
}

/// What came from one source.
public struct SourceCounts: Sendable, Equatable {
    /// Valid events, duplicates too.
    public var events = 0
    /// Lines that were no valid event.
    public var rejected = 0
    public var consent = ConsentCounts()
    public init() {}
}
