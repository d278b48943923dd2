// The thread of the store in the simulation: it carries out the steps that the lane decides, on a file that may fail.

import Platform
import Spool

@testable import Queueing

extension World {
    func diskLooks() throws {
        life.diskWake = nil
        let step = life.state.diskStep(at: instant)
        switch step {
        case .wait(let until):
            life.diskWake = until.map { $0.nanoseconds + life.epoch }
            try checkIdle()
        case .close:
            life.isStoreOver = true
            try carryOut(perform(.storeClosed))
        case .commit, .read, .sweep, .check, .tidy: life.disk = (step, now + (roll(4) == 0 ? Int64(roll(2000)) * World.millisecond : 0))
        }
    }

    func diskIsDone() throws {
        guard let (step, _) = life.disk else { return }
        life.disk = nil
        life.diskWake = 0
        switch step {
        case .commit(let work):
            tell(
                "commit \(work.insert.map { "\($0.id): \(numbers($0.batch))" }) rewrite \(work.rewrite.map { "\($0.id): \(numbers($0.batch))" }) tried \(work.tried.map(\.id)) remove \(work.remove)"
            )
            if let fault = store.fault(work) {
                tell("the commit failed: \(fault)")
                try carryOutCommitted(life.state.storeFailed(fault, at: instant))
            } else {
                store.apply(work)
                if plant == .loss, roll(50) == 0 { store.loseOne() }
                try carryOutCommitted(life.state.committed(at: instant))
            }
        case .read(let row, let most):
            switch store.read(after: row, most: most) {
            case .success(let rows):
                tell("read after \(row): \(rows.map { "\($0.id): \(numbers($0.batch))" })")
                try carryOut(life.state.rowsRead(rows, at: instant))
            case .failure(let fault): try carryOut(life.state.readFailed(fault, at: instant))
            }
        case .tidy: _ = try perform(.tidied(isDone: true))
        case .sweep, .check, .wait, .close: break
        }
        if let words = breachOfPromise { throw Breach(words: words) }
    }

    /// Wakes whom a commit concerns, as `Lane.carryOutCommitted` does.
    private func carryOutCommitted(_ effects: [LaneState.Effect]) throws {
        if life.state.mustLook(at: instant) { life.laneWake = 0 }
        life.isSourceAsleep = false
        try carryOut(effects, wakes: false)
    }
}
