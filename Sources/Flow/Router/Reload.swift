// Another plan for a router that runs. It is held against the current one first; what cannot be changed while it runs refuses the
// whole of it, so that nothing is accepted and ignored. Kept providers keep their lane and all that is theirs, changed ones hand
// their lane to a new instance, those that left drain. The plans change between two blocks.

internal import Admission
internal import Configuration
public import Delivery
internal import Generations
internal import Holding
internal import Ledger
public import Plans
internal import Platform
internal import Spool

/// Why a plan cannot take over: one line for each reason, for a person.
public struct ReloadRefusal: Error, Sendable, Equatable {
    public var lines: [String]
    public init(_ lines: [String]) { self.lines = lines }
}

/// What a new plan means for its providers, by index, and for those that it leaves out.
public struct PlanChanges: Sendable {
    public enum Change: Sendable, Equatable {
        /// Nothing of it has changed, or only what its lane goes by.
        case kept(isTuned: Bool)
        /// It wants another instance, which takes over its lane.
        case changed
        /// It wants an instance and a lane of its own.
        case added
    }
    public var providers: [Change]
    /// Names of providers whose lanes are to drain.
    public var removed: [String]

    /// The indices of those that an instance is to be made for.
    public var wanted: [Int] { providers.indices.filter { providers[$0] == .changed || providers[$0] == .added } }
}

extension Router {
    /// How long the instance that leaves may take to answer for what it holds, before the new one is called.
    static let grace = Duration.seconds(5)

    /// What the plan would change. Nothing is changed yet.
    public func changes(to plan: Plan) throws(ReloadRefusal) -> PlanChanges {
        let old = generations.current
        var refusals = refusals(of: plan, after: old.plan)
        var changes: [PlanChanges.Change] = []
        for provider in plan.providers {
            // A lane that has ended, or stopped, cannot go on: its provider begins anew.
            guard let index = old.plan.providers.firstIndex(where: { $0.name == provider.name }),
                !generations.isGone(old.destinations[index])
            else {
                changes.append(.added)
                continue
            }
            let before = old.plan.providers[index]
            if let refusal = refusal(of: provider, after: before) { refusals.append(refusal) }
            if provider.isSameInstance(as: before) {
                changes.append(.kept(isTuned: !provider.delivery.isSame(as: before.delivery)))
            } else {
                changes.append(.changed)
            }
        }
        guard refusals.isEmpty else { throw ReloadRefusal(refusals) }
        let names = Set(plan.providers.map(\.name))
        return PlanChanges(providers: changes, removed: old.plan.providers.map(\.name).filter { !names.contains($0) })
    }

    private func refusals(of plan: Plan, after old: Plan) -> [String] {
        var keys: [String] = []
        if plan.limits.line != old.limits.line { keys.append("limits.line") }
        if plan.limits.disk != old.limits.disk { keys.append("limits.disk") }
        if plan.limits.diskFree != old.limits.diskFree { keys.append("limits.disk_free") }
        if plan.admin != old.admin { keys.append("admin") }
        if plan.sources != old.sources { keys.append("sources") }
        if plan.messageID.deduplicate != old.messageID.deduplicate { keys.append("message_id.deduplicate") }
        func ledgerKeys(_ plan: Plan) -> [[UInt8]]? {
            plan.consent?.ledger.map { ledger in ([ledger.key] + ledger.previous).map { plan.keys[$0].secret.bytes } }
        }
        if ledgerKeys(plan) != ledgerKeys(old) { keys.append("consent.ledger") }
        func cipher(_ plan: Plan) -> [UInt8]? { plan.state.encrypt.map { plan.keys[$0].secret.bytes } }
        if cipher(plan) != cipher(old) { keys.append("state.encrypt") }
        return keys.map { "\($0) cannot be changed while the router runs; end it and start it anew" }
    }

    private func refusal(of provider: ProviderPlan, after old: ProviderPlan) -> String? {
        let (queue, before) = (provider.delivery.queue, old.delivery.queue)
        let what: String
        if (queue.disk == nil) != (before.disk == nil) {
            what = "queue.disk cannot be \(queue.disk == nil ? "taken from" : "given to") a provider"
        } else if queue.disk != nil, queue.durability != before.durability {
            what = "queue.durability cannot be changed"
        } else {
            return nil
        }
        return
            "providers.\(provider.name).delivery.\(what) while the router runs; end it and start it anew, or give the provider another name"
    }

