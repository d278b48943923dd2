// The sums of a run, over all its generations: routes by their names, providers by their lanes.

internal import Platform
internal import Policy

struct Totals {
    /// By source.
    private(set) var sources: [SourceCounts] = []
    /// By the numbers of all routes of the run.
    private(set) var tally = Tally(routes: 0)
    /// By route: how many events it judged.
    private(set) var judged: [Int] = []
    /// By lane and route: how many events were admitted for it.
    private(set) var routed: [[Int]] = []
    var inputFault: SystemFault?

    mutating func add(_ block: Tally, rejected: Int, source: Int, of generation: Generation) {
        while sources.count <= source { sources.append(SourceCounts()) }
        sources[source].events += block.events + block.duplicates
        sources[source].rejected += rejected
        tally.add(block, numbers: generation.routes)
        guard block.events > 0 else { return }
        for (route, number) in generation.routes.enumerated() {
            Totals.add(block.events + block.emitted, at: Int(number), to: &judged)
            let admitted = block[route, .admitted]
            guard admitted > 0 else { continue }
            for target in generation.targets[route] {
                if target >= routed.count { routed += Array(repeating: [], count: target + 1 - routed.count) }
                Totals.add(admitted, at: Int(number), to: &routed[target])
            }
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
}
