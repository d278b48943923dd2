// A plan at work, from one reload to the next: its rules and the lanes it sends to. Every block is judged and handed over by one
// generation.

public import Delivery
public import Judging
public import Plans
internal import Platform

/// A lane with its provider's slot, in the order in which the run came by them.
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
    /// From 1.
    public let number: Int
    public let plan: Plan
    public let ruleset: Ruleset
    /// By provider of the plan.
    public let destinations: [Destination]
    /// By route of the plan: its number among all routes of the run.
    public let routes: [UInt16]
    /// By route: the destinations that its events go to, each once.
    public let targets: [[Int]]

    public init(number: Int, plan: Plan, ruleset: Ruleset, destinations: [Destination], routes: [UInt16]) {
        self.number = number
        self.plan = plan
        self.ruleset = ruleset
        self.destinations = destinations
        self.routes = routes
        targets = plan.routes.map { route in Set(route.providers).map { destinations[$0].index }.sorted() }
    }
}
