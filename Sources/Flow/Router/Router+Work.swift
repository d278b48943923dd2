// The work of a worker's thread: it reads a block in its turn, judges it in parallel with the others, and hands over the results in the
// order in which the blocks were read.

internal import Admission
internal import Audit
internal import ConsentGate
internal import Delivery
internal import Events
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
internal import Workers

extension Router {
    /// Processes blocks until the input ends. `logs` has one log for each source.
    func work(_ logs: [FaultLog], _ heartbeat: Watchdog.Heartbeat) {
        var known = generations.current
        var worker = Worker(
            known.ruleset, lineLimit: input.lineLimit, depth: known.plan.limits.depth, blockSize: options.blockSize, seen: receipts.seen)
        while true {
            // The plan for a block is chosen in the same turn in which the block is read, so that plans change between two blocks.
            let ((intake, generation), turn) = input.sequencer.read { source in
                let (intake, submissions) = source.next(&worker.block)
                worker.submissions = submissions
                return (intake, generations.enter())
            }
            let timesForgotten = receipts.timesForgotten
            if generation !== known {
                worker.adopt(generation.ruleset, depth: generation.plan.limits.depth)
                known = generation
            }
            switch intake {
            case .lines:
                heartbeat.begin()
                judge(&worker, generation)
                heartbeat.end()
            case .overlong(let bytes): worker.skipLine(bytes: bytes)
            case .stopped: ending.beginShutdown()
            case .end, .failed: ending.begin()
            }
            input.sequencer.pass(turn) { conclude(&worker, generation, timesForgotten: timesForgotten, logs: logs) }
            generations.leave(generation)
            worker.reset()
            switch intake {
            case .lines, .overlong: continue
            case .failed, .end, .stopped: return note(end: intake)
            }
        }
    }

    /// Judges the lines of a block. It runs in parallel with other blocks.
    func judge(_ worker: inout Worker, _ generation: Generation) {
        worker.block.arrival = options.clock.wall()
        options.registry?.note(time: worker.block.arrival)
        consent.writer?.prepare(&worker, generation.ruleset)
        if taps.looksAtRoutes || worker.judge.isWatched { watch(&worker, generation) }
        worker.work()
    }

    /// Hands over the results of a block, or gives its submissions back. It runs in the worker's turn. `timesForgotten` is that of the time at
    /// which the block was read.
    func conclude(_ worker: inout Worker, _ generation: Generation, timesForgotten: Int, logs: [FaultLog]) {
        if worker.tally.duplicates > 0, timesForgotten != receipts.timesForgotten { worker.judgeRepeatedAgain() }
        let isWritten = consent.writer?.settle(&worker, generation.ruleset, source: input.sources[worker.block.source].name) ?? true
        if takeSubmissions(of: worker, generation, isWritten: isWritten) {
            handOver(&worker, generation: generation, timesForgotten: timesForgotten, logs: logs, isWritten: isWritten)
        } else {
            giveBack(worker)
        }
    }

    /// Takes the block's submissions if every lane has room for their events, or gets it before the first deadline. Returns false if they
    /// must be given back: there is no room, a submitter has left, the deadline has passed, or the ledger could not be written. It runs in
    /// the worker's turn, so no other block can use the room meanwhile. A block without submissions is always taken.
    private func takeSubmissions(of worker: borrowing Worker, _ generation: Generation, isWritten: Bool) -> Bool {
        guard let submissions = worker.submissions else { return true }
        guard isWritten, makeRoom(worker, generation, until: submissions.deadline) else { return false }
        let now = options.clock.now()
        return now < submissions.deadline && !submissions.hasLeft(now: now, unasked: options.inbox.unasked) && submissions.take()
    }

    /// Waits until every lane has room for its parcel. Returns false if one has none at the deadline, or refused a block before and has had
    /// no room since.
    private func makeRoom(_ worker: borrowing Worker, _ generation: Generation, until deadline: Instant) -> Bool {
        let parcels = worker.parcels
        precondition(parcels.count == generation.destinations.count, "the worker has parcels for another plan")
        while let full = parcels.indices.first(where: { index in
            !parcels[index].isEmpty && !generation.destinations[index].lane.hasRoom(for: parcels[index].byteCount)
        }) {
            let bytes = parcels[full].byteCount
            input.activity.waitBegins()
            defer { input.activity.waitEnds() }
            guard generation.destinations[full].lane.waitForRoom(for: bytes, until: deadline) else {
                input.inbox?.separate()
                return false
            }
        }
        return true
    }

