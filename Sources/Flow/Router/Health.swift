// Whether the router does what it is there for: alive, when every thread gets on and no lane has stopped; ready, when it can take
// events now.

internal import Delivery
internal import Generations
internal import Platform

public struct Health: Sendable, Equatable {
    /// Why it is not well, each in a few words; empty when it is.
    public var troubles: [String]
    public var isGood: Bool { troubles.isEmpty }
}

extension Router {
    /// How long one piece of work may take until its thread counts as stuck: less than the ten seconds within which it must show.
    static let patience = Duration.seconds(8)

    /// A thread that hangs in a call, or a lane that has stopped: only a new start helps.
    public var health: Health {
        let stuck = options.watchdog.stuck(longer: Router.patience).map { "\($0) hangs" }
        let stopped = generations.current.destinations.filter { $0.lane.status.phase == .stopped }.map {
            "lane \($0.lane.name) has stopped"
        }
        return Health(troubles: stuck + stopped)
    }

    /// Healthy, not ending, and with room for events.
    public var readiness: Health {
        var health = health
        if ending.withLock({ $0.deadline != nil }) { health.troubles.append("the router is ending") }
        let full = generations.current.destinations.filter { $0.lane.isFull }.map { "lane \($0.lane.name) is full" }
        health.troubles += full
        return health
    }
}
