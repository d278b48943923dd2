// How erasures see the providers of a run: each by the lane and the settings that the current plan gives it.

internal import Delivery
internal import Erasing
internal import Generations
internal import Plans
internal import Platform

extension ErasureTarget {
    /// Returns the provider of this name. It is nil if the plan of the generation has none.
    init?(_ name: String, in generation: Generation) {
        guard let index = generation.plan.providers.firstIndex(where: { $0.name == name }) else { return nil }
        let provider = generation.plan.providers[index]
        let destination = generation.destinations[index]
        self.init(
            plugin: provider.plugin, deadline: provider.delivery.deadline, lastDelivery: { destination.lane.lastDelivery },
            hasEnded: { destination.lane.hasEnded(upTo: $0) }, erase: { destination.slot.erase($0, $1) })
    }
}

extension Erasures {
    /// Makes the erasures of a run. Returns nil if no ledger is kept, since an erasure follows a withdrawal.
    convenience init?(_ options: RouterOptions, _ generations: GenerationRegistry, say: @escaping @Sendable (String) -> Void) {
        guard let store = options.erasures, options.registry != nil else { return nil }
        self.init(
            store, plan: { generations.current.plan },
            stored: {
                // The lane of a provider that a reload has taken out may still deliver what is in its memory.
                let draining = generations.destinations.filter { generations.isRetiring($0) && !$0.lane.isOver }
                return options.storedProviders().union(draining.map(\.lane.name))
            },
            target: { ErasureTarget($0, in: generations.current) }, clock: options.clock, say: say)
    }
}
