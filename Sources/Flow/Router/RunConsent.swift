// What a run does about consent besides its gate: it stores held events, carries out withdrawals, asks providers to erase, and writes the
// statements of events to the ledger. Without a ledger it does none of this.

internal import Delivery
internal import Erasing
internal import Generations
internal import Holding
internal import Ledger
internal import Plans
internal import Platform
internal import Statements
internal import Tapping
internal import Withdrawal

struct RunConsent: Sendable {
    /// It is nil if no event can be held.
    let heldStore: HeldStore?
    /// Withdraws consent and destroys the waiting events that depend on it. It is nil if there is no ledger.
    let withdrawals: Withdrawals?
    /// Writes the decisions and ties that events carry to the ledger. It is nil if there is no ledger.
    let writer: ConsentWriter?
    let reporter: ConsentReporter
    /// Asks providers to erase. It is nil if there is no ledger.
    let erasures: Erasures?

    /// `settle` waits until all blocks that were read have been handed over.
    init(
        _ plan: Plan, options: RouterOptions, lanes: RunLanes, totals: Monitor<Totals>, settle: @escaping @Sendable () -> Void,
        say: @escaping @Sendable (String) -> Void
    ) {
        reporter = ConsentReporter(say: say)
        erasures = Erasures(options, lanes.generations, say: say)
        guard let registry = options.registry else {
            (heldStore, withdrawals, writer) = (nil, nil, nil)
            return
        }
        let generations = lanes.generations
        let heldStore = options.held.map { place in
            HeldStore(
                place, registry: registry, generations: generations, totals: totals, names: lanes.names, sources: plan.sources,
                clock: options.clock, audit: options.audit, say: say)
        }
        let withdrawals = lanes.factory.check.map { check in
            Withdrawals(
                registry, check: check, deadLetters: lanes.deadLetters, names: lanes.names,
                lanes: { generations.destinations.map(\.lane) }, heldStore: heldStore, strays: options.strays, settle: settle,
                forget: { [taps = lanes.taps] in taps.forgetWithdrawn() }, clock: options.clock, say: say)
        }
        writer = ConsentWriter(
            registry, destroy: { receipts in withdrawals?.adopt(receipts) },
            erase: { [erasures] (asked) throws(StorageFault) in
                try erasures?.begin(
                    asked.map {
                        ErasureDemand(
                            ids: $0.ids.map { NamedID($0) }, receipts: $0.receipts, outOfReach: $0.outOfReach, origin: $0.origin)
                    })
            }, say: say)
        self.heldStore = heldStore
        self.withdrawals = withdrawals
    }
}
