// Replaces the plan of a running router. The new plan is first compared with the current one. If it changes something that cannot be
// changed in a running router, the whole plan is refused, so that no change is accepted and ignored. Unchanged providers keep their lane
// and their instance, changed ones keep their lane and get a new instance, and lanes of removed ones drain. A changed
// filter or transform of a provider applies to everything that waits, and needs no new instance. Plans change between blocks.

internal import Admission
public import Delivery
internal import Erasing
internal import Generations
internal import Holding
internal import Judging
internal import Ledger
public import Plans
internal import Platform
internal import Queueing
internal import Spool

/// The reasons why a plan cannot take over, one line for each, as messages to the user.
public struct ReloadRefusal: Error, Sendable, Equatable {
    public var lines: [String]
    public init(_ lines: [String]) { self.lines = lines }
}

/// The changes by a new plan: for each of its providers by index, and for the providers that it removes.
public struct PlanChanges: Sendable {
    public enum Change: Sendable, Equatable {
        /// The instance stays. `isTuned` is true if settings of its lane have changed.
        case kept(isTuned: Bool)
        /// It needs a new instance, which takes over its lane.
        case changed
        /// It needs a new instance and a new lane.
        case added
    }
    public var providers: [Change]
    /// The names of the providers whose lanes will drain.
    public var removed: [String]

    /// The indices of the providers that need a new instance.
    public var wanted: [Int] { providers.indices.filter { providers[$0] == .changed || providers[$0] == .added } }
}

extension Router {
    /// The maximum time for the old instance to answer for its deliveries before the new one is called.
    static let grace = Duration.seconds(5)