    /// Ends lanes at once that still drain, or have stopped, under the names of providers that get a lane anew, so that their spools
    /// are free. What they held stays on disk, where it was kept there, or goes to the dead letters.
    public func release(_ changes: PlanChanges, of plan: Plan) {
        let current = generations.current
        let names = Set(plan.providers.indices.filter { changes.providers[$0] == .added }.map { plan.providers[$0].name })
        for destination in generations.destinations
        where names.contains(destination.lane.name) && destination.lane.isDurable && !destination.lane.isOver {
            guard generations.isRetiring(destination) || current.destinations.contains(where: { $0 === destination }) else { continue }
            destination.lane.giveUp(Answer("its provider begins anew"))
            destination.lane.waitForEnd()
        }
    }

    /// Closes what was opened for a plan that does not take over. What of a queue turned out to be damaged counts all the same: who opens it
    /// again finds it rebuilt.
    public func discard(_ outlet: Outlet, of provider: String) {
        outlet.provider.close()
        guard let store = outlet.store else { return }
        store.close()
        guard let loss = store.takeLoss() else { return }
        say("\(provider): \(loss.words)")
        // What is left of it waits without a lane, as that of a provider that is gone.
        let lost = Account.Provider(name: provider, lane: LaneAccount(damaged: loss.routes), isClosed: false, isDurable: false, routed: [])
        discarded.withLock { $0.append(lost) }
    }

    /// From the next block on the plan judges. `outlets` has one for each index that is `wanted`.
    public func adopt(_ plan: Plan, _ changes: PlanChanges, outlets: [Int: Outlet]) throws(ReloadRefusal) {
        let old = generations.current
        var routes: [UInt16] = []
        for route in plan.routes {
            guard let number = names.number(of: route.name) else {
                throw ReloadRefusal(["there have been too many names of routes in this run; end the router and start it anew"])
            }
            routes.append(number)
        }
        func before(_ name: String) -> Destination { old.destinations[old.plan.providers.firstIndex { $0.name == name }!] }
        let destinations = plan.providers.enumerated().map { index, provider in
            changes.providers[index] == .added ? factory.destination(provider, outlets[index]!) : before(provider.name)
        }
        let left = old.destinations.filter { destination in !destinations.contains { $0 === destination } }
        let generation = factory.generation(old.number + 1, plan, destinations, routes: routes)
        factory.settle(on: generation)
        guard generations.adopt(generation, retiring: left) else { throw ReloadRefusal(["the router is ending"]) }
        heldStore?.adopt(plan)
        ending.withLock { $0.shutdown = plan.shutdown.deadline }
        if let section = plan.consent { options.registry?.adopt(levels: section.levels.map(\.name)) }
        letterRetention.adopt(plan)
        activity.adopt(destinations.map(\.lane))
        for (index, provider) in plan.providers.enumerated() {
            let destination = destinations[index]
            switch changes.providers[index] {
            case .kept(let isTuned):
                if isTuned { destination.lane.adopt(provider.delivery, concurrency: nil, isNewProvider: false) }
            case .changed:
                let outlet = outlets[index]!
                let deadline = provider.delivery.deadline
                destination.slot.change(to: outlet.provider, within: deadline > .zero ? min(Router.grace, deadline / 2) : Router.grace)
                destination.lane.adopt(provider.delivery, concurrency: outlet.concurrency, isNewProvider: true)
            case .added: destination.lane.start()
            }
        }
        if ending.withLock({ $0.isHurried }) { for destination in destinations { destination.lane.giveUp(Router.hurried) } }
        for destination in left { retire(destination, before: generation, within: plan.shutdown.deadline) }
    }

    /// The lane of a provider that has left: it delivers what it has, for as long as a router that ends would.
    private func retire(_ destination: Destination, before generation: Generation, within time: Duration) {
        let deadline = options.clock.now() + time
        Thread.start("retire \(destination.lane.name)") { [self] in
            // Blocks that were judged by the old plan may still bring it events; one of them may wait for room in this very lane.
            if generations.waitForBlocks(before: generation, until: deadline, options.clock) { destination.lane.drain() }
            destination.lane.waitForEnd(until: deadline)
            guard !destination.lane.isOver else { return }
            destination.lane.giveUp(
                Answer("its provider was taken out of the configuration, and time to drain was up after \(time.configured)"))
        }.detach()
    }
}

extension ProviderPlan {
    /// Whether an instance of the one is as good as one of the other.
    fileprivate func isSameInstance(as other: ProviderPlan) -> Bool {
        plugin == other.plugin && settings.bytes == other.settings.bytes && isolation == other.isolation
    }
}

extension DeliveryPlan {
    fileprivate func isSame(as other: DeliveryPlan) -> Bool {
        batch == other.batch && queue == other.queue && retry == other.retry && breaker == other.breaker && deadline == other.deadline
            && deadLetters == other.deadLetters && abandon == other.abandon && retention == other.retention && ordered == other.ordered
    }
}
