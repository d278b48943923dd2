// Judges small submissions on the thread of the listener that brought them. Otherwise each would pass from the listener to a worker and back,
// and to wake the two threads costs more than to judge an event. It is done only while the workers wait for lines, so nothing is overtaken, and
// never if something has to be waited for: a lower number, the ledger, the file of held events, or room in a lane. Such a block has its number
// already, and a thread of its own finishes it.

internal import Admission
internal import ConsentGate
internal import Delivery
internal import Events
internal import Generations
internal import Ingest
internal import Judging
internal import Plans
internal import Platform
internal import Statements
internal import Workers

/// Has the one worker that judges on the threads of listeners, and the block that has to wait.
final class DirectWork: Sendable {
    /// The most bytes that a listener's thread judges at once. Larger quantities are worth a worker's time.
    static let mostBytes = 128 << 10

    /// A worker with its block.
    final class Desk {
        var worker: Worker
        /// The generation whose rules the worker has.
        var known: Generation
        var turn = 0
        var timesForgotten = 0

        init(_ worker: consuming Worker, _ generation: Generation) {
            self.worker = worker
            known = generation
        }
    }

    private struct State {
        /// The desk, if nobody works at it.
        var free: Desk?
        /// The desk, if its block has to wait.
        var unfinished: Desk?
        var isOver = false
    }
    private let state = Monitor(State())

    /// Lets listeners judge at this desk from now on.
    func begin(_ desk: sending Desk) { state.withLock { $0.free = desk } }

    /// Takes the desk. Returns nil if it is in use.
    func take() -> Desk? { state.withLock { $0.free.take() } }

    func giveBack(_ desk: Desk) {
        state.withLock { state in
            assert(state.free == nil && state.unfinished == nil, "there are two desks")
            state.free = desk
        }
    }

    /// Passes a block on that has to wait.
    func leave(_ desk: Desk) {
        state.withLock { state in
            assert(state.free == nil && state.unfinished == nil, "there are two desks")
            state.unfinished = desk
        }
        state.wake()
    }

    /// Waits for the next block that has to wait. Returns nil after the end.
    func next() -> Desk? {
        state.waitUntilReady { state -> Readiness<Desk?> in
            if let desk = state.unfinished.take() { return .ready(desk) }
            return state.isOver ? .ready(nil) : .notBefore(nil)
        }
    }

    func end() {
        state.withLock { $0.isOver = true }
        state.wake()
    }
}

extension Router {
    /// Lets the threads of listeners judge what they bring. Returns the thread that finishes blocks that have to wait. It is nil if there is no
    /// listener. `logs` has one log for each source, which is used in turn.
    func startDirectWork(_ logs: [FaultLog]) -> ThreadHandle? {
        guard let inbox = input.inbox else { return nil }
        let generation = generations.current
        let worker = Worker(
            generation.ruleset, lineLimit: input.lineLimit, depth: generation.plan.limits.depth, blockSize: DirectWork.mostBytes,
            seen: receipts.seen)
        direct.begin(DirectWork.Desk(worker, generation))
        // The logs are used in turn, here as by the workers.
        nonisolated(unsafe) let logs = logs
        inbox.judgeOffers(by: { [weak self] in self?.judgeHere(logs) })
        return ThreadHandle(Thread.start("worker direct") { self.finishDirectWork(logs) })
    }

    /// Judges the waiting submissions. What is left when it returns is for the workers.
    private func judgeHere(_ logs: [FaultLog]) {
        guard let inbox = input.inbox, let desk = direct.take() else { return }
        while true {
            var generation = desk.known
            let submissions = inbox.takeHere(&desk.worker.block, most: DirectWork.mostBytes) {
                generation = generations.enter()
                desk.turn = input.sequencer.enter()
            }
            guard let submissions else { return direct.giveBack(desk) }
            desk.worker.submissions = submissions
            desk.timesForgotten = receipts.timesForgotten
            if generation !== desk.known {
                desk.worker.adopt(generation.ruleset, depth: generation.plan.limits.depth)
                desk.known = generation
            }
            judge(&desk.worker, generation)
            guard input.sequencer.passAtOnce(desk.turn, { concludeAtOnce(desk, logs) }) else { return direct.leave(desk) }
            clear(desk)
        }
    }

    private func clear(_ desk: DirectWork.Desk) {
        generations.leave(desk.known)
        desk.worker.reset()
    }

    /// Hands over the results of a block if nothing has to be waited for. Returns false if something has, and then does nothing.
    private func concludeAtOnce(_ desk: DirectWork.Desk, _ logs: [FaultLog]) -> Bool {
        guard isQuick(desk.worker, desk.known), desk.worker.tally.duplicates == 0 || desk.timesForgotten == receipts.timesForgotten,
            let submissions = desk.worker.submissions
        else { return false }
        let source = input.sources[desk.worker.block.source].name
        let isWritten = consent.writer?.settle(&desk.worker, desk.known.ruleset, source: source) ?? true
        if isWritten, submissions.take() {
            handOver(&desk.worker, generation: desk.known, timesForgotten: desk.timesForgotten, logs: logs, isWritten: true)
        } else {
            giveBack(desk.worker)
        }
        return true
    }

    /// Returns true if the block can be handed over without waiting: the ledger, the file of held events, that of rejected lines and that of
    /// dead letters get nothing, and every lane has room.
    private func isQuick(_ worker: borrowing Worker, _ generation: Generation) -> Bool {
        // The audit trail may let a block wait for the disk.
        if options.audit != nil, generation.ruleset.keepsVerdicts { return false }
        guard worker.faults.isEmpty, worker.judge.held.count == 0, worker.judge.rejected.isEmpty, consent.writer?.isSettled(worker) ?? true
        else { return false }
        let parcels = worker.parcels
        precondition(parcels.count == generation.destinations.count, "the worker has parcels for another plan")
        return parcels.indices.allSatisfy { index in
            parcels[index].isEmpty || generation.destinations[index].lane.takesAtOnce(parcels[index].byteCount)
        }
    }

    /// Finishes the blocks that have to wait, until the end of the run.
    private func finishDirectWork(_ logs: [FaultLog]) {
        while let desk = direct.next() {
            input.sequencer.pass(desk.turn) {
                conclude(&desk.worker, desk.known, timesForgotten: desk.timesForgotten, logs: logs)
            }
            clear(desk)
            direct.giveBack(desk)
        }
    }
}