    /// Returns the changes that the plan would make. It changes nothing.
    public func changes(to plan: Plan) throws(ReloadRefusal) -> PlanChanges {
        let old = generations.current
        var refusals = refusals(of: plan, after: old.plan)
        var changes: [PlanChanges.Change] = []
        for provider in plan.providers {
            // A lane that has ended or stopped cannot go on, so its provider gets a new lane.
            guard let index = old.plan.providers.firstIndex(where: { $0.name == provider.name }),
                !generations.isGone(old.destinations[index])
            else {
                changes.append(.added)
                continue
            }
            let before = old.plan.providers[index]
            if let refusal = refusal(of: provider, after: before) { refusals.append(refusal) }
            if provider.isSameInstance(as: before) {
                // A lane whose events get a shape, or lose it, has other limits.
                let isReshaped = provider.shape.isEmpty != before.shape.isEmpty
                changes.append(.kept(isTuned: isReshaped || !provider.delivery.isSame(as: before.delivery)))
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
        func evidenceKey(_ plan: Plan) -> [UInt8]? { plan.consent?.evidence.map { plan.keys[$0].secret.bytes } }
        if evidenceKey(plan) != evidenceKey(old) { keys.append("consent.evidence") }
        func cipher(_ plan: Plan) -> [UInt8]? { plan.state.encrypt.map { plan.keys[$0].secret.bytes } }
        if cipher(plan) != cipher(old) { keys.append("state.encrypt") }
        // Which verdicts are kept may change. All else of the trail is settled at the start.
        func trail(_ plan: Plan) -> (AuditPlan, [[UInt8]])? {
            plan.audit.map { audit in
                var rest = audit
                (rest.verdicts, rest.key, rest.previous) = (.none, 0, [])
                return (rest, ([audit.key] + audit.previous).map { plan.keys[$0].secret.bytes })
            }
        }
        let (trailNow, trailBefore) = (trail(plan), trail(old))
        if trailNow?.0 != trailBefore?.0 || trailNow?.1 != trailBefore?.1 { keys.append("audit (all but audit.verdicts)") }
        return keys.map { "\($0) cannot be changed while the router runs; restart it" }
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
            "providers.\(provider.name).delivery.\(what) while the router runs; restart it, or give the provider another name"
    }

    /// Ends the old lanes of providers that get a new lane, so that their spools are free. These lanes still drain or have stopped. Events
    /// that are on disk stay there; the others go to the dead letters.
    public func release(_ changes: PlanChanges, of plan: Plan) {
        let current = generations.current
        let names = Set(plan.providers.indices.filter { changes.providers[$0] == .added }.map { plan.providers[$0].name })
        for destination in generations.destinations
        where names.contains(destination.lane.name) && destination.lane.isDurable && !destination.lane.isOver {
            guard generations.isRetiring(destination) || current.destinations.contains(where: { $0 === destination }) else { continue }
            destination.lane.giveUp(Answer("its provider gets a new lane"))
            destination.lane.waitForEnd()
        }
    }

    /// Closes a provider and its queue that were opened for a plan that does not take over. Damage that was found in the queue is counted
    /// now, since the next one that opens the queue finds it rebuilt.
    public func discard(_ outlet: Outlet, of provider: String) {
        outlet.provider.close()
        guard let store = outlet.store else { return }
        store.close()
        guard let loss = store.takeLoss() else { return }
        say("\(provider): \(loss.words)")
        // The remaining events wait on disk without a lane, like those of a removed provider.
        let lost = Account.Provider(name: provider, lane: LaneAccount(damaged: loss.routes), isClosed: false, isDurable: false, routed: [])
        discarded.withLock { $0.append(lost) }
    }

    /// Makes the plan judge from the next block on. `outlets` must have one for each index in `wanted`.
    public func adopt(_ plan: Plan, _ changes: PlanChanges, outlets: [Int: Outlet]) throws(ReloadRefusal) {
        assert(changes.providers.count == plan.providers.count, "the changes belong to another plan")
        assert(changes.wanted.allSatisfy { outlets[$0] != nil }, "a provider that needs a new instance has none")
        let old = generations.current
        var routes: [UInt16] = []
        for route in plan.routes {
            guard let number = lanes.names.number(of: route.name) else {
                throw ReloadRefusal(["there have been too many names of routes in this run; restart the router"])
            }
            routes.append(number)
        }
        do throws(StorageFault) {
            try erasures?.remember(plan.receivers)
        } catch {
            throw ReloadRefusal(["the providers cannot be recorded for erasures: \(error)"])
        }
        func before(_ name: String) -> Destination { old.destinations[old.plan.providers.firstIndex { $0.name == name }!] }
        let destinations = plan.providers.enumerated().map { index, provider in
            changes.providers[index] == .added ? lanes.factory.destination(index, of: plan, outlets[index]!) : before(provider.name)
        }
        let left = old.destinations.filter { destination in !destinations.contains { $0 === destination } }
        let generation = lanes.factory.generation(old.number + 1, plan: plan, destinations: destinations, routes: routes)
        lanes.factory.settle(on: generation)
        guard generations.adopt(generation, retiring: left) else { throw ReloadRefusal(["the router is ending"]) }
        heldStore?.adopt(plan)
        ending.adopt(shutdown: plan.shutdown.deadline)
        if let section = plan.consent { options.registry?.adopt(levels: section.levels.map(\.name)) }
        lanes.retention.adopt(plan)
        for (index, provider) in plan.providers.enumerated() {
            let destination = destinations[index]
            switch changes.providers[index] {
            case .kept(let isTuned):
                destination.slot.adopt(Shape(provider, of: plan))
                if isTuned { destination.lane.adopt(provider.laneDelivery, concurrency: nil, isNewProvider: false) }
            case .changed:
                let outlet = outlets[index]!
                let deadline = provider.laneDelivery.deadline
                destination.slot.change(
                    to: outlet.provider, shape: Shape(provider, of: plan),
                    within: deadline > .zero ? min(Router.grace, deadline / 2) : Router.grace)
                destination.lane.adopt(provider.laneDelivery, concurrency: outlet.concurrency, isNewProvider: true)
            case .added: destination.lane.start()
            }
        }
        if ending.isHurried { for destination in destinations { destination.lane.giveUp(Router.hurried) } }
        erasures?.hasten(Set(changes.wanted.map { plan.providers[$0].name }))
        for destination in left { retire(destination, before: generation, within: plan.shutdown.deadline) }
    }

    /// Drains the lane of a removed provider. It may take as long as the lanes of an ending router.
    private func retire(_ destination: Destination, before generation: Generation, within time: Duration) {
        let deadline = options.clock.now() + time
        Thread.start("retire \(destination.lane.name)") { [self] in
            // Blocks that the old plan has judged may still add events to this lane, and one of them may wait for space in it.
            if generations.waitForBlocks(before: generation, until: deadline, options.clock) { destination.lane.drain() }
            destination.lane.waitForEnd(until: deadline)
            guard !destination.lane.isOver else { return }
            destination.lane.giveUp(
                Answer("its provider was taken out of the configuration, and time to drain was up after \(time.configured)"))
        }.detach()
    }
}

extension ProviderPlan {
    /// Returns true if both can have the same instance.
    fileprivate func isSameInstance(as other: ProviderPlan) -> Bool {
        // The process of an isolated module enforces the deadline, and it learns the deadline when it is made.
        plugin == other.plugin && settings.bytes == other.settings.bytes && isolation == other.isolation
            && (isolation == nil || delivery.deadline == other.delivery.deadline)
    }
}

extension DeliveryPlan {
    fileprivate func isSame(as other: DeliveryPlan) -> Bool {
        batch == other.batch && queue == other.queue && retry == other.retry && breaker == other.breaker && deadline == other.deadline
            && deadLetters == other.deadLetters && abandon == other.abandon && retention == other.retention && ordered == other.ordered
    }
}