    /// Hands the worker's parcels to the lanes and updates the account. It runs in the worker's turn.
    func handOver(_ worker: inout Worker, generation: Generation, timesForgotten: Int, logs: [FaultLog], isWritten: Bool) {
        if worker.judge.held.count > 0 { hold(&worker, generation) }
        // A copy of the pointer is needed: an inout access through a pointer in a noncopyable value does not compile under the thread
        // sanitizer.
        let parcels = worker.parcels
        precondition(parcels.count == generation.destinations.count, "the worker has parcels for another plan")
        let receipt = receipts.receipt(for: worker, isWritten: isWritten, timesForgotten: timesForgotten)
        noteVerdicts(&worker, generation, receipt)
        if worker.judge.isWatched { show(worker, generation) }
        // What the tracking plan rejects is kept before the block is acknowledged.
        if generation.keep(rejected: worker.judge.rejected) > 0 { receipt?.mark?.noteLoss() }
        for (index, destination) in generation.destinations.enumerated() where !parcels[index].isEmpty {
            receipt?.add()
            take(&parcels[index], receipt, by: destination.lane, hasRoom: worker.submissions != nil)
        }
        input.activity.blockPassed()
        assert(parcels.indices.allSatisfy { parcels[$0].isEmpty }, "a lane left events in a parcel")
        totals.withLock { totals in
            totals.add(worker.tally, rejected: worker.faults.count, heard: worker.heard, source: worker.block.source, of: generation)
        }
        consent.reporter.tell(broken: worker.takeBrokenSignals())
        // Report the faults before the submissions are answered.
        let faults = worker.submissions.map { Answers.explained(worker.faults, $0.portions) } ?? worker.faults
        logs[worker.block.source].note(faults, lines: worker.lines, in: worker.block)
        receipt?.settle()
    }

    /// Lets a lane take a parcel. `hasRoom` is true if the worker has made sure of that.
    private func take(_ parcel: inout Parcel, _ receipt: Receipt?, by lane: Lane, hasRoom: Bool) {
        let isBusy = input.activity.isBusy
        let taking =
            hasRoom
            ? lane.takeIntoRoom(&parcel, receipt, sourceIsBusy: isBusy) : lane.take(&parcel, receipt, sourceIsBusy: isBusy)
        switch taking {
        case .taken: break
        case .takenUnnoticed: input.activity.note(unnoticed: lane)
        case .full:
            input.activity.waitBegins()
            lane.waitAndTake(&parcel, receipt)
            input.activity.waitEnds()
        }
    }

    /// Notes the verdicts of the block for the audit trail. The receipt waits until they, and the decisions of the block, are there. It runs
    /// in the worker's turn.
    private func noteVerdicts(_ worker: inout Worker, _ generation: Generation, _ receipt: Receipt?) {
        guard let audit = options.audit else { return }
        if generation.ruleset.keepsVerdicts, worker.tally.events > 0 {
            audit.note(
                VerdictBlock(
                    plan: generation.plan.text?.hash, routes: generation.plan.routes.map(\.name), rows: worker.judge.takeVerdicts(),
                    counts: worker.tally.counts, events: worker.tally.events + worker.tally.emitted))
        }
        guard let receipt, audit.isBehind else { return }
        receipt.add()
        audit.whenSafe { receipt.settle() }
    }

    /// Stores the events that must wait for consent, and denies those that cannot be stored. It runs in the worker's turn.
    private func hold(_ worker: inout Worker, _ generation: Generation) {
        let denied =
            heldStore?.take(worker.judge.held, generation, source: worker.block.source, key: worker.block.key)
            ?? (0..<worker.judge.held.count).map { ($0, .unstored) }
        if let fault = heldStore?.status.gone { leave(fault) }
        for (event, denial) in denied {
            worker.judge.deny(held: event, denial)
            for route in worker.judge.held.routes(event) { worker.tally.settle(as: .denied(denial), route: UInt16(route)) }
        }
    }

    /// Gives back the submissions of a block. No lane has got any of their events, their ids do not count as seen, and their senders must
    /// send them again. Decisions of consent that the ledger took stay there.
    func giveBack(_ worker: borrowing Worker) {
        worker.removeParcels()
        receipts.forget(worker)
        worker.submissions?.giveBack(retryAfter: options.inbox.pause)
    }
}
