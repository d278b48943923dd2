// A plan at work: one source, the workers that judge its events, and a lane for each provider. It promises that the run
// ends when the input ends, when it is stopped, or when no lane is left; and that the account balances.

public import Configuration
public import Delivery
internal import Events
internal import Ingest
public import Platform
public import Policy
public import Spool

/// A provider of the plan, ready to be delivered to.
public struct Outlet: Sendable {
    public var provider: any Provider
    /// The most batches it takes at once.
    public var concurrency: Int
    /// Where its lane keeps its queue; nil: in memory.
    public var store: (any SpoolStore)?
    public init(provider: any Provider, concurrency: Int, store: (any SpoolStore)? = nil) {
        self.provider = provider
        self.concurrency = concurrency
        self.store = store
    }
}

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
    public var names: RouteNames?
    /// Sixteen bytes under which subjects and message ids are told apart; nil: by chance, for this run only.
    public var key: [UInt8]?
    /// The descriptor that is told of input lines that are where the plan promises.
    public var acks: Int32?
    public var clock = Clock.system
    /// The seed of the jitter between retries.
    public var seed: UInt64 = 0
    public var blockSize = 256 << 10
    public init(deadLetters: String) { self.deadLetters = deadLetters }
}

public final class Router: Sendable {
    private let plan: Plan
    private let ruleset: Ruleset
    private let seen: SeenIDs?
    private let options: RouterOptions
    private let lanes: [Lane]
    private let pace: Pace
    private let turns: Turns<LineReader>
    private let stop: WakeUp
    private let deadLetters: DeadLetters
    private let acks: AckWriter?
    private let names: RouteNames
    private let ending = Monitor(Ending())
    private let totals: Monitor<Totals>
    private let say: @Sendable (String) -> Void

    /// How the run ends: when it is to be over, and whether it is.
    private struct Ending {
        var deadline: Instant?
        var isOver = false
    }

    private struct Totals {
        var lines = 0
        var tally: Tally
        var inputFault: SystemFault?
    }

    /// `say` is told one line at a time what a person should know.
    public init(_ plan: Plan, outlets: [Outlet], options: RouterOptions, say: @escaping @Sendable (String) -> Void) {
        precondition(outlets.count == plan.providers.count)
        let stop = WakeUp()
        let openLanes = Monitor(outlets.count)
        let deadLetters = DeadLetters(path: options.deadLetters, cipher: options.cipher, clock: options.clock, warn: say)
        let names = options.names ?? RouteNames(plan.routes.map(\.name))
        let clerk = NewsClerk(deadLetters: options.deadLetters, say: say) {
            let left = openLanes.withLock { open in
                open -= 1
                return open
            }
            if left == 0 { stop.raise() }
            return left
        }
        var chance = Chance(seed: options.seed)
        lanes = zip(plan.providers, outlets).map { provider, outlet in
            Lane(
                name: provider.name, provider: outlet.provider, plan: provider.delivery, concurrency: outlet.concurrency,
                routes: names, store: outlet.store, deadLetters: deadLetters, clock: options.clock, chance: Chance(seed: chance.next()),
                news: clerk.tell)
        }
        self.plan = plan
        self.options = options
        self.stop = stop
        self.deadLetters = deadLetters
        self.say = say
        self.names = names
        acks = options.acks.map { AckWriter($0, say: say) }
        ruleset = Ruleset(plan, subjectKey: options.key, locatesMessageIDs: outlets.contains { $0.store != nil })
        let key = options.key ?? (0..<16).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
        seen = plan.messageID.deduplicate.map { SeenIDs($0, key: key) }
        let pace = Pace(lanes)
        self.pace = pace
        turns = Turns(
            LineReader(
                descriptor: options.input, lineLimit: plan.limits.line, blockSize: options.blockSize, stop: stop,
                onPause: { isPaused in isPaused ? pace.waitBegins() : pace.waitEnds() }))
        totals = Monitor(Totals(tally: Tally(routes: plan.routes.count)))
    }

    // MARK: - From outside, while it runs

    /// Reads no more; what was read is delivered within the time that draining may take.
    public func stopReading() {
        stop.raise()
        beginEnding(within: options.shutdown)
    }

