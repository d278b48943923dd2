// Applies what the store of a lane did or could not do. What was stored is acknowledged; what failed is tried again. This file is a part of
// the pure lane state.

internal import Admission
internal import ConsentGate
internal import Plans
public import Platform
public import Spool

extension LaneState {
    public mutating func committed(at now: Instant) -> [Effect] {
        let space = isRunning ? max(0, plan.queue.memory / 2 - (heldBytes - backlog.unstoredBytes)) : 0
        let hasStored = backlog.isStoring
        let (sealed, bytesGone) = backlog.committed(space: space, at: now)
        heldBytes -= bytesGone
        for batch in sealed {
            let waiting = WaitingBatch(batch, epoch: epoch)
            if isRunning { queue.append(waiting) } else { ending.kept.append(waiting) }
        }
        tidying = .untidy
        withdrawals.sweeping?.noteStored()
        storeHealth.records.reset()
        var effects: [Effect] = []
        if storeHealth.failedAct == .rows, !hasStored {
            // The commit may have freed space for rows that wait.
            storeHealth.stores.waitAtMost(until: now + plan.retry.first)
        } else if storeHealth.failedAct != .reads, storeHealth.failedAct != .sweeps {
            endFault(&effects)
        }
        let settled = receipts.take(stored: backlog.stored)
        if !settled.isEmpty { effects.append(.acknowledge(settled)) }
        return effects
    }

    /// Records that some rows were swept successfully.
    mutating func hasSwept(_ effects: inout [Effect]) {
        if storeHealth.sweeps.failures > 0 { effects.append(.storing(nil, .sweeps)) }
        storeHealth.sweeps.reset()
        if storeHealth.failedAct == .sweeps { endFault(&effects) }
    }

    private mutating func endFault(_ effects: inout [Effect]) {
        if let act = storeHealth.endFault() { effects.append(.storing(nil, act)) }
    }

    /// Handles a failed commit. The store is used again after a pause. A lane that has ended makes only a few attempts.
    public mutating func storeFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        let act: StoreAct = backlog.isStoring ? .rows : .records
        backlog.failed()
        return failed(act, fault, at: now)
    }

    /// Handles a failed sweep.
    public mutating func sweepFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        guard fault.kind == .full else { return failed(.sweeps, fault, at: now) }
        // The other acts continue and may free space.
        let backoff = backoff
        if phase == .ended {
            storeHealth.sweeps.fail(at: now, pause: LaneState.lastPause)
        } else {
            storeHealth.sweeps.fail(at: now, backoff, &random)
        }
        return storeHealth.sweeps.failures == 1 ? [.storing(fault, .sweeps)] : []
    }

    private mutating func failed(_ act: StoreAct, _ fault: SpoolFault, at now: Instant) -> [Effect] {
        if fault.kind == .removed, !storeHealth.isGone { return storeGone(fault, at: now) }
        let backoff = backoff
        if act == .records, fault.kind == .full {
            storeHealth.records.fail(at: now, backoff, &random)
            if let again = storeHealth.records.again { storeHealth.stores.waitLonger(until: again) }
        } else {
            storeHealth.stores.fail(at: now, backoff, &random)
        }
        var effects: [Effect] = storeHealth.note(fault, of: act) ? [.storing(fault, act)] : []
        guard phase == .ended else { return effects }
        if storeHealth.stores.failures + storeHealth.records.failures < LaneState.lastTries {
            let again = now + LaneState.lastPause
            storeHealth.stores.wait(until: again)
            if storeHealth.records.again != nil { storeHealth.records.wait(until: again) }
            return effects
        }
        let answer = Answer("it could not be stored: \(fault)")
        for row in backlog.takeUnstored(at: now) {
            let waiting = WaitingBatch(batch: row.batch, attempts: row.attempts, mayHaveArrived: row.mayHaveArrived)
            bury(waiting, fate: waiting.fate(otherwise: .undelivered), answer: answer, effects: &effects)
        }
        receipts.removeAll()
        storeHealth.use = .givenUp
        return effects
    }

    public mutating func rowsRead(_ rows: [SpoolRow], at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        storeHealth.reads.reset()
        if storeHealth.failedAct == .reads { endFault(&effects) }
        var kept: [SpoolRow] = []
        for row in rows {
            guard toDrop > 0 else {
                kept.append(row)
                continue
            }
            toDrop = max(0, toDrop - row.batch.bytes.count)
            for entry in row.batch.entries { account.settle(entry.route, fate: .dropped) }
            backlog.drop(row)
        }
        if rows.isEmpty { toDrop = 0 }
        guard !kept.isEmpty || rows.isEmpty else { return effects }
        let (sealed, bytes) = backlog.gather(read: kept, at: now)
        heldBytes += bytes
        for batch in sealed { queue.append(WaitingBatch(batch, epoch: epoch)) }
        return effects
    }

    /// Handles a failed read. The rows stay on disk and are read again after a pause.
    public mutating func readFailed(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        if fault.kind == .removed, !storeHealth.isGone { return storeGone(fault, at: now) }
        let backoff = backoff
        storeHealth.reads.fail(at: now, backoff, &random)
        if storeHealth.isGone { return [] }
        if let again = storeHealth.reads.again { storeHealth.stores.waitLonger(until: again) }
        return storeHealth.note(fault, of: .reads) ? [.storing(fault, .reads)] : []
    }

    public mutating func lost(_ loss: SpoolLoss) -> [Effect] {
        for (route, count) in loss.routes { account.settle(route, fate: .damaged, count: count) }
        backlog.lose(loss)
        return [.damaged(loss)]
    }

    /// Records the end of tidying. A sweep needs it to succeed; otherwise the space is given back another time.
    mutating func tidied(isDone: Bool, _ answers: ConsentAnswers, at now: Instant) -> [Effect] {
        guard isDone || withdrawals.sweeping == nil else {
            tidying = .due(now + .seconds(1))
            return []
        }
        tidying = .clean
        return finishSweep(answers)
    }

    mutating func storeClosed(_ answers: ConsentAnswers) -> [Effect] {
        storeHealth.use = .closed
        var unswept: [Effect] = []
        if let sweeping = withdrawals.sweeping {
            // Some destroyed events may still be in the file.
            var swept = withdrawals.report(of: sweeping.swept)
            swept.isCut = true
            unswept = [.swept(swept, sweeping.done)]
        }
        withdrawals.sweeping = nil
        if storeHealth.isGone { return unswept + loseRest() }
        let left = account.totalWaiting
        return unswept + (left > 0 ? [.left(left)] : [])
    }
}
