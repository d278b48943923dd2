// Runs plans, one after the other: the sources, the workers that judge their events, and a lane for each provider. This file makes the
// parts of a router, each from parts that were made before it, and has the calls that other threads make while it runs. Router+Run.swift
// has the run itself.

internal import Admission
public import Delivery
public import Erasing
internal import Generations
internal import Holding
public import Ingest
internal import Ledger
public import Plans
public import Platform
internal import Queueing
public import Tapping
public import Withdrawal

public final class Router: Sendable {
    let options: RouterOptions
    let input: RunInput
    let ending: RunEnding
    let loss: StateLoss
    let lanes: RunLanes
    let consent: RunConsent
    let receipts: BlockReceipts
    let totals: Monitor<Totals>
    let direct = DirectWork()
    /// The losses of queues that no lane has taken over.
    let discarded = Monitor<[Account.Provider]>([])
    let say: @Sendable (String) -> Void

    /// `say` gets the messages to the user, one line at a time.
    public init(_ plan: Plan, outlets: [Outlet], options: RouterOptions, say: @escaping @Sendable (String) -> Void) {
        precondition(outlets.count == plan.providers.count, "a provider of the plan has no outlet")
        let key = options.key ?? Router.randomKey()
        assert(key.count == 16, "the key of the hashes has another size")
        let totals = Monitor(Totals())
        let input = RunInput(plan, options: options)
        let ending = RunEnding(drain: options.drain, shutdown: options.shutdown, clock: options.clock)
        let loss = StateLoss(say: say) { [stop = input.stop] in Router.end(stop, ending) }
        let lanes = RunLanes(plan, outlets: outlets, options: options, key: key, input: input, loss: loss, say: say)
        consent = RunConsent(plan, options: options, lanes: lanes, totals: totals, settle: input.sequencer.settle, say: say)
        receipts = BlockReceipts(plan, options: options, key: key, input: input, say: say)
        self.options = options
        self.say = say
        self.totals = totals
        self.input = input
        self.ending = ending
        self.loss = loss
        self.lanes = lanes
    }

    private static func randomKey() -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
    }

    private static func end(_ stop: SourceStop, _ ending: RunEnding) {
        stop.raise()
        ending.beginShutdown()
    }

    var generations: GenerationRegistry { lanes.generations }
    /// Those who look at the events of the run.
    public var taps: Taps { lanes.taps }
    var deadLetters: DeadLetters { lanes.deadLetters }
    var heldStore: HeldStore? { consent.heldStore }

    // MARK: - Calls during the run

    /// The sink for the input of listeners and other sources. It is nil if the plan has only standard input.
    public var sink: (any EventSink)? { input.inbox }

    /// Withdraws consent and destroys the waiting events that depend on it. It is nil if there is no ledger.
    public var withdrawals: Withdrawals? { consent.withdrawals }

    /// Asks providers to erase what they hold of a person. It is nil if there is no ledger.
    public var erasures: Erasures? { consent.erasures }

    /// Stops reading. Events that were read are delivered within the time for draining.
    public func stopReading() { Router.end(input.stop, ending) }

    /// Ends the input, as the end of standard input does: nothing more is read, and what was read is delivered within the time for draining.
    public func endInput() { input.stop.raise() }

    /// Reports that the state folder, or a file in it that the router needs, was removed, moved away or replaced. The router takes no more
    /// events, delivers what it can within the time of a shutdown, and ends.
    public func leave(_ fault: StorageFault) { loss.report(fault) }

    /// Checks, after a change in the state folder, that all files there are still in their place.
    public func checkFiles() {
        for destination in generations.destinations { destination.lane.checkStore() }
        options.registry?.checkPlace()
        if let fault = heldStore?.checkPlace() { leave(fault) }
        if let fault = options.erasures?.checkPlace() { leave(fault) }
        deadLetters.checkPlace()
    }

    /// Stops delivering. The remaining events stay on disk or go to the dead letters.
    public func hurry() {
        input.stop.raise()
        ending.hurry()
        heldStore?.end(hurried: true)
        for destination in generations.destinations { destination.lane.giveUp(Router.hurried) }
    }

    /// Stops the lanes of these providers, which do not return from a call. They are not called again, and the other lanes go on.
    public func stop(providers names: Set<String>, for reason: String, isInDelivery: Bool) {
        for destination in generations.destinations where names.contains(destination.lane.name) {
            destination.lane.stop(for: Answer(reason), isInDelivery: isInDelivery)
        }
    }

    static let hurried = Answer("the router was told to end at once")

    /// Reopens files that were moved away.
    public func reopen() {
        for destination in generations.destinations { destination.lane.reopen() }
        deadLetters.reopen()
        options.rejects?.reopen()
    }
}
