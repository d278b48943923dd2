// The lanes of a run with what they share: the dead letters, and the generations that own them.

internal import Admission
internal import Audit
internal import ConsentGate
internal import Delivery
internal import Generations
internal import Ledger
internal import Plans
internal import Platform
internal import Queueing
internal import Spool
internal import Tapping

struct RunLanes: Sendable {
    let names: RunNames
    let deadLetters: DeadLetters
    let retention: LetterRetention
    let factory: GenerationFactory
    let generations: GenerationRegistry
    /// Those who look at the events.
    let taps: Taps

    /// Makes the lanes of the first plan. `key` is the key of the hashes of subjects.
    init(
        _ plan: Plan, outlets: [Outlet], options: RouterOptions, key: [UInt8], input: RunInput, loss: StateLoss,
        say: @escaping @Sendable (String) -> Void
    ) {
        names = options.names ?? RunNames(plan.routes.map(\.name))
        // Each block reports the time. The second check reports it too, since it needs the time even if no block comes in.
        let check = options.registry.map { [clock = options.clock] registry in
            SecondCheck(registry.records, levels: options.levels, clock: clock) { registry.note(time: clock.wall()) }
        }
        let taps = Taps(clock: options.clock) { arrival, subjects in check?.isWithdrawn(arrival: arrival, subjects: subjects) ?? false }
        self.taps = taps
        let schedule = LetterSchedule()
        deadLetters = DeadLetters(
            path: options.deadLetters, cipher: options.cipher, levels: options.levels, clock: options.clock, check: check,
            onBurial: schedule.note, taps: taps, warn: say)
        retention = LetterRetention(deadLetters, schedule: schedule, clock: options.clock, say: say)
        let openLanes = OpenLanes(stop: input.stop.wakeUp, inbox: input.inbox, say: say)
        let reporter = LaneReporter(
            deadLetters: options.deadLetters, say: say, storeGone: { [loss] in loss.report($0) }, laneClosed: openLanes.close)
        var random = RandomSource(seed: options.seed)
        factory = GenerationFactory(
            names: names, key: key, deadLetters: deadLetters, clock: options.clock, watchdog: options.watchdog, seed: random.next(),
            records: options.registry?.records, check: check, levels: options.levels,
            verdictKey: options.audit?.keys.hashing, taps: taps
        ) { [audit = options.audit] lane, news in
            if case .damaged(let loss) = news, let audit { audit.note(.damage("\(lane.name): \(loss.words)", at: audit.now)) }
            reporter.tell(lane, news)
        }
        let factory = factory
        let destinations = plan.providers.indices.map { factory.destination($0, of: plan, outlets[$0]) }
        // `names` gives the routes of the first plan these numbers.
        let first = factory.generation(1, plan: plan, destinations: destinations, routes: plan.routes.indices.map { UInt16($0) })
        factory.settle(on: first)
        generations = GenerationRegistry(first, openLanes: openLanes)
    }
}
