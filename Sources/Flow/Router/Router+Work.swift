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
                consent.writer?.prepare(&worker, generation.ruleset)
                heartbeat.begin()
                worker.work()
                heartbeat.end()
            case .overlong(let bytes): worker.skipLine(bytes: bytes)
            case .stopped: ending.beginShutdown()
            case .end, .failed: ending.begin()
            }
            input.sequencer.pass(turn) {
                let isWritten = consent.writer?.settle(&worker, generation.ruleset, source: input.sources[worker.block.source].name) ?? true
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
        precondition(parcels.count == generation.destinations.count, "the worker has parcels for another plan")
        let receipt = receipts.receipt(for: worker, isWritten: isWritten)
        noteVerdicts(&worker, generation, receipt)
        for (index, destination) in generation.destinations.enumerated() {
            let own = parcels[index].isEmpty ? nil : receipt
            own?.add()
            guard !destination.lane.take(&parcels[index], own) else { continue }
            input.activity.waitBegins()
            destination.lane.waitAndTake(&parcels[index], own)
            input.activity.waitEnds()
        }
        assert(parcels.indices.allSatisfy { parcels[$0].isEmpty }, "a lane left events in a parcel")
        totals.withLock { totals in
            totals.add(worker.tally, rejected: worker.faults.count, heard: worker.heard, source: worker.block.source, of: generation)
        }
        consent.reporter.tell(broken: worker.takeBrokenSignals())
        // Report the faults before the submissions are answered.
        logs[worker.block.source].note(worker.faults, lines: worker.lines, in: worker.block)
        receipt?.settle()
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
            for route in worker.judge.held.routes(event) { worker.tally.settle(as: .denied(denial), route: UInt16(route)) }
        }
    }

    /// Gives back a block whose decisions the ledger could not store. Its senders must send it again, and its ids do not count as seen.
    private func giveBack(_ worker: borrowing Worker) {
        worker.removeParcels()
        receipts.forget(worker)
        for portion in worker.portions { portion.answer(.overloaded(retryAfter: options.inbox.pause)) }
    }
}
