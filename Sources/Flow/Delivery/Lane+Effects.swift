// Carries out the effects that the state of a lane returns, while the lane's lock is not held.

internal import Admission
internal import Platform
internal import Queueing
internal import Spool

extension Lane {
    /// Wakes every thread that waits for a change, and carries out the effects.
    func carryOut(_ effects: [LaneState.Effect]) {
        wake()
        if !effects.isEmpty { work(off: effects) }
    }

    func work(off effects: [LaneState.Effect]) {
        defer {
            let isOver = state.withLock { state in
                state.carryingOut -= 1
                return state.isOver
            }
            if isOver { wake() }
        }
        for effect in effects {
            switch effect {
            case .bury(let burial):
                let (lost, fault) = deadLetters.bury(
                    burial.batch, provider: name, routes: routes.all, reason: burial.reason, burial.answer, attempts: burial.attempts,
                    isLost: burial.isSettled)
                state.withLock { $0.buried(burial, lost: lost, fault, at: clock.now()) }
                wake()
                if lost > 0, !burial.isSettled { continue }
                news(self, .buried(count: burial.batch.count, reason: burial.reason, burial.answer, lost: lost))
            case .failing(let answer, let again): news(self, .failing(answer, again: again))
            case .recovered(let attempts): news(self, .recovered(attempts: attempts))
            case .dropping: news(self, .dropping)
            case .opened(let failures): news(self, .opened(failures: failures))
            case .acknowledge(let receipts): for receipt in receipts { receipt.settle() }
            case .storing(let fault, let act): news(self, .storing(fault, act))
            case .damaged(let loss): news(self, .damaged(loss))
            case .gone(let fault): news(self, .gone(fault))
            case .left(let count): news(self, .left(count))
            case .closed(let answer): news(self, .closed(answer))
            case .stopped(let answer): news(self, .stopped(answer))
            case .swept(let swept, let done): for tell in done { tell(swept) }
            }
        }
    }
}
