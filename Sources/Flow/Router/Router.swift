// Plans at work, one after the other: the sources, the workers that judge their events, and a lane for each provider. It promises that
// the run ends when the input ends, when it is stopped, or when no lane is left; and that the account balances. A run that has other
// sources than standard input goes on until it is stopped.

public import Admission
internal import Configuration
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
    /// The descriptor that events are read from.
    public var input: Int32 = 0
    /// How long lanes may take to deliver what is left when the input has ended.
    public var drain = Duration.seconds(30)
    /// The same when it was told to end.
    public var shutdown = Duration.seconds(10)
    /// Whether messages on invalid lines quote them.
    public var showInput = false
    public var rejects: Rejects?
    public var deadLetters: String
    /// Under which dead letters are sealed; nil: they are not.
    public var cipher: Cipher?
    /// The numbers of all routes, those included that the stores know.
    public var names: RunNames?
    /// Sixteen bytes under which subjects and message ids are told apart; nil: by chance, for this run only.
    public var key: [UInt8]?
    /// The names of all levels, those included that the stores know.
    public var levels = RunNames()
    /// What is on record of subjects, under that key; nil: no ledger is kept.
    public var registry: Registry?
    /// Where events wait for their subjects' consent; nil: none can, and those of unknown subjects are denied.
    public var held: HeldPlace?
    /// The file where the message ids of late are kept; nil: they are not, and `key` may be by chance.
    public var seen: String?
    /// The descriptor that is told of input lines that are where the plan promises.
    public var acks: Int32?
    public var clock = Clock.system
    /// Who is at work since when.
    public var watchdog = Watchdog()
    /// The seed of the jitter between retries.
    public var seed: UInt64 = 0
    public var blockSize = 256 << 10
    /// What may wait of sources other than standard input.
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
    /// Withdraws consent and destroys what waits of it; nil: no ledger is kept.
    public let withdrawals: Withdrawals?
    /// nil: no ledger is kept.
    private let consentWriter: ConsentWriter?
    private let totals = Monitor(Totals())
    /// What was lost of queues that no lane has taken over.
    let discarded = Monitor<[Account.Provider]>([])
    private let gone: StateLoss
    private let consentReporter: ConsentReporter
    let letterRetention: LetterRetention
    /// Of what every plan of the run has in common.
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

    /// How the run ends: when it is to be over, and whether it is.
    struct Ending {
        /// How long draining may take once it was told to end, by the plan of the day.
        var shutdown: Duration
        var deadline: Instant?
        /// How long that is from when it was told to.
        var time = Duration.zero
        var isHurried = false
        var isOver = false
    }

    /// `say` is told one line at a time what a person should know.
    public init(_ plan: Plan, outlets: [Outlet], options: RouterOptions, say: @escaping @Sendable (String) -> Void) {
        precondition(outlets.count == plan.providers.count)
        let stop: WakeUp
        do throws(SystemFault) {
            stop = try WakeUp()
        } catch {
            // A router is made once, before it has taken anything.
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
        let sequencer = Sequencer(inbox.map { Inflow($0) } ?? Inflow(Router.reader(plan, options, stop, onPause)))
        let openLanes = OpenLanes(stop: stop, inbox: inbox)
        let reporter = LaneReporter(
            deadLetters: options.deadLetters, say: say, storeGone: { [gone] in gone.tell($0) }, laneClosed: openLanes.close)
        var random = RandomSource(seed: options.seed)
        var system = SystemRandomNumberGenerator()
        let key = options.key ?? (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
        let factory = GenerationFactory(
            names: names, key: key, deadLetters: deadLetters, clock: options.clock, watchdog: options.watchdog, seed: random.next(),
            records: options.registry?.records, levels: options.levels,
            // Also when no block comes in, whose time would tell.
            look: { [registry = options.registry, clock = options.clock] in registry?.note(time: clock.wall()) }, news: reporter.tell)
        let destinations = plan.providers.indices.map { factory.destination(plan.providers[$0], outlets[$0]) }
        // The names have these numbers from the beginning.
        let first = factory.generation(1, plan, destinations, routes: plan.routes.indices.map { UInt16($0) })
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
            options, factory, generations, names, deadLetters: deadLetters, heldStore: heldStore, settle: sequencer.settle, say: say)
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
        _ plan: Plan, _ options: RouterOptions, _ stop: WakeUp, _ onPause: @escaping @Sendable (Bool) -> Void = { _ in }
    ) -> LineReader {
        LineReader(
            descriptor: options.input, lineLimit: plan.limits.line, blockSize: options.blockSize, stop: stop, onPause: onPause)
    }

    // MARK: - From outside, while it runs

    /// Where listeners and the like leave what they get; nil when the plan has only standard input.
    public var sink: (any EventSink)? { inbox }

    private static func withdrawals(
        _ options: RouterOptions, _ factory: GenerationFactory, _ generations: GenerationRegistry, _ names: RunNames,
        deadLetters: DeadLetters, heldStore: HeldStore?, settle: @escaping @Sendable () -> Void, say: @escaping @Sendable (String) -> Void
    ) -> Withdrawals? {
        guard let registry = options.registry, let check = factory.check else { return nil }
        deadLetters.guarded(by: check)
        return Withdrawals(
            registry, check: check, deadLetters: deadLetters, names: names, lanes: { generations.destinations.map(\.lane) },
            heldStore: heldStore, settle: settle, clock: options.clock, say: say)
    }

    /// Reads no more; what was read is delivered within the time that draining may take.
    public func stopReading() {
        stopSources()
        beginEnding(within: ending.withLock { $0.shutdown })
    }

    /// The state folder was removed, moved away or replaced, or a file of it that the router cannot do without: it takes nothing more,
    /// delivers what it can within the time of a shutdown, and ends.
    public func leave(_ fault: StorageFault) { gone.tell(fault) }

    /// Something has happened in the state folder: whoever keeps files there looks whether they are where they were.
    public func checkFiles() {
        for destination in generations.destinations { destination.lane.checkStore() }
        options.registry?.checkPlace()
        if let fault = heldStore?.checkPlace() { leave(fault) }
        deadLetters.checkPlace()
    }

    /// Delivers no more: what is left goes to the dead letters.
    public func hurry() {
        stopSources()
        ending.withLock { $0.isHurried = true }
        heldStore?.end(hurried: true)
        for destination in generations.destinations { destination.lane.giveUp(Router.hurried) }
    }

    /// The providers of these names do not come back from a call and are not called again; their lanes stop, the others go on.
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

    /// Files that were moved away are opened anew.
    public func reopen() {
        for destination in generations.destinations { destination.lane.reopen() }
        deadLetters.reopen()
        options.rejects?.reopen()
    }

    // MARK: - The run

    /// Runs to the end; the account of it.
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
            say("withdrawals of an earlier run are not gone on with: \(error)")
        }
        let faults = sources.map {
            FaultLog(source: $0.name, showInput: options.showInput, rejects: options.rejects, say: say)
        }
        // The logs are used by one worker at a time, in turn; the threads have ended before they are read here.
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

    /// What runs beside the workers when there is more than standard input.
    private func startSources() -> [ThreadHandle] {
        guard let inbox else { return [] }
        var threads = [ThreadHandle(Thread.start("inbox") { inbox.keepWatch() })]
        guard let source = inputSource else { return threads }
        inbox.join()
        let feeder = Feeder(inbox: inbox, source: source) { [self] in note(end: $0) }
        let plan = generations.current.plan
        threads.append(ThreadHandle(Thread.start("input") { [options, stop] in feeder.run(Router.reader(plan, options, stop)) }))
        return threads
    }

    /// The index of the source that is standard input.
    private var inputSource: Int? { sources.firstIndex { $0.isInput } }
    private var inputName: String { inputSource.map { sources[$0].name } ?? "stdin" }

    /// The last words of standard input.
    private func note(end intake: Intake) {
        switch intake {
        // When nobody is left to take events, it does not matter how the input would have gone on.
        case .stopped(let unfinished) where unfinished > 0 && !generations.destinations.allSatisfy(\.lane.isClosedByProvider):
            say("\(inputName): a line that had not ended was left, of \(grouped(unfinished)) bytes")
        case .failed(let fault): totals.withLock { $0.inputFault = fault }
        case .stopped, .end, .lines, .overlong: break
        }
    }

    /// What a destination that went away did not take is in no dead-letter file, and is therefore told.
    private func tellUnkept() {
        for lane in generations.destinations.map(\.lane) {
            let count = lane.account.unkept
            guard count > 0 else { continue }
            let what =
                count == 1
                ? "an event was left when its destination went away; it is not kept as a dead letter"
                : "\(grouped(count)) events were left when its destination went away; they are not kept as dead letters"
            say("\(lane.name): \(what) (queue.disk keeps what nobody takes)")
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

    /// What came in so far, and what became of it at the routes.
    var sums: Totals { totals.withLock { $0 } }
    /// What waits at the entrance, where sources other than standard input leave what they have.
    var entrance: Inbox? { inbox }
    var sourceNames: [String] { sources.map(\.name) }

    private func work(_ logs: [FaultLog], _ heartbeat: Watchdog.Heartbeat) {
        var known = generations.current
        var worker = Worker(
            known.ruleset, lineLimit: lineLimit, depth: known.plan.limits.depth, blockSize: options.blockSize, seen: seen)
        while true {
            // Which plan judges a block is settled in turn with the reading, so that the plans change between two blocks.
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
                if isWritten || worker.portions.isEmpty { handOver(&worker, generation, logs, isWritten) } else { giveBack(worker) }
            }
            generations.leave(generation)
            worker.reset()
            switch intake {
            case .lines, .overlong: continue
            case .failed, .end, .stopped: return note(end: intake)
            }
        }
    }

    /// In turn: what a worker made goes to the lanes, and the account is kept.
    private func handOver(_ worker: inout Worker, _ generation: Generation, _ logs: [FaultLog], _ isWritten: Bool) {
        if worker.judge.held.count > 0 { hold(&worker, generation) }
        // Taken out first: an inout through a pointer member of a noncopyable value fails to compile under the thread sanitizer.
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
        // Told before they are answered for.
        logs[worker.block.source].note(worker.faults, lines: worker.lines, in: worker.block)
        receipt?.settle()
    }

    /// In turn: what is to wait for consent is stored, or denied.
    private func hold(_ worker: inout Worker, _ generation: Generation) {
        let denied =
            heldStore?.take(worker.judge.held, generation, source: worker.block.source, key: worker.block.key)
            ?? (0..<worker.judge.held.count).map { ($0, .unstored) }
        if let fault = heldStore?.status.gone { leave(fault) }
        for (event, denial) in denied {
            for route in worker.judge.held.routes(event) { worker.tally.settle(as: .denied(denial), route: UInt16(route)) }
        }
    }

    /// Of a block whose consent the ledger could not take: whoever sent it is to send it again, and nothing of it counts as seen.
    private func giveBack(_ worker: borrowing Worker) {
        worker.removeParcels()
        seen?.forget(worker.sightings)
        for portion in worker.portions { portion.answer(.overloaded(retryAfter: options.inbox.pause)) }
    }

    /// Of a block: settled when all that came of it is safe. nil: nobody asks. Where the ledger does not have what its events said, nothing
    /// from there on is acknowledged.
    private func receipt(for worker: borrowing Worker, _ isWritten: Bool) -> Receipt? {
        let entered = worker.block.source == inputSource ? acks?.next(lines: worker.lines) : nil
        guard isWritten else { return nil }
        let acknowledge = entered
        let answer = Answers.make(worker.portions, worker.faults)
        let sightings = worker.sightings
        // With duplicates let go, a block is not safe by itself: the first of the two may be on its way still.
        let block = seen == nil || inbox == nil ? nil : watermark.enter()
        guard acknowledge != nil || answer != nil || block != nil || seenFile != nil && !sightings.isEmpty else { return nil }
        let hasDuplicates = worker.tally.duplicates > 0
        return Receipt { [seenFile, watermark] in
            // An id counts as seen by the next run when its event is safe, and not before: or the event could be lost with it.
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

    /// From now on the lanes have as long as draining may take; then they are given up, also while a worker still waits for
    /// room in one of them.
    private func beginEnding(within time: Duration? = nil) {
        let time = time ?? options.drain
        let deadline = options.clock.now() + time
        let isFirst = ending.withLock { ending in
            defer {
                // Who ends it while it drains shortens what is left.
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
        // A provider that is stuck cannot be closed; the others get a moment to put their house in order.
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