    /// Delivers no more: what is left goes to the dead letters.
    public func hurry() {
        stop.raise()
        for lane in lanes { lane.giveUp(Answer("the router was told to end at once")) }
    }

    /// Files that were moved away are opened anew.
    public func reopen() {
        for lane in lanes { lane.reopen() }
        deadLetters.reopen()
        options.rejects?.reopen()
    }

    // MARK: - The run

    /// Runs to the end; the account of it.
    public func run() -> Account {
        for lane in lanes { lane.start() }
        let faults = FaultLog(source: source, showInput: options.showInput, rejects: options.rejects, say: say)
        // The log is used by one worker at a time, in turn; the threads have ended before it is read here.
        nonisolated(unsafe) let log = faults
        let helpers = (1..<max(1, options.workers)).map { number in
            ThreadHandle(Thread.start("worker \(number)") { self.work(log) })
        }
        work(log)
        for helper in helpers { helper.join() }
        endLanes()
        acks?.close(by: options.clock.now() + .seconds(1), options.clock)
        faults.sumUp()
        let total = totals.withLock { $0 }
        if let fault = total.inputFault { say("\(source): the input could not be read: \(fault)") }
        return Account(
            received: total.tally.events + total.tally.duplicates + faults.count, rejected: faults.count, unkeptRejects: faults.unkept,
            inputFault: total.inputFault,
            routes: names.all, verdicts: total.tally, targets: plan.routes.map(\.providers),
            providers: lanes.map { .init(name: $0.name, lane: $0.account, isClosed: $0.isClosedByProvider, isDurable: $0.isDurable) })
    }

    private var source: String { plan.sources.first?.name ?? "stdin" }

    private func work(_ log: FaultLog) {
        var worker = Worker(ruleset, lineLimit: plan.limits.line, depth: plan.limits.depth, blockSize: options.blockSize, seen: seen)
        while true {
            let (intake, turn) = turns.read { $0.next(&worker.block.text) }
            switch intake {
            case .lines:
                worker.block.arrival = options.clock.wall()
                worker.work()
            case .overlong(let bytes): worker.skipLine(bytes: bytes)
            case .stopped(let unfinished):
                if unfinished > 0 { say("\(source): a line that had not ended was left, of \(grouped(unfinished)) bytes") }
                beginEnding(within: options.shutdown)
            case .end, .failed: beginEnding()
            }
            turns.pass(turn) { handOver(&worker, log) }
            worker.reset()
            switch intake {
            case .lines, .overlong: continue
            case .failed(let fault): totals.withLock { $0.inputFault = fault }
            case .end, .stopped: break
            }
            return
        }
    }

    /// In turn: what a worker made goes to the lanes, and the account is kept.
    private func handOver(_ worker: inout Worker, _ log: FaultLog) {
        // Taken out first: an inout through a pointer member of a noncopyable value fails to compile under the thread sanitizer.
        let parcels = worker.parcels
        let receipt = acks?.receipt(lines: worker.lines)
        for index in lanes.indices {
            let own = parcels[index].isEmpty ? nil : receipt
            own?.add()
            guard !lanes[index].take(&parcels[index], own) else { continue }
            pace.waitBegins()
            lanes[index].waitAndTake(&parcels[index], own)
            pace.waitEnds()
        }
        receipt?.settle()
        let before = totals.withLock { totals in
            defer { totals.lines += worker.lines }
            totals.tally.add(worker.tally)
            return totals.lines
        }
        log.note(worker.faults, before: before, in: worker.block)
    }

    /// From now on the lanes have as long as draining may take; then they are given up, also while a worker still waits for
    /// room in one of them.
    private func beginEnding(within time: Duration? = nil) {
        let time = time ?? options.drain
        let deadline = options.clock.now() + time
        let isFirst = ending.withLock { ending in
            guard ending.deadline == nil else { return false }
            ending.deadline = deadline
            return true
        }
        guard isFirst else { return }
        Thread.start("drain") { [self] in
            let isOver = ending.waitUntilReady { ending in
                if ending.isOver { return .ready(true) }
                return options.clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
            }
            guard !isOver else { return }
            for lane in lanes where !lane.isOver { lane.giveUp(Answer("time to drain was up after \(time.configured)")) }
        }.detach()
    }

    private func endLanes() {
        beginEnding()
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
