// Runs plans, one after the other: the sources, the workers that judge their events, and a lane for each provider. The run ends when the
// input ends, when it is stopped, or when no lane is left; and its account balances. If there are sources other than standard input, the
// end of standard input does not end the run.

public import Admission
internal import ConsentGate
public import Delivery
internal import Events
internal import Generations
public import Holding
public import Ingest
internal import Judging
public import Ledger
public import Plans
public import Platform
public import Spool
internal import Statements
public import Withdrawal
internal import Workers

public struct RouterOptions: Sendable {
    public var workers = 1
    /// The descriptor from which events are read.
    public var input: Int32 = 0
    /// The maximum time in which lanes deliver their remaining events after the end of the input.
    public var drain = Duration.seconds(30)
    /// The same time after the router was told to end.
    public var shutdown = Duration.seconds(10)
    /// True if messages about invalid lines quote them.
    public var showInput = false
    public var rejects: Rejects?
    public var deadLetters: String
    /// The cipher for dead letters. It is nil if they are not encrypted.
    public var cipher: Cipher?
    /// The numbers of all routes, including those in the stores. It is nil if only the plan's routes are known.
    public var names: RunNames?
    /// The key, of sixteen bytes, for the hashes of subjects and message ids. It is nil if a random key for this run is enough.
    public var key: [UInt8]?
    /// The names of all levels, including those in the stores.
    public var levels = RunNames()
    /// The decisions on record, under that key. It is nil if there is no ledger.
    public var registry: Registry?
    /// The place where held events are stored. It is nil if no event can be held; then events that would be held are denied.
    public var held: HeldPlace?
    /// The path of the file that keeps recent message ids. It is nil if they are not kept; otherwise `key` must not be nil.
    public var seen: String?
    /// The descriptor to which safe lines of standard input are acknowledged. It is nil if none are.
    public var acks: Int32?
    public var clock = Clock.system
    /// The record of how long each thread has been busy.
    public var watchdog = Watchdog()
    /// The seed of the jitter between retries.
    public var seed: UInt64 = 0
    public var blockSize = 256 << 10
    /// The limits for waiting input, if there are sources other than standard input.
    public var inbox = Inbox.Limits()
    public init(deadLetters: String) { self.deadLetters = deadLetters }
}

public final class Router: Sendable {
    private let seen: SeenIDs?
    private let seenFile: SeenFile?
    private let sequencer: Sequencer<Inflow>
    private let stop: WakeUp
    private let inbox: Inbox?
    private let acks: AckWriter?
    private let watermark = Watermark()
    let heldStore: HeldStore?
    /// Withdraws consent and destroys the waiting events that depend on it. It is nil if there is no ledger.
    public let withdrawals: Withdrawals?
    /// Writes the decisions and ties that events carry to the ledger. It is nil if there is no ledger.
    private let consentWriter: ConsentWriter?
    private let totals = Monitor(Totals())
    /// The losses of queues that no lane has taken over.
    let discarded = Monitor<[Account.Provider]>([])
    private let gone: StateLoss
    private let consentReporter: ConsentReporter
    let letterRetention: LetterRetention
    /// The sources and the limit of a line. They are the same in all plans of the run.
    private let sources: [SourcePlan]
    private let lineLimit: Int

    let options: RouterOptions
    let generations: GenerationRegistry
    let activity: SourceActivity
    let deadLetters: DeadLetters
    let names: RunNames
    let ending: Monitor<Ending>
    let factory: GenerationFactory
    let say: @Sendable (String) -> Void

    /// The state of the end of the run.
    struct Ending {
        /// The maximum time for draining after the router was told to end, from the current plan.
        var shutdown: Duration
        /// The end of draining. It is nil if the run is not ending.
        var deadline: Instant?
        /// The time from the beginning of draining to `deadline`.
        var time = Duration.zero
        var isHurried = false
        var isOver = false
    }

