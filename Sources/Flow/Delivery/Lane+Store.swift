// The thread of a lane that uses the store. No other thread calls the store after the lane has started.

internal import Admission
internal import ConsentGate
internal import Platform
internal import Queueing
internal import Spool

extension Lane {
    /// Carries out the steps of the store until the lane is over.
    func use(_ store: any SpoolStore) {
        while true {
            let step = state.waitUntilReady(for: storeWork) { state -> Readiness<LaneState.DiskStep> in
                let step = state.diskStep(at: clock.now())
                if case .wait(let instant) = step { return .notBefore(instant) }
                return .ready(step)
            }
            switch step {
            case .commit(let work): carryOutCommitted(diskHeartbeat.beat { commit(work, store) })
            case .read(let row, let most): carryOut(diskHeartbeat.beat { read(after: row, most, store) })
            case .sweep(let row, let order): carryOut(diskHeartbeat.beat { sweep(after: row, order.sweep(check), store) })
            case .tidy(let clearsGaps):
                let isDone = diskHeartbeat.beat { (try? store.tidy()) != nil && (!clearsGaps || (try? store.clearGaps()) != nil) }
                carryOut(perform(.tidied(isDone: isDone)))
            case .check: carryOut(checkPlace(store))
            case .close:
                // Report a loss also if the lane has never used the store.
                if let loss = store.takeLoss() { carryOut(change { $0.lost(loss) }) }
                store.close()
                carryOut(perform(.storeClosed))
                return
            case .wait: preconditionFailure("a wait is handled above")
            }
            if let loss = store.takeLoss() { carryOut(change { $0.lost(loss) }) }
        }
    }

    /// Wakes those whom a commit concerns. One that only records what was delivered leaves nothing to do for the lane's thread.
    private func carryOutCommitted(_ effects: [LaneState.Effect]) {
        let now = clock.now()
        if state.withLock({ $0.mustLook(at: now) }) { deliveryWork.wake() }
        state.wake()
        if !effects.isEmpty { work(off: effects) }
    }

    private func commit(_ work: SpoolWork, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            try store.commit(work)
            return change { $0.committed(at: clock.now()) }
        } catch {
            if error.kind == .removed { store.letGo() }
            return change { $0.storeFailed(error, at: clock.now()) }
        }
    }

    private func read(after row: Int64, _ most: Int, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            let rows = try store.read(after: row, most: most)
            return change { $0.rowsRead(rows, at: clock.now()) }
        } catch {
            return change { $0.readFailed(error, at: clock.now()) }
        }
    }

    private func sweep(after row: Int64, _ sweep: RetentionSweep, _ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            let swept = try store.sweep(after: row, sweep)
            return perform(.rowsSwept(swept))
        } catch {
            if error.kind == .removed { store.letGo() }
            return change { $0.sweepFailed(error, at: clock.now()) }
        }
    }

    private func checkPlace(_ store: any SpoolStore) -> [LaneState.Effect] {
        do throws(SpoolFault) {
            try store.checkPlace()
            return []
        } catch {
            store.letGo()
            return change { $0.storeGone(error, at: clock.now()) }
        }
    }
}
