// A generation is what runs under one plan, from one reload to the next: its rules and the lanes that it sends to. A single generation
// judges a block and hands it over.

public import Delivery
public import Judging
public import Plans
internal import Platform
internal import Queueing

/// A lane with the slot of its provider. The index counts all destinations of the run, in the order of their creation.
public final class Destination: Sendable {
    public let index: Int
    public let lane: Lane
    public let slot: ProviderSlot

    public init(index: Int, lane: Lane, slot: ProviderSlot) {
        self.index = index
        self.lane = lane
        self.slot = slot
    }
}

public final class Generation: Sendable {
    /// The number of the generation, counted from 1.
    public let number: Int
    public let plan: Plan
    public let ruleset: Ruleset
    /// The destinations, by provider of the plan.
    public let destinations: [Destination]
    /// The number of each route of the plan among all routes of the run.
    public let routes: [UInt16]
    /// The indices of the destinations that get the events of a route, by route. Each index occurs once.
    public let targets: [[Int]]

    public init(number: Int, plan: Plan, ruleset: Ruleset, destinations: [Destination], routes: [UInt16]) {
        self.number = number
        self.plan = plan
        self.ruleset = ruleset
        self.destinations = destinations
        self.routes = routes
        assert(destinations.count == plan.providers.count, "a provider of the plan has no lane")
        assert(routes.count == plan.routes.count, "a route of the plan has no number")
        targets = plan.routes.map { route in Set(route.providers).map { destinations[$0].index }.sorted() }
    }

    /// Keeps the events that the tracking plan rejects as dead letters of their providers. The log names the rule alone, since the place can
    /// have a key of the event. Returns the number of events that could not be kept.
    @discardableResult
    public func keep(rejected: [RejectedEvents]) -> Int {
        rejected.reduce(0) { lost, events in
            var answer = Answer(events.reason)
            answer.shown = "violates the tracking plan (\(events.rule))"
            return lost + destinations[events.provider].lane.keep(rejected: events.take(), answer)
        }
    }
}