    /// `say` gets the messages to the user, one line at a time.
    public init(_ plan: Plan, outlets: [Outlet], options: RouterOptions, say: @escaping @Sendable (String) -> Void) {
        precondition(outlets.count == plan.providers.count)
        let stop: WakeUp
        do throws(SystemFault) {
            stop = try WakeUp()
        } catch {
            // A router is made only once, before it has taken any event.
            fatalError("a router cannot be made: \(error)")
        }
        let deadLetters = DeadLetters(
            path: options.deadLetters, cipher: options.cipher, levels: options.levels, clock: options.clock, warn: say)
        let gone = StateLoss(say: say)
        self.gone = gone
        let names = options.names ?? RunNames(plan.routes.map(\.name))
        let activity = SourceActivity()
        let onPause: @Sendable (Bool) -> Void = { isPaused in isPaused ? activity.waitBegins() : activity.waitEnds() }
        let inbox = plan.readsOnlyInput ? nil : Inbox(limits: options.inbox, clock: options.clock, onPause: onPause)
        let sequencer = Sequencer(inbox.map { Inflow($0) } ?? Inflow(Router.reader(plan, options: options, stop: stop, onPause: onPause)))
        let openLanes = OpenLanes(stop: stop, inbox: inbox)
        let reporter = LaneReporter(
            deadLetters: options.deadLetters, say: say, storeGone: { [gone] in gone.tell($0) }, laneClosed: openLanes.close)
        var random = RandomSource(seed: options.seed)
        var system = SystemRandomNumberGenerator()
        let key = options.key ?? (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
        let factory = GenerationFactory(
            names: names, key: key, deadLetters: deadLetters, clock: options.clock, watchdog: options.watchdog, seed: random.next(),
            records: options.registry?.records, levels: options.levels,
            // Each block reports the time. The second check reports it too, since it needs the time even if no block comes in.
            look: { [registry = options.registry, clock = options.clock] in registry?.note(time: clock.wall()) }, news: reporter.tell)
        let destinations = plan.providers.indices.map { factory.destination(plan.providers[$0], outlets[$0]) }
        // `names` gives the routes of the first plan these numbers.
        let first = factory.generation(1, plan: plan, destinations: destinations, routes: plan.routes.indices.map { UInt16($0) })
        factory.settle(on: first)
        let generations = GenerationRegistry(first, openLanes: openLanes)
        activity.adopt(destinations.map(\.lane))
        let totals = totals
        let heldStore = options.held.flatMap { place in
            options.registry.map {
                HeldStore(
                    place, registry: $0, generations: generations, totals: totals, names: names, sources: plan.sources,
                    clock: options.clock,
                    say: say)
            }
        }
        let withdrawals = Router.withdrawals(
            options, factory: factory, generations: generations, names: names, deadLetters: deadLetters, heldStore: heldStore,
            settle: sequencer.settle, say: say)
        self.activity = activity
        self.inbox = inbox
        self.sequencer = sequencer
        self.factory = factory
        self.generations = generations
        self.heldStore = heldStore
        self.withdrawals = withdrawals
        self.options = options
        self.stop = stop
        self.deadLetters = deadLetters
        self.say = say
        consentReporter = ConsentReporter(say: say)
        letterRetention = LetterRetention(deadLetters, clock: options.clock, say: say)
        self.names = names
        consentWriter = options.registry.map { registry in
            ConsentWriter(registry, destroy: { receipts in withdrawals?.adopt(receipts) }, say: say)
        }
        sources = plan.sources
        lineLimit = plan.limits.line
        ending = Monitor(Ending(shutdown: options.shutdown))
        acks = options.acks.map { AckWriter($0, say: say) }
        seen = plan.messageID.deduplicate.map { SeenIDs($0, key: key) }
        seenFile = plan.messageID.deduplicate.flatMap { plan in options.seen.map { SeenFile($0, most: plan.most, say: say) } }
        if let seenFile { seen?.recall(seenFile.recall()) }
        gone.onFirst { [weak self] in self?.stopReading() }
    }

    private static func reader(
        _ plan: Plan, options: RouterOptions, stop: WakeUp, onPause: @escaping @Sendable (Bool) -> Void = { _ in }
    ) -> LineReader {
        LineReader(
            descriptor: options.input, lineLimit: plan.limits.line, blockSize: options.blockSize, stop: stop, onPause: onPause)
    }

    // MARK: - Calls during the run

    /// The sink for the input of listeners and other sources. It is nil if the plan has only standard input.
    public var sink: (any EventSink)? { inbox }

    private static func withdrawals(
        _ options: RouterOptions, factory: GenerationFactory, generations: GenerationRegistry, names: RunNames,
        deadLetters: DeadLetters, heldStore: HeldStore?, settle: @escaping @Sendable () -> Void, say: @escaping @Sendable (String) -> Void
    ) -> Withdrawals? {
        guard let registry = options.registry, let check = factory.check else { return nil }
        deadLetters.guarded(by: check)
        return Withdrawals(
            registry, check: check, deadLetters: deadLetters, names: names, lanes: { generations.destinations.map(\.lane) },
            heldStore: heldStore, settle: settle, clock: options.clock, say: say)
    }

    /// Stops reading. Events that were read are delivered within the time for draining.
    public func stopReading() {
        stopSources()
        beginEnding(within: ending.withLock { $0.shutdown })
    }

    /// Reports that the state folder, or a file in it that the router needs, was removed, moved away or replaced. The router takes no more
    /// events, delivers what it can within the time of a shutdown, and ends.
    public func leave(_ fault: StorageFault) { gone.tell(fault) }

    /// Checks, after a change in the state folder, that all files there are still in their place.
    public func checkFiles() {
        for destination in generations.destinations { destination.lane.checkStore() }
        options.registry?.checkPlace()
        if let fault = heldStore?.checkPlace() { leave(fault) }
        deadLetters.checkPlace()
    }

    /// Stops delivering. The remaining events stay on disk or go to the dead letters.
    public func hurry() {
        stopSources()
        ending.withLock { $0.isHurried = true }
        heldStore?.end(hurried: true)
        for destination in generations.destinations { destination.lane.giveUp(Router.hurried) }
    }

    /// Stops the lanes of these providers, which do not return from a call. They are not called again, and the other lanes go on.
    public func stop(providers names: Set<String>, for reason: String, isInDelivery: Bool) {
        for destination in generations.destinations where names.contains(destination.lane.name) {
            destination.lane.stop(for: Answer(reason), isInDelivery: isInDelivery)
        }
    }

    private func stopSources() {
        stop.raise()
        inbox?.close()
    }

    static let hurried = Answer("the router was told to end at once")

    /// Reopens files that were moved away.
    public func reopen() {
        for destination in generations.destinations { destination.lane.reopen() }
        deadLetters.reopen()
        options.rejects?.reopen()
    }

    // MARK: - The run

    /// Runs to the end. Returns the account of the run.
    public func run() -> Account {
        if let registry = options.registry {
            registry.watch { [consentReporter, gone] news in
                consentReporter.tell(news)
                if case .damaged(let fault) = news, fault.kind == .removed { gone.tell(fault) }
            }
            registry.note(time: options.clock.wall())
        }
        deadLetters.begin()
        letterRetention.adopt(generations.current.plan)
        for destination in generations.destinations { destination.lane.start() }
        heldStore?.resume()
        do throws(StorageFault) {
            try withdrawals?.resume()
        } catch {
            say("withdrawals of an earlier run cannot be continued: \(error)")
        }
        let faults = sources.map {
            FaultLog(source: $0.name, showInput: options.showInput, rejects: options.rejects, say: say)
        }
        // One worker at a time, in turn, uses the logs. When they are read here, the threads of the workers have ended.
        nonisolated(unsafe) let logs = faults
        let sideThreads = startSources()
        let holding = heldStore.map { store in ThreadHandle(Thread.start("held events") { store.work() }) }
        let helpers = (1..<max(1, options.workers)).map { number in
            ThreadHandle(Thread.start("worker \(number)") { self.work(logs, self.options.watchdog.heartbeat("worker \(number)")) })
        }
        work(logs, options.watchdog.heartbeat("worker 0"))
        for helper in helpers + sideThreads { helper.join() }
        heldStore?.end(hurried: false)
        holding?.join()
        endLanes()
        tellUnkept()
        heldStore?.close()
        letterRetention.end()
        deadLetters.end()
        acks?.close(by: options.clock.now() + .seconds(1), options.clock)
        for log in faults { log.sumUp() }
        let account = account(faults)
        if let fault = account.inputFault { say("\(inputName): the input could not be read: \(fault)") }
        return account
    }

    /// Starts the threads that feed the inbox, if there are sources other than standard input.
    private func startSources() -> [ThreadHandle] {
        guard let inbox else { return [] }
        var threads = [ThreadHandle(Thread.start("inbox") { inbox.keepWatch() })]
        guard let source = inputSource else { return threads }
        inbox.join()
        let feeder = Feeder(inbox: inbox, source: source) { [self] in note(end: $0) }
        let plan = generations.current.plan
        threads.append(
            ThreadHandle(Thread.start("input") { [options, stop] in feeder.run(Router.reader(plan, options: options, stop: stop)) }))
        return threads
    }

    /// The index of the source that is standard input. It is nil if there is none.
    private var inputSource: Int? { sources.firstIndex { $0.isInput } }
    private var inputName: String { inputSource.map { sources[$0].name } ?? "stdin" }

    /// Handles the last intake of standard input.
    private func note(end intake: Intake) {
        switch intake {
        // If no lane is left, an unfinished line does not matter.
        case .stopped(let unfinished) where unfinished > 0 && !generations.destinations.allSatisfy(\.lane.isClosedByProvider):
            say("\(inputName): an unfinished line of \(grouped(unfinished)) bytes was dropped")
        case .failed(let fault): totals.withLock { $0.inputFault = fault }
        case .stopped, .end, .lines, .overlong: break
        }
    }

    /// Reports the events that a gone destination did not take, since they are not kept as dead letters.
    private func tellUnkept() {
        for lane in generations.destinations.map(\.lane) {
            let count = lane.account.unkept
            guard count > 0 else { continue }
            let what =
                count == 1
                ? "an event was left when its destination went away; it is not kept as a dead letter"
                : "\(grouped(count)) events were left when its destination went away; they are not kept as dead letters"
            say("\(lane.name): \(what) (queue.disk would keep such events)")
        }
    }

    private func account(_ logs: [FaultLog]) -> Account {
        let total = totals.withLock { $0 }
        let rejected = logs.reduce(0) { $0 + $1.count }
        let letters = deadLetters.damage
        return Account(
            received: total.tally.events + total.tally.duplicates + rejected, rejected: rejected,
            unkeptRejects: logs.reduce(0) { $0 + $1.unkept },
            inputFault: total.inputFault, stateFault: gone.fault, lettersAreDamaged: letters.isFound, damagedLetters: letters.lost,
            consent: total.consent,
            routes: names.all, ownRoutes: Set(generations.routes.map(Int.init) + total.heldRoutes).sorted(), verdicts: total.tally,
            judged: total.judged,
            held: heldStore?.status ?? HeldStatus(),
            providers: generations.destinations.map { destination in
                .init(
                    name: destination.lane.name, lane: destination.lane.account, isClosed: destination.lane.isClosedByProvider,
                    isDurable: destination.lane.isDurable,
                    routed: destination.index < total.routed.count ? total.routed[destination.index] : [])
            } + discarded.withLock { $0 })
    }

    /// The sums of the run so far: the input and the verdicts on it.
    var sums: Totals { totals.withLock { $0 } }
    /// The inbox. It is nil if standard input is the only source.
    var entrance: Inbox? { inbox }
    var sourceNames: [String] { sources.map(\.name) }

    private func work(_ logs: [FaultLog], _ heartbeat: Watchdog.Heartbeat) {
        var known = generations.current
        var worker = Worker(
            known.ruleset, lineLimit: lineLimit, depth: known.plan.limits.depth, blockSize: options.blockSize, seen: seen)
        while true {
            // The plan for a block is chosen in the same turn in which the block is read, so that plans change between two blocks.
            let ((intake, generation), turn) = sequencer.read { source in
                let intake = source.next(&worker.block, &worker.portions)
                return (intake, generations.enter())
            }
            if generation !== known {
                worker.adopt(generation.ruleset, depth: generation.plan.limits.depth)
                known = generation
            }
            switch intake {
            case .lines:
                worker.block.arrival = options.clock.wall()
                options.registry?.note(time: worker.block.arrival)
                consentWriter?.prepare(&worker, generation.ruleset)
                heartbeat.begin()
                worker.work()
                heartbeat.end()
            case .overlong(let bytes): worker.skipLine(bytes: bytes)
            case .stopped: beginEnding(within: ending.withLock { $0.shutdown })
            case .end, .failed: beginEnding()
            }
            sequencer.pass(turn) {
                let isWritten = consentWriter?.settle(&worker, generation.ruleset, source: sources[worker.block.source].name) ?? true
                if isWritten || worker.portions.isEmpty {
                    handOver(&worker, generation: generation, logs: logs, isWritten: isWritten)
                } else {
                    giveBack(worker)
                }
            }
            generations.leave(generation)
            worker.reset()
            switch intake {
            case .lines, .overlong: continue
            case .failed, .end, .stopped: return note(end: intake)
            }
        }
    }

    /// Hands the worker's parcels to the lanes and updates the account. It runs in the worker's turn.
    private func handOver(_ worker: inout Worker, generation: Generation, logs: [FaultLog], isWritten: Bool) {
        if worker.judge.held.count > 0 { hold(&worker, generation) }
        // A copy of the pointer is needed: an inout access through a pointer in a noncopyable value does not compile under the thread
        // sanitizer.
        let parcels = worker.parcels
        let receipt = receipt(for: worker, isWritten)
        for (index, destination) in generation.destinations.enumerated() {
            let own = parcels[index].isEmpty ? nil : receipt
            own?.add()
            guard !destination.lane.take(&parcels[index], own) else { continue }
            activity.waitBegins()
            destination.lane.waitAndTake(&parcels[index], own)
            activity.waitEnds()
        }
        totals.withLock { totals in
            totals.add(worker.tally, rejected: worker.faults.count, heard: worker.heard, source: worker.block.source, of: generation)
        }
        consentReporter.tell(broken: worker.takeBrokenSignals())
        // Report the faults before the submissions are answered.
        logs[worker.block.source].note(worker.faults, lines: worker.lines, in: worker.block)
        receipt?.settle()
    }

    /// Stores the events that must wait for consent, and denies those that cannot be stored. It runs in the worker's turn.
    private func hold(_ worker: inout Worker, _ generation: Generation) {
        let denied =
            heldStore?.take(worker.judge.held, generation, source: worker.block.source, key: worker.block.key)
            ?? (0..<worker.judge.held.count).map { ($0, .unstored) }
        if let fault = heldStore?.status.gone { leave(fault) }
        for (event, denial) in denied {
            for route in worker.judge.held.routes(event) { worker.tally.settle(as: .denied(denial), route: UInt16(route)) }
        }
    }

    /// Gives back a block whose decisions the ledger could not store. Its senders must send it again, and its ids do not count as seen.
    private func giveBack(_ worker: borrowing Worker) {
        worker.removeParcels()
        seen?.forget(worker.sightings)
        for portion in worker.portions { portion.answer(.overloaded(retryAfter: options.inbox.pause)) }
    }

    /// Returns the receipt of a block, which is settled when everything that came of the block is safe. It returns nil if nobody waits for
    /// it. If the ledger could not store the decisions of the block, neither this block nor a later one is acknowledged.
    private func receipt(for worker: borrowing Worker, _ isWritten: Bool) -> Receipt? {
        let entered = worker.block.source == inputSource ? acks?.next(lines: worker.lines) : nil
        guard isWritten else { return nil }
        let acknowledge = entered
        let answer = Answers.make(worker.portions, worker.faults)
        let sightings = worker.sightings
        // If duplicates are dropped, a block alone does not say that it is safe: the original may still be on its way in another block.
        let block = seen == nil || inbox == nil ? nil : watermark.enter()
        guard acknowledge != nil || answer != nil || block != nil || seenFile != nil && !sightings.isEmpty else { return nil }
        let hasDuplicates = worker.tally.duplicates > 0
        return Receipt { [seenFile, watermark] in
            // An id is stored for the next run only when its event is safe. Otherwise, after a crash, the event could be lost: the next run
            // would drop it as a duplicate.
            seenFile?.append(sightings)
            acknowledge?()
            guard let block, hasDuplicates else {
                answer?()
                if let block { watermark.settle(block) }
                return
            }
            watermark.settle(block, then: answer)
        }
    }

    /// Begins the end of the run. The lanes get that time to drain, or the time of the options; then they are given up, even if a worker
    /// still waits for space in one of them.
    private func beginEnding(within time: Duration? = nil) {
        let time = time ?? options.drain
        let deadline = options.clock.now() + time
        let isFirst = ending.withLock { ending in
            defer {
                // A second call while the lanes drain can only shorten the time.
                if ending.deadline.map({ deadline < $0 }) ?? true { (ending.deadline, ending.time) = (deadline, time) }
            }
            return ending.deadline == nil
        }
        guard isFirst else { return ending.wake() }
        Thread.start("drain") { [self] in
            let time = ending.waitUntilReady { ending -> Readiness<Duration?> in
                guard !ending.isOver, let deadline = ending.deadline else { return .ready(nil) }
                return options.clock.now() >= deadline ? .ready(ending.time) : .notBefore(deadline)
            }
            guard let time else { return }
            heldStore?.end(hurried: true)
            for lane in generations.destinations.map(\.lane) where !lane.isOver {
                lane.giveUp(Answer("time to drain was up after \(time.configured)"))
            }
        }.detach()
    }

    private func endLanes() {
        beginEnding()
        generations.end()
        let lanes = generations.destinations.map(\.lane)
        for lane in lanes { lane.drain() }
        for lane in lanes { lane.waitForEnd() }
        ending.withLock { $0.isOver = true }
        ending.wake()
        // A provider that is stuck cannot be closed. The others get a moment to close.
        let moment = options.clock.now() + .seconds(1)
        for lane in lanes { lane.waitForClose(until: moment) }
    }
}

/// Keeps a thread that is joined later.
private final class ThreadHandle {
    private var thread: Thread?
    init(_ thread: consuming Thread) { self.thread = consume thread }
    func join() { thread.take()?.join() }
}
