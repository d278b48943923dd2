// The health of the router. It is healthy if all threads make progress. It is ready if it can also take events now, every lane delivers, and
// it knows who consented. A supervisor restarts a router that is not healthy. So a lane that has stopped is not part of the health: if its
// module is broken, each restart would stop the other lanes too, and would help nothing.

internal import Audit
internal import Delivery
internal import Erasing
internal import Generations
internal import Ledger
internal import Platform
internal import Queueing

public struct Health: Sendable, Equatable {
    /// The problems, each in a few words. The list is empty if there is no problem.
    public var troubles: [String]
    /// What a person should do although the router is healthy.
    public var notes: [String] = []
    public var isGood: Bool { troubles.isEmpty }
}

extension Router {
    /// The maximum time for one piece of work; after it, the thread counts as stuck. It must show within ten seconds, so this is less.
    static let stuckAfter = Duration.seconds(8)

    /// The threads that hang in a call, against which only a restart helps. The notes name what a person should look at.
    public var health: Health {
        let stuck = options.watchdog.stuck(longer: Router.stuckAfter).map { "\($0) hangs" }
        return Health(troubles: stuck, notes: stoppedLanes + erasureNotes)
    }

    /// The lanes whose module did not return from its calls. The other lanes go on.
    private var stoppedLanes: [String] {
        generations.current.destinations.filter { $0.lane.status.phase == .stopped }.map { "lane \($0.lane.name) has stopped" }
    }

    /// The erasures that were given up. No restart helps against them, so they are no problems of the router.
    private var erasureNotes: [String] {
        guard let status = erasures?.status else { return [] }
        let unfinished = status.open.filter { $0.phase == .givenUp }.map {
            "\($0.provider): \(grouped($0.jobs)) erasures were given up; see switchyard consent erasures"
        }
        return unfinished + (status.fault.map { ["erasures: \($0)"] } ?? [])
    }

    /// The problems of `health`, an ending router, the lanes that have stopped or are full, and a ledger that is not whole.
    public var readiness: Health {
        var health = health
        health.troubles += stoppedLanes
        if ending.hasBegun { health.troubles.append("the router is ending") }
        let full = generations.current.destinations.filter { $0.lane.isFull }.map { "lane \($0.lane.name) is full" }
        health.troubles += full
        if options.registry?.damage != nil { health.troubles.append("the ledger of consent is damaged or was removed") }
        if let fault = options.audit?.fault { health.troubles.append("the audit trail cannot be written: \(fault)") }
        return health
    }
}
