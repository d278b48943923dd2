// The run of a router. It ends when the input ends, when it is stopped, or when no lane is left, and its account balances. If there are
// sources other than standard input, the end of standard input does not end the run.

internal import Admission
internal import Audit
internal import Delivery
internal import Erasing
internal import Generations
internal import Holding
internal import Ingest
internal import Judging
internal import Ledger
internal import Plans
internal import Platform
internal import Queueing
internal import Statements
internal import Tapping
internal import Withdrawal
internal import Workers

extension Router {
    /// Runs to the end. Returns the account of the run. It must be called only once.
    public func run() -> Account {
        watchLedger()
        deadLetters.begin()
        lanes.retention.adopt(generations.current.plan)
        // The withdrawals on record come first: a lane that is running may hand over an event that came in before one of them.
        withdrawals?.prepare()
        for destination in generations.destinations { destination.lane.start() }
        heldStore?.resume()
        withdrawals?.settleLanes()
        withdrawals?.resume()
        // No provider is asked before the withdrawals on record hold for its lane.
        erasures?.begin()
        let logs = readAll()
        erasures?.end()
        endLanes()
        taps.end()
        withdrawals?.settleLanes()
        reportUnkept()
        heldStore?.close()
        erasures?.close()
        lanes.retention.end()
        deadLetters.end()
        // What is not in the trail is not acknowledged. The run ends in any case.
        try? options.audit?.flush()
        receipts.close(by: options.clock.now() + .seconds(1), options.clock)
        for log in logs { log.sumUp() }
        let account = account(logs)
        if let fault = account.inputFault { say("\(input.inputName): the input could not be read: \(fault)") }
        return account
    }

    private func watchLedger() {
        guard let registry = options.registry else { return }
        registry.watch { [reporter = consent.reporter, loss, audit = options.audit] news in
            reporter.tell(news)
            if case .damaged(let fault) = news, let audit { audit.note(.damage(fault.description, at: audit.now)) }
            if case .damaged(let fault) = news, fault.kind == .removed { loss.report(fault) }
        }
        registry.note(time: options.clock.wall())
    }

    /// Reads and judges all input with all workers. Returns the faults of the input for each source, after all of these threads have ended.
    private func readAll() -> [FaultLog] {
        let faults = input.sources.map {
            FaultLog(source: $0.name, showInput: options.showInput, rejects: options.rejects, say: say)
        }
        // One worker at a time, in turn, uses the logs. When they are returned, the threads of the workers have ended.
        nonisolated(unsafe) let logs = faults
        Thread.start("drain") { self.giveUpWhenTimeIsUp() }.detach()
        let sideThreads = input.start { [self] in note(end: $0) }
        let finishing = startDirectWork(logs)
        let holding = heldStore.map { store in ThreadHandle(Thread.start("held events") { store.work() }) }
        let helpers = (1..<max(1, options.workers)).map { number in
            ThreadHandle(Thread.start("worker \(number)") { self.work(logs, self.options.watchdog.heartbeat("worker \(number)")) })
        }
        work(logs, options.watchdog.heartbeat("worker 0"))
        for helper in helpers + sideThreads { helper.join() }
        direct.end()
        finishing?.join()
        heldStore?.end(hurried: false)
        holding?.join()
        return faults
    }

    /// Gives up the lanes that have not drained when the time is up, even if a worker still waits for space in one of them.
    private func giveUpWhenTimeIsUp() {
        guard let time = ending.waitUntilTimeIsUp() else { return }
        heldStore?.end(hurried: true)
        for lane in generations.destinations.map(\.lane) where !lane.isOver {
            lane.giveUp(Answer("time to drain was up after \(time.configured)"))
        }
    }

    private func endLanes() {
        ending.begin()
        generations.end()
        let lanes = generations.destinations.map(\.lane)
        for lane in lanes { lane.drain() }
        for lane in lanes { lane.waitForEnd() }
        ending.end()
        // A provider that is stuck cannot be closed. The others get a moment to close.
        let moment = options.clock.now() + .seconds(1)
        for lane in lanes { lane.waitForClose(until: moment) }
    }

    /// Handles the last intake of standard input.
    func note(end intake: Intake) {
        switch intake {
        // If no lane is left, an unfinished line does not matter.
        case .stopped(let unfinished) where unfinished > 0 && !generations.destinations.allSatisfy(\.lane.isClosedByProvider):
            say("\(input.inputName): an unfinished line of \(grouped(unfinished)) bytes was dropped")
        case .failed(let fault): totals.withLock { $0.inputFault = fault }
        case .stopped, .end, .lines, .overlong: break
        }
    }

    /// Reports the events that a gone destination did not take, since they are not kept as dead letters.
    private func reportUnkept() {
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
            inputFault: total.inputFault, stateFault: loss.fault, lettersAreDamaged: letters.isFound, damagedLetters: letters.lost,
            consent: total.consent,
            routes: lanes.names.all, ownRoutes: Set(generations.routes.map(Int.init) + total.heldRoutes).sorted(), verdicts: total.tally,
            judged: total.judged,
            held: heldStore?.status ?? HeldStatus(),
            providers: generations.destinations.map { destination in
                .init(
                    name: destination.lane.name, lane: destination.lane.account, isClosed: destination.lane.isClosedByProvider,
                    isDurable: destination.lane.isDurable, transformErrors: destination.slot.transformErrors,
                    routed: destination.index < total.routed.count ? total.routed[destination.index] : [])
            } + discarded.withLock { $0 })
    }
}
